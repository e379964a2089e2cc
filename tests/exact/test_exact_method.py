"""`method="exact"`: sums and means that are rounded once, in every layout and type, on each device.

The truth is `math.fsum`, fractions, or integers; nothing of it comes from gred. Threads of devices
run in another order for every test.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from exact_truths import any_floats, exact_sum, mixed, of_exponents, same, total, truth
from exactly import NAMES, NARROW, WIDE, exact, root, stored, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, REALS
from samples import element_there, fetched, there
from thin import chosen

import gred

FLOATS = (np.float64, np.float32, np.float16)
pytestmark = pytest.mark.usefixtures("shuffled")


@typed
@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_floats_of_any_type_are_rounded_once(device, name, dtype, data):
    """To the host, and where they stay on the device."""
    x = data.draw(any_floats(dtype))
    assert same(exact(name, x, device=device), truth(name, x))
    for result in REALS:
        assert same(exact(name, x, dtype=result, device=device), truth(name, x, result))
        assert same(stored(name, x, device, result), truth(name, x, result))


def test_few_elements_are_as_exact_as_many(device):
    """Around the number up to which each is added by itself, with all that may be asked."""
    blocks = {} if device == "host" else {"block_size": 32}
    for dtype in (np.float64, np.float32, np.complex128):
        for n in (1, 2, 31, 32, 33, 63, 64, 65, 128):
            x = of_exponents(np.random.default_rng(n).integers(-60, 60, n), np.float32)
            x = (x if dtype is not np.complex128 else x + 1j * x[::-1]).astype(dtype)
            x[n // 2] = np.nan
            for name in ("nansum", "nanmean"):
                got = exact(name, there(x, device), **blocks)
                assert same(got.real, truth(name, x.real)), (name, n)
            x[n // 2] = 3
            for part in (slice(None), slice(n > 1, None)):
                got = exact("sum", there(x, device)[part] if n > 1 else there(x, device))
                assert same(got.real, truth("sum", x[part].real)), n


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_overflow_only_if_they_are_too_great_and_subnormal_numbers_count(device, dtype):
    greatest, least = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    x = np.tile(np.array([greatest, greatest, -greatest], dtype), 1000)
    x[:2997] *= np.tile(np.array([1, -1, 0], dtype), 999)
    for name, values, right in (
        ("sum", x, greatest),
        ("sum", np.full(5000, greatest, dtype), math.inf),
        ("mean", np.full(5000, greatest, dtype), greatest),
        *(("sum", np.full(n, least, dtype), least * dtype(n)) for n in (3, 5000)),
    ):
        assert exact(name, there(values, device)) == right


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_finite_is_seen_anywhere(device, name):
    types = (*FLOATS, BFLOAT16.type, np.complex64)
    for dtype, value in itertools.product(types, (math.nan, math.inf, -math.inf)):
        lies = {"device": device} if dtype == BFLOAT16 else {}
        for spot in chosen((0, 1, 4095, 4096, 40_000), name, dtype, value):
            x = np.ones(40_001, dtype)
            x[spot] = value
            a, kept = x if lies else there(x, device), x[~np.isnan(x)] if "nan" in name else x
            got = exact(name, a, **lies)
            with np.errstate(invalid="ignore"):
                right = kept.astype(complex).sum() / (len(kept) if "mean" in name else 1)
            assert np.array_equal(got.real, dtype(right.real), equal_nan=True)
            x[-1 - spot] = -value
            a = x if lies else there(x, device)
            assert "nan" in name or math.isnan(exact(name, a, **lies).real)


def test_many_nans_are_left_out(device):
    for dtype in FLOATS:
        x = (np.arange(200_000) % 7).astype(dtype)
        x[np.random.default_rng(2).random(len(x)) < 0.3] = np.nan
        kept = x[~np.isnan(x)]
        assert exact("nansum", there(x, device), dtype=float) == math.fsum(kept.tolist())
        mean = exact("nanmean", there(x, device), dtype=np.float64)
        assert same(mean, truth("mean", kept, WIDE))


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_parts_of_complex_numbers_are_added_apart(device, dtype):
    part, cases = np.dtype(f"f{dtype.itemsize // 2}"), [(spread, 60_002) for spread in (0, 30, 100)]
    for spread, n in [*cases, *((17, n) for n in (4000, 2049, 2048, 5, 1)), (None, 4000)]:
        if spread is None:  # any bits
            x = np.array(mixed(9000)[: 2 * n]).view(part)[: 2 * n]
            x = np.where(np.abs(x) < 2.0**100, x, part.type(3)).view(dtype)
        else:
            exponents = np.random.default_rng(3).integers(-spread, spread + 1, 2 * n)
            x = of_exponents(exponents, np.float32).astype(part).view(dtype)
            x = (x.real + 1j * 2.0**-20 * x.imag).astype(dtype)
        for name in NAMES:
            for got in (exact(name, there(x, device)), stored(name, x, device)):
                assert got.dtype == dtype
                assert same(got.real, truth(name, x.real))
                assert same(got.imag, truth(name, x.imag))
    x = np.array([1 + 2j, math.nan + 8j, 16 + 1j * math.nan, 3 + 5j] * 3000, dtype)
    assert exact("nanmean", there(x, device)) == 2 + 3.5j
    assert exact("nansum", there(x, device)) == 3000 * (4 + 7j)


def test_integers_are_added_exactly(device):
    random = np.random.default_rng(5)
    for dtype in (np.int64, np.uint64, np.int8, np.uint32, bool):
        low, high = (0, 2) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        x = random.integers(low, high, 30_001, np.int64 if dtype is bool else dtype).astype(dtype)
        expected = Fraction(sum(map(int, x)))
        for result in (WIDE, NARROW):
            got = exact("mean", there(x, device), dtype=result)
            assert same(got, total([expected], result, divisor=len(x)))
            assert same(exact("sum", there(x, device), dtype=result), total([expected], result))


@pytest.mark.parametrize("name", NAMES)
def test_where_chooses_what_is_added(device, name):
    """A mask of the host's, too, which may hide all that there is."""
    for dtype, n in itertools.product((np.float64, np.float32, np.complex128), (900, 12_000)):
        x = (np.random.default_rng(1).normal(size=n) * 100).astype(dtype)
        x[: n // 300] = np.nan
        for where in (np.arange(n) % 3 == 1, x.real > 0, np.zeros(n, bool)):
            out = element_there(dtype, device)
            exact(name, x, where=where, out=out, device=device)
            made = [fetched(out, device), exact(name, x, where=where, device=device)]
            for mask in (where, there(where, device)):
                made.append(exact(name, there(x, device), where=mask))
                made.append(stored(name, x, device, where=mask))
            expected = truth(name, x[where].real)
            assert all(same(got.real, expected) for got in made)


def test_initial_is_a_part_of_the_sum(device):
    for x, initial in (([1e100, 1.0], -1e100), ([1e100, 1.0, math.nan], -1e100)):
        assert exact("nansum", there(np.array(x), device), initial=initial) == 1.0
    x = there(np.float32([1e20, 3]), device)
    assert exact("sum", x, initial=-1e20, dtype=np.float64) == math.fsum(
        [np.float32(1e20), 3, -1e20]
    )
    assert exact("sum", there(np.array([1e20 + 1j]), device), initial=-1e20 + 1j) == 2j
    assert exact("sum", there(np.float16([60000, 60000]), device), initial=-60000) == 60000


def test_zeros_have_numpys_signs(device):
    zeros = ([], [-0.0], [-0.0, 0.0], [1.0, -1.0], [-0.0] * 50_000, [-0.0] * 4999 + [0.0])
    for x, dtype in itertools.product(zeros, (*FLOATS, np.complex64)):
        values = np.array(x, dtype)
        for initial in ({}, {"initial": -0.0}, {"initial": 0.0}, {"initial": None}):
            if x or initial.get("initial", 0) is not None:
                numpys = np.add.reduce(values, **initial) if initial else np.sum(values)
                for got in (
                    exact("sum", there(values, device), **initial),
                    stored("sum", values, device, **initial),
                ):
                    assert same(got.real, numpys.real), (x[:2], dtype, initial)
        for name in ("nansum", "mean") if x else ():
            assert same(exact(name, there(values, device)).real, values.real.dtype.type(0))


@pytest.mark.parametrize("result", [np.float16, np.float32, np.float64, np.complex64, np.int32])
@pytest.mark.parametrize(
    "values", [[1.0, 2.0**-24, 2.0**-60], [1.0, 2.0**-30, 1000.0], [1.75, 2.75, 1.5]], ids=str
)
def test_results_are_rounded_once_to_an_element_of_the_device(device, values, result):
    """By way of float64 the first would be a tie for a float32; integers are cut off at last."""
    parts = np.dtype(np.float32) if result == np.complex64 else np.dtype(result)
    x, wide = np.array(values), WIDE if parts.kind == "i" else parts
    right = {"sum": total(values, wide), "mean": total(values, wide, divisor=3)}
    right["nansum"] = right["sum"]
    right["norm"] = root(x, wide)
    for name, expected in right.items():
        out = element_there(result, device)
        exact(name, there(x, device), out=out)
        assert fetched(out, device) == expected.astype(result)
    if result == np.complex64:
        exact("sum", there(x * (1 + 1j), device), out=out)
        assert fetched(out, device) == result(right["sum"] * (1 + 1j))


def test_accumulators_take_arrays_of_devices(device):
    for dtype in (np.float64, np.float32):
        x = of_exponents(np.random.default_rng(1).integers(-100, 100, 30_000), dtype)
        sum_of_x = gred.ExactSum(there(x, device))
        assert sum_of_x.fraction() == exact_sum(x)
        assert sum_of_x.count == len(x)
        assert sum_of_x == gred.ExactSum(x)


@pytest.mark.parametrize("op", ["sum", "norm"])
def test_it_is_told_and_measured(device, op):
    x = there(np.ones(3000), device)
    assert gred.explain(x, op, method="exact").method == "exact"
    timed = gred.kernel_time(x, op, method="exact", samples=2, cold=False)
    assert timed.method == "exact"


@pytest.mark.parametrize(
    ("name", "x", "options"),
    [("mean", [], {}), ("mean", [1.0], {"where": [False]}), ("nanmean", [math.nan], {})],
)
def test_the_mean_of_nothing_is_nan_with_a_warning(device, name, x, options):
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert math.isnan(getattr(gred, name)(x, method="exact", device=device, **options))


def test_what_is_not_finite_spoils_its_own_part_of_a_mean(device):
    inf, nan = math.inf, math.nan
    ends = [complex(inf, 1), complex(1, inf), complex(nan, 1), complex(inf, nan), complex(1, -inf)]
    for dtype, end, other in itertools.product(COMPLEX, ends, (1, 2j, 3 + 4j)):
        x = np.array([end, other], dtype)
        for got in (exact("mean", there(x, device)), stored("mean", x, device)):
            assert same(got.real, np.mean(x.real))
            assert same(got.imag, np.mean(x.imag))


def test_a_real_sum_of_complex_numbers_warns_of_what_it_loses(device):
    x = np.array([1e100 + 1j, 1, -1e100])
    with pytest.warns(np.exceptions.ComplexWarning):
        assert gred.sum(there(x, device), dtype=float, method="exact") == 1.0


def test_other_reductions_are_refused(device):
    for name in ("prod", "min", "max", "any", "ptp", "nanprod", "argmax"):
        with pytest.raises(ValueError, match=f"nanmean and the norm of order 2; not for {name}"):
            getattr(gred, name)(there(np.ones(1), device), method="exact")
    if device == "host":
        with pytest.raises(ValueError, match="block_size has no meaning"):
            gred.sum([1.0], method="exact", block_size=64)
