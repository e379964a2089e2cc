"""What the functions of gred.torch refuse, each in one line."""

import pytest

FUNCTIONS = ["sum", "mean", "prod", "amin", "amax", "min", "max", "logsumexp", "var", "std", "norm"]

BAD = {
    "take tensors, not list": lambda torch: [1.0],
    "sparse_coo": lambda torch: torch.eye(3).to_sparse(),
    "nested": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "quantized": lambda torch: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    "element type": lambda torch: torch.ones(3).to(torch.float8_e4m3fn),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("why", BAD)
def test_a_tensor_that_cannot_be_read_is_refused_in_one_line(why):
    torch = pytest.importorskip("torch", minversion="2.5")
    import gred.torch

    for name in FUNCTIONS:
        with pytest.raises(TypeError, match=why) as caught:
            getattr(gred.torch, name)(BAD[why](torch))
        assert "\n" not in str(caught.value)


# A call of gred.torch, by what makes tensors of ones; the error, and words of its message.
REFUSED = [
    (lambda g, of: g.dot(of(2), of(3)), ValueError, "of one length"),
    (lambda g, of: g.dot(of(2, 2), of(2, 2)), ValueError, "vectors of"),
    (lambda g, of: g.dot(of(), of()), ValueError, "vectors of one length"),
    (lambda g, of: g.amin(of(0, 3)), ValueError, "no value"),
    (lambda g, of: g.amin(of(0, 3), 0), ValueError, "no value"),
    (lambda g, of: g.amax(of(0, 0), 1), ValueError, "no value"),
    (lambda g, of: g.sum(of(2, 3), 2), IndexError, None),
    (lambda g, of: g.sum(of(2, 3), (0, -3)), IndexError, None),
    (lambda g, of: g.sum(of(2, 3), (0, -2)), ValueError, "duplicate|twice"),
]
# The same of options and elements, which fakes do not look at.
NOT_OF_FAKES = [
    (lambda g, of: g.norm(of(2, 3), 3), ValueError, "ord must be"),
    (lambda g, of: g.sum(of(2, 3), method="exakt"), ValueError, "'exakt' does not exist"),
    (lambda g, of: g.by_key_sum(of(2).long(), of(2), 1, outside="keep"), ValueError, "outside mu"),
    (lambda g, of: g.by_key_sum(of(2).long(), of(2), 1), IndexError, "a key is not in"),
    (lambda g, of: g.by_key_sum(of(2), of(2), 1), TypeError, "keys must be integers"),
]


@pytest.mark.parametrize(
    "options", [{"device": "cpu"}, {"device": "meta"}, {"requires_grad": True}]
)
def test_what_cannot_be_is_refused_by_fakes_and_tensors_alike(options):
    torch = pytest.importorskip("torch", minversion="2.5")
    import gred.torch

    def of(*shape):
        return torch.ones(shape, **options)

    for call, error, words in REFUSED + NOT_OF_FAKES * (options != {"device": "meta"}):
        with pytest.raises(error, match=words):
            call(gred.torch, of)
    for extreme in (gred.torch.amin, gred.torch.amax):
        assert extreme(of(0, 3), 1).shape == (0,)
