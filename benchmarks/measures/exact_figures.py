"""Exact sums: what they cost beside fast ones and other libraries, and what those get wrong.

Dot products stand beside the read limit, and CuPy's and PyTorch's, which are cuBLAS's.

On a GPU what is large is device time, measured alike for all, and what is small whole calls. The
host's are whole calls, of `exact_on_host.py`. CUB's reproducible sums are there where headers are
that have them (`reproducible_cub.py`).
"""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from measures import reproducible_cub
from measures.axes_figures import PATIENCE, Gpu
from measures.device_times import Call
from measures.figure import Figure, beside_exact, figure
from measures.timing import medians_in_turns

import gred
from gred.cli import units
from gred.cli.measure import read_limit

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# gred's plain kernels, by name, once `auto` no longer is these.
FAST = "auto"
TYPES, HALVES = ("float32", "float64"), ("float16", "bfloat16")
LARGE, RANGE_SIZE = (256 * MIB, GIB, 4 * GIB), GIB
OF_FAST, OF_FAST_WHOLE_RANGE = 0.95, 0.15
DOT_SIZE, DOT_OF_LIMIT, LIMIT_SAMPLES = GIB, 0.8, 5
FEW, FEW_OVER_FAST = (1, 32, 1024), 1.5
SMALL_CALLS, SMALL_OVER_FAST = (MIB, 16 * MIB), 1.2
# How many times gred's time CUB's reproducible sums take: on the device, by bytes and type, and of
# whole small calls.
OVER_CUB = {(256 * MIB, dtype): 2.0 for dtype in TYPES}
OVER_CUB |= {(4 * GIB, "float32"): 1.25, (4 * GIB, "float64"): 1.15}
SMALL_OVER_CUB = 3.0
# Whole calls over size, of which the plot is made.
CURVE = tuple(1 << k for k in range(12, 33, 2))
CALLS = 300
DRAWN = 1 << 22
# Results along axes, which are made one by one; there are no targets.
AXES_SIZE, RESULTS = 256 * MIB, 64
ORDERS, CANCELLING = 8, 1 << 18
# What is measured of the orders, and a word for a table's head.
DISTINCT, WORST = "distinct sums of 8 orders", "the worst error"
ORDERS_TOLD = ((DISTINCT, "different sums"), (WORST, "worst error, ulp"))

CUB = reproducible_cub.NAME

Draw = Callable[[Any, int], Any]


def over_the_range(dtype: str) -> Draw:
    """Draw exponents over the type's whole range, but for sums of 2^28 to stay finite."""
    kind = np.finfo(dtype)

    def draw(rng: Any, size: int) -> Any:
        exponents = rng.integers(kind.minexp, kind.maxexp - 30, size)
        return np.ldexp(rng.uniform(-1, 1, size), exponents)

    return draw


DATA: dict[str, Draw] = {
    "uniform": lambda rng, size: rng.random(size),
    "normal": lambda rng, size: rng.standard_normal(size),
    "lognormal(0, 4)": lambda rng, size: rng.lognormal(0, 4, size),
}


def drawn(draw: Draw, dtype: str, size: int) -> Any:
    return draw(np.random.default_rng(0), min(size, DRAWN)).astype(dtype)


class Bench(Gpu):
    """A GPU on which sums are measured."""

    def placed(self, draw: Draw, dtype: str, size: int) -> Any:
        """Repeat what was drawn in the GPU's memory; bfloat16 is PyTorch's."""
        if dtype == "bfloat16":
            placed = self.placed(draw, "float32", size)
            return self.torch.as_tensor(placed, device="cuda").to(self.torch.bfloat16)
        tile = self.cupy.asarray(drawn(draw, dtype, size))
        return self.cupy.tile(tile, -(-size // tile.size))[:size]

    @cached_property
    def cub(self) -> Any:
        return reproducible_cub.compiled_sums()

    def has_cub(self, array: Any) -> bool:
        """Tell whether CUB has reproducible sums of such an array."""
        return str(array.dtype) in reproducible_cub.TYPES and self.cub is not None

    def others(self, array: Any) -> dict[str, Call]:
        """List the sums of other libraries; CuPy has no bfloat16."""
        tensor = self.torch.as_tensor(array, device="cuda")
        calls: dict[str, Call] = {"PyTorch": lambda: self.torch.sum(tensor)}
        if not isinstance(array, self.torch.Tensor):
            calls["CuPy"] = lambda: self.cupy.sum(array)
        return calls

    def queued(self, array: Any) -> dict[str, Call]:
        if isinstance(array, self.torch.Tensor):
            out = self.torch.zeros((), dtype=array.dtype, device="cuda")
        else:
            out = self.cupy.zeros((), array.dtype)
        add = partial(gred.sum, array, out=out, stream=self.times.stream)
        calls: dict[str, Call] = {
            "exact": partial(add, method="exact"),
            "gred": partial(add, method=FAST),
            **self.others(array),
        }
        if self.has_cub(array):
            out = self.cupy.zeros((), array.dtype)
            calls[CUB] = reproducible_cub.queued(self.cub, array, out, self.times.stream)
        return calls

    def answered(self, array: Any) -> dict[str, Call]:
        others: dict[str, Call] = {
            name: partial(brought, call) for name, call in self.others(array).items()
        }
        exact, fast = (partial(gred.sum, array, method=method) for method in ("exact", FAST))
        if self.has_cub(array):
            others[CUB] = reproducible_cub.answered(self.cub, array)
        return {"exact": exact, "gred": fast, **others}


def brought(call: Call) -> Any:
    return call().item()


def measure_large(dtype: str, bench: Bench | None = None) -> Iterator[Figure]:
    """Compare device times of exact sums and fast ones of large arrays."""
    bench = bench or Bench()
    group = "exact sums of float32, float64 on a GPU: rate over that of fast ones"
    for nbytes, (name, draw) in itertools.product(LARGE, DATA.items()):
        over_cub = OVER_CUB.get((nbytes, dtype))
        yield from beside_fast(bench, draw, name, dtype, nbytes, OF_FAST, group, over_cub)
    group = "exact sums of exponents over the whole range on a GPU: rate over that of fast ones"
    everywhere, name = over_the_range(dtype), "exponents over the whole range"
    yield from beside_fast(bench, everywhere, name, dtype, RANGE_SIZE, OF_FAST_WHOLE_RANGE, group)


def measure_halves(bench: Bench | None = None) -> Iterator[Figure]:
    """Compare device times of exact sums and fast ones of elements of two bytes."""
    bench = bench or Bench()
    group = "exact sums of float16, bfloat16 on a GPU: rate over that of fast ones"
    for dtype in HALVES:
        yield from beside_fast(bench, DATA["normal"], "normal", dtype, GIB, OF_FAST, group)


def beside_fast(
    bench: Bench,
    draw: Draw,
    name: str,
    dtype: str,
    nbytes: int,
    target: float,
    group: str,
    over_cub: float | None = None,
) -> Iterator[Figure]:
    """Compare one array's sums; most of other libraries' are shown to compare with."""
    array = bench.placed(
        draw, dtype, nbytes // (2 if dtype in HALVES else np.dtype(dtype).itemsize)
    )
    with bench.times.current():
        seconds = bench.times.medians(bench.times.able(bench.queued(array), PATIENCE))
    exact = seconds.pop("exact")
    what = f"exact sum, {name} {dtype}, {units.bytes_text(nbytes)}"
    rate = units.bandwidth_text(nbytes / exact)
    yield figure(
        f"{what}: rate over the fast one's, {rate}", [seconds.pop("gred") / exact], "x",
        at_least=target, group=group,
    )  # fmt: skip
    for other, taken in seconds.items():
        bound = over_cub if other == CUB else None
        yield figure(
            f"{what}: {other}'s time over gred's exact one", [taken / exact], "x",
            at_least=bound, group=beside_cub(nbytes, dtype) if bound else None,
        )  # fmt: skip
    del array
    bench.cupy.get_default_memory_pool().free_all_blocks()
    bench.torch.cuda.empty_cache()


def beside_cub(nbytes: int, dtype: str) -> str:
    """Name the target of CUB's time; it is the same of both types where the bound is."""
    kinds = [kind for kind in TYPES if OVER_CUB[nbytes, kind] == OVER_CUB[nbytes, dtype]]
    size = units.bytes_text(nbytes)
    return f"exact sums of {', '.join(kinds)} on a GPU, {size}: time of {CUB} over theirs"


def measure_dot(dtype: str, bench: Bench | None = None) -> Iterator[Figure]:
    """Compare dot products with reading both arrays, and cuBLAS's; gred's includes the way back."""
    bench = bench or Bench()
    size = DOT_SIZE // np.dtype(dtype).itemsize
    a = bench.placed(DATA["normal"], dtype, size)
    b = bench.placed(lambda rng, n: rng.standard_normal(2 * n)[n:], dtype, size)
    multiply = partial(gred.dot, a, b, stream=bench.times.stream)
    tensors = [bench.torch.as_tensor(array, device="cuda") for array in (a, b)]
    calls: dict[str, Call] = {
        "exact": partial(multiply, method="exact"),
        "gred": multiply,
        "CuPy": partial(bench.cupy.dot, a, b),
        "PyTorch": partial(bench.torch.dot, *tensors),
    }
    with bench.times.current():
        seconds = bench.times.medians(bench.times.able(calls, PATIENCE))
    limit = read_limit("cuda:0", 2 * DOT_SIZE, LIMIT_SAMPLES)
    yield from beside_limit(dtype, seconds, 2 * DOT_SIZE / limit)
    del a, b, tensors, multiply, calls
    bench.cupy.get_default_memory_pool().free_all_blocks()


def beside_limit(dtype: str, seconds: dict[str, float], limit: float) -> Iterator[Figure]:
    """Compare dot products with the time that reading takes."""
    for who, taken in seconds.items():
        what = f"dot of normal {dtype}, {units.bytes_text(DOT_SIZE)} each: {WHO[who]}"
        rate = units.bandwidth_text(2 * DOT_SIZE / taken)
        has_target = who == "exact"
        yield figure(
            f"{what}: rate over the read limit's, {rate}", [limit / taken], "x",
            at_least=DOT_OF_LIMIT if has_target else None,
            group="exact dot products on a GPU: rate over that of reading" if has_target else None,
        )  # fmt: skip


def measure_calls(dtype: str, bench: Bench | None = None) -> Iterator[Figure]:
    """Compare whole calls, until the answer is on the host: of few elements, and over size."""
    bench = bench or Bench()
    itemsize = np.dtype(dtype).itemsize
    for size in FEW:
        seconds = call_seconds(bench, dtype, size)
        over = [1e6 * (seconds["exact"] - seconds["gred"])]
        what = f"exact sum, a call, {size} {dtype}: time beyond the fast one's"
        group = "exact sums of up to 1024 elements on a GPU: time beyond that of fast ones"
        yield figure(what, over, "us", at_most=FEW_OVER_FAST, group=group)
    for nbytes in CURVE:
        seconds = call_seconds(bench, dtype, nbytes // itemsize)
        where = f"a call, {dtype}, {units.bytes_text(nbytes)}"
        for who, taken in seconds.items():
            yield figure(f"{where}: {WHO[who]}", [1e-9 * nbytes / taken], "GB/s")
        if nbytes in SMALL_CALLS:
            group = "exact sums of 1 and 16 MiB on a GPU: time over that of fast ones"
            yield figure(
                f"exact sum, {where}: time over the fast one's",
                [seconds["exact"] / seconds["gred"]], "x", at_most=SMALL_OVER_FAST, group=group,
            )  # fmt: skip
            if CUB in seconds:
                group = f"exact sums of 1 and 16 MiB on a GPU: time of {CUB} over theirs"
                yield figure(
                    f"exact sum, {where}: {CUB}'s time over its own",
                    [seconds[CUB] / seconds["exact"]], "x", at_least=SMALL_OVER_CUB, group=group,
                )  # fmt: skip


def measure_axes(dtype: str, bench: Bench | None = None) -> Iterator[Figure]:
    """Compare whole calls that make a few results along an axis, until these are on the host."""
    bench = bench or Bench()
    flat = bench.placed(DATA["normal"], dtype, AXES_SIZE // np.dtype(dtype).itemsize)
    for shape, axis in (((RESULTS, -1), 1), ((-1, RESULTS), 0)):
        array = flat.reshape(shape)
        add = partial(gred.sum, array, axis)
        calls: dict[str, Call] = {
            "exact": lambda add=add: add(method="exact").tolist(),
            "fast": lambda add=add: add(method=FAST).tolist(),
            "CuPy": lambda array=array, axis=axis: bench.cupy.sum(array, axis).tolist(),
        }
        seconds = medians_in_turns(calls, 20)
        rows = f"({RESULTS}, n)" if axis else f"(n, {RESULTS})"
        what = f"exact sum, a call, {dtype} {rows} axis {axis}, {units.bytes_text(AXES_SIZE)}"
        group = "exact sums along axes on a GPU"
        yield from beside_exact(what, seconds, {"fast": None, "CuPy": None}, group)


# How rows, the table and the plot name who adds.
WHO = {"exact": "gred, exact", "gred": "gred, fast", "CuPy": "CuPy", "PyTorch": "PyTorch"}
WHO |= {CUB: CUB}


def call_seconds(bench: Bench, dtype: str, size: int) -> dict[str, float]:
    """Measure whole calls of normal data in turns."""
    calls = bench.answered(bench.placed(DATA["normal"], dtype, size))
    return medians_in_turns(calls, CALLS if size <= 1 << 24 else 20)


# ---- what is right ----


def cancelling(dtype: str, size: int = CANCELLING) -> tuple[Any, Fraction]:
    """Draw what cancels but for the smallest, and add it up as fractions."""
    rng = np.random.default_rng(0)
    large = np.ldexp(rng.standard_normal(size // 2 - size // 64), 40).astype(dtype)
    small = rng.standard_normal(size // 32).astype(dtype)
    values = np.concatenate((large, -large, small))
    return values, sum(map(Fraction, values.tolist()), Fraction(0))


def ulps_off(got: Any, exact: Fraction, dtype: str) -> float:
    """Say how far a sum is off, in units in the last place of the correctly rounded one."""
    rounded = rounded_once(exact, dtype)
    unit = Fraction(float(np.spacing(np.abs(rounded))))
    return float(abs(Fraction(float(got)) - exact) / unit)


def rounded_once(exact: Fraction, dtype: str) -> Any:
    """Round to the nearest of a type; where float64 was not exact, its neighbours are compared."""
    near = np.dtype(dtype).type(float(exact))
    around = (np.nextafter(near, near.dtype.type(side)) for side in (-np.inf, np.inf))
    return min((near, *around), key=lambda value: abs(Fraction(float(value)) - exact))


def measure_orders(bench: Bench | None = None) -> Iterator[Figure]:
    """Add up the same numbers in eight orders: how many sums there are, how far they are off."""
    bench = bench or Bench()
    for dtype in TYPES:
        values, exact = cancelling(dtype)
        rng = np.random.default_rng(1)
        sums: dict[str, list[Any]] = {}
        for _ in range(ORDERS):
            host = rng.permutation(values)
            calls = bench.answered(bench.cupy.asarray(host))
            found = {WHO[who]: call() for who, call in calls.items()}
            for who, got in {**found, "NumPy": np.sum(host)}.items():
                sums.setdefault(who, []).append(float(got))
        for who, got in sums.items():
            yield from sums_of_orders(f"{dtype} that cancel: {who}", got, exact, dtype)


def sums_of_orders(what: str, sums: list[float], exact: Fraction, dtype: str) -> Iterator[Figure]:
    """Count different sums, and find the worst; exact ones are one, and rounded once."""
    right = what.endswith(WHO["exact"])
    distinct = float(len(set(sums)))
    worst = max(ulps_off(got, exact, dtype) for got in sums)
    group = "exact sums on a GPU, in eight orders"
    for kind, value, unit, most in ((DISTINCT, distinct, "sums", 1.0), (WORST, worst, "ulp", 0.5)):
        yield figure(
            f"{what}: {kind}", [value], unit,
            at_most=most if right else None, group=f"{group}: {kind}" if right else None,
        )  # fmt: skip


# Each less than a minute and a half of an H200.
PIECES: dict[str, Callable[[], Iterator[Figure]]] = {
    "orders": measure_orders,
    **{f"large/{dtype}": partial(measure_large, dtype) for dtype in TYPES},
    "large/halves": measure_halves,
    **{f"dot/{dtype}": partial(measure_dot, dtype) for dtype in TYPES},
    **{f"calls/{dtype}": partial(measure_calls, dtype) for dtype in TYPES},
    **{f"axes/{dtype}": partial(measure_axes, dtype) for dtype in TYPES},
}
