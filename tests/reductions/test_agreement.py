"""Whatever is reduced, however, the answer, its type and the refusal are NumPy's.

Hypothesis draws reductions, arrays of any type and layout, masks and arguments. Types and errors
are held against NumPy, values against the truth of reference.py and truths.py: NumPy's own floats
are rounded, too.
"""

import numpy as np
import pytest
from along import calls, is_decided
from devices import PLACES as DEVICES
from devices import parameter
from drawn import arrays, converts, every_type, masks, often, values
from hypothesis import given
from hypothesis import strategies as st
from inputs import OPS, methods_on, reduce
from inputs import takes as runs
from reference import BFLOAT16, COMPLEX, INTEGERS, UNDECIDED, agrees, result_type, truth
from samples import silenced
from truths import PLACES, RECORDS, SPREADS, WITHOUT_NAN, answer
from truths import numpys as numpys_own

import gred

everywhere = pytest.mark.parametrize("place", [parameter(place) for place in DEVICES])
RUNGS = ("halving", "interleaved", "unroll8", "shared_modulo", "shuffle_vector", "atomic")
RUNGS += ("last_block", "cooperative", "bulk", "cluster")


@pytest.fixture(autouse=True)
def warnings_are_not_looked_at():
    with silenced():
        yield


@st.composite
def ladder_calls(draw, place):
    """Draw an op, an array, arguments that NumPy's function has, too, and a method."""
    op, array, options = draw(st.sampled_from(OPS)), draw(arrays()), {}
    if draw(st.booleans()):
        options["dtype"] = draw(every_type)
    kind = result_type(op, array.dtype, options.get("dtype"))
    if draw(st.booleans()):
        options["where"] = draw(masks(array.shape))
    if op != "mean" and draw(st.booleans()):
        random = np.random.default_rng(draw(st.integers(0, 2**32)))
        flavour = draw(st.sampled_from(["small", "special", "moderate"]))
        options["initial"] = values(kind, flavour, 1, random)[0]
        if kind not in (BFLOAT16, np.float16) and draw(st.booleans()):
            options["initial"] = options["initial"].item()
    names = ("auto", "recursive") if place == "host" else ("auto", *RUNGS)
    method = draw(st.sampled_from([m for m in names if m == "auto" or m in methods_on(place)]))
    able = runs(method, kind, array.dtype.newbyteorder("="))
    return op, array, options, method if able else "auto"


def decided(op, array, options, kind):
    """Tell whether C defines what the elements and the mean become."""
    taken = array[np.broadcast_to(options.get("where", True), array.shape)]
    of_none = kind in INTEGERS and (taken.size == 0 or kind == np.uint64)
    return converts(taken, kind) and not (op == "mean" and of_none)


def outcome(function, *arguments, **options):
    """Give an answer, or the exception."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        return error


@everywhere
def test_answers_types_and_errors_of_the_ladder_are_numpys(place):
    """NumPy's min and max take no dtype: elements are cast first."""

    @often(400)
    @given(call=ladder_calls(place))
    def check(call):
        op, array, options, method = call
        more, x, before = dict(options), array, array.tobytes()
        if op in ("min", "max") and "dtype" in more:
            x = array.astype(more.pop("dtype"))
        theirs = outcome(getattr(np, op), x, **more)
        got = outcome(reduce, op, array, method=method, device=place, **options)
        assert array.tobytes() == before
        if isinstance(theirs, Exception):
            assert isinstance(got, type(theirs)), got
            return
        kind = result_type(op, array.dtype, options.get("dtype"))
        right = truth(op, array, **options) if decided(op, array, options, kind) else None
        assert right is None or agrees(got, right), f"{got!r}, not {right}"
        if array.dtype != BFLOAT16 and BFLOAT16 not in (kind, options.get("dtype")):
            assert (got.dtype, type(got)) == (theirs.dtype, type(theirs))
        assert kind not in INTEGERS or right is None or got == theirs

    check()


@everywhere
@pytest.mark.parametrize("asked", [False, True], ids=["no dtype", "a dtype"])
def test_out_holds_what_numpys_would(place, asked):
    """With a dtype the result is of that type, and becomes the type of `out` at last.

    Without one the elements become what their type and that of `out` promote to, first.
    """

    @often(400)
    @given(data=st.data())
    def check(data):
        op = data.draw(st.sampled_from(("sum", "prod", "min", "max")))
        array = data.draw(arrays().filter(lambda a: a.size > 0))
        given_type, dtype = array.dtype.newbyteorder("="), data.draw(every_type)
        if not asked and BFLOAT16 in (dtype, given_type):
            dtype = given_type
        out = np.zeros(data.draw(st.sampled_from([(), (1,), (1, 1)])), dtype)
        if data.draw(st.booleans()) and dtype != BFLOAT16:
            out = out.astype(dtype.newbyteorder())
        kind = data.draw(every_type) if asked else np.promote_types(given_type, dtype)
        options = {"dtype": kind} if asked else {}
        assert reduce(op, array, device=place, out=out, **options) is out
        if not decided(op, array, {}, kind):
            return
        right = truth(op, array, kind)
        if kind == dtype:
            assert agrees(out.astype(kind).ravel()[0], right), f"{out!r}, not {right}"
        elif asked:
            result = np.asarray(reduce(op, array, device=place, dtype=kind))
            if converts(result, dtype):
                wide = result.astype(dtype).astype(complex)
                np.testing.assert_array_equal(out.ravel().astype(complex), wide.ravel())
        elif right.error == 0 and right.value is not UNDECIDED:
            exact = np.array(right.value, kind)
            if converts(exact, dtype):
                np.testing.assert_array_equal(out.ravel()[0], exact.astype(dtype))

    check()


@often(150)
@given(call=calls(flat=True))
def test_types_are_those_of_numpys_own_functions(call):
    """Where NumPy has the very function, its type and its kind of error."""
    name, array, options = call
    if name in RECORDS or BFLOAT16 in (array.dtype, options.get("dtype")):
        return
    theirs = outcome(numpys, name, array, options)
    got = outcome(getattr(gred, name), array, **options)
    if isinstance(theirs, Exception):
        assert isinstance(got, type(theirs)), got
        return
    nothing = not array[np.broadcast_to(options.get("where", True), array.shape)].size
    if name in SPREADS and array.dtype in COMPLEX and nothing:
        return  # NumPy's own NaN of nothing is complex
    assert got.dtype == np.asarray(theirs).dtype
    assert got.dtype not in INTEGERS or not is_decided(array, options) or got == theirs


def numpys(name, array, options):
    """Reduce by NumPy, which selects by a mask before what takes none."""
    options = dict(options)
    if np.ndim(options.get("where", True)) > array.ndim:
        raise ValueError("the mask is broadcast the other way round")
    if name not in (*SPREADS, *WITHOUT_NAN, "any", "all"):
        where = options.pop("where", True)
        x = array[np.broadcast_to(where, array.shape)]
        if name in PLACES and where is not True and x.size:
            return np.int64(answer(name, array, where=where).value)
        array = x
    if name == "norm":
        return np.linalg.norm(array.ravel(), options["ord"])
    if name == "logsumexp":
        return numpys_own(name)(array.astype(options.get("dtype") or array.dtype))
    return getattr(np, name)(array, **options)
