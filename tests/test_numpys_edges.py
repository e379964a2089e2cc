"""What follows from how NumPy computes: complex infinities, ties, quotients in `out`."""

import warnings

import numpy as np
import pytest

import gred

COMPLEX_CASES = [
    [0 + 1j, -0.0 + 1j],
    [-0.0 + 1j, 0 + 1j],
    [1e200, 1e200],
    [np.inf + 0j],
    [np.inf + 0j, 1],
    [1, np.inf + 0j],
    [complex(-0.0, -0.0)],
    [complex(-0.0, 0.0), 2],
    [complex(0.0, -0.0), 3 + 0j, 1j],
    [complex(np.nan, 1), complex(1, np.nan)],
    [complex(1, np.nan), complex(np.nan, 1)],
    [1e300 + 1e300j, 1e300 - 1e300j],
]


def bits(value) -> bytes:
    """All bits of a number, with every NaN the same one."""
    value = np.asarray(value)
    parts = value.reshape(-1).view(value.real.dtype).copy()
    parts[np.isnan(parts)] = np.nan
    return parts.tobytes()


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize("values", COMPLEX_CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_ends_are_numpys_to_the_bit(op, values, dtype, device):
    with np.errstate(all="ignore"):
        a = np.array(values, complex).astype(dtype)
        theirs = getattr(np, op)(a)
    ours = getattr(gred, op)(a, device=device)
    assert bits(ours) == bits(theirs), f"{ours!r}, not {theirs!r}"


@pytest.mark.parametrize("dtype", [int, np.int8, np.float32, None])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.complex128])
def test_a_mean_is_divided_in_the_type_of_out(dtype, kind, device):
    out, theirs = np.zeros((), kind), np.zeros((), kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.mean([1, 2], dtype=dtype, out=theirs)
    gred.mean([1, 2], dtype=dtype, out=out, device=device)
    assert out == theirs
