"""Reductions along axes on a GPU, beside the read limit, CuPy, PyTorch and, for a few, JAX.

Device times, all measured alike: gred's goes into `out=`, what others allocate comes from pools.
Nothing is checked here: the tests do that.
"""

import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from measures.call_figures import peers
from measures.device_times import Call, DeviceTimes
from measures.figure import Figure, figure
from measures.timing import medians_in_turns

import gred
from gred.cli import units
from gred.cli.measure import read_limit
from gred.cli.record import usable_cores

MIB, GIB = 1 << 20, 1 << 30
SIZE, LARGE_SIZE = 256 * MIB, 2 * GIB
LENGTHS = (2, 3, 8, 31, 64, 100, 1000, 1024, 4097, 1 << 16, 1 << 20, 1 << 26)
MIDDLES = ((-1, 1024, 1024), (-1, 64, 64), (-1, 8, 8), (8, -1, 8))
SLICED = (8, 100, 1024)
TYPES = ("float32", "float16", "float64", "int8")
OPS = ("sum", "max", "mean", "argmax", "var")
OF_LIMIT = {"rows": 0.85, "columns": 0.85, "middle": 0.8, "transposed, sliced": 0.8}
OVER_BEST = 1.05
# A peer that takes longer is not called again for the shape.
PATIENCE = 20e-3
SECTOR, ENOUGH = 32, 4096
# Elements that are drawn; the rest of an array repeats them.
DRAWN = 1 << 22
LIMIT_SAMPLES = 5
LITTLE, TASKS, COMPILE_SECONDS = 1 << 22, 3, 40
JAX_CALLS = 20
SIDES = (32, 64, 128, 256, 512, 1024)
SMALL_CALLS = 200
SMALL_OVER_BEST, SMALLEST_MICROSECONDS = 1.5, 9.0

Axis = int | tuple[int, ...]


class Shape(NamedTuple):
    """What becomes of a flat array: n in the name is as much as it has elements for."""

    name: str
    kind: str
    shaped: Callable[[Any], Any]
    axis: Axis


def shapes(elements: int) -> Iterator[Shape]:
    """List the shapes of so many elements, and the axes along which they are reduced."""
    for length in (length for length in LENGTHS if length <= elements):
        yield plain("rows", (-1, length), 1)
    for length in (length for length in LENGTHS if length <= elements):
        yield plain("columns", (length, -1), 0)
        yield plain("columns", (-1, length), 0)
    for shape, axis in itertools.product(MIDDLES, (1, (0, 2))):
        yield plain("middle", shape, axis)
    for length, axis in itertools.product(SLICED, (1, 0)):
        yield from sliced((-1, length) if axis else (length, -1), axis)


def plain(kind: str, shape: tuple[int, ...], axis: Axis) -> Shape:
    return Shape(f"{named(shape)} axis {axis}", kind, by(shape), axis)


def sliced(shape: tuple[int, int], axis: int) -> Iterator[Shape]:
    """Take a matrix transposed, and every second column or row, of which memory brings all."""
    double = tuple(2 * n if n > 0 else n for n in shape)
    for text, before, view in (
        (".T", shape[::-1], lambda x: x.T),
        ("[:, ::2]", double if shape[1] > 0 else shape, lambda x: x[:, ::2]),
        ("[::2]", double if shape[0] > 0 else shape, lambda x: x[::2]),
    ):
        shaped = partial(viewed, by(before), view)
        yield Shape(f"{named(before)}{text} axis {axis}", "transposed, sliced", shaped, axis)


def viewed(shaped: Callable[[Any], Any], view: Callable[[Any], Any], flat: Any) -> Any:
    return view(shaped(flat))


def named(shape: tuple[int, ...]) -> str:
    powers = {n: f"2^{n.bit_length() - 1}" for n in LENGTHS if n >= 1 << 16}
    return f"({', '.join('n' if n < 0 else powers.get(n, str(n)) for n in shape)})"


def by(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """Cut a flat array to a multiple of what is known of the shape, and shape it."""
    known = abs(int(np.prod(shape)))
    return lambda flat: flat[: flat.size // known * known].reshape(shape)


def cases(elements: int) -> Iterator[tuple[Shape, str]]:
    return ((shape, op) for shape in shapes(elements) for op in ops_of(shape))


def ops_of(shape: Shape) -> list[str]:
    """List the reductions of a shape; NumPy's argmax takes one axis."""
    return [op for op in OPS if op != "argmax" or isinstance(shape.axis, int)]


class Gpu:
    """A GPU, its libraries, and what it can read."""

    def __init__(self) -> None:
        self.cupy, self.torch = peers()
        self.times = DeviceTimes(self.cupy, self.torch)
        self._limits: dict[int, float] = {}

    @cached_property
    def jax(self) -> Any:
        return jax_here()

    def limit(self, nbytes: int) -> float:
        """Measure the bytes a second of the best plain read of about so many."""
        near = 1 << round(float(np.log2(nbytes)))
        if near not in self._limits:
            self._limits[near] = read_limit("cuda:0", near, LIMIT_SAMPLES)
        return self._limits[near]

    def array(self, dtype: str, nbytes: int) -> Any:
        size = nbytes // np.dtype(dtype).itemsize
        drawn = np.random.default_rng(0).integers(-100, 100, min(size, DRAWN)).astype(dtype)
        return self.cupy.tile(self.cupy.asarray(drawn), -(-size // drawn.size))[:size]

    def calls(self, op: str, view: Any, axis: Axis) -> dict[str, Call]:
        of_cupy = getattr(self.cupy, op)
        tensor = self.torch.as_tensor(view, device="cuda")
        return {
            "gred": self.ours(op, view, axis),
            "CuPy": lambda: of_cupy(view, axis=axis),
            "PyTorch": lambda: torch_reduces(self.torch, op, tensor, axis),
        }

    def ours(self, op: str, view: Any, axis: Axis) -> Call:
        """Have gred write into an array that is there."""
        out = self.cupy.empty(shape_left(view.shape, axis), result_type(op, view.dtype))
        function, stream = getattr(gred, op), self.times.stream
        return lambda: function(view, axis=axis, out=out, stream=stream)

    def jax_seconds(self, view: Any, axis: Axis) -> float:
        """Sum by JAX, whose stream is its own: many calls in a row over their number."""
        array = self.jax.dlpack.from_dlpack(view)
        call = self.jax.jit(lambda x: x.sum(axis=axis))
        return in_a_row(call, array)


def jax_here() -> Any:
    """Import JAX where it is, told to leave memory to others."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax

        jax.devices("gpu")
    except Exception:  # it is not here, or sees no GPU
        return None
    return jax


def in_a_row(call: Callable[[Any], Any], array: Any) -> float:
    """Time calls in a row, waiting for the last: seconds of each."""

    def all_of_them() -> None:
        for answer in [call(array) for _ in range(JAX_CALLS)]:
            answer.block_until_ready()

    return medians_in_turns({"JAX": all_of_them}, 3)["JAX"] / JAX_CALLS


def torch_reduces(torch: Any, op: str, tensor: Any, axis: Axis) -> Any:
    """Write it as PyTorch's users do; of integers it wants to be told what means are."""
    if op == "max":
        return torch.amax(tensor, dim=axis)
    if op == "var":
        return torch.var(tensor, dim=axis, correction=0)
    if op == "mean" and not (tensor.is_floating_point() or tensor.is_complex()):
        return torch.mean(tensor, dim=axis, dtype=torch.float64)
    return getattr(torch, op)(tensor, dim=axis)


def shape_left(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    reduced = (axis,) if isinstance(axis, int) else axis
    return tuple(n for place, n in enumerate(shape) if place not in reduced)


def result_type(op: str, dtype: Any) -> Any:
    return getattr(np, op)(np.zeros((1, 1), dtype), axis=1).dtype


def bytes_read(view: Any) -> int:
    """Count the bytes of the sectors that hold an element, by some that stand for all."""
    if view.flags.c_contiguous or view.flags.f_contiguous:
        return int(view.nbytes)
    rows, columns = (
        np.arange(min(n, most)) * stride
        for n, most, stride in zip(view.shape, (SECTOR, ENOUGH), view.strides, strict=True)
    )
    places = (rows[:, None] + columns) // SECTOR
    return int(np.unique(places).size * SECTOR * view.size // places.size)


def bytes_moved(op: str, view: Any, axis: Axis) -> int:
    results = int(np.prod(shape_left(view.shape, axis)))
    return bytes_read(view) + results * int(result_type(op, view.dtype).itemsize)


def measure(dtype: str, nbytes: int, gpu: Gpu | None = None) -> Iterator[Figure]:
    """Measure all reductions of all shapes; a shape that is too much for a peer is so for all."""
    compile_ahead(dtype)
    gpu = gpu or Gpu()
    flat = gpu.array(dtype, nbytes)
    with gpu.times.current():
        for shape in shapes(flat.size):
            view, given_up = shape.shaped(flat), set[str]()
            for op in ops_of(shape):
                able = gpu.times.able(gpu.calls(op, view, shape.axis), PATIENCE, given_up)
                yield from measure_case(gpu, shape, op, view, units.bytes_text(nbytes), able)


def measure_case(
    gpu: Gpu, shape: Shape, op: str, view: Any, size: str, calls: dict[str, Call]
) -> Iterator[Figure]:
    """Compare one reduction with the read limit, and with the best of its peers."""
    seconds = gpu.times.medians(calls)
    if op == "sum" and view.dtype == "float32" and shape.kind in ("rows", "columns") and gpu.jax:
        with suppress(Exception):  # whatever it raises: it cannot
            seconds["JAX"] = gpu.jax_seconds(view, shape.axis)
    ours = seconds.pop("gred")
    moved = bytes_moved(op, view, shape.axis)
    what, group = f"{op} {view.dtype} {shape.name}, {size}", f"along axes, {shape.kind}"
    yield figure(
        f"{what}: of the limit", [moved / gpu.limit(moved) / ours], "x",
        at_least=OF_LIMIT[shape.kind], group=f"{group}: of the limit",
    )  # fmt: skip
    yield from beside_best(what, seconds, ours, OVER_BEST, group)


def beside_best(
    what: str, seconds: dict[str, float], ours: float, bound: float, group: str
) -> Iterator[Figure]:
    """Compare with the best of the peers, if there are any."""
    if seconds:
        best = min(seconds, key=seconds.__getitem__)
        yield figure(
            f"{what}: {best}'s time over gred's, {1e6 * ours:.1f} us",
            [seconds[best] / ours], "x",
            at_least=bound, group=f"{group}: the best peer's time over gred's",
        )  # fmt: skip


def compile_ahead(dtype: str) -> None:
    """Have CuPy compile in processes, for this one to find on disk; the rest as it is called."""
    tasks = list(itertools.product(OPS, (dtype,), range(TASKS)))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(tasks), usable_cores()), spawn) as pool:
        wait([pool.submit(compile_some, *task) for task in tasks], COMPILE_SECONDS)
        pool.shutdown(cancel_futures=True)


def compile_some(op: str, dtype: str, first: int) -> None:
    """Call CuPy with little arrays of every third shape. What it lacks is found out later."""
    with suppress(Exception):
        import cupy

        flat = cupy.zeros(LITTLE, dtype)
        mine = [shape for shape, name in cases(LITTLE) if name == op]
        for shape in mine[first::TASKS]:
            getattr(cupy, op)(shape.shaped(flat), axis=shape.axis)


def measure_small(gpu: Gpu | None = None) -> Iterator[Figure]:
    """Measure calls until their work is done, of small matrices."""
    gpu = gpu or Gpu()
    for dtype, side, op, axis in itertools.product(TYPES, SIDES, OPS, (0, 1)):
        matrix = gpu.array(dtype, side * side * np.dtype(dtype).itemsize).reshape(side, side)
        with gpu.times.current():
            yield from measure_call(gpu, op, matrix, axis)


def measure_call(gpu: Gpu, op: str, matrix: Any, axis: int) -> Iterator[Figure]:
    """Compare the calls of one small matrix."""
    function, stream = getattr(gred, op), gpu.times.stream
    calls = gpu.calls(op, matrix, axis)
    calls["gred"] = lambda: function(matrix, axis=axis, stream=stream)
    able = gpu.times.able(calls, PATIENCE)
    turns = {name: partial(gpu.times.until_done, call) for name, call in able.items()}
    seconds = medians_in_turns(turns, SMALL_CALLS)
    ours = seconds.pop("gred")
    what = f"{op} {matrix.dtype} {matrix.shape} axis {axis}, a call"
    group = "along axes, a small call"
    smallest = len(matrix) == SIDES[0]
    yield figure(
        f"{what}: gred's time", [1e6 * ours], "us",
        at_most=SMALLEST_MICROSECONDS if smallest else None, group=f"{group}: gred's time",
    )  # fmt: skip
    yield from beside_best(what, seconds, ours, SMALL_OVER_BEST, group)


# Each less than a minute and a half of an H200.
PIECES: dict[str, Callable[[], Iterator[Figure]]] = {
    **{dtype: partial(measure, dtype, SIZE) for dtype in TYPES},
    "small": measure_small,
    **{f"2GiB/{dtype}": partial(measure, dtype, LARGE_SIZE) for dtype in TYPES},
}
