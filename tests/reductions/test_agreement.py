"""Results, their types and errors are NumPy's, for any call that Hypothesis draws.

Types and errors are compared with NumPy's, values with those of reference.py and truths.py, as
NumPy's own floats are rounded, too.
"""

import numpy as np
import pytest
from along import calls, is_decided
from drawn import arrays, converts, every_type, masks, often, values
from exact_truths import same
from hypothesis import assume, given
from hypothesis import strategies as st
from inputs import OPS, methods_on, reduce
from inputs import takes as runs
from reference import BFLOAT16, COMPLEX, INTEGERS, agrees, result_type, truth
from samples import wrong_result
from truths import PLACES, RECORDS, SPREADS, WITHOUT_NAN, answer, type_of
from truths import numpys as numpys_own

import gred

pytestmark = pytest.mark.filterwarnings("ignore")


@st.composite
def drawn_calls(draw, place):
    """Draw a reduction, an array, arguments that NumPy's function also has, and a method."""
    if draw(st.booleans()):  # off the ladder, where NumPy has the same function
        name, array, options = draw(calls(flat=True).filter(lambda call: call[0] not in RECORDS))
        assume(BFLOAT16 not in (array.dtype, options.get("dtype")))
        return name, array, options, "auto"
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
    method = draw(st.sampled_from(methods_on(place)))
    able = runs(method, kind, array.dtype.newbyteorder("="))
    return op, array, options, method if able else "auto"


def decided(op, array, options, kind):
    """Return whether C defines what the elements and the mean are converted to."""
    if op not in OPS:
        return is_decided(array, options)
    taken = array[np.broadcast_to(options.get("where", True), array.shape)]
    empty_result = kind in INTEGERS and (taken.size == 0 or kind == np.uint64)
    return converts(taken, kind) and not (op == "mean" and empty_result)


def outcome(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except Exception as error:
        return error


@often(800)
@given(data=st.data())
def test_answers_types_and_errors_are_numpys(device, data):
    """Compare types and errors with NumPy's where it has the same function, and values."""
    name, array, options, method = data.draw(drawn_calls(device))
    before, dtype = array.tobytes(), options.get("dtype")
    theirs = outcome(numpys, name, array, options)
    got = outcome(getattr(gred, name), array, method=method, device=device, **options)
    assert array.tobytes() == before
    if isinstance(theirs, Exception):
        assert isinstance(got, type(theirs)), got
        return
    kind = type_of(name, array.dtype, dtype)
    is_known = decided(name, array, options, kind)
    assert not is_known or not wrong_result(name, got, array, **options)
    if BFLOAT16 in (array.dtype, kind, dtype):
        return
    theirs = np.asarray(theirs)[()]
    of_parts = name in SPREADS and theirs.dtype in COMPLEX  # NumPy's NaN for an empty array
    assert of_parts or (got.dtype, type(got)) == (theirs.dtype, type(theirs))
    assert kind not in INTEGERS or not is_known or got == theirs


@pytest.mark.parametrize("asked", [False, True], ids=["no dtype", "a dtype"])
@often(400)
@given(data=st.data())
def test_out_holds_what_numpys_would(device, asked, data):
    """With a dtype, the result has that type and is then converted to the type of `out`.

    Without one, elements are first converted to the common type of theirs and that of `out`.
    """
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
    assert reduce(op, array, device=device, out=out, **options) is out
    if not decided(op, array, {}, kind):
        return
    result, right = reduce(op, array, device=device, dtype=kind), truth(op, array, kind)
    assert agrees(result, right), f"{result!r}, not {right}"
    if converts(np.asarray(result), dtype):
        assert same(out.astype(dtype).ravel()[0], result.astype(dtype)), f"{out!r}: {result!r}"


def numpys(name, array, options):
    """Reduce by NumPy, applying masks and dtypes first where its function takes none."""
    options = dict(options)
    if name in ("min", "max") and "dtype" in options:
        array = array.astype(options.pop("dtype"))
    if name not in OPS and np.ndim(options.get("where", True)) > array.ndim:
        raise ValueError("the mask is broadcast the other way round")
    if name not in (*OPS, *SPREADS, *WITHOUT_NAN, "any", "all"):
        where = options.pop("where", True)
        x = array[np.broadcast_to(where, array.shape)]
        if name in PLACES and x.size and not (where is True and name.startswith("arg")):
            return np.int64(answer(name, array, where=where).value)
        array = x
    if name == "norm":
        return np.linalg.norm(array.ravel(), options["ord"])
    if name == "logsumexp":
        return numpys_own(name)(array.astype(options.get("dtype") or array.dtype))
    return getattr(np, name)(array, **options)


# ---- complex infinities, ties, and edge cases of arguments ----

UP, DOWN = complex(0.0, -0.0), complex(-0.0, 0.0)
COMPLEX_CASES = [
    *([1j, -0.0 + 1j], [-0.0 + 1j, 1j], [1e200, 1e200], [np.inf + 0j], [np.inf + 0j, 1]),
    *([1, np.inf + 0j], [complex(-0.0, -0.0)], [DOWN, 2], [UP, 3 + 0j, 1j]),
    *([complex(np.nan, 1), complex(1, np.nan)], [complex(1, np.nan), complex(np.nan, 1)]),
    [1e300 + 1e300j, 1e300 - 1e300j],
]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("values", COMPLEX_CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_ends_are_numpys_to_the_bit(op, values, dtype, device):
    a = np.array(values, complex).astype(dtype)
    assert same(getattr(gred, op)(a, device=device), getattr(np, op)(a))


WHOLE, FLOATS = np.array([3, 1, 2]), np.array([1.5, 2, 4])
EDGES = [
    ("nanmax", WHOLE, {"initial": np.nan, "axis": 0}, "f8"),  # NaN is skipped for integers, too
    *(
        ("mean", [1, 2], {"dtype": dtype}, out)  # divided in the type of out
        for dtype in (int, np.int8, "f4", None)
        for out in ("f8", "f4", "i8", "c16")
    ),
    *((name, WHOLE, {"axis": 0}, t) for name in PLACES for t in "?bBhiI"),
    *((name, FLOATS, {}, out) for name in ("ptp", "nanmean") for out in ("i8", "u1")),
    *(  # zeros have signs
        (name, np.array(values), {}, None)
        for name in ("nanprod", "nanmin", "nanmax", "nanmean", "ptp", "norm", "var")
        for values in ([-0.0], [-0.0, -0.0], [-0.0, np.nan], [-3.0])
    ),
    ("norm", np.zeros(0), {"ord": np.inf}, None),  # NumPy has returned 0 and raised an error for it
]


def test_arguments_at_the_edges_have_numpys_answers_or_errors(device):
    for name, a, options, out in EDGES:
        made = []
        for function, more in ((numpys_own(name), {}), (getattr(gred, name), {"device": device})):
            memory = {"out": np.full((), 9, out)} if out else {}
            try:
                result = np.asarray(function(a, **options, **memory, **more))
                made.append((repr(result.tolist()), result.shape))
            except (TypeError, ValueError) as error:
                made.append(TypeError if isinstance(error, TypeError) else ValueError)
        assert made[0] == made[1], (name, a, options, out)


@pytest.mark.parametrize("name", ["any", "all", "min", "max", "nanmax", "ptp"])
def test_broadcast_elements_are_looked_at_once(name, device):
    """NumPy reduces a small shape; reading every element of the large one would take years."""
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
    with pytest.raises(TypeError, match="must be a complex type, since imaginary parts contribute"):
        getattr(gred, name)(WHOLE + 1j, dtype=float)
