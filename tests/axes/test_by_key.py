"""Reductions by key, compared with NumPy's on the values of each key.

Devices compute sums, counts and extremes with atomics, in shuffled order. A block's table has a
slot for each result, or for the first ones; the host's parts have their own tables. The sizes reach
each of these. Exact sums are rounded once; those with few digits are computed again with more where
a number does not fit.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest
from devices import everywhere, laid_out, to_host
from exact_truths import of_exponents, same, truth
from exactly import typed
from gpu_libraries import Cupy, Jax, Torch, of
from processes import printed
from reference import COMPLEX, EVERY_TYPE, INTEGERS, REALS, home
from refusals import refused_by
from samples import silenced
from segments import NUMPYS, empty_result, nearly_same, whole
from thin import chosen
from truths import SPREADS, type_of

import gred
from gred import _core

LEAST_PART = 1 << 16  # elements of a part with its own table
FEW, MANY, N = 40, 30_000, 4000  # keys that fit in a table, keys that fit in none, and elements
OF_ONE = {op: NUMPYS[op] for op in NUMPYS if op != "nanprod"} | {"count": len}
ON_DEVICES = ("sum", "mean", "min", "max", "count_nonzero", "nansum", "nanmin", "nanmax", "nanmean")
OF_SQUARES = ("prod", *SPREADS, "norm", "logsumexp")
every_op = pytest.mark.parametrize("op", OF_ONE)


def keys_of(num_keys, n=N, kind="i8", hot=False):
    """Draw keys, of which the last is unused; if `hot`, half of them are equal."""
    random = np.random.default_rng(num_keys + n)
    keys = random.integers(0, max(num_keys - 1, 1), n)
    keys[: n // 2 * hot] = num_keys // 2
    return random.permutation(keys).astype(kind)


def by_key(place, op, keys, x, *rest, **options):
    """Reduce on a device, with shuffled threads."""
    with silenced(), gred.thread_order("shuffled", seed=3):
        given = laid_out(np.asarray(keys), place), laid_out(np.asarray(x), place)
        return to_host(gred.by_key(op, *given, *rest, **options))


def filled(op, dtype, n, random):
    """Draw whole numbers, whose sums are exact, or integers of any bits, whose sums wrap."""
    if dtype in INTEGERS[1:] and op not in OF_SQUARES:
        least = 0 if op == "mean" else np.iinfo(dtype).min
        return random.integers(least, np.iinfo(dtype).max, n, dtype, endpoint=True)
    x = whole(n, dtype, n)
    if op in ("prod", "logsumexp"):
        x = np.where(np.arange(n) % 97, x.dtype.type(1), x)
    if n and dtype not in (*INTEGERS, *COMPLEX) and random.integers(2):
        x[random.integers(0, n, n // 99 + 1)] = random.choice([np.nan, np.inf, -np.inf])
    return x


def right(op, keys, x, some):
    """Reduce the values of some keys with NumPy; positions are those among all values."""
    x, extreme = home(x), op.removeprefix("nan")
    with silenced():
        for key in some:
            places = np.flatnonzero(keys == key)
            if "arg" in op:
                taken = places[(x[places] == x[places]) | (op == extreme)]
                yield taken[OF_ONE[extreme](x[taken])] if taken.size else -1
            elif extreme not in ("min", "max") or places.size:
                yield OF_ONE[op](x[places])
            else:
                yield (
                    empty_result(extreme, x.dtype)
                    if op == extreme or x.dtype in INTEGERS
                    else np.nan
                )


def check(got, op, keys, x, some=None):
    some = range(len(got)) if some is None else some
    got, want = got[list(some)], list(right(op, keys, x, some))
    if got.dtype in INTEGERS:
        assert got.tolist() == np.array(want, got.dtype).tolist()
        return
    wide = home(np.array(want).astype(got.dtype))
    near = (len(x) + 4) * 2.0**-53 + 2 * float(ml_dtypes.finfo(got.dtype).eps)
    near = near if "mean" in op or op in OF_SQUARES else 0
    np.testing.assert_allclose(home(got), wide, near, near * (op in SPREADS))


SIZES = [(0, 3), (1, 1), (50, 9), (N, FEW), (N, MANY), (5000, 300), (N, 2)]
LONG = [(LEAST_PART - 1, 200_000), (2 * LEAST_PART, 1000), (9 * LEAST_PART + 5, 3)]


@every_op
def test_each_key_has_what_numpy_says_of_its_values(device, op):
    if device != "host" and op not in ON_DEVICES:
        return
    types = EVERY_TYPE[: -2 if device != "host" or op in OF_SQUARES else None]
    types = [t for t in types if op not in OF_SQUARES or t.name in ("float64", "int32", "uint8")]
    every = chosen(itertools.product(SIZES, types, (False, True)), op, device)
    if device == "host":
        every += chosen(chosen(itertools.product(LONG, types, (False,)), op), op)
    for turn, ((n, num_keys), dtype, hot) in enumerate(every):
        random = np.random.default_rng(turn)
        kinds = [kind for kind in ("i1", "u1", "i2", "u8", "i8") if np.iinfo(kind).max >= num_keys]
        keys = keys_of(num_keys, n, random.choice(kinds), hot)
        x = filled(op, dtype, n, random)
        got = by_key(device, op, keys, x, num_keys)
        assert got.shape == (num_keys,)
        assert got.dtype == ("i8" if op == "count" else type_of(op, dtype))
        first = keys[:1].tolist() if n else []
        check(got, op, keys, x, {0, num_keys - 1, num_keys // 2, *first, *range(0, num_keys, 997)})


@pytest.mark.parametrize("op", ["sum", "mean", "max", "argmax", "var", "count"])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_keys_lie_along_any_axis(op, axis):
    x = whole(6 * 7 * 8, "f8").reshape(6, 7, 8)
    keys = np.random.default_rng(2).integers(0, 4, x.shape[axis])
    got = gred.by_key(op, keys, x, 5, axis=axis)
    assert got.shape == (*x.shape[: axis % 3], 5, *x.shape[axis % 3 + 1 :])
    rows = np.moveaxis(x, axis, 0).reshape(len(keys), -1)
    for row, one in zip(rows.T, np.moveaxis(got, axis, 0).reshape(5, -1).T, strict=True):
        check(one, op, keys, row)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u4", "u8", "i8"])
def test_several_keys_give_a_dimension_each(kind):
    """Narrow keys are combined into wide ones; each row of values has its own results."""
    one, other, x = np.array([0, 19, 19, 10, 99]), np.array([1, 19, 3, 5, 118]), 2.0 ** np.arange(5)
    keys, right = (one.astype(kind), other.astype("i4")), np.zeros((100, 119))
    np.add.at(right, (one, other), x)
    assert np.array_equal(gred.by_key("sum", keys, x), right)
    for counts in ((20, 20), (100, 120), (300, 300), (70_000, 3)):
        want = np.zeros(counts)
        fits = (one < counts[0]) & (other < counts[1])
        np.add.at(want, (one[fits], other[fits]), x[fits])
        got = gred.by_key("sum", keys, x, counts, outside="drop")
        assert np.array_equal(got, want)
        got = gred.by_key("sum", keys, np.stack([x, 2 * x]), counts, axis=1, outside="drop")
        assert np.array_equal(got, np.stack([want, 2 * want]))
        if not fits.all():
            with pytest.raises(IndexError):
                gred.by_key("sum", keys, x, counts)
    keys = np.array([2**64 - 1, 1], np.uint64), np.array([1, 1])
    got = gred.by_key("count", keys, np.ones(2), (20, 20), outside="drop")
    assert got.sum() == got[1, 1] == 1


def test_dtype_ddof_and_ufuncs_have_their_meaning():
    keys, x = np.array([0, 0, 1, 1]), np.array([1, 2, 100, 200], np.uint8)
    assert gred.by_key("sum", keys, x).dtype == np.uint64
    assert gred.by_key("sum", keys, x, dtype=np.uint8).tolist() == [3, 44]
    assert gred.by_key("mean", keys, x, dtype=np.float32).dtype == np.float32
    assert gred.by_key("var", keys, x, ddof=1).tolist() == [0.5, 5000.0]
    assert gred.by_key(np.maximum, keys, x).tolist() == [2, 200]
    keys, x = np.array([0, 0, 1, 1, 1]), np.array([2**62, 2**62, 2**40, 2**40, 3])
    assert gred.by_key("prod", keys, x).tolist() == [0, 3 * 2**80 % 2**64]  # wraps around
    assert gred.by_key("prod", keys, x.astype(np.int32), dtype=np.int32).dtype == np.int32
    narrow = gred.by_key("sum", [0, 0, 2], np.array([2**15, 2**16 + 7, 1]), dtype=np.int16)
    assert narrow.tolist() == [7 - 2**15, 0, 1]
    assert gred.by_key("sum", [], []).tolist() == []
    assert gred.by_key("mean", np.zeros(0, int), np.zeros((0, 2)), 2).shape == (2, 2)
    assert gred.by_key("sum", [-5, -1], [1.0, 2.0], outside="drop").tolist() == []


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_keys_outside_are_an_error_or_dropped(device, kind):
    keys, x = keys_of(FEW, kind=kind), np.ones(N)
    ends = np.iinfo(kind)
    for num_keys in (FEW, MANY if ends.max > MANY else 100):
        for bad in {ends.min, ends.max, min(ends.max, num_keys)} - set(range(num_keys)):
            hostile = keys.copy()
            hostile[[0, 77]] = bad
            for op in OF_ONE if device == "host" and num_keys == FEW else ("sum", "max"):
                with pytest.raises(IndexError, match=rf"a key is not in \[0, {num_keys}\)"):
                    by_key(device, op, hostile, x, num_keys)
                got = by_key(device, op, hostile, x, num_keys, outside="drop")
                inside = np.where(np.isin(np.arange(N), (0, 77)), -1, keys.astype(int))
                check(got, op, inside, x, range(FEW))


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


def test_a_key_that_changes_meanwhile_is_read_and_never_believed():
    """Another thread writes invalid keys while they are sorted."""
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


INTEGERS_ALONE = "keys must be integers, not float64"
test_what_cannot_be_is_refused = refused_by(
    gred.by_key,
    (("sum", [0.0, 1.0], [1.0, 2.0]), {}, TypeError, INTEGERS_ALONE),
    (("sum", ["a"], [1.0]), {}, TypeError, "keys: element type <U1 is not supported"),
    (("sum", [[0, 1]], [1.0, 2.0]), {}, ValueError, "one dimension"),
    (("sum", [0, 1, 2], [1.0, 2.0]), {}, ValueError, "3 keys for 2 values"),
    (("sum", [0], [1.0], -1), {}, ValueError, "negative"),
    (("sum", [0], [1.0], 2.5), {}, TypeError, "integer"),
    (("sum", [0], [1.0], (1, 2)), {}, ValueError, "2 numbers for 1 keys"),
    (("sum", [0, 5], np.ones((2, 4)), 3), {}, IndexError, r"\[0, 3\)"),
    (("minmax", [0], [1.0]), {}, ValueError, "op must be one of"),
    (("sum", [0], [1.0]), {"outside": "clip"}, ValueError, "'error' or 'drop'"),
    (("sum", [0], [1.0]), {"axis": 1}, IndexError, "axis 1 is out of bounds"),
    (("sum", [0], 1.0), {}, IndexError, "axis 0 is out of bounds"),
    (("sum", [0], [1.0]), {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
    (("max", [0], [1.0]), {"method": "exact"}, ValueError, "exact"),
    (("sum", [0], [1.0], 2**62), {}, (MemoryError, ValueError), "array"),
)
HERE = {"keys": np.array([0, 1]), "values": np.ones(2), "whole": np.array([1, 4])}
HERE |= {"short": np.ones(1)}
WRONG_THERE = [
    ("var", "keys values", {}, TypeError, r"by_key supports a .* only for sums, means and"),
    ("mean", "keys whole", {"dtype": int}, TypeError, "by_key supports a"),  # sums only
    ("sum", "keys values", {"method": "batch_invariant"}, ValueError, "method"),
    ("sum", "keys_here values", {}, TypeError, "one place"),
    ("sum", "keys values_here", {}, TypeError, "one place"),
    ("sum", "values values", {}, TypeError, INTEGERS_ALONE),
    ("sum", "keys short", {}, ValueError, "2 keys for 1 values"),
]


@everywhere
@pytest.mark.parametrize(("op", "given", "options", "error", "words"), WRONG_THERE)
def test_what_no_kernel_takes_is_refused(place, op, given, options, error, words):
    arrays = {name: laid_out(array, place) for name, array in HERE.items()}
    arrays |= {f"{name}_here": array for name, array in HERE.items()}
    with pytest.raises(error, match=words):
        gred.by_key(op, *(arrays[name] for name in given.split()), num_keys=2, **options)


@pytest.mark.gpu
@of(Cupy, Torch, Jax)
@every_op
def test_a_library_on_a_gpu_gets_its_own_arrays(op, library):
    keys, x = keys_of(FEW, 5000), filled(op, np.dtype("f8"), 5000, np.random.default_rng(1))
    there, values = library.make(keys), library.make(x)
    got = gred.by_key(op, there, values, FEW)
    assert type(got) is type(values)
    check(to_host(got), op, keys, x)
    both = gred.by_key(op, there, library.make(np.stack([x, x[::-1]], 1)), FEW)
    if "arg" not in op:
        nearly_same(to_host(both)[:, 0], to_host(got), 5000)
    two = gred.by_key(op, (there // 8, there % 8), values, (5, 8))
    nearly_same(to_host(two).ravel(), to_host(got), 5000)
    with pytest.raises(IndexError):
        gred.by_key(op, there - 1, values, FEW)


# ---- exact sums ----


def far_apart(dtype, times, random):
    """Yield numbers near a sample, a few or many far above and below it, and of any magnitude."""
    wider = {4: 5, 8: 70}.get(dtype.itemsize, 5 if dtype.kind == "V" else 1)
    ends = ((-8, 8, slice(None)), (9, 14, slice(3, 4)), (-24, -20, slice(3, 9)))
    for least, end, at in ends:
        exponents = np.zeros(N * times, int)
        exponents[at] = random.integers(wider * least, wider * end, N * times)[at]
        yield of_exponents(exponents, dtype)
    if times > 1 and dtype.itemsize == 8:
        yield of_exponents(random.integers(-900, 900, N * times), dtype)


@pytest.mark.parametrize("op", ["sum", "mean", "nansum", "nanmean"])
@typed
def test_exact_results_are_each_rounded_once_in_any_order(device, dtype, op):
    """The host also has several parts, and numbers of very different magnitudes."""
    cases = ((2, False), (FEW, False), (FEW, True), (MANY, False), (MANY, True))
    times = 48 if device == "host" else 1
    every = itertools.product(cases, enumerate(far_apart(dtype, times, np.random.default_rng(8))))
    every = list(every)
    for at in chosen(range(len(every)), op, dtype, device):
        (num_keys, hot), (_, x) = every[at]
        keys = np.tile(keys_of(num_keys, hot=hot), times)
        x[::50] = np.nan if op.startswith("nan") else 0
        got = by_key(device, op, keys, x, num_keys, method="exact")
        assert (got.dtype, got.shape) == (dtype, (num_keys,))
        for key in (int(keys[0]), int(np.bincount(keys).argmax()), int(keys.max())):
            assert same(got[key], truth(op, x[keys == key], dtype)), key
        order = np.random.default_rng(7).permutation(len(x))
        again = by_key(device, op, keys[order], x[order], num_keys, method="exact")
        assert same(again, got)


@typed
def test_the_ends_of_a_type_are_added_without_a_rounding(device, dtype):
    smallest, greatest = ml_dtypes.finfo(dtype).smallest_subnormal, ml_dtypes.finfo(dtype).max
    x = np.array([greatest, smallest, greatest, smallest, -greatest, 0, -0.0, -smallest], dtype)
    keys = np.array([0, 0, 1, 2, 0, 3, 4, 5], np.int8)
    got = by_key(device, "sum", keys, x, 6, method="exact")
    right = np.array([smallest, greatest, smallest, 0, 0, -smallest], dtype)
    assert same(got, right)
    x = np.array([*[greatest] * 4, np.inf, 1, -np.inf, np.inf, np.nan], dtype)
    keys = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3])
    got = by_key(device, "sum", keys, x, 4, method="exact").astype(float)
    np.testing.assert_array_equal(got, [np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize("dtype", REALS[2:], ids=str)
def test_the_least_of_all_digits_decides_a_tie(device, dtype):
    top, bits, low = (900, 53, -1000) if dtype.itemsize == 8 else (100, 24, -149)
    x = np.ldexp([1.0, 1, 1, 1, 1, -1, 1, 1], [top, top - bits, low] * 2 + [top, top - bits])
    keys = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    even, above = dtype.type(2.0**top), np.nextafter(dtype.type(2.0**top), dtype.type(np.inf))
    got = by_key(device, "sum", keys, x.astype(dtype), method="exact")
    assert got.tolist() == [above, even, even]


def test_parts_whose_sums_are_far_apart_are_added_exactly():
    keys, x = np.zeros(4 * LEAST_PART, int), np.zeros(4 * LEAST_PART)
    for far in (2.0**-40, 2.0**-80, 2.0**-1000):
        x[[0, 2 * LEAST_PART, -1]] = 2.0**40, far, -(2.0**40)
        assert gred.by_key("sum", keys, x, 2, method="exact").tolist() == [far, 0]
        assert gred.by_key("mean", keys, x, method="exact").tolist() == [far / len(x)]
