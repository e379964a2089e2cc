"""Devices for tests: which exist, arrays in their memory, and results from there."""

import numpy as np
import pytest
from gpu_arrays import GpuArray, bytes_around, use_device

import gred
from gred.testing import SimulatedArray

PLACES = ("host", "simulated", "cuda")
GPUS = sum(device.name.startswith("cuda") for device in gred.devices())
GPU_IS_HERE = GPUS > 0
BEST = "cuda:0" if GPU_IS_HERE else "simulated"
needs_gpu = pytest.mark.skipif(not GPU_IS_HERE, reason="there is no GPU here")
two_gpus = pytest.mark.skipif(GPUS < 2, reason="there is one GPU here, not two")


def parameter(place: str, *more: str):
    """Make a parameter set that skips if its device is missing."""
    marks = needs_gpu if place == "cuda" else ()
    return pytest.param(place, *more, id="-".join((place, *more)), marks=marks)


everywhere = pytest.mark.parametrize("place", [parameter(p) for p in PLACES if p != "host"])


def on(place: str) -> dict:
    """Return the options that copy a host array to a device."""
    return {"device": "cuda:0" if place == "cuda" else place}


def laid_out(view: np.ndarray, place: str):
    """Copy a view to the device, with its strides and its alignment."""
    if place == "host":
        return view
    if place == "cuda":
        return GpuArray.laid_out(view)
    if not view.size:
        return SimulatedArray(view)
    around, begin = bytes_around(view)
    whole = SimulatedArray(around)
    return whole._like(_view(whole, view, begin), {})


def _view(whole: SimulatedArray, like: np.ndarray, first: int) -> np.ndarray:
    """View simulated memory from byte `first` on with the layout of another array."""
    memory = np.frombuffer(whole.memory, np.uint8)
    return np.ndarray(like.shape, like.dtype, memory, first, like.strides)


def put(memory: np.ndarray, place: str, layout):
    """Copy memory to a device, and describe the part of it that `layout` selects."""
    part = layout(memory)
    if place == "host":
        return memory, part
    first = part.ctypes.data - memory.ctypes.data
    if place == "simulated":
        whole = SimulatedArray(memory)
        return whole, whole._like(_view(whole, part, first), {})
    whole = GpuArray.of(memory)
    address = whole.address + first
    return whole, whole.described(shape=part.shape, strides=part.strides, data=(address, False))


def flat_there(x: np.ndarray, place: str):
    """Copy a host array to contiguous device memory that can be sliced."""
    return SimulatedArray(x) if place == "simulated" else GpuArray.of(x)


def to_host(got):
    """Copy results from any library and device to the host; of a record, copy all fields."""
    if isinstance(got, tuple):
        return getattr(type(got), "_make", tuple)(map(to_host, got))
    if isinstance(got, np.ndarray | np.generic):
        return got
    if isinstance(got, gred.DeviceArray):
        return got.to_numpy()
    for way in ("host", "get", "copy_to_host"):  # of the tests' arrays, CuPy's and Numba's
        if hasattr(got, way):
            return getattr(got, way)()
    return np.asarray(got.cpu() if hasattr(got, "cpu") else got)


def on_gpu(number: int, host: np.ndarray, where: str = "device") -> GpuArray:
    """Copy a host array to one of several GPUs."""
    use_device(number)
    try:
        return GpuArray.of(host, where)
    finally:
        use_device(0)
