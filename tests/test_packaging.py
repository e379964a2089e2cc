"""The installed package is whole, light, and at home in processes that fork, thread and reload."""

import importlib.metadata
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gred

ROOT = Path(__file__).parent.parent


def run(code: str, **environment: str) -> str:
    """Run code in a Python of its own, and return what it prints."""
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


def test_the_version_is_one():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1]
    assert gred.__version__ == version == importlib.metadata.version("gred")


def test_types_are_there():
    assert Path(gred.__file__).with_name("py.typed").exists()
    assert Path(gred.__file__).with_suffix(".pyi").exists()


def test_importing_brings_numpy_and_nothing_else():
    """No GPU library, no plots, no console: they are somebody's who asks for them."""
    listed = run(
        """
        import sys
        import numpy
        before = set(sys.modules)
        import gred
        print(*sorted(name.split(".")[0] for name in set(sys.modules) - before))
        """
    )
    standard = set(sys.stdlib_module_names)
    assert set(listed.split()) - standard - {"numpy"} == {"gred"}


def test_the_core_may_be_loaded_again():
    """It keeps its state in the module, so that a second one starts afresh beside the first."""
    run(
        """
        import sys, gc, gred, gred._core as first
        del sys.modules["gred._core"]
        import gred._core as second
        assert first is not second
        for core in (first, second):
            assert core.sum([1, 2, 3]) == 6
            assert core.sum([1, 2, 3], method="shuffle", device="simulated") == 6
        del first, second, sys.modules["gred._core"]
        for name in [name for name in sys.modules if name.startswith("gred")]:
            del sys.modules[name]
        del gred, core
        gc.collect()
        import gred
        assert gred.sum([1, 2, 3], device="simulated") == 6
        """
    )


@pytest.mark.parametrize("where", ["device='host'", "method='unroll2', device='simulated'"])
def test_a_forked_process_can_reduce(where):
    """Threads do not survive a fork; whoever counts on them would wait for ever."""
    out = run(
        f"""
        import os, signal, warnings, numpy as np, gred
        warnings.simplefilter("ignore")
        array = np.arange(300_000)
        expected = array.sum()
        assert gred.sum(array, {where}) == expected
        child = os.fork()
        if not child:
            signal.alarm(60)
            os._exit(0 if gred.sum(array, {where}) == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert gred.sum(array, {where}) == expected
        print("both")
        """
    )
    assert out == "both\n"


def test_the_hosts_bits_do_not_depend_on_the_number_of_threads():
    code = """
        import numpy as np, gred
        array = np.random.default_rng(5).normal(size=1_000_003).astype(np.float32)
        print(gred.sum(array).tobytes().hex(), gred.prod(array[:9]).tobytes().hex())
        """
    assert len({run(code, OMP_NUM_THREADS=str(threads)) for threads in (1, 2, 3, 8)}) == 1


def test_the_simulated_device_follows_the_cores_that_it_may_use():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core here, not two")
    run(
        """
        import os, gred
        cores = os.sched_getaffinity(0)
        for few in ({min(cores)}, cores, {max(cores)}, cores):
            os.sched_setaffinity(0, few)
            for method in gred.methods():
                if "simulated" in method.devices:
                    got = gred.sum(range(30_000), method=method.name, device="simulated")
                    assert got == 449_985_000, method.name
        """
    )


def test_it_runs_as_the_last_thing_too():
    """At exit, when modules are being taken down, a reduction does no harm."""
    run(
        """
        import atexit, numpy as np, gred
        array = np.arange(100_000)
        atexit.register(lambda: gred.sum(array, method="shuffle", device="simulated"))
        gred.sum(array, method="shuffle", device="simulated")
        """
    )
