"""The installed package is whole, light, and at home in processes that reload it."""

import importlib.metadata
import os
import posixpath
import re
import sys
from pathlib import Path

import pytest
from processes import printed
from test_layers import includes, sources

import gred

ROOT = Path(__file__).resolve().parents[2]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_file_that_names_the_version_names_the_same():
    citation, project = text_of("CITATION.cff"), text_of("pyproject.toml")
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1]
    assert gred.__version__ == version == importlib.metadata.version("gred")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == version
    assert f'version: "{version}"' in text_of("recipe/recipe.yaml")
    assert f'cuda13 = ["gred-cuda13=={version}"]\n' in project
    assert re.search(r"^license: (.+)$", citation, re.MULTILINE)[1] in project
    least = int(re.search(r'requires-python = ">=3\.(\d+)"', project)[1])
    named = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)
    assert [*map(int, named)] == list(range(least, 15))


def test_the_changes_of_this_version_are_a_page_that_begins_with_what_may_break():
    pages = r"^## (\S+)$(.*?)(?=^## |\Z)"
    version, page = re.search(pages, text_of("CHANGELOG.md"), re.MULTILINE | re.DOTALL).groups()
    assert version == gred.__version__
    heads = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert heads[:2] == ["What may break your code", "Added"]
    assert len(page.splitlines()) <= 90


def test_reports_ask_for_what_show_config_prints():
    for name in ("bug.yml", "slow.yml"):
        form = text_of(f".github/ISSUE_TEMPLATE/{name}")
        assert form.count("required: true") >= 2
        assert "gred.show_config()" in form


def test_types_and_what_a_rung_of_ones_own_includes_are_in_the_package():
    for name in ("py.typed", "_core.pyi"):
        assert Path(gred.__file__).with_name(name).exists()
    named = re.findall(r'^    "gred\.(kernels[\w.]*)",$', text_of("pyproject.toml"), re.MULTILINE)
    folders = {"csrc/common", *(name.replace(".", "/") for name in named)}
    files = {path: text for path, text in sources().items() if path != "kernels/cpu/words.h"}
    found = [(path, target) for path, _, target in includes(files) if target]
    reached = {path for path in files if path.startswith(("kernels/lab/", "kernels/ladder/"))}
    while more := {target for path, target in found if path in reached} - reached:
        reached |= more
    assert {posixpath.dirname(path) for path in reached} <= folders
    assert len(reached) > 60


def test_importing_brings_numpy_alone_and_modules_when_somebody_goes_there():
    """No GPU library, no plots, no console: they are somebody's who asks for them."""
    code = """
        import sys, numpy
        before = set(sys.modules)
        import gred
        brought = set(sys.modules) - before
        print(*{name.split(".")[0] for name in brought})
        assert "importlib.metadata" not in brought  # as slow to import as all of gred
        later = "dask", "lab", "mpi", "testing", "torch"
        for name in ("gred.lab", "gred.counting", *map("gred.{}".format, later)):
            assert name not in sys.modules, name
        assert gred.counters([1, 2], method="shuffle").result == 3
        assert gred.roofline(9).size == gred.accesses(range(9)).size == 9
        assert len(gred.lab.exercises()) == 7
        assert {name for name in dir(gred) if name[:2] != "__"} == {*gred.__all__, *later}
        for name in later:
            module = getattr(gred, name)
            assert module is sys.modules[f"gred.{name}"]
            assert module.__all__
            assert name not in ("dask", "mpi") or sorted(dir(module)) == sorted(module.__all__)
        """
    assert set(printed(code).split()) - {*sys.stdlib_module_names, "numpy"} == {"gred"}


# Each in a process of its own, which it would break.
PROGRAMS = {
    "without what an extra brings one error says so": """
        import importlib, sys
        calls = "dask dask sum", "mpi mpi4py allreduce", "torch torch all_reduce"
        for name, library, call in map(str.split, calls):
            sys.modules[library] = None
            try:
                getattr(importlib.import_module(f"gred.{name}"), call)(0)
            except ImportError as error:
                assert f"pip install 'gred[{name}]'" in str(error).splitlines()[-1]
            else:
                raise AssertionError(name)
        """,
    "the core, whose state is the module's, may be loaded again beside itself": """
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
        """,
    "the simulated device follows the cores that it may use": """
        import os, gred
        cores = os.sched_getaffinity(0)
        for few in ({min(cores)}, cores, {max(cores)}, cores):
            os.sched_setaffinity(0, few)
            for method in gred.methods():
                if "simulated" in method.devices:
                    got = gred.sum(range(10_000), method=method.name, device="simulated")
                    assert got == 49_995_000, method.name
        """,
    "a reduction does no harm at exit, when modules are being taken down": """
        import atexit, numpy as np, gred
        array = np.arange(100_000)
        atexit.register(lambda: gred.sum(array, method="shuffle", device="simulated"))
        gred.sum(array, method="shuffle", device="simulated")
        """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_process_of_its_own(program):
    if "cores" in program and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core here, not two")
    printed(PROGRAMS[program])
