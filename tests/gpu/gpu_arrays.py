"""GPU arrays without a library: the few functions of the driver that tests need, using ctypes.

An array offers `__cuda_array_interface__` and nothing else. Work can be put on a stream behind a
delay, which shows whether a call waits for the stream.
"""

import ctypes
import functools
from typing import ClassVar

import numpy as np

LEGACY_DEFAULT_STREAM = 1
NON_BLOCKING, NOT_READY = 1, 600
MICROSECONDS = 300_000
ALIGNMENT = 64
ADDRESS, SIZE = ctypes.c_uint64, ctypes.c_size_t  # handles are addresses


@functools.cache
def library():
    """Load the driver, and make the first GPU's primary context, the CUDA runtime's, current."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ADDRESS()
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    return driver


def status_of(name: str, *arguments) -> int:
    """Call a driver function: numbers are passed by value, ctypes objects by address."""
    words = (
        ctypes.c_uint64(int(one or 0))
        if one is None or hasattr(one, "__index__")
        else ctypes.byref(one)
        for one in arguments
    )
    return getattr(library(), name)(*words)


def call(name: str, *arguments):
    status = status_of(name, *arguments)
    if status:
        raise RuntimeError(f"{name} reports error {status}")


def use_device(number: int) -> int:
    """Make a GPU's primary context current, and return it."""
    context = ADDRESS()
    call("cuDevicePrimaryCtxRetain", context, number)
    call("cuCtxSetCurrent", context.value)
    return context.value


def free_bytes() -> int:
    free, total = SIZE(), SIZE()
    call("cuMemGetInfo_v2", free, total)
    return free.value


# ---- memory ----


class Owned:
    """A driver object that is released with this Python object."""

    def __init__(self, make: str, take_back: str, *arguments):
        made = ADDRESS()
        call(make, made, *arguments)
        self.handle, self.take_back = made.value, take_back

    def __del__(self):
        if hasattr(self, "handle"):
            status_of(self.take_back, self.handle)


class Memory(Owned):
    """Device memory, managed memory, or pinned host memory."""

    KINDS: ClassVar = {
        "device": ("cuMemAlloc_v2", "cuMemFree_v2"),
        "managed": ("cuMemAllocManaged", "cuMemFree_v2", 1),
        "pinned": ("cuMemHostAlloc", "cuMemFreeHost", 0),
    }

    def __init__(self, nbytes: int, where: str = "device"):
        make, take_back, *flags = self.KINDS[where]
        super().__init__(make, take_back, nbytes, *flags)
        self.address = self.handle


def upload(address: int, host: np.ndarray):
    """Copy a host array to the GPU, and wait for the copy.

    The copy itself may return earlier, on a stream that the tests' streams do not wait for.
    """
    call("cuMemcpyHtoD_v2", address, host.ctypes.data, host.nbytes)
    synchronize(LEGACY_DEFAULT_STREAM)


def bytes_around(view: np.ndarray) -> tuple[np.ndarray, int]:
    """Copy the bytes around a view, equally aligned, and return the offset of its first element."""
    first, end = np.lib.array_utils.byte_bounds(view)
    around = np.frombuffer((ctypes.c_ubyte * (end - first)).from_address(first), np.uint8)
    before = first % ALIGNMENT
    return np.pad(around, (before, 0)), before + view.ctypes.data - first


class GpuArray:
    """A contiguous stretch of GPU memory as an array. Slices share the memory."""

    def __init__(self, memory, n: int, dtype, address: int | None = None, **changes):
        self.memory, self.n, self.dtype = memory, n, np.dtype(dtype)
        self.address = memory.address if address is None else address
        self.changes = changes

    @classmethod
    def of(cls, array: np.ndarray, where: str = "device") -> "GpuArray":
        array = np.ascontiguousarray(array)
        self = cls(Memory(max(array.nbytes, 1), where), array.size, array.dtype)
        if array.nbytes:
            upload(self.address, array)
        return self

    @classmethod
    def laid_out(cls, view: np.ndarray) -> "GpuArray":
        """Copy a host array with its strides, its alignment, and the bytes between its elements."""
        if not view.size:
            return cls.of(view).described(shape=view.shape)
        around, begin = bytes_around(view)
        memory = cls.of(around).memory
        place = {"shape": view.shape, "strides": view.strides}
        return cls(memory, view.size, view.dtype, memory.address + begin, **place)

    @classmethod
    def repeating(cls, array: np.ndarray, n: int) -> "GpuArray":
        """Repeat a host array up to n elements, doubling the filled part each time."""
        self = cls(Memory(n * array.itemsize), n, array.dtype)
        upload(self.address, array)
        filled = array.nbytes
        while filled < self.nbytes:
            more = min(filled, self.nbytes - filled)
            call("cuMemcpyDtoD_v2", self.address + filled, self.address, more)
            filled += more
        synchronize()
        return self

    @property
    def nbytes(self) -> int:
        return self.n * self.dtype.itemsize

    def __getitem__(self, part: slice) -> "GpuArray":
        start, stop, step = part.indices(self.n)
        assert step == 1
        return self._like(max(stop - start, 0), self.address + start * self.dtype.itemsize, {})

    def __setitem__(self, index: int, value):
        upload(self.address + index * self.dtype.itemsize, np.array([value], self.dtype))

    def described(self, **changes) -> "GpuArray":
        """Return the same array and stream with changed entries; `...` removes an entry."""
        address, _ = changes.get("data", (self.address, False))
        return self._like(self.n, address, changes)

    def _like(self, n, address, changes):
        stream = {key: self.changes[key] for key in ("stream",) if key in self.changes}
        return GpuArray(self.memory, n, self.dtype, address, **stream | changes)

    @property
    def __cuda_array_interface__(self) -> dict:
        interface = {
            "shape": (self.n,),
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "stream": LEGACY_DEFAULT_STREAM,
        }
        interface |= self.changes
        return {key: value for key, value in interface.items() if value is not ...}

    def host(self) -> np.ndarray:
        array = np.empty(self.n, self.dtype)
        call("cuMemcpyDtoH_v2", array.ctypes.data, self.address, array.nbytes)
        return array


# ---- streams ----


class Stream(Owned):
    """A stream that does not synchronize with the default one."""

    def __init__(self):
        super().__init__("cuStreamCreate", "cuStreamDestroy_v2", NON_BLOCKING)


def on(stream: Stream, host: np.ndarray) -> GpuArray:
    """Copy a host array to the GPU for a stream, which the memory keeps alive."""
    array = GpuArray.of(host).described(stream=stream.handle, shape=np.shape(host))
    array.memory.stream = stream
    return array


def elsewhere(array: GpuArray) -> GpuArray:
    """Return the array as one of the default stream."""
    return array.described(stream=LEGACY_DEFAULT_STREAM)


def zero_on(stream: Stream, dtype=np.int64) -> GpuArray:
    """Make a single 0 to reduce into on a stream."""
    return on(stream, np.zeros(1, dtype))


def synchronize(stream: int | None = None):
    """Wait for a stream's work, or for all work."""
    call("cuCtxSynchronize") if stream is None else call("cuStreamSynchronize", stream)


def is_busy(stream: int, query: str = "cuStreamQuery") -> bool:
    """Return whether a stream, or an event, has pending work."""
    status = status_of(query, stream)
    assert status in (0, NOT_READY), f"{query} reports error {status}"
    return status == NOT_READY


def delay(stream: int, microseconds: int = MICROSECONDS):
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    call("cuLaunchHostFunc", stream, usleep, microseconds)


def write(array: GpuArray, word: int, stream: int):
    """Fill the whole 32-bit words of an array on a stream."""
    call("cuMemsetD32Async", array.address, word, array.nbytes // 4, stream)


def write_later(array: GpuArray, word: int, stream: int, microseconds: int = MICROSECONDS):
    delay(stream, microseconds)
    write(array, word, stream)


class Graph:
    """A CUDA graph of the work that a with-block gives to a stream."""

    MODES: ClassVar = {"global": 0, "thread-local": 1, "relaxed": 2}

    def __init__(self, stream: Stream, mode: str = "global"):
        self.stream, self.mode = stream.handle, self.MODES[mode]
        self.graph, self.executable = ADDRESS(), ADDRESS()

    def __enter__(self):
        call("cuStreamBeginCapture_v2", self.stream, self.mode)
        return self

    def __exit__(self, *_):
        call("cuStreamEndCapture", self.stream, self.graph)
        call("cuGraphInstantiateWithFlags", self.executable, self.graph.value, 0)

    def run(self):
        call("cuGraphLaunch", self.executable.value, self.stream)

    def finish(self, times: int = 1):
        """Run the graph several times, and wait for it."""
        for _ in range(times):
            self.run()
        synchronize(self.stream)

    def __del__(self):
        if self.executable:
            status_of("cuGraphExecDestroy", self.executable.value)
            status_of("cuGraphDestroy", self.graph.value)
