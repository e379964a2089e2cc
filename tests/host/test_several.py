"""`gred.sum` and `gred.mean` of lists of arrays in several places, or by a method of the ladder."""

import math
import threading
from concurrent.futures import wait
from types import SimpleNamespace

import numpy as np
import pytest
from devices import GPUS, on_gpu
from exact_truths import same, total
from exactly import WIDE, typed
from reference import BFLOAT16

import gred
from gred.several import _THREADS_MOST
from gred.testing import SimulatedArray


def there(*values, dtype=None):
    return SimulatedArray(np.array(values, dtype))


HERE, ODD, NOTHING = np.full(2, 2.0), np.array([True, True]), SimulatedArray(np.zeros((0, 3)))
LISTS = [  # what is reduced, its sum and its mean
    ([there(2**62, 5), there(3, dtype="i1"), SimulatedArray(ODD)], np.int64(2**62 + 10), None),
    ([there(1, 2), there(6)], np.int64(9), 3.0),
    ([there(1.5, dtype="f4"), there(2)], np.float64(3.5), 1.75),
    ([there(1, 1, 1, dtype=BFLOAT16), there(1, 1, dtype="f2")], np.float32(5), np.float32(1)),
    ([there(1 + 2j), there(3.0)], 4 + 2j, 2 + 1j),
    # Arrays of the host and lists, in any order.
    ([there(1.0, 1.0, 1.0), HERE], np.float64(7), 7 / 5),
    ([HERE, [1.0], there(2, 2, 2, 2, 2), ODD, there(1.0, 1.0, 1.0)], np.float64(20), 20 / 13),
    ((1.0, HERE, there(1, 1, 1)), np.float64(8), 8 / 6),
    ([NOTHING, there(2.0, 4.0), there(dtype="f8")], np.float64(6), 3.0),
    # Lists that are no arrays of several places.
    ([], np.float64(0), None),
    ([np.float64(1.0), 2], np.float64(3), 1.5),
]


@pytest.mark.parametrize(("arrays", "total", "mean"), LISTS, ids=range(len(LISTS)))
def test_arrays_of_any_types_and_places_are_added_where_they_are(arrays, total, mean):
    for order in (arrays, arrays[::-1], arrays[1:] + arrays[:1]):
        got = gred.sum(order)
        assert (got, got.dtype) == (total, np.asarray(total).dtype)
        assert mean is None or gred.mean(order) == pytest.approx(mean, rel=1e-15)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308])
def test_parts_that_are_no_numbers_or_overflow_add_up_as_numbers_do(value):
    for other in (np.inf, value, 1.0):
        with np.errstate(all="ignore"):
            expected = np.float64(value) + np.float64(other)
        assert same(gred.sum([there(value), np.array([other])]), expected)


@typed
@pytest.mark.parametrize("cuts", [[1, 3000], [], [1], [10, 20, 2900]], ids=str)
def test_a_list_is_summed_as_one_array(dtype, cuts):
    """In the elements' type or another, by a rung, or rounded once."""
    x = (np.arange(3000) % 7).astype(dtype)
    whole, parts = x.astype(WIDE).sum(), [SimulatedArray(part) for part in np.split(x, cuts)]
    for options in ({}, {"method": "shuffle", "block_size": 64}):
        got = gred.sum(tuple(parts), dtype=np.float32, **options)
        assert (got, got.dtype) == (whole, np.float32)
    assert gred.sum(parts).dtype == gred.mean(parts).dtype == dtype
    assert abs(float(gred.mean(parts)) - whole / x.size) < 0.02
    random = np.random.default_rng(1)
    x = np.ldexp(random.normal(size=5000), random.integers(-8, 8, 5000)).astype(dtype)
    parts = [SimulatedArray(part) for part in np.split(x, cuts)]
    assert same(gred.sum(parts, method="exact"), total(x, dtype))
    assert same(gred.mean(parts, method="exact"), total(x, dtype, divisor=len(x)))
    assert same(gred.sum(parts, dtype=WIDE, method="exact"), total(x, WIDE))
    integers = [there(2**62 + 1), there(2**62 + 1, 4)]
    assert gred.sum(integers, method="exact") == np.int64(-(2**63) + 6)
    assert gred.mean(integers, method="exact") == (2**63 + 6) / 3


@pytest.mark.gpu
def test_arrays_on_all_gpus_are_added_where_they_lie():
    x = np.random.default_rng(1).normal(size=1_000_003)
    parts = [on_gpu(k % GPUS, part) for k, part in enumerate(np.array_split(x, 4))]
    assert abs(gred.sum(parts) - math.fsum(x)) < 1e-9
    assert abs(gred.mean(parts) - math.fsum(x) / len(x)) < 1e-12
    assert same(gred.sum(parts, method="exact"), total(x, WIDE))


def without_hash(number):
    """Make a device without a hash, as CuPy's."""
    return SimpleNamespace(id=number)


@pytest.mark.parametrize("kind", [int, str, without_hash])
def test_what_lies_on_several_devices_may_say_so(kind):
    arrays = [there(k, 1.0) for k in range(6)]
    for k, array in enumerate(arrays):
        array.device = kind(k % 2)
    assert gred.sum(arrays) == gred.sum(arrays[:5]) + 6 == 21
    assert gred.mean(arrays) == 21 / 12
    with pytest.raises(TypeError, match="max does not take arrays that lie in several places"):
        gred.max(arrays)


# ---- threads ----


def test_they_are_reduced_side_by_side_by_threads_that_are_kept():
    """Each by a thread of its own, which the caller's settings hold for."""
    used = set()

    class Seen(SimulatedArray):
        @property
        def __cuda_array_interface__(self):
            used.add(threading.get_ident())
            return super().__cuda_array_interface__

    def kept():
        threads = threading.enumerate()
        return {one.ident for one in threads if one.name.startswith("gred-several")}

    parts = [Seen(np.ones(n)) for n in (10, 20, 30)]
    assert gred.sum(parts, method="shuffle") == 60
    assert len(used) > 1
    assert (before := kept())
    for _ in range(20):
        with gred.thread_order("shuffled", seed=3):
            assert gred.sum(parts, method="halving") == 60
    assert before <= kept()
    assert len(kept()) <= _THREADS_MOST


def test_who_hears_of_an_error_has_the_arrays_to_himself(monkeypatch):
    """The first fails while others are at work; those that wait for their turn never begin."""
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


# ---- what is refused ----

SEVERAL = [there(1.0, 1.0, 1.0), np.ones(3)]


def test_an_error_of_one_place_is_the_calls():
    """Whichever place has it, and the others give what they have got."""
    for position in range(3):
        arrays = [*SEVERAL[:position], there(1 + 1j), *SEVERAL[position:]]
        with gred.workspace_limit(1), pytest.raises(MemoryError, match="limit"):
            gred.sum(arrays, dtype=np.complex128)
        assert gred.sum(arrays) == 7 + 1j


REFUSED = [
    *((name, SEVERAL, {"out": np.zeros(())}, TypeError, "no out") for name in ("sum", "mean")),
    ("sum", SEVERAL, {"axis": 0}, TypeError, "no axis"),
    ("sum", SEVERAL, {"where": [True]}, TypeError, "no where"),
    ("mean", SEVERAL, {"keepdims": True}, TypeError, "no keepdims"),
    *((name, SEVERAL, {}, TypeError, f"{name} does not take arrays that lie in several places")
      for name in ("prod", "max", "norm", "argmin")),
    ("sum", SEVERAL, {"method": "unrol8"}, ValueError, "does not exist"),
    ("explain", SEVERAL, {}, TypeError, "explain takes one array"),
    ("explain", [np.ones(3), np.ones(2)], {}, ValueError, "inhomogeneous"),
    ("sum", [there(1.0), "text"], {}, TypeError, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arrays", "options", "error", "words"), REFUSED)
def test_what_makes_no_sense_of_several_places_is_refused(name, arrays, options, error, words):
    """Whichever of them comes first."""
    for some in (arrays, arrays[::-1]):
        with pytest.raises(error, match=words):
            getattr(gred, name)(some, **options)


def test_other_lists_are_what_they_were():
    assert gred.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]
    assert gred.sum([np.ones(3), np.ones(3)], axis=1).tolist() == [3, 3]
    with pytest.warns(RuntimeWarning):
        assert math.isnan(gred.mean([NOTHING]))
