"""What axis=, keepdims=, out= and the other arguments along axes take, write and refuse.

Signatures, shapes, types and errors are held against NumPy's own functions.
"""

import inspect
import itertools
import warnings

import numpy as np
import pytest
from along import NAMES, calls, normal, result_of, shape_of
from drawn import often
from hypothesis import given
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE, INTEGERS, result_type
from samples import quietly
from truths import COUNTS, PLACES, SPREADS, numpys

import gred

every_name = pytest.mark.parametrize("name", NAMES)


@every_name
def test_the_signature_begins_as_numpys(name):
    """Names, their order and how they can be given; gred's own are keywords behind them."""
    theirs = list(inspect.signature(numpys(name)).parameters.values())
    ours = list(inspect.signature(getattr(gred, name)).parameters.values())
    by_position = [p.name for p in theirs if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [p.name for p in ours if p.kind is p.POSITIONAL_OR_KEYWORD] == by_position
    assert {p.name for p in theirs} <= {p.name for p in ours}
    assert not [p for p in ours if p.kind is p.POSITIONAL_ONLY]
    assert {"method", "block_size", "device", "stream"} <= {
        p.name for p in ours if p.kind is p.KEYWORD_ONLY
    }
    for p, q in itertools.product(theirs, ours):
        if p.name == q.name and p.default is not np._NoValue:
            assert p.default is q.default or p.default == q.default


@every_name
def test_every_argument_goes_where_the_signature_says(name):
    """By position and by name: what is said of an argument that is wrong names it."""
    x, before = np.ones((2, 3)), []
    wrong = {"axis": "x", "out": 3, "keepdims": "x", "dtype": "x", "ord": "x", "ddof": "x"}
    wrong |= {"initial": "x", "where": np.ones(3)}
    defaults = {"axis": 0, "keepdims": False, "ddof": 0, "initial": 1}
    for p in list(inspect.signature(getattr(gred, name)).parameters.values())[1:]:
        if p.name in wrong:
            with pytest.raises((TypeError, ValueError)) as named:
                quietly(name, x, **{p.name: wrong[p.name]})
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                with pytest.raises(type(named.value)) as placed:
                    getattr(gred, name)(x, *before, wrong[p.name])
                assert str(placed.value) == str(named.value)
        before.append(defaults.get(p.name))


@every_name
def test_out_takes_results_of_any_layout_and_type(name):
    x = np.random.default_rng(7).normal(size=(4, 5, 6)).astype(np.float32)
    right = quietly(name, x, axis=1)
    kinds = ["i8"] if name in PLACES else ["f4", "f8", ">f8", "c16", "f2"]
    for kind in kinds:
        memory = np.zeros((9, 13), kind)
        for out in (np.zeros((4, 6), kind), np.zeros((6, 4), kind).T, memory[1:5, 12:0:-2]):
            assert quietly(name, x, axis=1, out=out) is out
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(out, right.astype(kind), rtol=2e-3)
        assert (memory[5:] == 0).all()
        assert (memory[:, 1::2] == 0).all()


@often(300)
@given(call=calls(), data=st.data())
def test_out_is_numpys(call, data):
    """Where NumPy takes an out and where it does not; and what it holds then."""
    name, x, options = call
    if name in ("norm", "count_nonzero", "logsumexp") or x.dtype == BFLOAT16:
        return
    options = {k: options[k] for k in ("axis", "keepdims")}
    shape = shape_of(x, normal(options["axis"], x.ndim), options["keepdims"])
    kinds = [np.dtype(np.int64)] if name in PLACES else [*EVERY_TYPE[:-2], np.dtype(">f4")]
    kind = data.draw(st.sampled_from([kind for kind in kinds if kind != BFLOAT16]))
    if name in ("ptp", "nanmean", *SPREADS):
        kind = result_of(name, x.dtype)
    theirs, out = np.zeros(shape, kind), np.zeros(shape, kind)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            numpys(name)(x, out=theirs, **options)
        except (ValueError, TypeError):
            with pytest.raises((ValueError, TypeError)):
                quietly(name, x, out=out, **options)
            return
        assert quietly(name, x, out=out, **options) is out
    # NumPy's extremes begin with what out makes of the first element: 255 is -1 in an int8.
    narrowed = name in ("min", "max") and not np.can_cast(x.dtype, kind)
    whole = kind in INTEGERS and x.dtype.newbyteorder("=") in INTEGERS
    if whole and not narrowed and name in ("sum", "min", "max", *COUNTS, *PLACES):
        np.testing.assert_array_equal(out, theirs)


def test_out_may_overlap_with_the_array_the_mask_and_the_mean():
    x = np.random.default_rng(9).normal(size=(6, 6))
    parts = (np.s_[0], np.s_[:, 0], np.s_[2], np.s_[:, 5], np.s_[::-1, 3])
    names = ("sum", "max", "var", "any", "norm")
    for axis, name, part in itertools.product((0, 1), names, parts):
        memory, right = x.copy(), getattr(gred, name)(x, axis=axis)
        getattr(gred, name)(memory, axis=axis, out=memory[part])
        np.testing.assert_array_equal(memory[part], right)
    mask = x > 0
    right = np.any(x, 0, where=mask)
    gred.any(x, 0, where=mask, out=mask[1])
    np.testing.assert_array_equal(mask[1], right)
    memory = np.append(x.mean(0), 0)
    right = np.var(x, 0, mean=memory[None, :6].copy())
    gred.var(x, 0, mean=memory[None, :6], out=memory[1:])
    np.testing.assert_allclose(memory[1:], right, rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 9001), (3, 5, 700), (20, 4100), (9001, 2), (1, 70), (0, 70)])
@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "f4", "i8", "?"])
def test_out_is_written_as_a_whole_and_nothing_beside_it(shape, dtype):
    x = np.random.default_rng(1).integers(0, 7, shape).astype(dtype)
    for name in ("sum", "max") if shape[0] else ("sum",):
        right = getattr(np, name)(x.astype("f8") if dtype == "f2" else x, axis=0)
        right = right.astype(result_type(name, x.dtype))
        guard = 2 * right.itemsize
        memory = np.full(right.nbytes + 2 * guard, 7, np.uint8)
        out = memory[guard:-guard].view(right.dtype).reshape(right.shape)
        assert getattr(gred, name)(x, axis=0, out=out) is out
        np.testing.assert_array_equal(out, right)
        assert set(memory[:guard]) == set(memory[-guard:]) == {7}


READ_ONLY = np.zeros(3)
READ_ONLY.setflags(write=False)
WRONG_OUTS = [(np.zeros(shape), {}, ValueError, "shape") for shape in (2, (1, 3), (), 4)]
WRONG_OUTS += [(np.zeros(3), {"keepdims": True}, ValueError, "shape")]
WRONG_OUTS += [(READ_ONLY, {}, ValueError, "read-only")]
WRONG_OUTS += [(out, {}, TypeError, None) for out in ([0, 0, 0], 3, "x", object())]


def test_a_wrong_out_is_refused_and_not_written():
    x = np.ones((2, 3))
    for out, options, error, words in WRONG_OUTS:
        with pytest.raises(error, match=words):
            gred.sum(x, 0, out=out, **options)
        assert not np.any(out) or error is TypeError
    with pytest.raises(TypeError, match="int64"):
        gred.argmax(x, 0, np.zeros(3))


BAD_AXES = [(axis, TypeError, "axis") for axis in (True, "x", [0], {}, ("x",), (1.0,), 1j)]
BAD_AXES += [(axis, np.exceptions.AxisError, "out of bounds") for axis in (2, -3)]
BAD_AXES += [(axis, IndexError, None) for axis in (2, -3)]
BAD_AXES += [(axis, ValueError, "axis") for axis in ((0, 0), (0, -2))]
BAD_AXES += [
    (axis, (TypeError, ValueError, OverflowError), None)
    for axis in (np.True_, 1.0, object(), (0, 5), 2**31, 2**70, -(2**70), (2**70,), np.float64(0))
]
BAD_AXES += [(axis, (TypeError, ValueError), None) for axis in (np.arange(2), b"0")]


@every_name
def test_axes_are_refused_with_numpys_errors(name):
    for axis, error, words in BAD_AXES:
        of_two = name in PLACES and error is ValueError
        with pytest.raises(TypeError if of_two else error, match=words):
            getattr(gred, name)(np.ones((2, 3)), axis=axis)


def test_axes_of_numpys_integers_and_of_own_kinds_are_taken():
    class Second:
        def __index__(self):
            return 1

    x = np.arange(6.0).reshape(2, 3)
    for axis in (1, -1, np.int8(1), np.uint64(1), np.array(1), Second(), (1,), (Second(),)):
        np.testing.assert_array_equal(gred.sum(x, axis), x.sum(1))


@every_name
def test_a_single_number_has_the_axes_that_numpy_lets_it_have(name):
    for axis in (0, -1, 1, (), (0,), None):
        if name == "norm" and axis == ():
            continue
        try:
            theirs = numpys(name)(np.float64(3), axis=axis)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                getattr(gred, name)(3.0, axis=axis)
        else:
            assert getattr(gred, name)(3.0, axis=axis) == theirs


def test_a_norm_of_matrices_is_refused():
    x = np.ones((2, 3, 4))
    assert gred.norm(x, axis=(0, 1)).shape == (4,)
    np.testing.assert_allclose(gred.norm(x, axis=(0, 1)), np.linalg.norm(x, axis=(0, 1)))
    with pytest.raises(ValueError, match="matrices"):
        gred.norm(x, 1, (0, 1))
