"""Reductions by key against NumPy's loops over each key, `np.bincount` and fractions."""

import itertools

import numpy as np
import pytest
from devices import GPU_IS_HERE, to_host
from exact_truths import bits_of, truth
from processes import printed
from reference import EVERY_TYPE, REALS
from thin import chosen

import gred

LEAST_PART = 1 << 16  # elements of a part that has a table of its own
EPSILON = np.finfo(np.float64).eps
NUMPYS = {
    "count": len,
    "norm": lambda x: np.linalg.norm(x.ravel()),
    **{name: getattr(np, name) for name in ("sum", "mean", "prod", "var", "std", "min", "max")},
    **{name: getattr(np, name) for name in ("any", "all", "argmin", "argmax", "nansum", "nanmax")},
    "count_nonzero": np.count_nonzero,
    "logsumexp": lambda x: np.logaddexp.reduce(x, axis=None),
}
EMPTY = {"sum": 0, "mean": np.nan, "prod": 1, "var": np.nan, "std": np.nan, "min": np.inf}
EMPTY |= {"max": -np.inf, "any": False, "all": True, "argmin": -1, "argmax": -1, "count": 0}
EMPTY |= {"norm": 0, "nansum": 0, "nanmax": np.nan, "count_nonzero": 0, "logsumexp": -np.inf}
every_op = pytest.mark.parametrize("op", NUMPYS)


def drawn(n, num_keys, dtype="f8", seed=1):
    """Draw keys, of which some are none's, and small integers, whose sums are exact."""
    random = np.random.default_rng(seed)
    x = random.integers(-9, 10, n)
    keys = random.integers(0, max(num_keys - 1, 1), n)
    return keys, (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


def misaligned(x):
    beside = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype)
    beside[...] = x
    return beside


def by_loops(op, keys, x, num_keys):
    """Reduce the values of each key by NumPy; positions are those among all."""
    found = []
    for key in range(num_keys):
        places = np.flatnonzero(keys == key)
        value = NUMPYS[op](x[places]) if places.size else EMPTY[op]
        found.append(places[value] if op.startswith("arg") and places.size else value)
    return np.array(found)


def same(got, want, n):
    assert got.shape == want.shape
    if got.dtype.kind in "iub":
        assert np.array_equal(got, want)
    else:  # of squares of deviations each is rounded, and then their sum
        assert np.allclose(got, want, (n + 4) * EPSILON, 0, equal_nan=True)


@every_op
@pytest.mark.parametrize("num_keys", [1, 2, 9, 300])
def test_each_key_has_what_numpy_says_of_its_values(op, num_keys):
    for n, kind in chosen(itertools.product((0, 1, 50, 5000), ("i8", "i4", "u1", "u8")), op):
        keys, x = drawn(n, num_keys)
        if op == "prod":
            x = np.where(np.arange(n) % 97, 1.0, x)
        got = gred.by_key(op, keys.astype(kind), x, num_keys)
        same(got, by_loops(op, keys.astype(kind).astype(int), x, num_keys), max(n, 1))


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


def test_nan_and_infinity_stay_with_their_keys():
    keys = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    x = np.array([np.nan, 1, np.inf, -np.inf, 2, 3, -np.inf, 4])
    assert np.array_equal(gred.by_key("sum", keys, x), [np.nan, 4, np.nan, -np.inf], True)
    for op, want in (("min", [np.nan, 1, -np.inf, -np.inf]), ("max", [np.nan, 3, np.inf, 4])):
        for order in (slice(None), slice(None, None, -1)):
            assert np.array_equal(gred.by_key(op, keys[order], x[order]), want, True)
    assert gred.by_key("nansum", keys, x)[0] == 2
    exactly = gred.by_key("sum", keys, x, method="exact")
    assert np.array_equal(exactly, [np.nan, 4, np.nan, -np.inf], True)


def test_layouts_change_nothing():
    keys, x = drawn(4000, 30)
    for layout in (slice(None, None, -1), slice(None, None, 3), slice(5, -7)):
        want = by_loops("sum", keys[layout], x[layout], 30)
        assert np.array_equal(gred.by_key("sum", keys[layout], x[layout], 30), want)
        same(
            gred.by_key("var", keys[layout], x[layout], 30),
            by_loops("var", keys[layout], x[layout], 30),
            4000,
        )
    for kind in (">i4", ">i8", ">u8"):
        swapped = gred.by_key("sum", keys.astype(kind), x.astype(">f8"), 30)
        assert np.array_equal(swapped, by_loops("sum", keys, x, 30))
    for op, method in (("sum", "auto"), ("sum", "exact"), ("argmax", "auto")):
        got = gred.by_key(op, misaligned(keys), misaligned(x), 30, method=method)
        assert np.array_equal(got, by_loops(op, keys, x, 30))
    got = gred.by_key("sum", keys, np.broadcast_to(2.0, 4000), 30)
    assert np.array_equal(got, 2.0 * np.bincount(keys, minlength=30))
    for op in ("min", "max", "any", "all"):  # of which each key has its own
        for value in (2.0, 0.0):
            x = np.full(4000, value)
            got = gred.by_key(op, keys, np.broadcast_to(value, 4000), 30)
            assert np.array_equal(got, by_loops(op, keys, x, 30), equal_nan=True)


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
    same(got, np.moveaxis(want.reshape(shape), 0, axis), 8)


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
        for counts in ((20, 20), (100, 120), (300, 300), (100_000, 100)):
            one, other = np.array([0, 19, 19, 10, 99]), np.array([1, 19, 3, 5, 118])
            want = np.zeros(counts)
            fits = (one < counts[0]) & (other < counts[1])
            np.add.at(want, (one[fits], other[fits]), 1)
            given = (one.astype(kind), other.astype("i4"))
            got = gred.by_key("sum", given, np.ones(5), counts, outside="drop")
            assert np.array_equal(got, want)
    largest = np.array([2**64 - 1, 1], np.uint64)
    got = gred.by_key("count", (largest, np.array([1, 1])), np.ones(2), (20, 20), outside="drop")
    assert got.sum() == got[1, 1] == 1


@every_op
def test_keys_that_are_none_are_an_error_or_dropped(op):
    keys, x = drawn(500, 20)
    for value in (-1, 20, 2**40, -(2**63), 2**63 - 1):
        hostile = keys.copy()
        hostile[[3, 400]] = value
        with pytest.raises(IndexError, match=r"a key is not in \[0, 20\)"):
            gred.by_key(op, hostile, x, 20)
        got = gred.by_key(op, hostile, x, 20, outside="drop")
        same(got, by_loops(op, hostile, x, 20), 500)
    unsigned = keys.astype(np.uint64)
    unsigned[7] = 2**64 - 1
    with pytest.raises(IndexError):
        gred.by_key(op, unsigned, x, 20)


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize("n", [300, 3 * LEAST_PART])
def test_exact_results_are_each_rounded_once_in_any_order(dtype, n):
    random = np.random.default_rng(4)
    x = np.ldexp(random.normal(size=n), random.integers(-12, 9, n)).astype(dtype)
    keys = random.integers(0, 50, n)
    for name in ("sum", "mean"):
        got = gred.by_key(name, keys, x, 51, method="exact")
        for key in (0, 7, 49):
            assert bits_of(got[key]) == bits_of(truth(name, x[keys == key], dtype))
        order = random.permutation(n)
        again = gred.by_key(name, keys[order], x[order], 51, method="exact")
        assert np.array_equal(bits_of(again), bits_of(got))
    if dtype == REALS[-1]:
        wide = np.ldexp(random.normal(size=n), random.integers(-900, 900, n))
        got = gred.by_key("sum", keys, wide, 51, method="exact")
        for key in (0, 7, 49):
            assert got[key] == truth("sum", wide[keys == key], dtype)


def test_parts_whose_sums_are_far_apart_are_added_exactly():
    keys, x = np.zeros(4 * LEAST_PART, int), np.zeros(4 * LEAST_PART)
    for far in (2.0**-40, 2.0**-80, 2.0**-1000):
        x[[0, 2 * LEAST_PART, -1]] = 2.0**40, far, -(2.0**40)
        assert gred.by_key("sum", keys, x, 2, method="exact").tolist() == [far, 0]
        assert gred.by_key("mean", keys, x, method="exact").tolist() == [far / len(x)]


def test_no_number_of_threads_changes_a_bit(threads_as_before):
    random = np.random.default_rng(5)
    keys, x = random.integers(0, 1000, 10 * LEAST_PART), random.lognormal(0, 3, 10 * LEAST_PART)
    made = set()
    for threads in (1, 2, 3, 7):
        gred.threads(threads)
        made.add(b"".join(gred.by_key(op, keys, x).tobytes() for op in ("sum", "mean", "var")))
    assert len(made) == 1


def test_dtype_and_ddof_have_their_meaning():
    keys, x = np.array([0, 0, 1, 1]), np.array([1, 2, 100, 200], np.uint8)
    assert gred.by_key("sum", keys, x).dtype == np.uint64
    assert gred.by_key("sum", keys, x, dtype=np.uint8).tolist() == [3, 44]
    assert gred.by_key("mean", keys, x, dtype=np.float32).dtype == np.float32
    assert gred.by_key("var", keys, x, ddof=1).tolist() == [0.5, 5000.0]
    assert gred.by_key(np.maximum, keys, x).tolist() == [2, 200]


def test_integers_wrap_around():
    keys, x = np.array([0, 0, 1, 1, 1]), np.array([2**62, 2**62, 2**40, 2**40, 3])
    assert gred.by_key("sum", keys, x)[0] == -(2**63)
    assert gred.by_key("prod", keys, x).tolist() == [0, 3 * 2**80 % 2**64]
    assert gred.by_key("prod", keys, x.astype(np.int32), dtype=np.int32).dtype == np.int32


def test_nothing_has_no_keys():
    assert gred.by_key("sum", [], []).tolist() == []
    assert gred.by_key("sum", [], [], 3).tolist() == [0, 0, 0]
    assert gred.by_key("mean", np.zeros(0, int), np.zeros((0, 2)), 2).shape == (2, 2)
    assert gred.by_key("sum", [-5, -1], [1.0, 2.0], outside="drop").tolist() == []
    with pytest.raises(IndexError):
        gred.by_key("sum", [-5, -1], [1.0, 2.0])


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


def test_masked_arrays_are_refused():
    masked = np.ma.array([1, 2, 3], mask=[0, 0, 1])
    for op, keys, values in (
        ("sum", masked, [1.0, 2.0, 3.0]),
        ("sum", [0, 1, 2], masked),
        ("count", [0, 1, 2], masked),
        ("sum", masked, np.ones((3, 2))),
        ("sum", (masked, [0, 1, 2]), [1.0, 2.0, 3.0]),
    ):
        with pytest.raises(TypeError, match="masked arrays are not supported"):
            gred.by_key(op, keys, values)
    for values, offsets in ((masked, [0]), ([1.0, 2.0, 3.0], masked), (np.ones((3, 3)), masked)):
        with pytest.raises(TypeError, match="masked arrays are not supported"):
            gred.reduceat("sum", values, offsets)


@pytest.mark.gpu
@pytest.mark.skipif(not GPU_IS_HERE, reason="there is no GPU")
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
    same(to_host(got), by_loops(op, keys, x, 40), 5000)
    both = gred.by_key(op, there[0], make(np.stack([x, x[::-1]], 1)), 40)
    if op not in ("argmin", "argmax"):
        same(to_host(both)[:, 0], to_host(got), 5000)
    two = gred.by_key(op, (there[0] // 8, there[0] % 8), there[1], (5, 8))
    same(to_host(two).ravel(), to_host(got), 5000)
    with pytest.raises(IndexError):
        gred.by_key(op, there[0] - 1, there[1], 40)
