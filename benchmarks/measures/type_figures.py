"""Every element type, conversion, layout and mask, beside the read limit and other libraries.

What speaks of the limit is device time; what speaks of other libraries is whole calls, until the
answer is on the host, in turns. Nothing is checked here: `python -m gred versus` does that.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from measures.figure import Figure, figure
from measures.timing import once

import gred
from gred.cli import cases, data, libraries
from gred.cli.cases import Case, Extent
from gred.cli.contest import compile_ahead, stage_key
from gred.cli.libraries import Library
from gred.cli.measure import read_limit

MIB, GIB = 1 << 20, 1 << 30
SECTOR = 32
# Elements that are drawn; the rest of an array repeats them, which no memory notices.
DRAWN = 1 << 22
SAMPLES = 7
LIMIT_SAMPLES = 5
# Whole calls: so many of what takes less than so long.
CALLS = ((5e-3, 15), (20e-3, 7), (100e-3, 3), (float("inf"), 1))
# Between device times: memory that is written, so that the caches hold nothing else.
FLUSH = 256 * MIB

LADDER = ("sum", "prod", "min", "max", "mean")
BYTES = ("bool", "int8", "uint8")
MIDDLE = ("int16", "uint16", "int32", "uint32")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = tuple(name for name, kind in cases.TYPES.items() if kind.kind in "iu")
NUMBERS = tuple(name for name, kind in cases.TYPES.items() if kind.kind in "iuf")
NANS = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean")
REST = ("var", "std", "argmin", "argmax", "norm", "describe", *NANS)


class Target(NamedTuple):
    """The targets of some reductions of some types in some layouts.

    `of_limit` is a share of the device's read limit, for types of at least `itemsize` bytes;
    `over_best` how many times as fast as the best of `peers`; `over_each` the same of some alone.
    """

    text: str
    reductions: Sequence[str]
    types: Sequence[str]
    layouts: Sequence[str] = ("flat",)
    of_limit: float | None = None
    itemsize: int = 1
    peers: Sequence[str] = ()
    over_best: float | None = None
    over_each: Sequence[tuple[str, float]] = ()


BOTH = ("cupy", "torch")
# The first that a case is in is its own.
TARGETS = (
    Target(
        "bool, int8, uint8: sum", ("sum",), BYTES,
        of_limit=0.95, peers=BOTH, over_each=(("cupy", 6.0), ("torch", 16.0)),
    ),
    Target(
        "bool, int8, uint8: mean, count_nonzero, any, all",
        ("mean", "count_nonzero", "any", "all"), BYTES, of_limit=0.95,
    ),
    Target(
        "int16, uint16, int32, uint32: sum, mean, min, max",
        ("sum", "mean", "min", "max"), MIDDLE, of_limit=0.95, peers=BOTH, over_best=1.05,
    ),
    Target(
        "float16, bfloat16: sum, mean, min, max, prod",
        LADDER, HALVES, of_limit=0.95, peers=BOTH, over_best=1.06,
    ),
    Target(
        "complex", (*LADDER, *REST), COMPLEX, of_limit=0.95, peers=BOTH, over_best=1.0,
    ),
    Target(
        "prod", ("prod",), tuple(cases.TYPES),
        of_limit=0.95, itemsize=4, peers=BOTH, over_best=1.0,
    ),
    Target(
        "var, std, argmin, argmax, norm, nan-variants, describe", REST, ("bool", *NUMBERS),
        of_limit=0.95, itemsize=4, peers=BOTH, over_best=1.0,
    ),
    Target(
        "float32 with dtype=float64, integers with dtype=float32 and float64: sum, mean",
        ("sum", "mean"), ("float32", *INTEGERS), ("float32", "float64"), of_limit=0.95,
    ),
    Target("float32 under a mask on the device", LADDER, ("float32",), ("mask",), of_limit=0.9),
    Target(
        "[:, ::2], [::2], [:, 1:-1], [::3, ::5] of a float32 matrix, each reduction",
        tuple(cases.REDUCTIONS), ("float32",), ("columns", "rows", "inside", "sparse"),
        of_limit=0.9, peers=("torch",), over_best=1.05,
    ),
    Target(
        "[:, :8] of a float32 matrix, each reduction",
        tuple(cases.REDUCTIONS), ("float32",), ("narrow",), peers=("torch",), over_best=1.05,
    ),
)  # fmt: skip

CUB_SIZES = (256 * MIB, GIB, 4 * GIB)
CUB_TYPES = ("float32", "float64", "int64")
OVER_CUB = 1.02
CUBS_SHARE = 0.98
CUB_ROUNDS = 3


class Bench:
    """A GPU, the libraries on it, and what it can read."""

    def __init__(self, device: str, carrier: Library, peers: Sequence[Library]) -> None:
        self.device = device
        self.carrier = carrier
        self.peers = {peer.key: peer for peer in peers}
        self.ours = libraries.Gred(carrier)
        self._limits: dict[int, float] = {}

    def limit(self, nbytes: int) -> float:
        """Measure the bytes per second that the device reads at best, once a stage."""
        if nbytes not in self._limits:
            self._limits[nbytes] = read_limit(self.device, nbytes, LIMIT_SAMPLES)
        return self._limits[nbytes]

    def forget(self) -> None:
        self._limits.clear()
        for library in self.peers.values():
            library.release()


class Stage:
    """Two copies of an array as every library sees it, so that no cache holds what is read next."""

    def __init__(self, bench: Bench, case: Case) -> None:
        self._bench = bench
        drawn = data.random_array(min(case.size, DRAWN), case.type.dtype(), case.data)
        placed, repeats = bench.carrier.place(drawn), -(-case.size // drawn.size)
        tile = bench.carrier.module.tile
        self.arrays = [tile(placed, repeats)[: case.size] for _ in range(2)]
        self.masks: list[Any] = [None, None]
        if case.masked:
            mask = bench.carrier.place(data.random_mask(min(case.size, DRAWN)))
            self.masks = [tile(mask, repeats)[: case.size] for _ in range(2)]

    def given(self, library: Library, case: Case) -> list[tuple[Any, ...]]:
        flats = self.arrays
        if library.key == "torch" or (library.ours and case.type.name == "bfloat16"):
            flats = [self._tensor(array, case) for array in flats]
        return [library.given(case, *pair) for pair in zip(flats, self.masks, strict=True)]

    def _tensor(self, array: Any, case: Case) -> Any:
        torch = self._bench.peers["torch"].module
        if case.type.name == "bfloat16":
            return torch.as_tensor(array.view(np.int16)).view(torch.bfloat16)
        return torch.as_tensor(array)


def measure_types(bench: Bench | None = None, nbytes: int = GIB) -> Iterator[Figure]:
    bench = bench or _on_gpu()
    asked = cases_with_targets(nbytes)
    for library in bench.peers.values():
        if library.compiles:
            mine = [case for case in asked if library.key in target_of(case).peers]
            compile_ahead(library, mine)
    for _, group in itertools.groupby(asked, lambda case: (stage_key(case), case.masked)):
        together = list(group)
        stage = Stage(bench, together[0])
        for case in together:
            yield from measure_case(bench, stage, case)
        del stage
        bench.forget()
    yield from measure_cub(bench, [size * nbytes // GIB for size in CUB_SIZES])


def _on_gpu() -> Bench:
    try:
        carrier, torch = libraries.CuPy("cuda:0"), libraries.PyTorch("cuda:0")
    except ImportError:
        raise SystemExit("types are measured beside CuPy's and PyTorch's") from None
    return Bench("cuda:0", carrier, (carrier, torch))


def cases_with_targets(nbytes: int) -> list[Case]:
    """List the cases of all targets, those that share an array together."""
    extents = (Extent(nbytes, in_bytes=True),)
    blocks = [
        cases.Block(tuple(p.reductions), tuple(p.types), tuple(p.layouts), extents) for p in TARGETS
    ]
    found = [case for case in cases.cases(blocks) if case.type.known()]
    return sorted(found, key=lambda case: case.masked)


def target_of(case: Case) -> Target:
    reduction, kind, layout = case.series
    return next(
        p for p in TARGETS if reduction in p.reductions and kind in p.types and layout in p.layouts
    )


def measure_case(bench: Bench, stage: Stage, case: Case) -> Iterator[Figure]:
    """Measure device time, then whole calls of all libraries in turns."""
    target = target_of(case)
    needed = bytes_needed(case)
    share = needed / bench.limit(needed) / device_seconds(bench, stage, case)
    yield figure(
        f"{case}: of the read limit", share, "x",
        at_least=target.of_limit if case.type.itemsize >= target.itemsize else None,
        group=f"{target.text}: of the read limit",
    )  # fmt: skip
    if target.peers:
        yield from measure_beside(bench, stage, case, target)


def bytes_needed(case: Case) -> int:
    """Count the bytes of the sectors that hold the elements, and those of the mask."""
    if case.layout.view is None:
        return case.nbytes + (case.size if case.masked else 0)
    flat = np.empty(case.size, case.type.dtype())  # of which nothing is touched
    view = case.view(flat)
    first = view.ctypes.data - flat.ctypes.data
    places = first + np.arange(view.shape[1]) * view.strides[1]
    return int(view.shape[0] * np.unique(places // SECTOR).size * SECTOR)


def device_seconds(bench: Bench, stage: Stage, case: Case) -> Any:
    """Measure device time with flushed caches; of what gred copies first, whole calls."""
    name, given = case.reduction.name, stage.given(bench.ours, case)
    view, *mask = given[0]
    if mask:
        return masked_seconds(bench.carrier.module, name, view, mask[0])
    how = {"dtype": case.layout.dtype, "device": bench.device}
    if any(step.work == "copy" for step in gred.explain(view, name, **how).steps):
        call = caller(bench.ours, case, given)
        return np.array([once(call) for _ in range(SAMPLES + 1)][1:])
    return gred.kernel_time(view, name, samples=SAMPLES, warmup=1, **how).seconds


def masked_seconds(cupy: Any, name: str, view: Any, mask: Any) -> Any:
    """Measure between two events behind a flush: gred.kernel_time takes no mask."""
    options = {"min": {"initial": np.inf}, "max": {"initial": -np.inf}}.get(name, {})
    out, seconds = cupy.zeros((), view.dtype), []
    with cupy.cuda.Stream() as stream:
        flush = cupy.zeros(FLUSH, np.int8)
        for _ in range(SAMPLES + 1):
            before, after = cupy.cuda.Event(), cupy.cuda.Event()
            flush.fill(1)
            before.record(stream)
            getattr(gred, name)(view, where=mask, out=out, stream=stream, **options)
            after.record(stream)
            after.synchronize()
            seconds.append(cupy.cuda.get_elapsed_time(before, after) * 1e-3)
    return np.array(seconds[1:])


def measure_beside(bench: Bench, stage: Stage, case: Case, target: Target) -> Iterator[Figure]:
    """Compare whole calls. What a library lacks it says by raising, whatever it raises."""
    calls = {"gred": caller(bench.ours, case, stage.given(bench.ours, case))}
    calls["gred"]()
    titles, lacking = {key: bench.peers[key].title for key in target.peers}, []
    for key in target.peers:
        peer = bench.peers[key]
        given = stage.given(peer, case)
        try:
            calls[key] = caller(peer, case, given)
            calls[key]()  # which may compile
        except Exception:
            calls.pop(key, None)
            lacking.append(titles[key])
    taken = medians(calls)
    ours = taken.pop("gred")
    without = f"; {' and '.join(lacking)} cannot" if lacking else ""
    if not taken:
        yield figure(f"{case}: gred's time{without}", [1e6 * ours], "us")
        return
    best = min(taken, key=taken.__getitem__)
    over = [(f"{titles[key]}'s", key, bound) for key, bound in target.over_each if key in taken]
    if target.over_best is not None:
        over.append(("the better peer's", best, target.over_best))
    for whose, key, bound in over:
        yield figure(
            f"{case}: {titles[key]}'s time over gred's, {1e6 * ours:.1f} us{without}",
            [taken[key] / ours], "x", at_least=bound,
            group=f"{target.text}: {whose} time over gred's",
        )  # fmt: skip


def caller(library: Library, case: Case, given: Sequence[tuple[Any, ...]]) -> Callable[[], Any]:
    """Make a call of a library's, each with the next copy."""
    function, turns = library.function(case), itertools.cycle(given)
    library.start()
    return lambda: function(*next(turns))


def medians(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Time calls that have been warmed up, in seconds, in turns of random order."""
    order = random.Random(0)
    taken = {name: [once(call)] for name, call in calls.items()}
    wanted = {
        name: next(count for most, count in CALLS if seconds < most)
        for name, [seconds] in taken.items()
    }
    while waiting := [name for name in calls if len(taken[name]) < wanted[name]]:
        for name in order.sample(waiting, len(waiting)):
            taken[name].append(once(calls[name]))
    return {name: float(np.median(seconds)) for name, seconds in taken.items()}


def measure_cub(bench: Bench, sizes: Sequence[int]) -> Iterator[Figure]:
    """Measure device time beside CUB's and the best plain read's, by turns."""
    for nbytes, kind in itertools.product(sizes, CUB_TYPES):
        extents = (Extent(nbytes, in_bytes=True),)
        together = cases.cases((cases.Block(("sum", "min", "max"), (kind,), ("flat",), extents),))
        for case in together:
            yield from measure_beside_cub(bench, Stage(bench, case).arrays[0], case)
        bench.forget()


def measure_beside_cub(bench: Bench, array: Any, case: Case) -> Iterator[Figure]:
    """Let gred's own way and CUB reduce the same array, CUB in the array's own type."""
    ways: dict[str, dict[str, Any]] = {"auto": {}, "cub": {"dtype": case.type.name}}
    seconds: dict[str, list[float]] = {method: [] for method in ways}
    for method in [*ways] * CUB_ROUNDS:
        seconds[method] += gred.kernel_time(
            array, case.reduction.name, method=method, device=bench.device,
            samples=SAMPLES, warmup=1, **ways[method],
        ).seconds.tolist()  # fmt: skip
    ours = np.array(seconds["auto"])
    text = "sum, min, max float32, float64, int64, 256 MiB to 4 GiB"
    yield figure(
        f"{case}: CUB's device time over gred's", np.median(seconds["cub"]) / ours, "x",
        at_least=OVER_CUB, group=f"{text}: CUB's device time over gred's",
    )  # fmt: skip
    yield figure(
        f"{case}: of the best plain read", case.nbytes / bench.limit(case.nbytes) / ours, "x",
        at_least=CUBS_SHARE, group=f"{text}: of the best plain read",
    )  # fmt: skip
