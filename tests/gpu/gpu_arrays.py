"""GPU arrays without a library: just enough of the driver, by ctypes, for tests to make them.

An array offers `__cuda_array_interface__` and nothing more. Work can be put on a stream behind a
delay, which tells whether somebody waits for the stream.
"""

import ctypes
import functools
from typing import ClassVar

import numpy as np

LEGACY_DEFAULT_STREAM = 1
NON_BLOCKING, NOT_READY = 1, 600
MICROSECONDS = 300_000
ALIGNMENT = 64
ADDRESS, SIZE = ctypes.c_uint64, ctypes.c_size_t  # handles are addresses, too


@functools.cache
def library():
    """Load the driver, with the first GPU's primary context, CUDA's runtime's, current."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ADDRESS()
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    return driver


def status_of(name: str, *arguments) -> int:
    """Call a function of the driver: numbers by value, what ctypes has by its address."""
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
    """What the driver makes, and takes back with this object."""

    def __init__(self, make: str, take_back: str, *arguments):
        made = ADDRESS()
        call(make, made, *arguments)
        self.handle, self.take_back = made.value, take_back

    def __del__(self):
        if hasattr(self, "handle"):
            status_of(self.take_back, self.handle)


class Memory(Owned):
    """Bytes on the GPU, managed, or in pinned host memory."""

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
    """Copy a host array to the GPU, and wait until it is there.

    The copy itself may return before that, on a stream that those of tests do not wait for.
    """
    call("cuMemcpyHtoD_v2", address, host.ctypes.data, host.nbytes)
    synchronize(LEGACY_DEFAULT_STREAM)


def bytes_around(view: np.ndarray) -> tuple[np.ndarray, int]:
    """Copy the bytes that a view lies in, as well aligned, and tell where its first element is."""
    first, end = np.lib.array_utils.byte_bounds(view)
    around = np.frombuffer((ctypes.c_ubyte * (end - first)).from_address(first), np.uint8)
    before = first % ALIGNMENT
    return np.pad(around, (before, 0)), before + view.ctypes.data - first


class GpuArray:
    """A contiguous stretch of GPU memory as an array. Slices share it."""

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
        """Copy a host array as it lies: its strides, its alignment, what is between elements."""
        if not view.size:
            return cls.of(view).described(shape=view.shape)
        around, begin = bytes_around(view)
        memory = cls.of(around).memory
        place = {"shape": view.shape, "strides": view.strides}
        return cls(memory, view.size, view.dtype, memory.address + begin, **place)

    @classmethod
    def repeating(cls, array: np.ndarray, n: int) -> "GpuArray":
        """Repeat a host array up to n elements; the part that is filled doubles until it is all."""
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
        """The same array on its stream, with other entries or without those that are `...`."""
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
    """A stream that does not wait for the default one."""

    def __init__(self):
        super().__init__("cuStreamCreate", "cuStreamDestroy_v2", NON_BLOCKING)


def on(stream: Stream, host: np.ndarray) -> GpuArray:
    """Copy a host array to the GPU, for a stream, which its memory keeps."""
    array = GpuArray.of(host).described(stream=stream.handle, shape=np.shape(host))
    array.memory.stream = stream
    return array


def elsewhere(array: GpuArray) -> GpuArray:
    """Let an array name the default stream."""
    return array.described(stream=LEGACY_DEFAULT_STREAM)


def zero_on(stream: Stream, dtype=np.int64) -> GpuArray:
    """Make one element, 0, to reduce into on a stream."""
    return on(stream, np.zeros(1, dtype))


def synchronize(stream: int | None = None):
    """Wait until a stream's work is done, or that of all."""
    call("cuCtxSynchronize") if stream is None else call("cuStreamSynchronize", stream)


def is_busy(stream: int, query: str = "cuStreamQuery") -> bool:
    """Tell whether a stream, or an event, still has something to wait for."""
    status = status_of(query, stream)
    assert status in (0, NOT_READY), f"{query} reports error {status}"
    return status == NOT_READY


def delay(stream: int, microseconds: int = MICROSECONDS):
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    call("cuLaunchHostFunc", stream, usleep, microseconds)


def write(array: GpuArray, word: int, stream: int):
    """Have a stream write every whole 32-bit word of an array."""
    call("cuMemsetD32Async", array.address, word, array.nbytes // 4, stream)


def write_later(array: GpuArray, word: int, stream: int, microseconds: int = MICROSECONDS):
    delay(stream, microseconds)
    write(array, word, stream)


class Graph:
    """What a stream is asked to do within a with-block, to be done as often as one likes."""

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
        """Run it so many times, and wait until all is done."""
        for _ in range(times):
            self.run()
        synchronize(self.stream)

    def __del__(self):
        if self.executable:
            status_of("cuGraphExecDestroy", self.executable.value)
            status_of("cuGraphDestroy", self.graph.value)
