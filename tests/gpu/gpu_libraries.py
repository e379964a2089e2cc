"""Libraries whose arrays can be on a GPU, each with its own streams, behind one interface.

Each library makes its own arrays and states on which stream it works. A library that is not
installed, or has no GPU here, skips the test with that reason.
"""

import contextlib
import os
from functools import partial
from operator import attrgetter

import numpy as np
import pytest
from gpu_arrays import LEGACY_DEFAULT_STREAM, GpuArray, Stream, write
from reference import BFLOAT16, EVERY_TYPE

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
WITHOUT_BFLOAT16 = tuple(t for t in EVERY_TYPE if t != BFLOAT16)
ROWS, COLUMNS = 37, 27  # shape of the arrays that layouts take
# Layouts as functions of an array; `xp` is NumPy, or a library with its functions.
BASIC = {
    "whole": lambda xp, x: x,
    "transposed": lambda xp, x: x.T,
    "every third row": lambda xp, x: x[::3],
    "every second column": lambda xp, x: x[:, ::2],
    "an inner part": lambda xp, x: x[1:-1, 3:-2],
    "off by one element": lambda xp, x: x[0, 1:],
    "one element": lambda xp, x: x[2:3, 1:2],
}
MORE = BASIC | {
    "a row again and again": lambda xp, x: xp.broadcast_to(x[3], (5, COLUMNS)),
    "three dimensions": lambda xp, x: x.reshape(ROWS, 9, 3).swapaxes(0, 1)[::2, :, 1:],
}


class Library:
    """Defaults that most libraries share."""

    types, layouts, functions = EVERY_TYPE, BASIC, None
    writes = True

    def laid_out(self, host, layout):
        return layout(self.functions, self.make(host))

    def current(self, stream):
        return contextlib.nullcontext()

    def made_on(self, stream, host):
        return self.make(host)

    def fill(self, array, value, stream):
        array.fill(value)


class Driver(Library):
    """No library: an interface to the driver's memory, and numbers for streams."""

    module = "driver"

    def __init__(self):
        self.stream, self.host = Stream, GpuArray.host
        self.handle = lambda stream: stream if isinstance(stream, int) else stream.handle
        self.external = lambda handle: handle
        self.default_stream = lambda: LEGACY_DEFAULT_STREAM

    def make(self, host):
        return GpuArray.laid_out(np.array(host))

    def laid_out(self, host, layout):
        return GpuArray.laid_out(layout(np, host))

    def made_on(self, stream, host):
        return GpuArray.of(host).described(shape=np.shape(host), stream=self.handle(stream))

    def fill(self, array, value, stream):
        write(array, value, self.handle(stream))


class Cupy(Library):
    """CuPy: every layout of NumPy, and a current stream."""

    module, types = "cupy", WITHOUT_BFLOAT16
    layouts = MORE | {"backwards": lambda xp, x: x[::-1, ::-1]}

    def __init__(self):
        self.functions = cupy = pytest.importorskip("cupy")
        self.make, self.host = cupy.asarray, cupy.asnumpy
        self.stream = partial(cupy.cuda.Stream, non_blocking=True)
        self.handle, self.external = attrgetter("ptr"), cupy.cuda.ExternalStream
        self.default_stream = lambda: cupy.cuda.Stream.null
        self.current = lambda stream: stream
        with contextlib.suppress(TypeError, ValueError):  # raised by older versions
            cupy.asarray(np.ones(1, BFLOAT16))
            self.types = EVERY_TYPE


def tensor_of(x):
    """Make a CPU tensor that shares a NumPy array's memory."""
    torch = pytest.importorskip("torch")
    if x.dtype != BFLOAT16:
        return torch.from_numpy(x)
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)


class Torch(Library):
    """PyTorch: no negative strides; DLPack with its current stream."""

    module, layouts = "torch", MORE

    def __init__(self):
        self.functions = torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")
        self.host = lambda array: array.cpu().numpy()
        self.stream, self.external = torch.cuda.Stream, torch.cuda.ExternalStream
        self.handle = attrgetter("cuda_stream")
        self.default_stream, self.current = torch.cuda.default_stream, torch.cuda.stream

    def make(self, host):
        return tensor_of(np.array(host)).cuda()

    def fill(self, array, value, stream):
        array.fill_(value)


class Numba(Library):
    """Numba: each array names the stream on which it was made."""

    module, types = "numba", WITHOUT_BFLOAT16

    def __init__(self):
        self.cuda = cuda = pytest.importorskip("numba.cuda")
        if not cuda.is_available():
            pytest.skip("this Numba has no GPU")
        if not hasattr(np, "row_stack"):  # NumPy 2.5 lacks what some versions of Numba overload
            np.row_stack = np.vstack
        self.external, self.default_stream = cuda.external_stream, cuda.default_stream
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
        """Make a stream that does not synchronize with the default one, as Numba's own do."""
        self.kept.append(Stream())
        return self.external(self.kept[-1].handle)

    def handle(self, stream):
        handle = stream.handle
        return int(getattr(handle, "value", handle) or 0)

    def made_on(self, stream, host):
        return self.cuda.to_device(host, stream=stream)

    def fill(self, array, value, stream):
        self.kernel[(array.size + 255) // 256, 256, stream](array, value)


class Jax(Library):
    """JAX: immutable arrays, computed asynchronously."""

    module = "jax"
    writes = False

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        if self.jax.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")

    def make(self, host):
        self.jax.config.update("jax_enable_x64", True)  # until the test ends
        return self.jax.numpy.asarray(np.array(host))


LIBRARIES = (Driver, Cupy, Torch, Numba, Jax)


def of(*libraries):
    """Run a test with these libraries only."""
    names = [one.module for one in libraries]
    return pytest.mark.parametrize("library", libraries, ids=names, indirect=True)


of_libraries = of(*LIBRARIES[1:])  # which make their own arrays for results
