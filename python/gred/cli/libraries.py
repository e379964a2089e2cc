"""gred and the libraries it is compared with, each with its best way to reduce an array.

A library prepares arrays and views on its device, and a function of them that returns when the
answer is in the host's memory. It raises an exception, of any type, for features it lacks.
"""

import functools
import importlib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli.cases import Case
from gred.cli.data import DESCRIBED, Array
from gred.cli.measure import accumulator
from gred.counting import ELEMENT_TYPES

Function = Callable[..., Any]


class LackingError(Exception):
    """Raised if a library lacks a feature, which the message names."""


class Library:
    """A library on a device, named as in gred; the methods of this class suit NumPy."""

    key = title = package = ""
    pool = ""  # libraries with the same pool share arrays
    kinds: tuple[str, ...] = ("host", "cuda")  # kinds of supported devices
    ours = False  # whether this is gred itself
    compiles = False  # whether it compiles kernels at run time, cached on disk

    def __init__(self, device: str) -> None:
        self.device = device
        self.pool = self.pool or self.key
        self.index = int(device.partition(":")[2] or 0)
        self.module: Any = importlib.import_module(self.package)

    @property
    def version(self) -> str:
        return str(self.module.__version__)

    def place(self, array: Array) -> Any:
        """Copy an array to new memory on the library's device."""
        return array.copy()

    def copy(self, placed: Any) -> Any:
        """Copy a placed array to new memory on the same device."""
        return placed.copy()

    def given(self, case: Case, flat: Any, mask: Any) -> tuple[Any, ...]:
        """Return the arguments of the case's function, from placed arrays."""
        view = case.view(flat)
        return (view,) if mask is None else (view, mask)

    def function(self, case: Case) -> Function:
        """Return the function to time."""
        return _with_options(case, _numpy_function(self.module, case.reduction.name))

    def start(self) -> None:
        """Prepare for measurements; not timed."""

    def release(self) -> None:
        """Free unused memory."""


class NumPy(Library):
    key, title, package = "numpy", "NumPy", "numpy"
    kinds = ("host",)


def _numpy_function(xp: Any, name: str) -> Function:
    """Return a reduction of NumPy, or a library with its names; some need several calls."""
    together = {"minmax": ("min", "max"), "describe": DESCRIBED}
    if name in together:
        functions = [_lookup(xp, part) for part in together[name]]
        return lambda *given, **options: tuple(f(*given, **options) for f in functions)
    if name == "logsumexp":
        return functools.partial(_lookup(_lookup(xp, "logaddexp"), "reduce"), axis=None)
    return _lookup(_lookup(xp, "linalg") if name == "norm" else xp, name)


def _lookup(module: Any, name: str) -> Function:
    function: Function | None = getattr(module, name, None)
    if function is None:
        raise LackingError("no such reduction")
    return function


def _with_options(case: Case, function: Function) -> Function:
    """Pass the mask or the type by NumPy's keywords."""
    if case.layout.dtype:
        return functools.partial(function, dtype=case.layout.dtype)
    if not case.masked:
        return function
    more = {"initial": _identity(case)} if case.reduction.name in ("min", "max") else {}
    return lambda view, mask: function(view, where=mask, **more)


def _identity(case: Case) -> Any:
    """Return the identity that may replace masked elements; None if there is no such value."""
    name, kind = case.reduction.name, case.type.kind
    if name not in ("min", "max"):
        return {"sum": 0, "prod": 1}.get(name)
    if kind in "fc":
        infinity = float("inf" if name == "min" else "-inf")
        return complex(infinity, infinity) if kind == "c" else infinity
    limits = np.iinfo(case.type.name) if kind != "b" else None
    ends = (limits.min, limits.max) if limits else (0, 1)
    return ends[name == "min"]


def _fill_or_select(case: Case, xp: Any, function: Function) -> Function:
    """Emulate a mask: replace masked elements by the identity, or select the others."""
    identity = _identity(case)
    if identity is None:
        return lambda view, mask: function(view[mask])
    return lambda view, mask: function(xp.where(mask, view, identity))


def _to_host(function: Function) -> Function:
    """Wrap a function to copy its answer to the host, which waits for it."""

    def run(*given: Any) -> Any:
        answer = function(*given)
        return tuple(x.item() for x in answer) if isinstance(answer, tuple) else answer.item()

    return run


class Bottleneck(NumPy):
    key, title, package, pool = "bottleneck", "bottleneck", "bottleneck", "numpy"


class NumExpr(NumPy):
    """NumExpr; expressions are compiled before they are timed."""

    key, title, package, pool = "numexpr", "NumExpr", "numexpr", "numpy"

    def function(self, case: Case) -> Function:
        name = case.reduction.name
        if name not in ("sum", "prod", "min", "max"):
            raise LackingError("no such reduction")
        if case.layout.dtype:
            raise LackingError("no dtype=")
        evaluate, identity = self.module.evaluate, case.type.dtype().type(_identity(case))
        if not case.masked:
            return lambda view: evaluate(f"{name}(x)", {"x": view}, {})
        text = f"{name}(where(mask, x, identity))"
        return lambda x, mask: evaluate(text, {"x": x, "mask": mask, "identity": identity}, {})


class CuPy(Library):
    key, title, package = "cupy", "CuPy", "cupy"
    kinds = ("cuda",)
    compiles = True

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.module.cuda.Device(self.index).use()
        core = self.module._core
        reductions, routines = core.get_reduction_accelerators(), core.get_routine_accelerators()
        self._accelerators = [*reductions], [*routines]

    def place(self, array: Array) -> Any:
        return self.module.asarray(array)

    def function(self, case: Case) -> Function:
        function = _numpy_function(self.module, case.reduction.name)
        if case.masked:
            return _to_host(_fill_or_select(case, self.module, function))
        return _to_host(_with_options(case, function))

    def start(self) -> None:
        """Set the accelerators, which are global to the process."""
        self.module._core.set_reduction_accelerators(self._accelerators[0])
        self.module._core.set_routine_accelerators(self._accelerators[1])

    def release(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()


class CuPyCub(CuPy):
    """CuPy, configured to use CUB wherever it can."""

    key, title, pool = "cupy-cub", "CuPy with CUB", "cupy"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        cub = [self.module._core._accelerator.ACCELERATOR_CUB]
        if self._accelerators == (cub, cub):
            raise LackingError("CuPy uses CUB by default here")
        self._accelerators = cub, cub


class PyTorch(Library):
    key, title, package = "torch", "PyTorch", "torch"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        if device != "host" and not self.module.cuda.is_available():
            raise LackingError("it finds no GPU")
        self._place = "cpu" if device == "host" else f"cuda:{self.index}"

    def place(self, array: Array) -> Any:
        """Create a tensor; bfloat16, which NumPy lacks, is passed as int16 bits."""
        if array.dtype.name == "bfloat16":
            return self.place(array.view(np.int16)).view(self.module.bfloat16)
        return self.module.from_numpy(array).to(self._place, copy=True)

    def copy(self, placed: Any) -> Any:
        return placed.clone()

    def function(self, case: Case) -> Function:
        torch, name, dtype = self.module, case.reduction.name, case.layout.dtype
        others: dict[str, Function] = {
            "var": functools.partial(torch.var, correction=0),
            "std": functools.partial(torch.std, correction=0),
            "ptp": lambda x: torch.sub(*reversed(torch.aminmax(x))),
            "norm": torch.linalg.vector_norm,
            "logsumexp": lambda x: torch.logsumexp(x, tuple(range(x.dim()))),
            "minmax": lambda x: tuple(torch.aminmax(x)),
            "describe": lambda x: (
                *torch.aminmax(x),
                *reversed(torch.var_mean(x, correction=0)),
                torch.sum(x),
            ),
        }
        function = others.get(name) or _lookup(torch, name)
        if not dtype and name == "mean" and case.type.kind in "biu":
            dtype = "float64"  # required for means of integers
        if dtype:
            function = functools.partial(function, dtype=getattr(torch, dtype))
        if case.masked:
            function = _fill_or_select(case, torch, function)
        return _to_host(function)

    def release(self) -> None:
        if self.device != "host":
            self.module.cuda.empty_cache()


class Jax(Library):
    """JAX, with the view compiled into the function, 64-bit types, and no preallocation."""

    key, title, package = "jax", "JAX", "jax"

    def __init__(self, device: str) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        super().__init__(device)
        self.module.config.update("jax_enable_x64", True)
        self._place = self.module.devices("cpu" if device == "host" else "gpu")[self.index]

    def place(self, array: Array) -> Any:
        return self.module.device_put(array.copy(), self._place).block_until_ready()

    def given(self, case: Case, flat: Any, mask: Any) -> tuple[Any, ...]:
        """Return the flat arrays: the view is compiled, since JAX's own views are copies."""
        return (flat,) if mask is None else (flat, mask)

    def function(self, case: Case) -> Function:
        reduce = _with_options(case, _numpy_function(self.module.numpy, case.reduction.name))
        return _to_host(self.module.jit(lambda flat, *mask: reduce(case.view(flat), *mask)))


class Gred(Library):
    """gred, with arrays of another library, the carrier."""

    key, title, package = "gred", "gred", "gred"
    ours = True

    def __init__(self, carrier: Library, first: bool = True) -> None:
        super().__init__(carrier.device)
        if not first:
            self.key = f"gred-{carrier.key}"
            self.title = f"gred of {carrier.title}"
        self.carrier = carrier
        self.pool = carrier.pool
        self.place, self.copy = carrier.place, carrier.copy  # type: ignore[method-assign]
        self.release = carrier.release  # type: ignore[method-assign]

    def function(self, case: Case) -> Function:
        return _with_options(case, getattr(gred, case.reduction.name))


class Cub(Gred):
    """NVIDIA's CUB, called through gred, for arrays that CUB itself reads; int32 sums are int32."""

    key, title = "cub", "CUB"
    kinds = ("cuda",)
    ours = False

    def function(self, case: Case) -> Function:
        name, kind = case.reduction.name, case.type.name
        if name not in ("sum", "prod", "min", "max"):
            raise LackingError("no such reduction")
        if case.layout.name != "flat" or kind not in ELEMENT_TYPES:
            raise LackingError(f"reads flat arrays of {', '.join(ELEMENT_TYPES)} only")
        dtype = accumulator(name, kind)
        return functools.partial(getattr(gred, name), method="cub", dtype=dtype)


PEERS: dict[str, Any] = {
    library.key: library
    for library in (NumPy, Bottleneck, NumExpr, CuPy, CuPyCub, PyTorch, Jax, Cub)
}


class Field(NamedTuple):
    """The libraries, gred first; the carriers of gred's arrays; reasons for absent ones, by key."""

    libraries: tuple[Library, ...]
    carriers: tuple[Library, ...]
    absent: dict[str, str]


def peers_on(device: str) -> tuple[str, ...]:
    kind = device.partition(":")[0]
    return tuple(key for key, peer in PEERS.items() if kind in peer.kinds)


def assemble(device: str, wanted: Sequence[str]) -> Field:
    """Import the `wanted` peers, and the libraries that create gred's arrays on `device`."""
    carriers = ("numpy",) if device == "host" else ("cupy", "torch")
    here, absent = _imported(device, [key for key in wanted if key != Cub.key])
    mine = [here[key] for key in carriers if key in here]
    if not mine:
        others, _ = _imported(device, (*carriers, "jax"))
        mine = list(others.values())[:1]
    if not mine:
        raise LackingError(f"arrays on {device} need CuPy, PyTorch or JAX, and none is usable")
    ours = [Gred(carrier, carrier is mine[0]) for carrier in mine]
    cub = [Cub(mine[0])] if Cub.key in wanted else []
    return Field((*ours, *here.values(), *cub), tuple(mine), absent)


def _imported(device: str, keys: Sequence[str]) -> tuple[dict[str, Library], dict[str, str]]:
    here: dict[str, Library] = {}
    absent: dict[str, str] = {}
    for key in keys:
        try:
            here[key] = PEERS[key](device)
        except Exception as error:  # imports may raise anything
            absent[key] = why(error)
    return here, absent


def why(error: BaseException) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(error).split()))[:120]
    return text if isinstance(error, LackingError) else f"{type(error).__name__}: {text}"
