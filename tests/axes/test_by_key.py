"""Reductions by key against NumPy's loops over each key, `np.bincount` and fractions.

Devices make sums, counts and extremes by atomics, in shuffled order. A block's table has a slot for
each result, or for those that come first; sums of few digits are made again with more where a
number does not fit. Each of these is reached by its sizes.
"""

import itertools

import numpy as np
import pytest
from devices import everywhere, laid_out, to_host
from drawn import misaligned
from exact_truths import bits_of, truth
from processes import printed
from reference import EVERY_TYPE, INTEGERS, REALS
from segments import NUMPYS, nearly_same, whole
from thin import chosen

import gred
from gred import _core

LEAST_PART = 1 << 16  # elements of a part that has a table of its own
FEW, MANY = 40, 30_000  # keys that a table has slots for, and more than any has
N = 4000
OF_ONE = NUMPYS | {"count": len}
EMPTY = {"sum": 0, "mean": np.nan, "prod": 1, "var": np.nan, "std": np.nan, "min": np.inf}
EMPTY |= {"max": -np.inf, "any": False, "all": True, "argmin": -1, "argmax": -1, "count": 0}
EMPTY |= {"norm": 0, "nansum": 0, "nanmax": np.nan, "count_nonzero": 0, "logsumexp": -np.inf}
every_op = pytest.mark.parametrize("op", EMPTY)
every_float = pytest.mark.parametrize("dtype", REALS, ids=str)


def drawn(n, num_keys, dtype="f8", seed=1):
    """Draw keys, of which some are none's, and small integers, whose sums are exact."""
    keys = np.random.default_rng(seed + 1).integers(0, max(num_keys - 1, 1), n)
    return keys, whole(n, dtype, seed)


def keys_of(num_keys, hot=False):
    """Draw N keys; half of them are one, if it is hot."""
    random = np.random.default_rng(5)
    keys = random.integers(0, num_keys - 1, N)
    keys[: N // 2 * hot] = num_keys // 2
    return random.permutation(keys)


def by_loops(op, keys, x, num_keys):
    """Reduce the values of each key by NumPy; positions are those among all."""
    found = []
    for key in range(num_keys):
        places = np.flatnonzero(keys == key)
        value = OF_ONE[op](x[places]) if places.size else EMPTY[op]
        found.append(places[value] if op.startswith("arg") and places.size else value)
    return np.array(found)


def by_key(place, op, keys, x, *rest, **options):
    """Reduce host arrays where they are brought to, by threads that take turns in no order."""
    with gred.thread_order("shuffled", seed=3):
        given = laid_out(np.asarray(keys), place), laid_out(np.asarray(x), place)
        return to_host(gred.by_key(op, *given, *rest, **options))


def same_bits(got, op, keys, x, dtype):
    """Hold the sums or means of some keys against the right ones, rounded once."""
    kept = ~np.isnan(x.astype(float)) if op.startswith("nan") else np.ones(len(x), bool)
    for key in (int(keys[0]), int(np.bincount(keys).argmax()), int(keys.max())):
        want = truth(op.removeprefix("nan"), x[(keys == key) & kept], dtype)
        assert bits_of(got[key]) == bits_of(want), key


@every_op
@pytest.mark.parametrize("num_keys", [1, 2, 9, 300])
def test_each_key_has_what_numpy_says_of_its_values(op, num_keys):
    for n, kind in chosen(itertools.product((0, 1, 50, 5000), ("i8", "i4", "u1", "u8")), op):
        keys, x = drawn(n, num_keys)
        if op == "prod":
            x = np.where(np.arange(n) % 97, 1.0, x)
        got = gred.by_key(op, keys.astype(kind), x, num_keys)
        nearly_same(got, by_loops(op, keys.astype(kind).astype(int), x, num_keys), max(n, 1))


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_every_type_is_reduced_as_by_reduceat(dtype):
    keys, x = drawn(3000, 40, "i1")
    x = (abs(x) if dtype.kind == "u" else x).astype(dtype)
    order = np.argsort(keys, kind="stable")
    offsets = np.searchsorted(keys[order], np.arange(40))
    for op in ("sum", "max", "mean", "any", "argmax", "count_nonzero"):
        got = gred.by_key(op, keys, x, 40)
        want = gred.reduceat(op, x[order], offsets, empty="identity")
        assert got.dtype == want.dtype
        if op == "argmax":
            want = np.where(want < 0, want, order[offsets + want])
        assert np.array_equal(got.astype(complex), want.astype(complex), equal_nan=True)


@pytest.mark.parametrize("n", [LEAST_PART - 1, 2 * LEAST_PART, 9 * LEAST_PART + 5])
@pytest.mark.parametrize("num_keys", [3, 1000, 200_000])
def test_parts_of_many_values_are_merged(n, num_keys):
    keys, x = drawn(n, num_keys, "f4")
    want = np.bincount(keys, x, num_keys)
    assert np.array_equal(gred.by_key("sum", keys, x, num_keys), want.astype("f4"))
    counts = np.bincount(keys, minlength=num_keys)
    assert np.array_equal(gred.by_key("count", keys, x, num_keys), counts)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(
            gred.by_key("mean", keys, x.astype("f8"), num_keys), want / counts, equal_nan=True
        )
    least = np.full(num_keys, np.inf)
    np.minimum.at(least, keys, x)
    assert np.array_equal(gred.by_key("min", keys, x, num_keys), least)
    first = gred.by_key("argmin", keys, x, num_keys)
    seen = first >= 0
    assert np.array_equal(seen, counts > 0)
    assert np.array_equal(keys[first[seen]], np.flatnonzero(seen))
    assert np.array_equal(x[first[seen]], least[seen])


@pytest.mark.parametrize("op", ["sum", "mean", "max", "argmax", "var", "count"])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_keys_lie_along_any_axis(op, axis):
    _, x = drawn(6 * 7 * 8, 5)
    x = x.reshape(6, 7, 8)
    keys = np.random.default_rng(2).integers(0, 4, x.shape[axis])
    got = gred.by_key(op, keys, x, 5, axis=axis)
    rows = np.moveaxis(x, axis, 0).reshape(len(keys), -1)
    want = np.stack([by_loops(op, keys, row, 5) for row in rows.T], 1)
    shape = (5, *np.delete(x.shape, axis))
    nearly_same(got, np.moveaxis(want.reshape(shape), 0, axis), 8)


def test_several_keys_give_a_dimension_each():
    one, x = drawn(2000, 6)
    other = np.random.default_rng(3).integers(0, 4, 2000)
    want = np.zeros((6, 4))
    np.add.at(want, (one, other), x)
    assert np.array_equal(gred.by_key("sum", (one, other), x, (6, 4)), want)
    assert np.array_equal(gred.by_key("sum", (one.astype("u1"), other), x), want[:5])
    columns = np.stack([x, 2 * x], 1)
    got = gred.by_key("sum", (one, other), columns, (6, 4))
    assert np.array_equal(got, np.stack([want, 2 * want], 2))
    got = gred.by_key("sum", (one, other), columns.T, (6, 4), axis=1)
    assert np.array_equal(got, np.stack([want, 2 * want]))
    bad = (np.array([0, -1, 2, 1]), np.array([1, 0, 0, 4]))
    got = gred.by_key("sum", bad, [1.0, 2, 4, 8], (3, 4), outside="drop")
    assert got.sum() == 5
    with pytest.raises(IndexError):
        gred.by_key("sum", bad, [1.0, 2, 4, 8], (3, 4))
    with pytest.raises(IndexError, match=r"\[0, 3\)"):
        gred.by_key("sum", [0, 5], np.ones((2, 4)), 3)


def test_several_narrow_keys_are_joined_in_wide_ones():
    for kind in ("i1", "u1", "i2", "u4", "u8", "i8"):
        for counts in ((20, 20), (100, 120), (300, 300), *[(100_000, 100)] * (kind == "i2")):
            one, other = np.array([0, 19, 19, 10, 99]), np.array([1, 19, 3, 5, 118])
            want = np.zeros(counts)
            fits = (one < counts[0]) & (other < counts[1])
            np.add.at(want, (one[fits], other[fits]), 1)
            given = (one.astype(kind), other.astype("i4"))
            got = gred.by_key("sum", given, np.ones(5), counts, outside="drop")
            assert np.array_equal(got, want)
    keys = np.array([2**64 - 1, 1], np.uint64), np.array([1, 1])
    got = gred.by_key("count", keys, np.ones(2), (20, 20), outside="drop")
    assert got.sum() == got[1, 1] == 1


def test_dtype_and_ddof_have_their_meaning():
    keys, x = np.array([0, 0, 1, 1]), np.array([1, 2, 100, 200], np.uint8)
    assert gred.by_key("sum", keys, x).dtype == np.uint64
    assert gred.by_key("sum", keys, x, dtype=np.uint8).tolist() == [3, 44]
    assert gred.by_key("mean", keys, x, dtype=np.float32).dtype == np.float32
    assert gred.by_key("var", keys, x, ddof=1).tolist() == [0.5, 5000.0]
    assert gred.by_key(np.maximum, keys, x).tolist() == [2, 200]
    keys, x = np.array([0, 0, 1, 1, 1]), np.array([2**62, 2**62, 2**40, 2**40, 3])
    assert gred.by_key("prod", keys, x).tolist() == [0, 3 * 2**80 % 2**64]  # which wraps around
    assert gred.by_key("prod", keys, x.astype(np.int32), dtype=np.int32).dtype == np.int32


@every_float
def test_what_is_no_number_stays_with_its_key(device, dtype):
    keys = np.array([0, 1, 2, 3, 0, 1, 2, 3, 5])
    x = np.array([np.nan, 1, np.inf, -np.inf, 2, 3, -np.inf, 4, np.inf], dtype)
    rights = {
        "sum": [np.nan, 4, np.nan, -np.inf, 0, np.inf, 0],
        "nanmean": [2, 2, np.nan, -np.inf, np.nan, np.inf, np.nan],
        "min": [np.nan, 1, -np.inf, -np.inf, np.inf, np.inf, np.inf],
        "max": [np.nan, 3, np.inf, 4, -np.inf, np.inf, -np.inf],
    }
    for (op, right), num_keys in itertools.product(rights.items(), (7, MANY)):
        for order in (slice(None), slice(None, None, -1)):
            got = by_key(device, op, keys[order], x[order], num_keys)[:7].astype(float)
            assert np.array_equal(got, right, True)
    got = by_key(device, "sum", keys, x, 7, method="exact").astype(float)
    assert np.array_equal(got, rights["sum"], True)


def test_other_byte_orders_alignments_and_repeated_values_change_nothing():
    keys, x = drawn(N, FEW)
    for kind in (">i4", ">i8", ">u8"):
        swapped = gred.by_key("sum", keys.astype(kind), x.astype(">f8"), FEW)
        assert np.array_equal(swapped, by_loops("sum", keys, x, FEW))
    for op, method in (("sum", "auto"), ("sum", "exact"), ("argmax", "auto")):
        got = gred.by_key(op, misaligned(keys), misaligned(x), FEW, method=method)
        assert np.array_equal(got, by_loops(op, keys, x, FEW))
    for op in ("sum", "min", "max", "any", "all"):  # of which each key has its own
        for value in (2.0, 0.0):
            got = gred.by_key(op, keys, np.broadcast_to(value, N), FEW)
            assert np.array_equal(got, by_loops(op, keys, np.full(N, value), FEW), equal_nan=True)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_keys_outside_are_an_error_or_dropped(device, kind):
    keys, x = keys_of(FEW).astype(kind), np.ones(N)
    ends = np.iinfo(kind)
    for num_keys in (FEW, MANY if ends.max > MANY else 100):
        for bad in {ends.min, ends.max, min(ends.max, num_keys)} - set(range(num_keys)):
            hostile = keys.copy()
            hostile[[0, 77]] = bad
            for op in EMPTY if device == "host" and num_keys == FEW else ("sum",):
                with pytest.raises(IndexError, match=rf"a key is not in \[0, {num_keys}\)"):
                    by_key(device, op, hostile, x, num_keys)
                got = by_key(device, op, hostile, x, num_keys, outside="drop")
                if num_keys == FEW:
                    inside = np.where(np.isin(np.arange(N), (0, 77)), -1, keys.astype(int))
                    nearly_same(got.astype("f8"), by_loops(op, inside, x, FEW).astype("f8"), N)
                assert op != "sum" or got.sum() == N - 2


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_around_and_their_means_do_not(device, dtype):
    random = np.random.default_rng(9)
    x = random.integers(0, 2**63, N).astype(np.uint64).view(np.int64) * 2 + random.integers(0, 2, N)
    x = x.astype(dtype)
    for num_keys in (FEW, MANY):
        keys = keys_of(num_keys)
        got = by_key(device, "sum", keys, x, num_keys)
        assert got.dtype == np.dtype("u8" if dtype.kind == "u" else "i8")
        exact = np.zeros(num_keys, object)
        np.add.at(exact, keys, x.astype(object) * 1)
        assert [int(v) % 2**64 for v in got] == [int(v) % 2**64 for v in exact]
        counted = by_key(device, "count_nonzero", keys, x, num_keys)
        assert np.array_equal(counted, np.bincount(keys, x != 0, num_keys))
        if device != "host":
            same_bits(by_key(device, "mean", keys, x, num_keys), "mean", keys, x, REALS[3])
    narrow = by_key(device, "sum", keys, x, num_keys, dtype=np.int16)
    assert narrow.dtype == np.int16
    assert [int(v) % 2**16 for v in narrow] == [int(v) % 2**16 for v in exact]


@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS], ids=str)
@pytest.mark.parametrize("op", ["min", "max", "nanmin", "nanmax"])
def test_extremes_are_numpys_of_each_key(device, dtype, op):
    random = np.random.default_rng(4)
    x = np.frombuffer(random.bytes(N * dtype.itemsize), np.uint8)
    x = (x & 1).astype(bool) if dtype.kind == "b" else x.view(dtype).copy()
    if dtype.kind in "fV":
        x[random.random(N) < 0.01] = np.nan
    for num_keys, hot in ((FEW, False), (MANY, True)):
        keys = keys_of(num_keys, hot)
        got = by_key(device, op, keys, x, num_keys)
        assert got.dtype == dtype
        with np.errstate(invalid="ignore"):
            wide = x.astype(float) if dtype.kind in "fV" else x
        for key in np.unique(keys)[:: 1 if num_keys == FEW else 97]:
            values = wide[keys == key]
            kept = values[~np.isnan(values)] if op.startswith("nan") else values
            want = getattr(np, op.removeprefix("nan"))(kept) if kept.size else np.nan
            assert np.array_equal(got[key], want, equal_nan=True)


@pytest.mark.filterwarnings("ignore:All-NaN")
def test_keys_without_elements_have_what_is_neutral(device):
    keys = np.array([2, 2])
    for dtype in ("i1", "u2", "i8", "u8", "?"):
        x = np.ones(2, dtype)
        ends = (False, True) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        assert by_key(device, "max", keys, x, 3).tolist() == [ends[0], ends[0], 1]
        assert by_key(device, "min", keys, x, 3).tolist() == [ends[1], ends[1], 1]
    x = np.array([np.nan, np.nan], "f4")
    assert np.isnan(by_key(device, "nanmin", keys, x, 3)).all()
    with pytest.raises(IndexError):
        by_key(device, "max", keys, x, 2)


@everywhere
@pytest.mark.parametrize("width", [1, 2, 7])
def test_neighbours_that_have_one_key_are_columns(place, width):
    rows = N // 7
    keys = keys_of(FEW)[:rows]
    x = np.random.default_rng(1).integers(-9, 9, (rows, width)).astype("f8")
    want = np.zeros((MANY, width))
    np.add.at(want, keys, x)
    for num_keys in (FEW, MANY):
        rest = num_keys * width, False, None, 0, "exact"
        got = _core.by_key("sum", laid_out(keys, place), laid_out(x.ravel(), place), *rest)
        assert np.array_equal(to_host(got), want[:num_keys].ravel())


@everywhere
def test_what_no_kernel_takes_is_refused(place):
    here = np.array([0, 1]), np.ones(2)
    keys, x, whole, short = (laid_out(a, place) for a in (*here, np.array([1, 4]), np.ones(1)))
    for arguments, options, error, words in (
        (("var", keys, x), {}, TypeError, r"by_key takes arrays of .* for sums, means and"),
        (
            ("mean", keys, whole),
            {"dtype": int},
            TypeError,
            "by_key takes arrays of",
        ),  # no low bytes
        *(
            (("sum", keys, x), {"method": method}, ValueError, "method")
            for method in ("foo", "batch_invariant", "unroll8")
        ),
        (("sum", here[0], x), {}, TypeError, "one place"),
        (("sum", keys, here[1]), {}, TypeError, "one place"),
        (("sum", x, x), {}, TypeError, "keys must be integers, not float64"),
        (("sum", keys, short), {}, ValueError, "2 keys, and 1 values"),
    ):
        with pytest.raises(error, match=words):
            gred.by_key(*arguments, num_keys=2, **options)


def test_nothing_has_no_keys():
    assert gred.by_key("sum", [], []).tolist() == []
    assert gred.by_key("sum", [], [], 3).tolist() == [0, 0, 0]
    assert gred.by_key("mean", np.zeros(0, int), np.zeros((0, 2)), 2).shape == (2, 2)
    assert gred.by_key("sum", [-5, -1], [1.0, 2.0], outside="drop").tolist() == []


def test_a_key_that_changes_meanwhile_is_read_and_never_believed():
    """Another thread writes keys that are none's while they are sorted."""
    code = """
        import threading, numpy as np, gred
        keys, x = np.zeros(1 << 20, np.int64), np.ones(1 << 20)
        stop = threading.Event()
        def change():
            while not stop.is_set():
                for value in (0, 9, 2**62, 9, -1):
                    keys[:] = value
        thread = threading.Thread(target=change)
        thread.start()
        for op in ("sum", "mean", "var", "argmin") * 20:
            try:
                gred.by_key(op, keys, x, 10)
            except IndexError:
                pass
        stop.set()
        thread.join()
        print("lived")
    """
    assert printed(code).strip() == "lived"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (("sum", [0.0, 1.0], [1.0, 2.0]), {}, TypeError, "keys must be integers, not float64"),
        (("sum", [np.nan], [1.0]), {}, TypeError, "keys must be integers"),
        (("sum", ["a"], [1.0]), {}, TypeError, "keys: element type <U1 is not supported"),
        (("sum", [[0, 1]], [1.0, 2.0]), {}, ValueError, "one dimension"),
        (("sum", [0, 1, 2], [1.0, 2.0]), {}, ValueError, "3 keys, and 2 values"),
        (("sum", [0], [1.0], -1), {}, ValueError, "negative"),
        (("sum", [0], [1.0], 2.5), {}, TypeError, "integer"),
        (("sum", [0], [1.0], (1, 2)), {}, ValueError, "2 numbers for 1 keys"),
        (("minmax", [0], [1.0]), {}, ValueError, "op must be one of"),
        (("sum", [0], [1.0]), {"outside": "clip"}, ValueError, "'error' or 'drop'"),
        (("sum", [0], [1.0]), {"axis": 1}, IndexError, "axis 1 is out of bounds"),
        (("sum", [0], 1.0), {}, IndexError, "axis 0 is out of bounds"),
        (("sum", [0], [1.0]), {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
        (("max", [0], [1.0]), {"method": "exact"}, ValueError, "exact"),
        (("sum", [0], [1.0], 2**62), {}, (MemoryError, ValueError), "array"),
    ],
)
def test_what_cannot_be_is_refused(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.by_key(*arguments, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch", "jax"])
@every_op
def test_a_library_on_a_gpu_gets_its_own_arrays(op, library):
    keys, x = drawn(5000, 40)
    if op == "prod":
        x = np.where(np.arange(5000) % 97, 1.0, x)
    module = pytest.importorskip(library)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
        if module.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
    make = {
        "cupy": lambda array: module.asarray(array),
        "torch": lambda array: module.tensor(array).cuda(),
        "jax": lambda array: module.numpy.asarray(array),
    }[library]
    there = make(keys), make(x)
    got = gred.by_key(op, *there, 40)
    assert type(got) is type(there[1])
    nearly_same(to_host(got), by_loops(op, keys, x, 40), 5000)
    both = gred.by_key(op, there[0], make(np.stack([x, x[::-1]], 1)), 40)
    if op not in ("argmin", "argmax"):
        nearly_same(to_host(both)[:, 0], to_host(got), 5000)
    two = gred.by_key(op, (there[0] // 8, there[0] % 8), there[1], (5, 8))
    nearly_same(to_host(two).ravel(), to_host(got), 5000)
    with pytest.raises(IndexError):
        gred.by_key(op, there[0] - 1, there[1], 40)
