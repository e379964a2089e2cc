"""Lists of arrays, in one place or several, reduced as one array or each by itself.

Elements are small integers, so that NumPy's sums are exact in any order. Roots and quotients are
compared to within the rounding errors of their type.
"""

import itertools
import math
import threading
from concurrent.futures import wait
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from calls import LAYOUTS
from devices import GPUS, laid_out, on_gpu, to_host
from drawn import often
from exact_truths import same, total, truth
from exactly import WIDE, typed
from hostile import Resizes, when_asked
from hypothesis import given
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE
from samples import silenced, wrong_result
from truths import PLACES

import gred
from gred.several import _THREADS_MOST
from gred.testing import SimulatedArray

RECORDS = ("minmax", "describe")
NAMES = [one.name for one in gred.reductions()]
NEEDS_SOME = ("min", "max", *PLACES, "ptp", "nanmin", "nanmax", "minmax", "describe")
NEEDS_SOME += ("mean", "nanmean", "var", "std")
SHAPES = ((7,), (3, 5), (), (0, 4), (50_000,), (2, 3, 129), (1, 1))


def parts(dtype, shapes=SHAPES):
    """Draw the arrays of a list; only 0 and 1 for types that would round larger sums."""
    random = np.random.default_rng(1)
    most = 2 if dtype in (np.bool_, BFLOAT16, np.float16) else 7
    return [np.asarray(random.integers(0, most, shape)).astype(dtype) for shape in shapes]


def joined(arrays):
    return np.concatenate([np.ravel(x) for x in arrays])


def check(name, arrays, device):
    """Reduce a list as a whole, and each of its arrays that has a result."""
    there = [laid_out(x, device) for x in arrays]
    assert not wrong_result(name, getattr(gred, name)(there), joined(arrays))
    kept = [k for k, x in enumerate(arrays) if x.size or name not in NEEDS_SOME]
    got = to_host(gred.each(name, [there[k] for k in kept]))
    for place, k in enumerate(kept):
        of_one = [field[place] for field in got] if name in RECORDS else got[place]
        one = getattr(type(got), "_make", tuple)(of_one) if name in RECORDS else of_one
        assert not wrong_result(name, one, arrays[k].ravel())
    assert name in RECORDS or got.shape == (len(kept),)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_a_list_is_reduced_as_one_array_and_each_has_a_result(dtype, name, device):
    if dtype == np.bool_ and name == "ptp":
        pytest.skip("NumPy has no ptp of bool")
    rounds = name in ("sum", "nansum", "norm", "describe", "ptp")  # too large for half types
    check(name, parts(dtype)[: 4 if rounds and dtype in (BFLOAT16, np.float16) else None], device)


@pytest.mark.parametrize("pair", list(itertools.combinations(EVERY_TYPE, 2)), ids=str)
def test_types_are_promoted_as_numpy_does(pair, device):
    arrays = [(np.arange(5) % 2).astype(dtype) for dtype in pair]
    there = [laid_out(x, device) for x in arrays]
    total, each = gred.sum(there), to_host(gred.each("sum", there))
    assert complex(total) == 4
    assert [complex(one) for one in each] == [2, 2]
    if BFLOAT16 not in pair:
        assert each.dtype == total.dtype == joined(arrays).sum().dtype


def test_positions_count_through_all_arrays(device):
    x = np.random.default_rng(3).permutation(100_000).astype(np.float32)
    ones, zeros = np.ones(70_000, np.int8), np.zeros(5)
    zeros[3] = np.nan
    for parts in (np.split(x, [10, 11, 40_000, 99_990]), [ones[:3], ones], [np.ones(4), zeros]):
        there = [laid_out(part, device) for part in parts]
        assert gred.argmax(there) == joined(parts).argmax()
        assert gred.argmin(there) == joined(parts).argmin()


def test_a_result_does_not_depend_on_the_other_arrays(device):
    """Bit for bit, for any number of arrays; larger ones take several tiles."""
    random = np.random.default_rng(5)
    arrays = [random.normal(size=n).astype(np.float32) for n in (1, 33, 5000, 40_001)]
    there = [laid_out(x, device) for x in arrays]
    for name in ("sum", "mean", "norm", "var"):
        alone = [to_host(gred.each(name, [x]))[0] for x in there]
        for count in (2, 3, 5, 8, 63):
            got = to_host(gred.each(name, [there[k % 4] for k in range(count)]))
            assert got.tobytes() == np.array([alone[k % 4] for k in range(count)]).tobytes()


def test_options_hold_for_all(device):
    arrays = parts(np.int32)
    there, whole = [laid_out(x, device) for x in arrays], joined(arrays)
    for options in ({"initial": 5}, {"dtype": np.float64}, {"dtype": np.int16}):
        total, each = gred.sum(there, **options), to_host(gred.each("sum", there, **options))
        assert (total, total.dtype) == (whole.sum(**options), whole.sum(**options).dtype)
        np.testing.assert_array_equal(each, [x.sum(**options) for x in arrays])
    assert gred.var(there, ddof=1) == pytest.approx(whole.var(ddof=1))
    assert gred.norm(there, 1) == np.abs(whole).sum()
    assert to_host(gred.each("norm", there, ord=np.inf)).max() == whole.max()


def test_nothing_is_what_numpy_says(device):
    empty, some = laid_out(np.zeros(0), device), laid_out(np.ones(3), device)
    assert gred.sum([empty, empty]) == 0
    assert to_host(gred.each("sum", [empty, some])).tolist() == [0, 3]
    assert gred.max([empty, some]) == 1
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(gred.mean([empty]))
    for call in (lambda: gred.each("max", [some, empty]), lambda: gred.argmin([empty])):
        with pytest.raises(ValueError, match="empty"):
            call()
    assert to_host(gred.each("max", [some, empty], initial=-5)).tolist() == [1, -5]
    with pytest.warns(RuntimeWarning, match="empty") if device == "host" else nullcontext():
        got = to_host(gred.each("mean", [some, empty]))
    np.testing.assert_array_equal(got, [1, np.nan])
    assert gred.sum(iter(())) == 0
    assert gred.each("max", []).shape == (0,)


def test_iterators_are_lists_and_keep_their_arrays(device):
    """The iterator's arrays have no other owner."""
    assert gred.sum(laid_out(np.full(1000, k), device) for k in range(40)) == 1000 * sum(range(40))
    arrays = map(lambda k: laid_out(np.full(1000, k), device), range(40))
    assert to_host(gred.each("max", arrays)).tolist() == list(range(40))


def test_what_numpy_makes_an_array_of_is_one_where_there_are_axes():
    rows = [np.arange(3), np.arange(3) + 1]
    for some in (rows, [[0, 1, 2], [1, 2, 3]]):
        assert gred.sum(some, axis=0).tolist() == [1, 3, 5]
    assert gred.max(rows, keepdims=True).tolist() == [[3]]
    assert gred.sum(rows, where=[[True, False, True]]) == 6


def test_the_hosts_arrays_go_elsewhere_and_by_methods_as_one():
    arrays, out = [np.arange(50.0), np.ones(3)], SimulatedArray(np.zeros(1))
    for way in (*({"method": m} for m in ("recursive", "unroll8")), {"device": "simulated"}):
        assert gred.sum(arrays, **way) == 1228
    assert gred.sum(arrays, out=out) is out
    assert to_host(out).tolist() == [1228]


def test_a_list_whose_arrays_change_it_meanwhile_is_what_it_was_or_refused():
    arrays = [SimulatedArray(np.ones(n)) for n in (3, 4, 5)]
    arrays[1] = when_asked(arrays.clear, arrays[1])
    assert gred.sum(arrays) == 12
    x = np.ones(100_000)
    with pytest.raises(ValueError, match="resized"):
        gred.sum([x, Resizes(x, 2)])


@given(st.data())
@often(60)
def test_any_list_of_arrays_that_lie_in_any_way_is_reduced_as_numpy_does(device, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from([np.int8, np.float32, np.float64, np.uint64]))
    columns = data.draw(st.lists(st.sampled_from([0, 4, 7, 250, 9_000]), min_size=1))
    arrays = [random.integers(0, 5, (4, n)).astype(dtype) for n in columns]
    layouts, firsts = st.sampled_from(list(LAYOUTS.values())), st.integers(0, 16)
    arrays = [
        data.draw(layouts)(x) if x.shape[1] == 250 else x.ravel()[data.draw(firsts) :]
        for x in arrays
    ]
    check(
        data.draw(st.sampled_from(["sum", "count_nonzero", "any", "nansum", "var"])), arrays, device
    )


# ---- arrays in several places ----


def there(*values, dtype=None):
    return SimulatedArray(np.array(values, dtype))


HERE, ODD, NOTHING = np.full(2, 2.0), np.array([True, True]), SimulatedArray(np.zeros((0, 3)))
LISTS = [  # lists, their sums and means
    ([there(2**62, 5), there(3, dtype="i1"), SimulatedArray(ODD)], np.int64(2**62 + 10), None),
    ([there(1, 2), there(6)], np.int64(9), 3.0),
    ([there(1.5, dtype="f4"), there(2)], np.float64(3.5), 1.75),
    ([there(1, 1, 1, dtype=BFLOAT16), there(1, 1, dtype="f2")], np.float32(5), np.float32(1)),
    ([there(1 + 2j), there(3.0)], 4 + 2j, 2 + 1j),
    # Mixed with host arrays and lists, in any order.
    ([there(1.0, 1.0, 1.0), HERE], np.float64(7), 7 / 5),
    ([HERE, [1.0], there(2, 2, 2, 2, 2), ODD, there(1.0, 1.0, 1.0)], np.float64(20), 20 / 13),
    ((1.0, HERE, there(1, 1, 1)), np.float64(8), 8 / 6),
    ([NOTHING, there(2.0, 4.0), there(dtype="f8")], np.float64(6), 3.0),
    # Not arrays in several places.
    ([], np.float64(0), None),
    ([np.float64(1.0), 2], np.float64(3), 1.5),
]


@pytest.mark.parametrize(("arrays", "total", "mean"), LISTS, ids=range(len(LISTS)))
def test_arrays_of_any_types_and_places_are_added_where_they_are(arrays, total, mean):
    for order in (arrays, arrays[::-1], arrays[1:] + arrays[:1]):
        got = gred.sum(order)
        assert (got, got.dtype) == (total, np.asarray(total).dtype)
        assert mean is None or gred.mean(order) == pytest.approx(mean, rel=1e-15)


def test_parts_that_are_no_numbers_or_overflow_add_up_as_numbers_do():
    for value, other in itertools.product((np.inf, -np.inf, np.nan, 1e308), repeat=2):
        with silenced():
            assert same(gred.sum([there(value), np.array([other])]), np.float64(value) + other)


@typed
@pytest.mark.parametrize("cuts", [[1, 3000], [], [1], [10, 20, 2900]], ids=str)
def test_a_list_is_summed_as_one_array(dtype, cuts, device):
    """Converted to another dtype, by a rung, and exactly."""
    x = (np.arange(3000) % 7).astype(dtype)
    whole, parts = x.astype(WIDE).sum(), [laid_out(part, device) for part in np.split(x, cuts)]
    for options in ({}, {"method": "shuffle", "block_size": 64} if device != "host" else {}):
        got = gred.sum(tuple(parts), dtype=np.float32, **options)
        assert (got, got.dtype) == (whole, np.float32)
    random = np.random.default_rng(1)
    x = np.ldexp(random.normal(size=5000), random.integers(-8, 8, 5000)).astype(dtype)
    parts = [laid_out(part, device) for part in np.split(x, cuts)]
    assert same(gred.sum(parts, method="exact"), total(x, dtype))
    assert same(gred.mean(parts, method="exact"), total(x, dtype, divisor=len(x)))
    assert same(gred.norm(parts, method="exact"), truth("norm", x))
    assert same(gred.sum(parts, dtype=WIDE, method="exact"), total(x, WIDE))
    each = to_host(gred.each("sum", parts, method="exact"))
    assert same(each, np.array([total(part, dtype) for part in np.split(x, cuts)]))


def test_exact_sums_of_lists_wrap_around_and_begin_with_a_sign():
    integers = [there(2**62 + 1), there(2**62 + 1, 4)]
    assert gred.sum(integers, method="exact") == np.int64(-(2**63) + 6)
    assert gred.mean(integers, method="exact") == (2**63 + 6) / 3
    assert np.signbit(gred.sum([there(-0.0), there(-0.0)], method="exact", initial=-0.0))


@pytest.mark.gpu
def test_arrays_on_all_gpus_are_added_where_they_lie():
    """In device and in managed memory."""
    x = np.random.default_rng(1).normal(size=1_000_003)
    where = enumerate(("device", "device", "managed", "device"))
    parts = [on_gpu(k % GPUS, x[k::4], kind) for k, kind in where]
    assert abs(gred.sum(parts) - math.fsum(x)) < 1e-9
    assert abs(gred.mean(parts) - math.fsum(x) / len(x)) < 1e-12
    assert same(gred.sum(parts, method="exact"), total(x, WIDE))


@pytest.mark.parametrize("kind", [int, str, lambda k: SimpleNamespace(id=k)])  # unhashable
def test_what_lies_on_several_devices_may_say_so(kind):
    arrays = [there(k, 1.0) for k in range(6)]
    for k, array in enumerate(arrays):
        array.device = kind(k % 2)
    assert gred.sum(arrays) == gred.sum(arrays[:5]) + 6 == 21
    assert gred.mean(arrays) == 21 / 12
    with pytest.raises(TypeError, match="max does not take arrays on different devices"):
        gred.max(arrays)


def test_they_are_reduced_side_by_side_by_threads_that_are_kept():
    """The arrays are reduced on several threads, which use the caller's settings."""
    used = set()

    def kept():
        return {t.ident for t in threading.enumerate() if t.name.startswith("gred-several")}

    ones = (SimulatedArray(np.ones(n)) for n in (10, 20, 30))
    parts = [when_asked(lambda: used.add(threading.get_ident()), one) for one in ones]
    assert gred.sum(parts, method="shuffle") == 60
    assert len(used) > 1
    assert (before := kept())
    for _ in range(20):
        with gred.thread_order("shuffled", seed=3):
            assert gred.sum(parts, method="halving") == 60
    assert before <= kept()
    assert len(kept()) <= _THREADS_MOST


def test_who_hears_of_an_error_has_the_arrays_to_himself(monkeypatch):
    """The first fails while others run; queued ones never start."""
    at_work, known = threading.Event(), threading.Event()
    begun, ended = [], []

    def fails_first(array, **options):
        if array.shape == (1,):
            assert at_work.wait(60)
            raise MemoryError("of the first")
        begun.append(array.shape)
        at_work.set()
        assert known.wait(60)
        ended.append(array.shape)
        return np.float32(0)

    def waits(others):
        known.set()
        return wait(others)

    monkeypatch.setattr("gred._core.sum", fails_first)
    monkeypatch.setattr("gred.several.wait", waits)
    parts = [SimulatedArray(np.ones(n, np.float32)) for n in range(1, _THREADS_MOST + 9)]
    with pytest.raises(MemoryError, match="of the first"):
        gred.several.sum(parts, method="shuffle")
    assert 1 <= len(ended) <= _THREADS_MOST
    assert sorted(ended) == sorted(begun)


ONE, SEVERAL = [there(1.0, 1.0, 1.0)], [there(1.0, 1.0, 1.0), np.ones(3)]


def test_an_error_of_one_place_is_the_calls():
    """Whichever place raises it. The next call succeeds."""
    for position in range(3):
        arrays = [*SEVERAL[:position], there(1 + 1j), *SEVERAL[position:]]
        with gred.workspace_limit(1), pytest.raises(MemoryError, match="limit"):
            gred.sum(arrays, dtype=np.complex128)
        assert gred.sum(arrays) == 7 + 1j


EACH, NO_SUMS = partial(gred.each, "sum"), (gred.prod, gred.max, gred.norm, gred.argmin)
REFUSED = [  # functions, lists, options, errors and messages
    *((gred.sum, some, {"axis": 0}, TypeError, "not take axis") for some in (ONE, SEVERAL)),
    *(
        (gred.mean, some, {"keepdims": True}, TypeError, "not take keepdims")
        for some in (ONE, SEVERAL)
    ),
    *((gred.sum, some, {"where": [True]}, TypeError, "not take where") for some in (ONE, SEVERAL)),
    (gred.var, ONE * 2, {"mean": 1.0}, TypeError, "not take mean"),
    *((f, SEVERAL, {"out": np.zeros(())}, TypeError, "no out") for f in (gred.sum, gred.mean)),
    *((f, SEVERAL, {}, TypeError, f"{f.__name__} does not take arrays on") for f in NO_SUMS),
    (gred.sum, SEVERAL, {"method": "unrol8"}, ValueError, "does not exist"),
    (gred.explain, SEVERAL, {}, TypeError, "explain takes one array"),
    (gred.explain, [np.ones(3), np.ones(2)], {}, ValueError, "inhomogeneous"),
    (gred.sum, [there(1.0), "text"], {}, TypeError, None),
    (gred.sum, [np.broadcast_to(HERE[:1], (2**55, 3))] * 40, {}, ValueError, "more elements than"),
    (EACH, SEVERAL, {}, ValueError, "on different devices"),
    (EACH, [HERE, "text"], {}, TypeError, "element type"),
    (EACH, 5, {}, TypeError, None),
    (partial(gred.each, "median"), [HERE], {}, ValueError, "name of a reduction"),
    (EACH, [HERE], {"out": there(1.0)}, ValueError, "are on the host"),
    (EACH, [HERE], {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
    (EACH, [HERE], {"method": "recursive"}, ValueError, "'auto' or 'exact'"),
    (EACH, [HERE], {"method": "none"}, ValueError, "'auto' or 'exact'"),
]


@pytest.mark.parametrize(("call", "arrays", "options", "error", "words"), REFUSED)
def test_what_makes_no_sense_of_a_list_is_refused(call, arrays, options, error, words):
    for some in (arrays, arrays[::-1] if isinstance(arrays, list) else arrays):
        with pytest.raises(error, match=words):
            call(some, **options)
