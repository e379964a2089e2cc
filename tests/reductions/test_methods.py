"""Every method, op, element type and block size is right at the lengths that often go wrong."""

import functools
import itertools
import time
import warnings

import inputs
import numpy as np
import pytest
from devices import laid_out
from exact_truths import same
from gpu_arrays import GpuArray, free_bytes
from inputs import FLOATS, KINDS, OPS, block_sizes, exact, longest, reduce, rounding, takes
from reference import BFLOAT16, EVERY_TYPE, INTEGERS, agrees
from samples import shown
from thin import chosen

import gred

every_op = pytest.mark.parametrize("op", OPS)


def check(case, op, array=None, **options):
    """Compare the reduction of a case's array, or of one with the same elements, with the truth."""
    got = reduce(op, case.array if array is None else array, **options)
    about = f"{op} of {case.array.size} {case.array.dtype} with {options}"
    assert agrees(got, case.truth), f"{about}: {got!r}, not {shown(case.truth)}"


# ---- lengths ----


@every_op
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_length_and_block_size_is_exact_on_exact_data(device, method, op, kind):
    """On slow devices, ops and kinds share the block sizes.

    Each op and each kind meet all of them, with the longest array once per block size; the first op
    also takes the sizes that the other ops leave for its kind.
    """
    sizes = block_sizes(method)
    turn = (OPS.index(op) + KINDS.index(kind)) % len(sizes)
    left = len(sizes) - len(OPS) if op == OPS[0] else 0
    turns = {turn, *((turn - k - 1) % len(sizes) for k in range(left))}
    for place, block_size in enumerate(sizes):
        everything = device != "simulated" or place == turn
        if not everything and place not in turns:
            continue
        options = {"method": method, "block_size": block_size, "dtype": kind.dtype}
        every = (*inputs.lengths(block_size), *[longest(device, method)] * everything)
        for n in chosen(every, op, kind, method):
            if n or op in ("sum", "prod"):
                check(exact(op, kind, n), op, device=device, **options)


@every_op
def test_the_other_element_types_are_right(device, method, op):
    """float16 and bfloat16 are accumulated in float32 and rounded once, as the bound assumes."""
    for kind in inputs.MORE_KINDS:
        if takes(method, kind.given):
            for n in chosen((1, 33, 4097), kind, op, method, device):
                check(exact(op, kind, n), op, method=method, device=device)
                if op in ("sum", "prod", "mean") and kind.given not in INTEGERS:
                    check(rounding(op, kind, n), op, method=method, device=device)
            continue
        with pytest.raises(TypeError, match=f"{method}.*complex|complex.*{method}"):
            reduce(op, np.ones(5, kind.given), method=method, device=device)
        with pytest.raises(TypeError, match="complex"):
            reduce(op, np.ones(5), method=method, device=device, dtype=kind.given)


@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
def test_rounding_errors_stay_within_their_bound(device, method, op, kind):
    every = itertools.product(block_sizes(method), (33, 1000, 4097))
    for block_size, n in chosen(every, op, kind, method, device):
        case = rounding(op, kind, n)
        check(case, op, method=method, block_size=block_size, device=device)
    check(rounding(op, kind, longest(device, method)), op, method=method, device=device)


def test_every_length_is_right(device, method):
    """All lengths up to more than two data blocks of the rung that unrolls by eight."""
    array = np.random.default_rng(1).integers(-(2**62), 2**62, 600)
    sums = np.concatenate([[0], np.cumsum(array)])
    for n in chosen(range(len(array) + 1), method):
        options = {"device": device, "block_size": block_sizes(method)[0]}
        assert gred.sum(array[:n], method=method, **options) == sums[n], n


def test_an_array_may_begin_off_a_boundary(device, rung):
    for dtype, first, n in itertools.product(("i4", "f8"), (1, 3), (1, 30, 97, 1025)):
        x = np.arange(first + n, dtype=dtype)
        got = reduce("sum", laid_out(x[first:], device), method=rung, dtype=dtype)
        assert got == x[first:].sum(), (dtype, first, n)


@every_op
def test_nothing_beyond_the_array_is_read(device, method, op):
    """The array is surrounded by NaN in readable memory."""
    for kind, n in chosen(itertools.product(FLOATS, (1, 31, 257, 1000, 4097)), op, method):
        case = exact(op, kind, n)
        surrounded = np.full(n + 2 * 3000, np.nan, kind.given)
        surrounded[3000 : 3000 + n] = case.array
        array = (GpuArray.of(surrounded) if device == "cuda" else surrounded)[3000 : 3000 + n]
        for block_size in block_sizes(method)[::5]:
            check(case, op, array, method=method, block_size=block_size, device=device)


BIG, PERIOD = 2**32 + 12345, 1_000_003
GIANT_METHODS = ("halving", "interleaved", "unroll8", "shared_modulo", "shared_grid_stride")
GIANT_METHODS += ("shuffle_vector", "atomic", "last_block", "cooperative", "cub")


@pytest.fixture(scope="module")
def giant():
    """More than 2^32 int32 on the GPU, of noise with an odd period."""
    needed = 4 * BIG
    if free_bytes() < 5 * needed:
        pytest.skip(f"the GPU has less than {5 * needed / 2**30:.0f} GiB free")
    noise = np.random.default_rng(2).integers(-(2**20), 2**20, PERIOD, np.int32)
    repeats, rest = divmod(BIG, PERIOD)
    total = repeats * int(noise.sum(dtype=np.int64)) + int(noise[:rest].sum(dtype=np.int64))
    return GpuArray.repeating(noise, BIG), noise, total


@pytest.mark.gpu
@pytest.mark.parametrize("method", GIANT_METHODS)
def test_more_than_2_to_the_32_elements_are_right(giant, method):
    array, noise, total = giant
    assert gred.sum(array, method=method) == total
    for position in (0, 2**31, 2**32 - 1, 2**32, BIG - 1):
        usual = noise[position % PERIOD]
        array[position] = 2**30
        try:
            assert gred.max(array, method=method, dtype=np.int32) == 2**30, position
        finally:
            array[position] = usual


# ---- types and values ----


@every_op
@pytest.mark.filterwarnings("ignore:.*imaginary part:numpy.exceptions.ComplexWarning")
def test_each_element_is_converted_to_the_dtype_first(device, method, op):
    """Every type is converted to every other; on slow devices, ops share the long arrays."""
    several = ("auto", "recursive", "last_block", "interleaved", "shuffle_vector")
    types = EVERY_TYPE if method in several else inputs.ELEMENT_TYPES
    every = itertools.product(types, types)
    for turn, (given, dtype) in chosen(enumerate(every), op, method, device):
        long = device != "simulated" or (turn + OPS.index(op)) % 3 == 0
        for n in (1, 33, *[4097] * long) if takes(method, given, dtype) else ():
            check(inputs.mixed(op, given, dtype, n), op, method=method, device=device, dtype=dtype)


NAN, EXTREME_TYPES = float("nan"), (np.int32, np.uint64, np.float64)
EXTREMES = [(op, end, dtype) for op, end in (("min", 2), ("max", 9)) for dtype in EXTREME_TYPES]
EXTREMES += [(op, NAN, t) for op in ("min", "max") for t in ("f2", BFLOAT16, "f4", "f8")]
EXTREMES += [("max", complex(9, NAN), "c8"), ("min", complex(NAN, -9), "c16")]
EXTREMES += [("max", complex(0, NAN), "c16")]


@pytest.mark.parametrize(("op", "special", "dtype"), EXTREMES)
def test_the_extreme_is_found_wherever_it_lies(device, method, op, special, dtype):
    """NaN is the extreme of all floats; with the smallest blocks."""
    for position in chosen(range(257), method, op, special) if takes(method, dtype) else ():
        array = np.full(257, 5).astype(dtype)
        array[position] = special
        got = reduce(op, array, method=method, device=device, block_size=block_sizes(method)[0])
        assert got == special or (got != got and special != special), f"lost at {position} of 257"


INF = np.inf
SPECIAL = [[1, NAN, 2], [NAN, INF, -INF], [INF, NAN, -INF], [INF, 1, -INF], [INF, 0, 3]]
SPECIAL += [[-0.0, 2, 3], [1, INF, 2], [1, -INF, 2], [INF] * 3, [-INF] * 3, [-0.0] * 3, [-0.0]]


@functools.cache
def special_arrays(op, dtype):
    """Yield arrays of some lengths with few special values, and NumPy's results."""
    filler = {"sum": -0.0, "prod": 1, "mean": -0.0, "min": np.inf, "max": -np.inf}[op]
    ends = np.finfo(dtype)
    made = [np.full(99, sign * ends.max) for sign in (1, -1) if dtype != np.float16]
    made.append(np.full(1000 if op != "prod" else 1, ends.smallest_subnormal))
    for values in SPECIAL:
        for n in (len(values), 100, 1500):
            array = np.full(n, filler, dtype)
            array[np.linspace(0, n - 1, len(values)).astype(int)] = values
            made.append(array)
    with np.errstate(all="ignore"):
        return [(array, getattr(np, op)(array)) for array in made]


@every_op
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_special_values_are_numpys(device, method, op, dtype):
    for array, expected in special_arrays(op, dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = reduce(op, array, method=method, device=device)
        assert got.dtype == dtype
        assert same(got, expected), f"{got!r}, not {expected!r}, of {array!r}"


# ---- timing ----

SINGLE_LAUNCH = ("atomic", "last_block", "cooperative", "bulk", "cluster")


def passes_of(rung: str, n: int, block_size: int, grid: int) -> int:
    if rung in SINGLE_LAUNCH:
        return 1
    if rung != "halving" and rung not in inputs.DATA_BLOCKS:
        return 1 if grid == 1 else 2
    passes = 0
    while n > 1 or not passes:
        n = n - n // 2 if rung == "halving" else -(-n // (block_size * inputs.DATA_BLOCKS[rung]))
        passes += 1
    return passes


def test_the_second_stage_is_on_the_device(device, rung):
    """Further launches of the same rung merge partial results until one is left."""
    for n in (2, 1000, 40_000):
        case = exact("sum", FLOATS[0], n)
        options = {"method": rung, "device": device, "block_size": 32, "samples": 1}
        timed = gred.kernel_time(case.array, "sum", **options)
        assert agrees(timed.result, case.truth)
        assert timed.passes == passes_of(rung, n, 32, timed.grid)


@pytest.mark.parametrize("cold", [False, True])
def test_the_measured_time_is_the_kernels_own_with_all_samples(device, method, cold):
    """All samples fit within the call and start from the same array, even if rungs change it."""
    case, count = exact("sum", KINDS[0], 4097), 2 if cold else 7
    options = {"method": method, "device": device, "samples": count, "warmup": 1, "cold": cold}
    began = time.perf_counter()
    timed = gred.kernel_time(case.array, "sum", **options)
    elapsed = time.perf_counter() - began
    for samples in (timed.seconds, timed.first_pass):
        assert (samples.shape, samples.dtype) == ((count,), np.float64)
        assert (samples > 0).all()
    assert (timed.first_pass <= timed.seconds).all()
    assert timed.seconds.sum() <= elapsed
    assert timed.nbytes == case.array.nbytes
    assert agrees(timed.result, case.truth)
