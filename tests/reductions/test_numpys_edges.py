"""What follows from how NumPy computes: complex infinities, ties, and arguments at the edges."""

import numpy as np
import pytest
from samples import silenced
from truths import numpys

import gred

UP, DOWN = complex(0.0, -0.0), complex(-0.0, 0.0)
COMPLEX_CASES = [
    *([1j, -0.0 + 1j], [-0.0 + 1j, 1j], [1e200, 1e200], [np.inf + 0j], [np.inf + 0j, 1]),
    *([1, np.inf + 0j], [complex(-0.0, -0.0)], [DOWN, 2], [UP, 3 + 0j, 1j]),
    *([complex(np.nan, 1), complex(1, np.nan)], [complex(1, np.nan), complex(np.nan, 1)]),
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


INTEGERS, FLOATS = np.array([3, 1, 2]), np.array([1.5, 2, 4])
EDGES = [
    ("nanmax", INTEGERS, {"initial": np.nan, "axis": 0}, "f8"),  # is left out of integers, too
    *(
        ("mean", [1, 2], {"dtype": dtype}, out)  # is divided in the type of out
        for dtype in (int, np.int8, "f4", None)
        for out in ("f8", "f4", "i8", "c16")
    ),
    *((name, INTEGERS, {"axis": 0}, t) for name in ("argmin", "argmax") for t in "?bBhiI"),
    *((name, FLOATS, {}, out) for name in ("ptp", "nanmean") for out in ("i8", "u1")),
    *(  # zeros have signs
        (name, np.array(values), {}, None)
        for name in ("nanprod", "nanmin", "nanmax", "nanmean", "ptp", "norm", "var")
        for values in ([-0.0], [-0.0, -0.0], [-0.0, np.nan], [-3.0])
    ),
    ("norm", np.zeros(0), {"ord": np.inf}, None),  # NumPy has had 0 and an error for it
]


def test_arguments_at_the_edges_have_numpys_answers_or_errors(device):
    for name, a, options, out in EDGES:
        made = []
        for function, more in ((numpys(name), {}), (getattr(gred, name), {"device": device})):
            memory = {"out": np.full((), 9, out)} if out else {}
            try:
                with silenced():
                    result = np.asarray(function(a, **options, **memory, **more))
                made.append((repr(result.tolist()), result.shape))
            except (TypeError, ValueError) as error:
                made.append(TypeError if isinstance(error, TypeError) else ValueError)
        assert made[0] == made[1], (name, a, options, out)


@pytest.mark.parametrize("name", ["any", "all", "min", "max", "nanmax", "ptp"])
def test_broadcast_elements_are_looked_at_once(name, device):
    """NumPy is asked about a shape that it can walk; a walk over the other would take years."""
    values = np.array([[0, 1, 1], [1, 1, 1]], bool if name in ("any", "all") else "f4")
    for kept in (values, np.ones_like(values[:, :0])):
        few, many = (np.broadcast_to(kept, (n, *kept.shape)) for n in (2, 2**58))
        for axis in (None, 0, (0, 1)):
            if kept.size or name in ("any", "all") or axis == 0:
                expected = getattr(np, name)(few, axis=axis)
                got = getattr(gred, name)(many, axis=axis, device=device)
                assert np.array_equal(got, expected)


@pytest.mark.parametrize("name", ["var", "std", "norm"])
def test_spreads_of_complex_numbers_keep_imaginary_parts(name):
    with pytest.raises(TypeError, match="must be a complex type, since imaginary parts count"):
        getattr(gred, name)(INTEGERS + 1j, dtype=float)
