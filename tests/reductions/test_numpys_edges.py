"""What follows from how NumPy computes: complex infinities, ties, quotients in `out`."""

import numpy as np
import pytest
from samples import silenced

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


@pytest.mark.parametrize("dtype", [int, np.int8, np.float32, None])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.complex128])
def test_a_mean_is_divided_in_the_type_of_out(dtype, kind, device):
    out, theirs = np.zeros((), kind), np.zeros((), kind)
    with silenced():
        np.mean([1, 2], dtype=dtype, out=theirs)
    gred.mean([1, 2], dtype=dtype, out=out, device=device)
    assert out == theirs


# ---- arguments at the edges of what NumPy takes ----

INTEGERS = np.array([3, 1, 2])


def test_nan_as_initial_is_left_out_of_integers_too():
    given = {"initial": np.nan, "axis": 0}
    expected = np.nanmax(INTEGERS, out=np.zeros(()), **given)
    assert gred.nanmax(INTEGERS, out=np.zeros(()), **given) == expected == 3


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "i4", "u4"])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_positions_go_to_any_integers_that_int64_holds(name, dtype):
    out, expected = np.full(1, 9, dtype), np.full(1, 9, dtype)
    getattr(np, name)(INTEGERS[None], axis=1, out=expected)
    assert getattr(gred, name)(INTEGERS[None], axis=1, out=out) is out
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("name", "a", "dtype"),
    [(name, np.array([1.5, 2, 4]), t) for name in ("ptp", "nanmean") for t in ("i8", "u1")],
)
def test_an_out_that_would_cut_off_is_refused(name, a, dtype):
    for library in (np, gred):
        with pytest.raises(TypeError):
            getattr(library, name)(a, out=np.zeros((), dtype))


@pytest.mark.parametrize("name", ["sum", "argmax", "var"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_bool_of_numpys_says_whether_dimensions_are_kept(name, kept):
    expected = getattr(np, name)(INTEGERS, keepdims=kept)
    got = getattr(gred, name)(INTEGERS, keepdims=np.bool_(kept))
    assert np.shape(got) == np.shape(expected)


def test_a_number_has_no_second_axis():
    with pytest.raises(np.exceptions.AxisError, match=r"axis 1 is .* array of dimension 0"):
        gred.sum(3.0, axis=1)


@pytest.mark.parametrize("name", ["var", "std"])
def test_a_mask_that_hides_one_slice_warns(name, device):
    a, where = np.array([[1.0, 2], [3, 4]]), np.array([[True, True], [False, False]])
    out = np.zeros(2)
    for given in ({}, {"out": out}):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
            got = getattr(gred, name)(a, axis=1, where=where, device=device, **given)
        assert np.isnan(got).tolist() == [False, True]


@pytest.mark.parametrize("op", ["minimum", "maximum", "add"])
def test_reduceat_of_no_values(op):
    for values in (np.array([]), np.array([], int)):
        with pytest.raises(IndexError):
            gred.reduceat(op, values, [0])
        expected = getattr(np, op).reduceat(values, np.array([], int))
        got = gred.reduceat(op, values, [])
        assert (got.dtype, got.shape) == (expected.dtype, (0,))
    assert gred.reduceat("min", np.array([]), [0, 0], empty="identity").tolist() == [np.inf] * 2
    least = np.iinfo("i2").min
    assert gred.reduceat("max", np.array([], "i2"), [0], empty="identity").tolist() == [least]


@pytest.mark.parametrize("name", ["any", "all", "min", "max", "nanmax", "ptp"])
def test_broadcast_elements_are_looked_at_once(name, device):
    """NumPy is asked about a shape that it can walk; a walk over the other would take years."""
    values = np.array([[0, 1, 1], [1, 1, 1]], bool if name in ("any", "all") else "f4")
    for kept in (values, np.ones_like(values[:, :0])):
        few, many = (
            np.broadcast_to(kept, (2, *kept.shape)),
            np.broadcast_to(kept, (2**58, *kept.shape)),
        )
        for axis in (None, 0, (0, 1)):
            if kept.size == 0 and name not in ("any", "all") and axis != 0:
                continue
            expected = getattr(np, name)(few, axis=axis)
            assert np.array_equal(getattr(gred, name)(many, axis=axis, device=device), expected)


@pytest.mark.parametrize("name", ["var", "std", "norm"])
def test_spreads_of_complex_numbers_keep_imaginary_parts(name):
    with pytest.raises(TypeError, match="must be a complex type, since imaginary parts count"):
        getattr(gred, name)(INTEGERS + 1j, dtype=float)
