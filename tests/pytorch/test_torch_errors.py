"""What the functions of gred.torch refuse, and PyTorch missing or too old, each in one line."""

import subprocess
import sys

import pytest

FUNCTIONS = ["sum", "mean", "prod", "amin", "amax", "min", "max", "logsumexp", "var", "std", "norm"]


@pytest.mark.unsanitized
@pytest.mark.parametrize("call", [*(f"{name}(0)" for name in FUNCTIONS), "dot(0, 0)"])
@pytest.mark.parametrize("version", [None, "2.4.1"])
def test_without_pytorch_or_with_an_old_one_a_call_says_what_brings_it(call, version):
    module = "None" if version is None else f"types.SimpleNamespace(__version__={version!r})"
    code = f"import sys, types; sys.modules['torch'] = {module}; import gred.torch"
    code += f"; gred.torch.__all__; gred.torch.{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("ImportError: this needs torch")
    assert "pip install 'gred[torch]'" in last
    assert version is None or "2.5 or later, and 2.4.1 is here" in last


BAD = {
    "a list": (lambda torch: [1.0], TypeError, "take tensors, not list"),
    "sparse": (lambda torch: torch.eye(3).to_sparse(), TypeError, "sparse_coo"),
    "nested": (
        lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        TypeError,
        "nested",
    ),
    "quantized": (
        lambda torch: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
        TypeError,
        "quantized",
    ),
    "eight bits": (
        lambda torch: torch.ones(3).to(torch.float8_e4m3fn),
        TypeError,
        "element type",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", BAD)
def test_a_tensor_that_cannot_be_read_is_refused_in_one_line(kind, name):
    torch = pytest.importorskip("torch", minversion="2.5")
    import gred.torch

    make, error, why = BAD[kind]
    with pytest.raises(error, match=why) as caught:
        getattr(gred.torch, name)(make(torch))
    assert "\n" not in str(caught.value)


def test_other_arguments_are_refused_as_of_greds_functions():
    torch = pytest.importorskip("torch", minversion="2.5")
    import gred.torch

    for x in (torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)):
        with pytest.raises(ValueError, match="ord must be"):
            gred.torch.norm(x, 3)
        with pytest.raises(ValueError, match="method 'exakt' does not exist"):
            gred.torch.sum(x, method="exakt")
        with pytest.raises(ValueError, match="outside must be"):
            gred.torch.by_key_sum(torch.zeros(2, dtype=torch.int64), x, 1, outside="keep")
        with pytest.raises(IndexError, match="a key is not in"):
            gred.torch.by_key_sum(torch.ones(2, dtype=torch.int64), x, 1)
        with pytest.raises(TypeError, match="keys must be integers"):
            gred.torch.by_key_sum(torch.ones(2), x, 1)
