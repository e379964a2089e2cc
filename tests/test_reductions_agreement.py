"""Whatever is drawn, the reductions that are not on the ladder give NumPy's answer, or its refusal.

Hypothesis draws reductions, arrays of any type and layout, masks and arguments. Types and errors
are held against NumPy's own functions, values against the truth of truths.py.
"""

import warnings

import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from drawn import arrays, converts, examples, masks
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, REALS, agrees
from samples import quietly, takes, wrong, wrong_record
from truths import NAMES, ORDERS, PLACES, RECORDS, SPREADS, WITHOUT_NAN, answer, type_of

import gred
from gred.testing import SimulatedArray

EXAMPLES = 150
often = settings(
    max_examples=examples(EXAMPLES),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
everywhere = pytest.mark.parametrize("place", [parameter(place) for place in DEVICES])
ddofs = st.sampled_from([0, 1, 2, 5, -1, 0.5, 1.5])


@st.composite
def calls(draw):
    """Draw a reduction, an array, and arguments of its own."""
    name = draw(st.sampled_from(NAMES))
    array = draw(arrays().filter(lambda x: takes(name, x.dtype)))
    options = {}
    if name == "norm":
        options["ord"] = draw(st.sampled_from(ORDERS))
    if name in (*SPREADS, "describe") and draw(st.booleans()):
        options["ddof"] = draw(ddofs)
    if draw(st.booleans()):
        options["where"] = draw(masks(array.shape))
    if name in WITHOUT_NAN and name != "nanmean" and draw(st.booleans()):
        kind = type_of(name, array.dtype)
        options["initial"] = kind.type(
            draw(st.sampled_from([0, 1, 1, 1 if kind == np.bool_ else 2]))
        )
    if name in ("nansum", "nanprod", "nanmean", *SPREADS) and draw(st.integers(0, 3)) == 0:
        is_complex = array.dtype.newbyteorder("=") in COMPLEX
        if name in ("nansum", "nanprod"):
            # NaN has no value in an integer, and may be in the part that a real number lacks.
            whole = array.dtype.newbyteorder("=") in INTEGERS
            inexact = COMPLEX if is_complex else [*REALS, *COMPLEX]
            options["dtype"] = draw(st.sampled_from(EVERY_TYPE if whole else inexact))
        elif name == "nanmean" or not is_complex:
            options["dtype"] = draw(st.sampled_from(COMPLEX if is_complex else REALS))
    return name, array, options


def taken(array, options):
    """Select what the mask lets through, in C order."""
    return array[np.broadcast_to(options.get("where", True), array.shape)]


def has_nothing(name, x, options) -> bool:
    """Tell whether NumPy refuses: an extreme or a place of nothing, with no initial value."""
    if name in ("nanmin", "nanmax"):
        return "initial" not in options and x.size == 0
    return x.size == 0 and (
        name in (*PLACES, "ptp", "minmax") or (name == "norm" and options["ord"] == -np.inf)
    )


def is_refused(name, array, options) -> bool:
    """Tell whether NumPy refuses the call: the mask has more dimensions, or nothing is left."""
    if np.ndim(options.get("where", True)) > array.ndim or needs_initial(name, options):
        return True
    return has_nothing(name, taken(array, options), options)


def needs_initial(name, options) -> bool:
    """Tell whether NumPy wants an initial value for a mask, whatever it lets through."""
    mask = options.get("where", True)
    return name in ("nanmin", "nanmax") and "initial" not in options and mask is not True


@everywhere
def test_answers_and_refusals_are_numpys(place):
    @often
    @given(call=calls())
    def check(call):
        name, array, options = call
        before = array.tobytes()
        if is_refused(name, array, options):
            with pytest.raises(ValueError, match=f"{name}|where"):
                quietly(name, array, device=place, **options)
        elif is_decided(name, taken(array, options), options):
            with np.errstate(all="ignore"):
                found = wrong(name, array, array, device=place, **options)
            assert not found
        else:
            quietly(name, array, device=place, **options)
        assert array.tobytes() == before

    check()


def is_decided(name, x, options) -> bool:
    """Tell whether the reference knows: C leaves open what great floats are as integers."""
    dtype = options.get("dtype")
    if dtype is None:
        return True
    shown = x[~np.isnan(x)] if x.dtype.newbyteorder("=") not in INTEGERS else x
    return converts(shown, dtype)


@often
@given(call=calls())
def test_types_are_those_of_numpys_own_functions(call):
    """Where NumPy has the very function, its type and its kind of error."""
    name, array, options = call
    if name in RECORDS or array.dtype == BFLOAT16 or options.get("dtype") == BFLOAT16:
        return
    theirs = numpys(name, array, options)
    if isinstance(theirs, Exception):
        with pytest.raises(type(theirs)):
            quietly(name, array, **options)
        return
    got = quietly(name, array, **options)
    assert got.dtype == np.asarray(theirs).dtype
    if got.dtype in INTEGERS and is_decided(name, taken(array, options), options):
        assert got == theirs


def numpys(name, array, options):
    """Reduce by NumPy, which selects by a mask before what takes none; or give its exception."""
    options = dict(options)
    if np.ndim(options.get("where", True)) > array.ndim:
        return ValueError("the mask is broadcast the other way round")
    if name not in (*SPREADS, *WITHOUT_NAN, "any", "all"):
        x = taken(array, options)
        if name in PLACES and options.get("where", True) is not True and x.size:
            whole = answer(name, array, where=options["where"]).value
            return np.int64(whole)
        array = x
        options.pop("where", None)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if name == "norm":
                return np.linalg.norm(array.ravel(), options["ord"])
            return getattr(np, name)(array, **options)
        except Exception as error:
            return error


@often
@given(call=calls(), data=st.data())
def test_arrays_on_the_device_give_the_answers_of_the_host(call, data):
    name, array, options = call
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if is_refused(name, array, options):
        return
    x = taken(array, options)
    mask = options.get("where", True)
    if isinstance(mask, np.ndarray) and data.draw(st.booleans()):
        options = {**options, "mask": SimulatedArray(mask)}
    if is_decided(name, x, options):
        with np.errstate(all="ignore"):
            assert not wrong(name, SimulatedArray(array), array, **options)


@often
@given(call=calls(), limit=st.sampled_from([512, 2048, 2**16]))
def test_with_little_workspace_the_answers_are_the_same(call, limit):
    name, array, options = call
    if is_refused(name, array, options):
        return
    x = taken(array, options)
    with gred.workspace_limit(limit), np.errstate(all="ignore"):
        if is_decided(name, x, options):
            assert not wrong(name, array, array, device="simulated", **options)


@pytest.mark.unsanitized
def test_every_reduction_and_type_is_met():
    """The examples above are worth something only if they decide something."""
    seen = set()

    @settings(
        max_examples=600,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(call=calls())
    def look(call):
        name, array, options = call
        refused = is_refused(name, array, options)
        seen.update((name, array.dtype.newbyteorder("="), *options))
        seen.add("refused" if refused else f"answered {name}")

    look()
    assert {*EVERY_TYPE, "where", "ddof", "ord", "initial", "dtype", "refused"} <= seen
    assert {f"answered {name}" for name in NAMES} <= seen


def test_the_checks_see_a_wrong_answer():
    """What is a little off, or of another type, is found out."""
    x = np.array([1.0, 2.0, 4.0])
    assert agrees(np.float64(14 / 9), answer("var", x))
    assert not agrees(np.float64(14 / 9 + 1e-12), answer("var", x))
    assert not agrees(np.float32(14 / 9), answer("var", x))
    assert not agrees(np.int64(1), answer("argmin", x))
    assert not agrees(np.float64(np.sqrt(21) * (1 + 1e-13)), answer("norm", x))
    assert wrong_record("minmax", (np.float64(1), np.float64(2)), x)
    assert not wrong_record("minmax", (np.float64(1), np.float64(4)), x)
