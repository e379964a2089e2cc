"""Benchmarks for pytest-benchmark: the ladder, and gred and its peers, on the best device.

    pytest benchmarks/ --benchmark-only

`test_sum` measures kernel times of methods by array and block size; `test_versus` measures the
cases of `python -m gred versus --quick`, as whole calls with the result on the host. Both also
report the bandwidth or bytes, and the read limit.
"""

import functools

import numpy as np
import pytest

import gred
from gred.cli import cases, contest, libraries
from gred.cli.data import numpy_answer, random_array
from gred.cli.ladder import choose_methods
from gred.cli.measure import accumulator, device_for, read_limit
from gred.cli.options import resolve_device
from gred.cli.units import size_text

# ---- the ladder ----

DEVICE = resolve_device(None).name
ON_GPU = DEVICE.startswith("cuda")
SIZES = (1 << 16, 1 << 22, 1 << 28) if ON_GPU else (1 << 10, 1 << 14)
BLOCK_SIZES = (128, 256, 512) if ON_GPU else (64, 256)
ROUNDS = 20 if ON_GPU else 3
RUNGS = [
    pytest.param(size, method, block, id=f"{size_text(size)}-{method.name}-{block or 'any'}")
    for size in SIZES
    for method in choose_methods(None, resolve_device(None), host_too=True)
    for block in (BLOCK_SIZES if method.block_sizes else (None,))
]


class KernelClock:
    """A clock that only advances while a kernel runs, so that pytest-benchmark times kernels."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


CLOCK = KernelClock()


@functools.lru_cache(maxsize=1)
def data_of(size):
    """Return the array of this size, its sum and the read limits, cached for all its cases."""
    array = random_array(size, "int32")
    limits = {name: read_limit(name, array.nbytes, ROUNDS) for name in {DEVICE, "host"}}
    return array, numpy_answer(array, "sum"), limits


@pytest.mark.benchmark(timer=CLOCK)
@pytest.mark.parametrize(("size", "method", "block_size"), RUNGS)
def test_sum(benchmark, size, method, block_size):
    """Take `ROUNDS` kernel times of one method with one block size."""
    array, answer, limits = data_of(size)
    device = device_for(method, DEVICE)
    options = {"method": method.name, "block_size": block_size, "device": device}
    options |= {"dtype": accumulator("sum", "int32"), "samples": ROUNDS, "warmup": 1}
    timed = gred.kernel_time(array, **options)
    assert answer.accepts(timed.result)
    samples = iter(timed.seconds)

    def let_pass():
        CLOCK.now += next(samples)

    benchmark.group = f"sum of {size_text(size)} int32, {DEVICE}"
    benchmark.pedantic(let_pass, rounds=ROUNDS, iterations=1, warmup_rounds=0)
    told = ("device", "nbytes", "grid", "passes", "block_size")
    benchmark.extra_info.update({name: getattr(timed, name) for name in told})
    bandwidth = timed.nbytes / float(np.median(timed.seconds))
    benchmark.extra_info["gb_per_s"] = round(bandwidth * 1e-9, 3)
    benchmark.extra_info["limit_gb_per_s"] = round(limits[device] * 1e-9, 3)


# ---- other libraries ----

GPU = next((device.name for device in gred.devices() if device.name.startswith("cuda")), None)
PLACE = resolve_device(GPU or "host")
GRID = cases.GRIDS[PLACE.name.partition(":")[0], True]
KEYS = ("gred", *(("gred-torch",) if GPU else ()), *libraries.peers_on(PLACE.name))
PAIRS = [
    pytest.param(case, key, id=f"{case}-{key}")
    for case in cases.cases(GRID)
    if case.type.known()
    for key in KEYS
]


@functools.lru_cache(maxsize=1)
def field():
    """Import the libraries on first use."""
    return libraries.assemble(PLACE.name, libraries.peers_on(PLACE.name))


class Stages:
    current: contest.Stage | None = None

    @classmethod
    def of(cls, case):
        if cls.current is None or cls.current.key != contest.stage_key(case):
            if cls.current is not None:
                cls.current.close()
            cls.current = contest.Stage(case, field().libraries, PLACE, seed=0)
        return cls.current


@functools.lru_cache(maxsize=1)
def asked(case):
    """Return the truth and the setup of a case, cached for all libraries."""
    return contest.asked(case, Stages.of(case))


@pytest.mark.parametrize(("case", "key"), PAIRS)
def test_versus(benchmark, case, key):
    """Time one library in one case, with another copy each round; skip what it cannot do."""
    library = next((one for one in field().libraries if one.key == key), None)
    if library is None:
        pytest.skip(field().absent.get(key, "not here"))
    truth, nbytes, copies, cold = asked(case)
    runner = contest.Runner(library, case, Stages.of(case), copies)
    if not runner.failure:
        with runner.noting():
            runner.call()
    if runner.failure:
        pytest.skip(runner.failure)
    benchmark.group = f"{case}, {PLACE.name}"
    benchmark.pedantic(runner.call, rounds=25 if GPU else 9, iterations=1, warmup_rounds=2)
    right, limit = runner.told(truth)["right"], round(Stages.of(case).limit * 1e-9, 3)
    told = {"nbytes": nbytes, "cold": cold, "right": right, "limit_gb_per_s": limit}
    benchmark.extra_info.update(library=library.title, version=library.version, **told)
    assert right or not library.ours
