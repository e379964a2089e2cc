"""`out=` of whole arrays: any reduction's result, of any type, on the host and on devices."""

import itertools

import numpy as np
import pytest
from drawn import converts
from inputs import OPS, reduce
from numpys import FLOATS, A, everywhere
from processes import printed
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, agrees, truth
from samples import element_there, fetched, options_of, quietly, takes, there
from truths import COUNTS, SCALARS, answer, numpys

import gred


@pytest.mark.parametrize("name", [*OPS, *SCALARS])
def test_results_go_where_out_is(name, device):
    for dtype, n in itertools.product(EVERY_TYPE, (5, 1027)):
        if not takes(name, dtype):
            continue
        x = (np.arange(n) ** 2 % 13 - 3 if name != "prod" else np.ones(n)).astype(dtype)
        for options in options_of(name):
            right = (truth if name in OPS else answer)(name, x, **options)
            out = element_there(right.dtype, device)
            assert getattr(gred, name)(there(x, device), out=out, **options) is out
            got = fetched(out, device)
            assert agrees(got, right), f"{name} of {n} {dtype}, {options}: {got!r}, not {right}"


@everywhere
def test_with_out_elements_become_what_both_types_promote_to(where):
    """So does NumPy: half and half are 1 in an integer, but small integers wrap as `out` does."""
    reals = [t for t in EVERY_TYPE if t not in COMPLEX and t != BFLOAT16]
    givens, ops = (np.uint8, np.int16, np.float32, np.float64, np.bool_), ("sum", "prod", "min")
    for given, dtype, op in itertools.product(givens, reals, (*ops, "max")):
        a = np.array([1, 0.5, 100.75, 27, 0.5]).astype(given)
        out, theirs = np.zeros((), dtype), np.zeros((), dtype)
        assert reduce(op, a, out=out, **where) is out
        right = np.asarray(reduce(op, a, dtype=np.promote_types(given, dtype)))
        if converts(right, dtype):
            getattr(np, op)(a, out=theirs)
            assert out == right.astype(dtype), f"{op} of {a.dtype} into {out!r}"
            if np.float16 not in (given, dtype):
                assert out == theirs, f"{op} of {a.dtype} into {out!r}"


VALUES = [1, 0.5, 100.5, 16, 2], [2**24, 1], [1024, 12]
INTO_EVERY_OUT = f"""
import sys
if sys.argv[1] == "hidden":
    sys.modules["ml_dtypes"] = None
import numpy as np
from capsules import BFLOAT, Producer, capsule_of
import gred

for values in {VALUES}:
    bits = (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.int16)
    for name in sys.argv[2:]:
        for op in ("sum", "min", "max", "mean"):
            out = np.zeros((), name)
            getattr(gred, op)(Producer(capsule_of(bits, code=BFLOAT)), out=out)
            print(op, name, out.item())
"""


@pytest.mark.parametrize("ml_dtypes", ["installed", "hidden"])
def test_bfloat16_goes_into_every_out(ml_dtypes):
    """It is converted as float32 is, which holds it: with long integers it becomes float64.

    1036 has nine bits, one more than bfloat16.
    """
    names = [np.dtype(t).name for t in EVERY_TYPE if t != BFLOAT16]
    lines = printed(INTO_EVERY_OUT, arguments=(ml_dtypes, *names), path=True).splitlines()
    cases = itertools.product(VALUES, names, ("sum", "min", "max", "mean"))
    for line, (values, name, op) in zip(lines, cases, strict=True):
        result = np.asarray(getattr(np, op)(np.array(values, np.promote_types("f4", name))))
        if converts(result, np.dtype(name)):
            with np.errstate(over="ignore"):
                assert line == f"{op} {name} {result.astype(name).item()}"


@pytest.mark.parametrize("name", [*OPS, *SCALARS])
def test_an_out_of_another_type_holds_the_same_or_is_refused(name, device):
    """What is written is the result, converted as NumPy would; nothing is written at a refusal."""
    x = np.array([2.0, 1.0, 6.0])
    right = numpys(name)(x)
    for dtype in EVERY_TYPE:
        if dtype == np.bool_ and name not in COUNTS:
            continue
        out = np.full((), 77, dtype)
        try:
            quietly(name, x, out=out, device=device)
        except TypeError as error:
            assert "out" in str(error)  # noqa: PT017
            assert out == np.full((), 77, dtype)
        else:
            assert abs(complex(out) - complex(np.asarray(right).astype(dtype))) <= 0.02 * abs(right)


@pytest.mark.parametrize(
    "options", [{"method": "unrol8"}, {"where": A}, {"initial": "x"}, {"device": "tpu"}, {}]
)
def test_out_is_left_alone_by_an_error(options):
    out = np.full((), 9.0)
    with pytest.raises((TypeError, ValueError)):
        gred.max(FLOATS if options else [], out=out, **options)
    assert out == 9
