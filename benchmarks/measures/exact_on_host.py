"""Exact sums on the host, beside gred's fast ones, NumPy's, Python's math.fsum and packages'."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from measures.figure import Figure, beside_exact, figure

import gred
from gred.cli import units

Call = Callable[[], Any]
Sum = Callable[[Any], float]
Typical = Callable[[dict[str, Call]], dict[str, float]]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# gred's plain loops, by name, once `auto` no longer is these.
FAST = "auto"
TYPES = ("float64", "float32")
LARGE = (16 * MIB, 256 * MIB, GIB)
MIDDLE = (MIB, 4 * MIB)
# How many times NumPy's time a small sum may take.
TINY = {64: 1.3, KIB: 1.3, 4 * KIB: 2.0, 64 * KIB: 2.0, 512 * KIB: 2.0}
OF_FAST, OVER_NUMPY = 0.6, 1.0
FSUM_SIZE, OVER_FSUM = 1 << 24, 100.0
LIBRARIES_SIZES, OVER_LIBRARIES = (10**3, 10**4, 10**5, 10**6, 10**7), 1.0
MANY_CORES_SIZES = (256 * MIB, GIB)
MANY_CORES_OF_FAST, MANY_CORES_OVER_NUMPY = 0.8, 8.0
DRAWN = 1 << 20
# Along axes there are no targets: rows and columns of so many elements.
AXES_SIZE, ALONG = 16 * MIB, (4, 64, 1024, 65536)


def normal(dtype: str, nbytes: int) -> Any:
    """Draw normal data; a large array repeats what was drawn."""
    n = nbytes // np.dtype(dtype).itemsize
    some = np.random.default_rng(0).standard_normal(min(n, DRAWN)).astype(dtype)
    return np.resize(some, n)


def measure(typical: Typical) -> Iterator[Figure]:
    for dtype in TYPES:
        for nbytes, bound in TINY.items():
            yield beside_numpy_when_small(typical, dtype, nbytes, bound)
        for nbytes in (*MIDDLE, *LARGE):
            of_fast = OF_FAST if nbytes in LARGE else None
            yield from beside_others(typical, "2 cores", dtype, nbytes, of_fast, OVER_NUMPY)
    yield beside_fsum(typical)
    yield from beside_libraries(typical)


def measure_many_cores(typical: Typical) -> Iterator[Figure]:
    for dtype in TYPES:
        for nbytes in MANY_CORES_SIZES:
            yield from beside_others(
                typical, "16 cores", dtype, nbytes, MANY_CORES_OF_FAST, MANY_CORES_OVER_NUMPY
            )


def measure_axes(typical: Typical) -> Iterator[Figure]:
    for dtype in TYPES:
        flat = normal(dtype, AXES_SIZE)
        for n in ALONG:
            for shape, axis in (((-1, n), 1), ((n, -1), 0)):
                seconds = seconds_of(typical, flat.reshape(shape), axis)
                lengths = ", ".join(str(k) if k > 0 else "n" for k in shape)
                what = f"2 cores: exact sum, 16 MiB {dtype} ({lengths}) axis {axis}"
                group = "2 cores, exact sums along axes"
                yield from beside_exact(what, seconds, {"fast": None, "NumPy": None}, group)


def seconds_of(typical: Typical, array: Any, axis: int | None = None) -> dict[str, float]:
    return typical(
        {
            "exact": lambda: gred.sum(array, axis, method="exact"),
            "fast": lambda: gred.sum(array, axis, method=FAST),
            "NumPy": lambda: np.sum(array, axis),
        }
    )


def beside_numpy_when_small(typical: Typical, dtype: str, nbytes: int, bound: float) -> Figure:
    """Say how much longer than NumPy's a small sum takes."""
    seconds = seconds_of(typical, normal(dtype, nbytes))
    what = f"2 cores: exact sum, {units.bytes_text(nbytes)} {dtype}: time over NumPy's"
    most = "4 KiB" if nbytes < 4 * KIB else "1 MiB"
    group = f"2 cores, exact sums below {most}: time over NumPy's"
    ratio = seconds["exact"] / seconds["NumPy"]
    return figure(what, [ratio], "x", at_most=bound, group=group)


def beside_others(
    typical: Typical, where: str, dtype: str, nbytes: int, of_fast: float | None, over_numpy: float
) -> Iterator[Figure]:
    """Compare a large sum with gred's own fast one and with NumPy's."""
    seconds = seconds_of(typical, normal(dtype, nbytes))
    what = f"{where}: exact sum, {units.bytes_text(nbytes)} {dtype}"
    for name, bound in (("fast", of_fast), ("NumPy", over_numpy)):
        group = f"{where}, exact sums" if bound else None
        yield from beside_exact(what, seconds, {name: bound}, group)


def beside_fsum(typical: Typical) -> Figure:
    """Compare with Python's own exact sum of the same array."""
    array = normal("float64", 8 * FSUM_SIZE)
    seconds = typical(
        {"gred": lambda: gred.sum(array, method="exact"), "fsum": lambda: math.fsum(array)}
    )
    what = "2 cores: exact sum, 2^24 float64: math.fsum's time over gred's"
    return figure(what, [seconds["fsum"] / seconds["gred"]], "x", at_least=OVER_FSUM)


def beside_libraries(typical: Typical) -> Iterator[Figure]:
    libraries = sums()
    for n in LIBRARIES_SIZES if libraries else ():
        array = normal("float64", 8 * n)
        calls: dict[str, Call] = {name: partial(add, array) for name, add in libraries.items()}
        seconds = typical({"gred": partial(gred.sum, array, method="exact"), **calls})
        for name in libraries:
            yield figure(
                f"2 cores: exact sum, {n} float64: {name}'s time over gred's",
                [seconds[name] / seconds["gred"]], "x", at_least=OVER_LIBRARIES,
                group="2 cores, exact sums: time of other packages' over theirs",
            )  # fmt: skip


# ---- packages that add exactly, or nearly so, as far as they are installed ----

# xsum is Neal's superaccumulators, accupy adds in K-fold precision or by math.fsum, and crick's
# summary has a sum, which is a rounded one.


def by_xsum(xsum: Any, size: str) -> Sum:
    """Add in a superaccumulator of this size."""
    new = getattr(xsum, f"xsum_{size}_accumulator")

    def sum_of(array: Any) -> float:
        accumulator = new()
        xsum.xsum_add(accumulator, array)
        return float(xsum.xsum_round(accumulator))

    return sum_of


def by_crick(crick: Any) -> Sum:
    """Add as a stream's summary does."""

    def sum_of(array: Any) -> float:
        summary = crick.SummaryStats()
        summary.update(array)
        return float(summary.sum())

    return sum_of


# By package: its sums by name.
SUMS: dict[str, Callable[[Any], dict[str, Sum]]] = {
    "xsum": lambda xsum: {f"xsum, {size}": by_xsum(xsum, size) for size in ("small", "large")},
    "accupy": lambda accupy: {"accupy.fsum": accupy.fsum, "accupy.ksum": accupy.ksum},
    "crick": lambda crick: {"crick": by_crick(crick)},
}


def sums() -> dict[str, Sum]:
    """List the sums of those packages that are here."""
    found: dict[str, Sum] = {}
    for package, sums_of in SUMS.items():
        with suppress(ImportError):
            found |= sums_of(import_module(package))
    return found
