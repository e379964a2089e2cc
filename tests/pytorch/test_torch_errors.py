"""What the functions of gred.torch refuse, and PyTorch missing or too old, each in one line."""

import pytest
from processes import printed

FUNCTIONS = ["sum", "mean", "prod", "amin", "amax", "min", "max", "logsumexp", "var", "std", "norm"]


WITHOUT = """
import sys, types
sys.modules["torch"] = TORCH
import gred.torch
assert set(gred.torch.__all__) <= set(dir(gred.torch))
for name, arguments in (*((name, (0,)) for name in FUNCTIONS), ("dot", (0, 0))):
    try:
        getattr(gred.torch, name)(*arguments)
    except ImportError as error:
        print(error)
"""


@pytest.mark.unsanitized
@pytest.mark.parametrize("version", [None, "2.4.1"])
def test_without_pytorch_or_with_an_old_one_a_call_says_what_brings_it(version):
    torch = "None" if version is None else f"types.SimpleNamespace(__version__={version!r})"
    lines = printed(WITHOUT.replace("TORCH", torch).replace("FUNCTIONS", repr(FUNCTIONS)))
    assert len(lines.splitlines()) == len(FUNCTIONS) + 1
    for line in lines.splitlines():
        assert line.startswith("this needs torch")
        assert "pip install 'gred[torch]'" in line
        assert version is None or "2.5 or later, and 2.4.1 is here" in line


BAD = {
    "a list": (lambda torch: [1.0], "take tensors, not list"),
    "sparse": (lambda torch: torch.eye(3).to_sparse(), "sparse_coo"),
    "nested": (lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "nested"),
    "quantized": (
        lambda torch: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
        "quantized",
    ),
    "eight bits": (lambda torch: torch.ones(3).to(torch.float8_e4m3fn), "element type"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", BAD)
def test_a_tensor_that_cannot_be_read_is_refused_in_one_line(kind, name):
    torch = pytest.importorskip("torch", minversion="2.5")
    import gred.torch

    make, why = BAD[kind]
    with pytest.raises(TypeError, match=why) as caught:
        getattr(gred.torch, name)(make(torch))
    assert "\n" not in str(caught.value)


def test_other_arguments_are_refused_as_of_greds_functions():
    torch = pytest.importorskip("torch", minversion="2.5")
    import gred.torch

    zeros, ones = (torch.full((2,), k, dtype=torch.int64) for k in (0, 1))
    by_key = gred.torch.by_key_sum
    for call, error, words in (
        (lambda x: gred.torch.norm(x, 3), ValueError, "ord must be"),
        (lambda x: gred.torch.sum(x, method="exakt"), ValueError, "'exakt' does not exist"),
        (lambda x: by_key(zeros, x, 1, outside="keep"), ValueError, "outside must be"),
        (lambda x: by_key(ones, x, 1), IndexError, "a key is not in"),
        (lambda x: by_key(torch.ones(2), x, 1), TypeError, "keys must be integers"),
    ):
        for x in (torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)):
            with pytest.raises(error, match=words):
                call(x)
