"""Whatever is reduced, however, the answer, its type and the refusal are NumPy's.

Hypothesis draws the arrays and arguments. Types and errors are held against NumPy, values against
the truth of reference.py: NumPy's own floats are rounded, too.
"""

import warnings

import numpy as np
import pytest
from conftest import PLACES, parameter
from drawn import arrays, converts, every_type, examples, masks, values
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from inputs import OPS, REAL_TYPES, methods_on, reduce, takes
from reference import BFLOAT16, COMPLEX, INTEGERS, UNDECIDED, Truth, agrees, result_type, truth

import gred

EXAMPLES = 400
often = settings(
    max_examples=examples(EXAMPLES),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
everywhere = pytest.mark.parametrize("place", [parameter(place) for place in PLACES])
RUNGS = ("halving", "interleaved", "unroll8", "shared_modulo", "shuffle_vector", "atomic")
RUNGS += ("last_block", "cooperative", "bulk", "cluster")


@pytest.fixture(autouse=True)
def warnings_are_not_looked_at():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def ways(place):
    """Draw a method that runs in a place."""
    names = ("auto", "recursive") if place == "host" else ("auto", *RUNGS)
    return st.sampled_from([m for m in names if m == "auto" or m in methods_on(place)])


def scalars(dtype):
    """Draw one value of a type, as a Python number or NumPy's scalar."""
    flavours = st.sampled_from(["small", "special", "moderate"])
    seeds = st.integers(0, 2**32)
    drawn = st.builds(
        lambda f, s: values(dtype, f, 1, np.random.default_rng(s))[0], flavours, seeds
    )
    plain = dtype not in (BFLOAT16, np.float16)
    return drawn | drawn.map(lambda x: x.item()) if plain else drawn


@st.composite
def calls(draw, place):
    """Draw an op, an array, and arguments that NumPy's function has, too."""
    op = draw(st.sampled_from(OPS))
    array = draw(arrays())
    options = {}
    if draw(st.booleans()):
        options["dtype"] = draw(every_type)
    kind = result_type(op, array.dtype, options.get("dtype"))
    if draw(st.booleans()):
        options["where"] = draw(masks(array.shape))
    if op != "mean" and draw(st.booleans()):
        options["initial"] = draw(scalars(kind))
    method = draw(ways(place))
    if not takes(method, kind, array.dtype.newbyteorder("=")):
        method = "auto"
    return op, array, options, method


def expected(op, array, options) -> Truth:
    """Ask the reference, unless C leaves open what the elements or the mean become."""
    kind = result_type(op, array.dtype, options.get("dtype"))
    undecided = Truth((UNDECIDED,) * 2 if kind in COMPLEX else UNDECIDED, kind, 0)
    taken = array[np.broadcast_to(options.get("where", True), array.shape)]
    if not converts(taken, kind):
        return undecided
    if op == "mean" and kind in INTEGERS and (taken.size == 0 or kind == np.uint64):
        return undecided
    return truth(op, array, **options)


def numpys(op, array, options):
    """Reduce by NumPy; the exception if there is one. Its min and max take no dtype: cast first."""
    options = dict(options)
    kind = result_type(op, array.dtype, options.get("dtype"))
    if op in ("min", "max") and "dtype" in options:
        array = array.astype(options.pop("dtype"))
    try:
        return getattr(np, op)(array, **options), kind
    except Exception as error:
        return error, kind


@everywhere
def test_answers_types_and_errors_are_numpys(place):
    @often
    @given(call=calls(place))
    def check(call):
        op, array, options, method = call
        theirs, kind = numpys(op, array, options)
        before = array.tobytes()
        if isinstance(theirs, Exception):
            with pytest.raises(type(theirs)):
                reduce(op, array, method=method, device=place, **options)
        else:
            got = reduce(op, array, method=method, device=place, **options)
            right = expected(op, array, options)
            assert agrees(got, right), f"{got!r}, not {right}"
            if array.dtype != BFLOAT16 and BFLOAT16 not in (kind, options.get("dtype")):
                assert got.dtype == theirs.dtype
                assert type(got) is type(theirs)
            if kind in INTEGERS and right.value is not UNDECIDED:
                assert got == theirs
        assert array.tobytes() == before

    check()


@everywhere
def test_out_holds_what_numpys_would(place):
    """Without a dtype the elements become what their type and that of `out` promote to, first."""

    @often
    @given(data=st.data())
    def check(data):
        op = data.draw(st.sampled_from(("sum", "prod", "min", "max")))
        array = data.draw(arrays().filter(lambda a: a.size > 0))
        given_type = array.dtype.newbyteorder("=")
        dtype = data.draw(every_type)
        if BFLOAT16 in (dtype, given_type):
            dtype = given_type
        out = np.zeros(data.draw(st.sampled_from([(), (1,), (1, 1)])), dtype)
        if data.draw(st.booleans()) and out.dtype != BFLOAT16:
            out = out.astype(out.dtype.newbyteorder())
        kind = np.promote_types(given_type, dtype)
        assert reduce(op, array, device=place, out=out) is out
        right = expected(op, array, {"dtype": kind})
        if kind == dtype:
            assert agrees(out.astype(kind).ravel()[0], right), f"{out!r}, not {right}"
        elif right.error == 0 and right.value is not UNDECIDED:
            exact = np.array(right.value, kind)
            if converts(exact, dtype):
                np.testing.assert_array_equal(out.ravel()[0], exact.astype(dtype))

    check()


@everywhere
def test_out_holds_what_a_dtype_asks_for(place):
    """With a dtype the result is of that type, and becomes the type of `out` at last.

    Quotients, as in NumPy, are of the type of `out` at once.
    """

    @often
    @given(data=st.data())
    def check(data):
        op = data.draw(st.sampled_from([op for op in OPS if op != "mean"]))
        array = data.draw(arrays().filter(lambda a: a.size > 0))
        dtype = data.draw(every_type)
        result = reduce(op, array, device=place, dtype=dtype)
        out = np.zeros((), data.draw(every_type))
        assert reduce(op, array, device=place, dtype=dtype, out=out) is out
        if converts(np.asarray(result), out.dtype) or out.dtype == dtype:
            right = np.asarray(result).astype(out.dtype)
            np.testing.assert_array_equal(out.astype(complex), right.astype(complex))

    check()


@pytest.mark.unsanitized
def test_every_library_of_types_is_met():
    """The examples above are worth something only if all types, methods and outcomes occur."""
    seen = set()

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(call=calls("simulated"))
    def look(call):
        op, array, options, method = call
        right = numpys(op, array, options)[0]
        seen.add(array.dtype.newbyteorder("="))
        seen.update((op, method, *options))
        seen.add("error" if isinstance(right, Exception) else "value")
        decided = not isinstance(right, Exception) and UNDECIDED not in np.ravel(
            np.array(expected(op, array, options).value, object)
        )
        seen.add(f"decided {op}" if decided else "undecided")
        seen.add("strided" if not array.flags.forc else "flat")
        seen.add("swapped" if not array.dtype.isnative else "native")
        seen.add("aligned" if array.flags.aligned else "misaligned")

    look()
    wanted = {*REAL_TYPES, *COMPLEX, *OPS, "auto", "dtype", "where", "initial", "error", "value"}
    wanted |= {"strided", "flat", "swapped", "misaligned", *(f"decided {op}" for op in OPS)}
    assert wanted <= seen


# ---- what is too long for a random array ----


LONG_TYPES = (np.int8, np.float16, np.float32, np.complex64)


@pytest.mark.parametrize("dtype", LONG_TYPES)
@pytest.mark.parametrize("where", [None, "every third", "a column"])
@everywhere
def test_long_arrays_of_every_layout_are_right(place, dtype, where):
    """Each layout meets each op in one of the types at least."""
    random = np.random.default_rng(4)
    n = 40 if place == "simulated" else 400
    x = values(np.dtype(dtype), "small", n * 501, random).reshape(n, 501)
    views = [x, x.T, x[::-1], x[:, ::2], x[::3, 7:400:5], x[:, :1], np.broadcast_to(x, (2, n, 501))]
    for turn, view in enumerate(views, start=LONG_TYPES.index(dtype)):
        op = ("sum", "max", "mean")[turn % 3]
        mask = True
        if where == "every third":
            mask = np.arange(view.size).reshape(view.shape) % 3 == 0
        elif where == "a column":
            mask = random.random((view.shape[-2], 1)) < 0.5
        initial = {} if op == "mean" else {"initial": -3}
        got = reduce(op, view, device=place, where=mask, **initial)
        assert agrees(got, truth(op, view, where=mask, **initial)), f"{op}: {got!r}"


def test_a_result_does_not_depend_on_the_layout():
    """The same elements at other places: integers agree bit for bit, and floats within bounds."""
    random = np.random.default_rng(5)
    x = random.integers(-(2**60), 2**60, (30, 40, 50))
    total = int(x.astype(object).sum())
    for axes in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        for step in (1, -1):
            assert gred.sum(x.transpose(axes)[::step, :, ::step]) == (total + 2**63) % 2**64 - 2**63
