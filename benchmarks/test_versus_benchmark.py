"""gred beside its peers for pytest-benchmark: the cases of `python -m gred versus --quick`.

    pytest benchmarks/ --benchmark-only

Whole calls, until the answer is on the host; a group a case. Each case also says its bytes and the
read limit. What a library lacks is skipped, and says why.
"""

import functools

import pytest

import gred
from gred.cli import cases, contest, libraries
from gred.cli.options import resolve_device

GPU = next((device.name for device in gred.devices() if device.name.startswith("cuda")), None)
DEVICE = resolve_device(GPU or "host")
KIND = DEVICE.name.partition(":")[0]
ROUNDS = 25 if GPU else 9
CASES = [case for case in cases.cases(cases.GRIDS[KIND, True]) if case.type.known()]
KEYS = ("gred", *(("gred-torch",) if GPU else ()), *libraries.peers_on(DEVICE.name))
PAIRS = [pytest.param(case, key, id=f"{case}-{key}") for case in CASES for key in KEYS]


@functools.lru_cache(maxsize=1)
def field():
    """Import the libraries, once they are needed."""
    return libraries.assemble(DEVICE.name, libraries.peers_on(DEVICE.name))


class Stages:
    current: contest.Stage | None = None

    @classmethod
    def of(cls, case):
        if cls.current is None or cls.current.key != contest.stage_key(case):
            if cls.current is not None:
                cls.current.close()
            cls.current = contest.Stage(case, field().libraries, DEVICE, seed=0)
        return cls.current


@functools.lru_cache(maxsize=1)
def asked(case):
    """Find out what is right, once for all libraries."""
    return contest.asked(case, Stages.of(case))


@pytest.mark.parametrize(("case", "key"), PAIRS)
def test_versus(benchmark, case, key):
    """Time one library in one case, every round with the next copy of the array."""
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
    benchmark.group = f"{case}, {DEVICE.name}"
    benchmark.pedantic(runner.call, rounds=ROUNDS, iterations=1, warmup_rounds=2)
    right, limit = runner.told(truth)["right"], round(Stages.of(case).limit * 1e-9, 3)
    told = {"nbytes": nbytes, "cold": cold, "right": right, "limit_gb_per_s": limit}
    benchmark.extra_info.update(library=library.title, version=library.version, **told)
    assert right or not library.ours
