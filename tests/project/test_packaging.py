"""The installed package is whole, light, and at home in processes that fork, thread and reload."""

import importlib
import importlib.metadata
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from processes import printed

import gred
from gred.lab import nvcc as lab_nvcc

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_one():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1]
    assert gred.__version__ == version == importlib.metadata.version("gred")


def test_the_citation_and_the_recipe_are_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == gred.__version__
    recipe = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{gred.__version__}"' in recipe
    assert re.search(r"^license: (.+)$", citation, re.MULTILINE)[1] in (
        ROOT / "pyproject.toml"
    ).read_text(encoding="utf-8")


def test_the_changes_of_this_version_are_a_page_that_begins_with_what_may_break():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, page = re.search(
        r"^## (\S+)$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    ).groups()
    assert version == gred.__version__
    assert re.findall(r"^### (.+)$", page, re.MULTILINE)[:2] == [
        "What may break your code",
        "Added",
    ]
    assert len(page.splitlines()) <= 90


def test_every_supported_python_is_named():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    least = int(re.search(r'requires-python = ">=3\.(\d+)"', project)[1])
    named = [
        int(one) for one in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)
    ]
    assert named == list(range(least, 15))


@pytest.mark.parametrize("name", ["bug.yml", "slow.yml"])
def test_a_report_asks_for_what_show_config_prints(name):
    form = (ROOT / ".github/ISSUE_TEMPLATE" / name).read_text(encoding="utf-8")
    assert form.count("required: true") >= 2
    assert "gred.show_config()" in form
    assert callable(gred.show_config)


def test_types_are_there():
    assert Path(gred.__file__).with_name("py.typed").exists()
    assert Path(gred.__file__).with_name("_core.pyi").exists()


def test_what_a_rung_of_ones_own_includes_is_in_the_package():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'^    "gred\.(kernels[\w.]*)",$', project, re.MULTILINE)
    folders = {"csrc/common", *(name.replace(".", "/") for name in named)}
    found = {*ROOT.glob("kernels/lab/*.cuh"), *ROOT.glob("kernels/ladder/*.cuh")}
    left = [*found]
    while left:
        path = left.pop()
        for name in re.findall(
            r'^#include "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            places = (path.parent / name, ROOT / "kernels" / name, ROOT / "csrc" / name)
            target = next(place for place in places if place.exists()).resolve()
            if target not in found and name != "cpu/words.h":  # which is for the host's loops
                assert target.parent.relative_to(ROOT).as_posix() in folders, (path.name, name)
                found.add(target)
                left.append(target)
    assert len(found) > 60


def test_importing_brings_numpy_and_nothing_else():
    """No GPU library, no plots, no console: they are somebody's who asks for them."""
    code = """
        import sys, numpy
        before = set(sys.modules)
        import gred
        print(*{name.split(".")[0] for name in set(sys.modules) - before})
        """
    assert set(printed(code).split()) - {*sys.stdlib_module_names, "numpy"} == {"gred"}


def test_the_laboratory_is_imported_when_somebody_goes_there():
    listed = printed(
        """
        import sys, gred
        print(*(name for name in ("gred.lab", "gred.counting") if name in sys.modules))
        assert gred.counters([1, 2], method="shuffle").result == 3
        assert gred.roofline(9).size == gred.accesses(range(9)).size == 9
        assert len(gred.lab.exercises()) == 7
        assert set(gred.__all__) <= set(dir(gred))
        """
    )
    assert listed.split() == []


@pytest.mark.unsanitized
def test_modules_are_imported_when_somebody_goes_there():
    printed(
        """
        import sys, gred
        for name in ("dask", "lab", "mpi", "testing", "torch"):
            assert f"gred.{name}" not in sys.modules and name in dir(gred), name
        for name in ("dask", "lab", "mpi", "testing", "torch"):
            assert getattr(gred, name) is sys.modules[f"gred.{name}"], name
            assert getattr(gred, name).__all__, name
        """
    )


@pytest.mark.unsanitized
@pytest.mark.parametrize(
    ("name", "library", "call"),
    [("dask", "dask", "sum"), ("mpi", "mpi4py", "allreduce"), ("torch", "torch", "all_reduce")],
)
def test_without_what_an_extra_brings_one_error_says_so(name, library, call):
    code = f"import sys; sys.modules['{library}'] = None; import gred.{name}; gred.{name}.{call}(0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"pip install 'gred[{name}]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["dask", "mpi"])
def test_modules_of_clusters_list_functions_alone(name):
    module = importlib.import_module(f"gred.{name}")
    assert sorted(dir(module)) == sorted(module.__all__)


def test_dir_shows_what_is_public_and_no_more():
    shown = {name for name in dir(gred) if not name.startswith("__")}
    assert shown == {*gred.__all__, "dask", "lab", "mpi", "testing", "torch"}
    assert "__version__" in dir(gred)


def test_the_core_may_be_loaded_again():
    """It keeps its state in the module, so that a second one starts afresh beside the first."""
    printed(
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


def test_the_simulated_device_follows_the_cores_that_it_may_use():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core here, not two")
    printed(
        """
        import os, gred
        cores = os.sched_getaffinity(0)
        for few in ({min(cores)}, cores, {max(cores)}, cores):
            os.sched_setaffinity(0, few)
            for method in gred.methods():
                if "simulated" in method.devices:
                    got = gred.sum(range(10_000), method=method.name, device="simulated")
                    assert got == 49_995_000, method.name
        """
    )


def test_it_runs_as_the_last_thing_too():
    """At exit, when modules are being taken down, a reduction does no harm."""
    printed(
        """
        import atexit, numpy as np, gred
        array = np.arange(100_000)
        atexit.register(lambda: gred.sum(array, method="shuffle", device="simulated"))
        gred.sum(array, method="shuffle", device="simulated")
        """
    )


# ---- how it is built ----

NVCC = Path("/somewhere/bin/nvcc")
KNOWN = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]
EVERY = ["75", "80", "90", "100", "110", "120"]


@pytest.fixture
def building(monkeypatch):
    """Offer the modules that the build is made of; a build without them needs no test."""
    folder = ROOT / "build_backend"
    if not folder.is_dir():
        pytest.skip("the sources are not here")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(ROOT)
    yield importlib.import_module
    for name in ("backend", "toolkit", "wheels", "xla"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("environment", "nvcc", "driver", "needed"),
    [
        ({}, None, None, False),  # a laptop without a GPU
        ({}, NVCC, None, False),
        ({}, NVCC, (13, 0), False),  # a toolkit is there
        ({}, None, (13, 0), True),  # a driver is enough
        ({}, None, (13, 2), True),
        ({}, None, (14, 1), True),
        ({}, None, (12, 9), False),  # it could not run what they compile
        ({"GRED_CUDA_ARCHS": "90"}, None, (13, 0), True),
        ({"GRED_CUDA_ARCHS": "90"}, None, None, False),
        ({"GRED_CUDA_ARCHS": "none"}, None, (13, 0), False),
        ({"GRED_SANITIZE": "1"}, None, (13, 0), False),
        ({"GRED_CUDA": ""}, None, None, False),
        ({"GRED_CUDA": "wheels"}, None, None, True),
        ({"GRED_CUDA": "wheels"}, NVCC, (12, 4), True),
        ({"GRED_CUDA": "wheels", "GRED_CUDA_ARCHS": "none"}, None, (13, 0), False),
    ],
)
def test_a_build_asks_for_the_compiler_where_it_is_wanted_and_missing(
    building, environment, nvcc, driver, needed
):
    got = building("wheels").requirements(environment, nvcc, driver)
    assert bool(got) == needed
    assert not needed or len(got) == 5


def test_a_build_asks_for_jax_where_it_is_wanted(building):
    xla, text = building("xla"), (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert xla.requirements({}) == []
    assert xla.requirements({"GRED_JAX": "1"}) == [xla.REQUIREMENT]
    assert f'jax = ["{xla.REQUIREMENT}"]' in text
    with pytest.raises(SystemExit, match="GRED_JAX='yes' is not understood: 1 builds"):
        xla.requirements({"GRED_JAX": "yes"})


def test_the_parts_of_the_compiler_are_of_one_version_that_the_least_driver_runs(building):
    wheels = building("wheels")
    versions = dict(wheel.split("==") for wheel in wheels.WHEELS)
    least = "{}.{}.".format(*wheels.VERSION)
    assert all(version.startswith(least) for version in versions.values())
    names = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt")
    assert len({versions[name] for name in names}) == 1
    assert str(wheels.FOLDER) == f"nvidia/cu{wheels.VERSION[0]}"


@pytest.mark.parametrize("value", ["yes", "none", "13.0", "Wheels"])
def test_another_value_of_gred_cuda_is_refused_with_what_there_is(building, value):
    with pytest.raises(SystemExit, match=r"GRED_CUDA=.*'wheels'.*GRED_CUDA_ARCHS=none"):
        building("wheels").requirements({"GRED_CUDA": value}, None, None)


def test_a_compiler_of_wheels_is_taken_only_whole(building, tmp_path):
    """Other packages bring some of its wheels, which alone compile nothing."""
    wheels = building("wheels")
    nvcc = tmp_path / "nvidia" / "cu13" / "bin" / "nvcc"
    for name in reversed(wheels.ONE_OF_EACH):
        assert wheels.installed_nvcc(["/nowhere", str(tmp_path)]) is None
        path = tmp_path / "nvidia" / "cu13" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert wheels.installed_nvcc(["/nowhere", str(tmp_path)]) == nvcc


def test_wheels_that_are_asked_for_and_not_there_are_named(building):
    with pytest.raises(SystemExit, match=r"no-build-isolation.*pip install 'nvidia-cuda-nvcc=="):
        building("toolkit").find_nvcc({"GRED_CUDA": "wheels"})


@pytest.mark.parametrize(
    ("environment", "driver", "why"),
    [
        ({"GRED_CUDA_ARCHS": "none"}, (13, 0), "CUDA left out"),
        ({}, None, "no nvcc"),
        ({}, (12, 8), "no nvcc, .* CUDA 13.0, .* runs 12.8 .* newer driver"),
        ({}, (13, 1), "no nvcc, .* --no-build-isolation .*"),
    ],
)
def test_a_build_without_nvcc_says_why(building, environment, driver, why):
    assert re.fullmatch(why, building("toolkit").without_nvcc(environment, driver))


@pytest.mark.parametrize("names", [["CUDA_HOME"], ["CUDA_PATH"], ["PATH"], ["CUDA_PATH", "PATH"]])
def test_a_toolkit_is_found_where_it_is_named_and_by_the_laboratory_too(building, tmp_path, names):
    environment = {"PATH": str(tmp_path)}
    for name in names:
        program = tmp_path / name / "bin" / "nvcc"
        program.parent.mkdir(parents=True)
        program.touch(0o755)
        environment[name] = str(program.parent if name == "PATH" else program.parent.parent)
    toolkit, expected = building("toolkit"), tmp_path / names[0] / "bin" / "nvcc"
    assert lab_nvcc.find(environment, []) == toolkit.toolkit_nvcc(environment) == expected
    assert toolkit.find_nvcc(environment) == expected
    for left_out in ({"GRED_CUDA_ARCHS": "none"}, {"GRED_SANITIZE": "1"}):
        assert toolkit.find_nvcc(environment | left_out) is None


def test_the_laboratory_takes_nvcc_of_wheels_last(building, tmp_path, monkeypatch):
    monkeypatch.setattr(lab_nvcc, "_ELSEWHERE", str(tmp_path / "nothing"))
    program = tmp_path / building("wheels").FOLDER / "bin" / "nvcc"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    assert lab_nvcc.find({"PATH": ""}, ["/nothing", str(tmp_path)]) == program
    assert lab_nvcc.find({"PATH": ""}, []) is None


@pytest.mark.parametrize(
    ("architectures", "tuned", "untuned"),
    [
        ("90", ["90"], ["90"]),
        ("90a", ["90a"], ["90a"]),
        ("90 80 90", ["80 90"], ["80 90"]),
        ("90 100", ["90", "100"], ["90 100"]),
        ("80 90 90a 100", ["80 90", "90a", "100"], ["80 90 100", "90a"]),
        ("100f 103", ["100f", "103"], ["100f", "103"]),
        (" ".join(EVERY), ["75 80 90", "100 110 120"], [" ".join(EVERY)]),
    ],
)
def test_the_front_end_runs_once_or_once_a_generation_for_what_is_tuned(
    building, architectures, tuned, untuned
):
    groups = building("toolkit").architecture_groups
    for groups_of, expected in ((True, tuned), (False, untuned)):
        found = groups(architectures.split(), tuned=groups_of)
        assert [" ".join(group) for group in found] == expected


@pytest.mark.parametrize(
    ("architectures", "flags"),
    [
        ("90", ["90 sm_90,compute_90"]),
        ("90a", ["90a sm_90a"]),  # its PTX serves no later chip
        ("80 90 120", ["80 sm_80,sm_90", "120 sm_120,compute_120"]),
        ("75 90 90a", ["75 sm_75,sm_90,compute_75", "90a sm_90a"]),
    ],
)
def test_every_architecture_gets_machine_code_and_later_ones_ptx(building, architectures, flags):
    made = building("toolkit").architecture_flags(architectures.split(), tuned=True)
    pairs = [flag.split() for flag in flags]
    assert made == [f"-gencode=arch=compute_{least},code=[{codes}]" for least, codes in pairs]


@pytest.fixture
def toolkit(building):
    """A toolkit that nobody looked for, whose attributes a test says."""

    def make(*architectures, **more):
        made = object.__new__(building("toolkit").Toolkit)
        vars(made).update(nvcc="nvcc", architectures=[*architectures], **more)
        return made

    return make


def test_what_later_gpus_brought_is_compiled_for_these_alone(toolkit):
    every = "-gencode=arch=compute_75,code=[sm_75,sm_80,sm_90,sm_120,compute_75]"
    later = "-gencode=arch=compute_90,code=[sm_90,sm_120,compute_90]"
    of_four = toolkit("75", "80", "90", "120")
    assert of_four.command(tuned=False)[-1] == every
    assert of_four.command(tuned=False, least=90)[-1] == later
    assert toolkit("75", "89").from_on(90) == []


@pytest.mark.parametrize(
    ("present", "chosen"),
    [(["86", "90"], ["86", "90"]), ([], ["ptx"]), (["70"], ["ptx"]), (["90", "130"], ["ptx"])],
)
def test_the_gpus_that_are_here_are_built_for_or_ptx(building, present, chosen):
    assert building("toolkit").default_architectures(KNOWN, present) == chosen


def test_all_are_one_of_each_major_version(building):
    assert building("toolkit").every_architecture(KNOWN) == EVERY


def test_ptx_is_of_the_lowest_architecture_that_has_what_a_unit_needs(toolkit):
    ptx = toolkit("ptx", version="13.0", lowest=75)
    assert ptx.command(tuned=True)[-1] == "-gencode=arch=compute_75,code=compute_75"
    later = ptx.command(tuned=False, least=90)[-1]
    assert later == "-gencode=arch=compute_90,code=compute_90"
    assert ptx.from_on(90)
    assert "GRED_CUDA_ARCHS" in str(ptx)


@pytest.mark.parametrize("text", ["80;90a", "80,90a", " 80 90a; ", "all", "ptx"])
def test_architectures_are_read_between_whatever_separates(building, text):
    expected = ["80", "90a"] if "80" in text else [text]
    assert building("toolkit").asked_architectures(text) == expected


@pytest.mark.parametrize("text", ["sm_90", "8.0", "90;None", "90;all", "ptx 80"])
def test_what_is_no_architecture_is_refused_by_name(building, text):
    with pytest.raises(SystemExit, match=r"GRED_CUDA_ARCHS.*'80;90a'"):
        building("toolkit").asked_architectures(text)


def test_the_backend_asks_for_wheels_for_wheels_and_editable_installs_alone(building, monkeypatch):
    pytest.importorskip("setuptools")
    backend, wheels = building("backend"), building("wheels")
    monkeypatch.setenv("GRED_CUDA", "wheels")
    monkeypatch.delenv("GRED_CUDA_ARCHS", raising=False)
    monkeypatch.delenv("GRED_SANITIZE", raising=False)
    for hook in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        monkeypatch.setattr(backend.build_meta, hook, lambda settings: ["before"])
        assert getattr(backend, hook)() == ["before", *wheels.WHEELS]
    for hook in ("build_wheel", "build_editable", "build_sdist", "get_requires_for_build_sdist"):
        assert getattr(backend, hook) is getattr(backend.build_meta, hook)


@pytest.mark.parametrize("table", ["kernels_cuda", "kernels_simulated"])
def test_every_unit_of_the_kernels_has_its_source_and_an_object_of_its_own(building, table):
    pytest.importorskip("setuptools")
    script = runpy.run_path("setup.py")
    units = script["kernel_units"](table)
    assert len({name for _, name, _ in units}) == len(units)
    for source in (*(source for source, _, _ in units), script["NO_LATER"]):
        assert (ROOT / "kernels/units" / source).exists()
    assert (ROOT / script["LOOPS"]).exists()
    listed = {*script["SOURCES"], *script["APART"]}
    assert listed == {str(path.relative_to(ROOT)) for path in ROOT.glob("csrc/**/*.c")}
