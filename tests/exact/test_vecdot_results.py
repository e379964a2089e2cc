"""What gred.vecdot and gred.dot along an axis give: into `out`, of nothing, and of tensors."""

import numpy as np
import pytest

import gred


def test_what_goes_to_out_is_rounded_once():
    a, b = np.ones((1, 3)), np.array([1, 2.0**-24, 2.0**-60])
    for call in (gred.vecdot, lambda *both, **more: gred.dot(*both, axis=-1, **more)):
        narrow = np.zeros(1, "f4")
        assert call(a, b, method="exact", out=narrow) is narrow
        assert narrow[0] == np.float32(1 + 2.0**-23)
    both = gred.vecdot(a + 0j, b, method="exact", out=np.zeros(1, "c8"))
    assert both[0].real == np.float32(1 + 2.0**-23)


@pytest.mark.parametrize("n", [3, 1 << 18])
@pytest.mark.parametrize("dtype", ["i4", "f4", "?", "c8"])
def test_types_of_no_results(dtype, n):
    a, b = np.zeros((0, n), dtype), np.zeros(n, dtype)
    for method in ("auto", "exact"):
        got = gred.vecdot(a, b, method=method)
        assert got.shape == (0,)
        assert got.dtype == gred.dot(b, b).dtype


def test_pytorchs_names_and_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    for y in (x, x.bfloat16()):
        got = gred.vecdot(y, y, dim=1, keepdim=True)
        assert got.dtype == y.dtype
        assert torch.equal(got, (y.double() * y.double()).sum(1, keepdim=True).to(y.dtype))
    assert isinstance(gred.vecdot(x, x.numpy()), torch.Tensor)
    assert isinstance(gred.vecdot(x[0], x[0], out=...), torch.Tensor)
    with pytest.raises(RuntimeError, match="grad"):
        gred.vecdot(x, x, out=torch.zeros(2, requires_grad=True))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"axis": (0, 1)}, TypeError, "axis must be an integer"),
        ({"axis": True}, TypeError, "axis must be an integer"),
        ({"axis": 2}, ValueError, "axis"),
    ],
)
def test_axes_that_are_none(options, error, words):
    with pytest.raises(error, match=words):
        gred.vecdot(np.ones((2, 3)), np.ones((2, 3)), **options)
    with pytest.raises(ValueError, match=r"shapes \(2, 3\) and \(4, 3\), do not fit"):
        gred.vecdot(np.ones((2, 3)), np.ones((4, 3)))
