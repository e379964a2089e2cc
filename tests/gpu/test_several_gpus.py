"""Two GPUs: lists over both, results on the one that is not current, a full one, renamed ones."""

import contextlib
import gc

import numpy as np
import pytest
from devices import GPUS, on_gpu, two_gpus
from processes import printed

import gred

pytestmark = [pytest.mark.gpu, two_gpus]
SHAPE = (37, 1001)
LIBRARIES = ("cupy", "torch", "jax", "numba")


def array_on(library, number):
    """Make one array of a library on a GPU that is not made current."""
    host = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE) % 97
    module = pytest.importorskip({"numba": "numba.cuda", "jax": "jax"}.get(library, library))
    if library == "cupy":
        with module.cuda.Device(number):
            return host, module.asarray(host)
    if library == "torch":
        return host, module.tensor(host, device=f"cuda:{number}")
    if library == "jax":
        devices = [each for each in module.devices() if each.platform in ("gpu", "cuda")]
        if len(devices) <= number:
            pytest.skip("JAX sees one GPU")
        return host, module.device_put(host, devices[number])
    with module.gpus[number]:
        return host, module.to_device(host)


def place_of(result):
    return result.__dlpack_device__()[1] if hasattr(result, "__dlpack_device__") else None


def fetched(result):
    """Copy a result to the host by gred, whatever library it is of."""
    return gred.sum(result, axis=(), out=np.zeros(result.shape, np.float32))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("axis", [0, 1])
def test_results_lie_on_the_second_gpu_while_the_first_is_current(library, axis):
    host, array = array_on(library, 1)
    got = gred.sum(array, axis=axis)
    assert place_of(got) in (1, None)
    assert fetched(got).tolist() == host.sum(axis).tolist()
    assert gred.max(array) == host.max()
    each = gred.each("sum", [array, array])
    assert fetched(each).tolist() == [host.sum(), host.sum()]


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_a_list_over_all_gpus_is_one_sum(library):
    arrays = [array_on(library, number % GPUS) for number in range(50)]
    values = [array for _, array in arrays]
    total = sum(float(host.sum(dtype=np.float64)) for host, _ in arrays)
    assert gred.sum(values) == np.float32(total)
    assert gred.sum(values, method="exact") == np.float32(total)
    assert np.isclose(gred.mean(values), total / (50 * arrays[0][0].size), rtol=1e-6)


def test_a_gpu_that_others_fill_gives_results_or_one_clear_error():
    cupy = pytest.importorskip("cupy")
    host, array = array_on("cupy", 1)
    expected = host.sum(0).tolist()
    held = []
    with cupy.cuda.Device(1):
        for size in (1 << 30, 1 << 26, 1 << 22):
            while cupy.cuda.Device(1).mem_info[0] > size:
                try:
                    held.append(cupy.cuda.runtime.malloc(size))
                except cupy.cuda.runtime.CUDARuntimeError:
                    break
        try:
            for call in (
                lambda: float(gred.sum(array)) == host.sum(),
                lambda: fetched(gred.sum(array, axis=0)).tolist() == expected,
                lambda: float(gred.sum([array, on_gpu(0, host)])) == 2 * host.sum(),
            ):
                with contextlib.suppress(MemoryError):
                    assert call()
            assert gred.sum(on_gpu(0, host)) == host.sum()
        finally:
            for address in held:
                cupy.cuda.runtime.free(address)
    gc.collect()
    assert fetched(gred.sum(array, axis=0)).tolist() == expected


@pytest.mark.parametrize("visible", ["1,0", "1"])
def test_devices_are_numbered_as_they_are_visible(visible):
    code = """
        import gred, numpy as np
        from devices import GPUS, on_gpu
        arrays = [on_gpu(number, np.full(1000, number + 1, np.int32)) for number in range(GPUS)]
        print(GPUS, gred.sum(arrays), *(gred.explain(array).device for array in arrays))
    """
    said = printed(code, path=True, CUDA_VISIBLE_DEVICES=visible).split()
    count = len(visible.split(","))
    assert said == [str(count), str(sum(range(1000, 1000 * count + 1, 1000))), *DEVICES[:count]]


DEVICES = [f"cuda:{number}" for number in range(8)]
