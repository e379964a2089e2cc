"""Libraries whose arrays may lie on a GPU, each with its own streams, behind one interface.

Each makes its arrays itself and says itself on which stream it works. A library that is not
installed, or has no GPU here, skips with that reason.
"""

import contextlib
import os

import numpy as np
import pytest
from gpu_arrays import LEGACY_DEFAULT_STREAM, GpuArray, Stream, call
from reference import BFLOAT16, EVERY_TYPE

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
ROWS, COLUMNS = 37, 27  # of what layouts are of
# What every library's arrays can do.
BASIC = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "every third row": lambda x: x[::3],
    "every second column": lambda x: x[:, ::2],
    "an inner part": lambda x: x[1:-1, 3:-2],
    "off by one element": lambda x: x[0, 1:],
    "one element": lambda x: x[2:3, 1:2],
}


class Library:
    """What is the same of most; layouts are pairs, of what NumPy does and what the library does."""

    types = EVERY_TYPE
    writes = True

    def zeros(self, shape, dtype):
        return self.make(np.zeros(shape, dtype))

    def layouts(self):
        return {}

    def current(self, stream):
        return contextlib.nullcontext()

    def made_on(self, stream, host):
        return self.make(host)


class LaidOut(GpuArray):
    """An array of the driver's memory that is sliced and turned as NumPy's are."""

    @classmethod
    def of(cls, host):
        memory = GpuArray.of(host)
        return cls.viewing(memory, np.array(host, order="C"), memory.address)

    @classmethod
    def viewing(cls, whole, view, address):
        self = cls(whole.memory, view.size, view.dtype)
        self.whole, self.view = whole, view
        self.changes = {"shape": view.shape, "strides": view.strides, "data": (address, False)}
        return self

    def of_view(self, view):
        """Describe what NumPy makes of the same array on the host."""
        address, _ = self.changes["data"]
        moved = view.__array_interface__["data"][0] - self.view.__array_interface__["data"][0]
        return self.viewing(self.whole, view, address + moved)

    def host(self):
        return super().host().reshape(self.view.shape)

    def __getitem__(self, index):
        return self.of_view(self.view[index])

    @property
    def T(self):  # noqa: N802
        return self.of_view(self.view.T)


class Driver(Library):
    """No library at all: an interface to the driver's memory, and its streams' numbers."""

    module = "driver"

    def make(self, host):
        return LaidOut.of(np.asarray(host))

    def host(self, array):
        return array.host()

    def layouts(self):
        windows = np.lib.stride_tricks.sliding_window_view
        views = {
            "reversed": lambda x: x[::-1, ::-1],
            "columns backwards": lambda x: x[:, ::-2],
            "a row again and again": lambda x: np.broadcast_to(x[3], (5, COLUMNS)),
            "an element again and again": lambda x: np.broadcast_to(x[3:4, 4:5], (7, 11)),
            "windows that overlap": lambda x: windows(x[0, :20], 4),
            "many dimensions": lambda x: (
                x[:36].reshape(2, 3, 6, 9, 3)[:, ::-2, 1:, ::3].transpose(4, 1, 0, 3, 2)
            ),
        }
        return {
            name: (take, lambda a, take=take: a.of_view(take(a.view)))
            for name, take in views.items()
        }

    def stream(self):
        return Stream()

    def handle(self, stream):
        return stream if isinstance(stream, int) else stream.handle

    def external(self, handle):
        return handle

    def default_stream(self):
        return LEGACY_DEFAULT_STREAM

    def made_on(self, stream, host):
        array = self.make(host)
        array.changes["stream"] = self.handle(stream)
        return array

    def fill(self, array, value, stream):
        call("cuMemsetD32Async", array.address, value, array.n, self.handle(stream))


def in_three_dimensions(x):
    return x.reshape(ROWS, 9, 3).swapaxes(0, 1)[::2, :, 1:]


class Cupy(Library):
    """CuPy: every layout of NumPy's, and a current stream."""

    module, types = "cupy", tuple(t for t in EVERY_TYPE if t != BFLOAT16)

    def __init__(self):
        self.cupy = pytest.importorskip("cupy")

    def make(self, host):
        return self.cupy.asarray(host)

    def host(self, array):
        return array.get()

    def layouts(self):
        return {
            "reversed": (lambda x: x[::-1, ::-1],) * 2,
            "a row again and again": (
                lambda x: np.broadcast_to(x[3], (5, COLUMNS)),
                lambda x: self.cupy.broadcast_to(x[3], (5, COLUMNS)),
            ),
            "three dimensions": (in_three_dimensions,) * 2,
        }

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def handle(self, stream):
        return stream.ptr

    def external(self, handle):
        return self.cupy.cuda.ExternalStream(handle)

    def default_stream(self):
        return self.cupy.cuda.Stream.null

    def current(self, stream):
        return stream

    def fill(self, array, value, stream):
        array.fill(value)


class Torch(Library):
    """PyTorch: no negative strides; DLPack with its current stream."""

    module = "torch"

    def __init__(self):
        self.torch = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")

    def make(self, host):
        host = np.array(host)
        if host.dtype == BFLOAT16:
            bits = self.torch.from_numpy(host.view(np.int16))
            return bits.view(self.torch.bfloat16).cuda()
        return self.torch.from_numpy(host).cuda()

    def host(self, array):
        array = array.cpu()
        if array.dtype == self.torch.bfloat16:
            return array.view(self.torch.int16).numpy().view(BFLOAT16)
        return array.numpy()

    def layouts(self):
        return {
            "a row again and again": (
                lambda x: np.broadcast_to(x[3], (5, COLUMNS)),
                lambda x: x[3].expand(5, COLUMNS),
            ),
            "three dimensions": (in_three_dimensions,) * 2,
        }

    def stream(self):
        return self.torch.cuda.Stream()

    def handle(self, stream):
        return stream.cuda_stream

    def external(self, handle):
        return self.torch.cuda.ExternalStream(handle)

    def default_stream(self):
        return self.torch.cuda.default_stream()

    def current(self, stream):
        return self.torch.cuda.stream(stream)

    def fill(self, array, value, stream):
        array.fill_(value)


class Numba(Library):
    """Numba: each array names the stream that it was made on."""

    module, types = "numba", tuple(t for t in EVERY_TYPE if t != BFLOAT16)

    def __init__(self):
        self.cuda = cuda = pytest.importorskip("numba.cuda")
        if not self.cuda.is_available():
            pytest.skip("this Numba has no GPU")
        if not hasattr(np, "row_stack"):  # NumPy 2.5 lacks what some Numbas overload
            np.row_stack = np.vstack
        self.kept = []

        @cuda.jit
        def write_everywhere(array, value):
            k = cuda.grid(1)
            if k < array.size:
                array[k] = value

        self.kernel = write_everywhere

    def make(self, host):
        return self.cuda.to_device(np.array(host))

    def host(self, array):
        return array.copy_to_host()

    def stream(self):
        """Make a stream that does not wait for the default one; Numba's own ones do."""
        self.kept.append(Stream())
        return self.cuda.external_stream(self.kept[-1].handle)

    def handle(self, stream):
        handle = stream.handle
        return int(getattr(handle, "value", handle) or 0)

    def external(self, handle):
        return self.cuda.external_stream(handle)

    def default_stream(self):
        return self.cuda.default_stream()

    def made_on(self, stream, host):
        return self.cuda.to_device(host, stream=stream)

    def fill(self, array, value, stream):
        self.kernel[(array.size + 255) // 256, 256, stream](array, value)


class Jax(Library):
    """JAX: immutable arrays, each computed in the background."""

    module = "jax"
    writes = False

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        if self.jax.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        self.numpy = self.jax.numpy

    def make(self, host):
        return self.numpy.asarray(np.array(host))


LIBRARIES = (Driver, Cupy, Torch, Numba, Jax)


def of(*libraries):
    """Run a test for some libraries only."""
    names = [one.module for one in libraries]
    return pytest.mark.parametrize("library", libraries, ids=names, indirect=True)


def of_ways(*ways):
    """Run a test for pairs of a library and a method."""
    names = [f"{library.module}-{method}" for library, method in ways]
    return pytest.mark.parametrize(("library", "method"), ways, ids=names, indirect=["library"])


of_libraries = of(*LIBRARIES[1:])  # that make arrays of their own for results
