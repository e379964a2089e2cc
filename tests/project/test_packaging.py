"""The installed package is complete, imports little, and works when it is reloaded.

A missing, old or unbuilt optional dependency is reported in one line. Also tested: the build, its
choice of GPUs and compilers, and the wheel of kernels.
"""

import importlib
import importlib.metadata
import os
import posixpath
import re
import runpy
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from processes import output_of, printed
from test_sources import ROOT, includes, sources, text_of

import gred
from gred.lab import building as lab_building


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
    """Importing gred loads no GPU library, plots or command line."""
    code = """
        import sys, numpy
        before = set(sys.modules)
        import gred
        brought = set(sys.modules) - before
        print(*{name.split(".")[0] for name in brought})
        assert "importlib.metadata" not in brought  # as slow to import as all of gred
        later = "dask", "lab", "mpi", "testing", "torch"
        for name in ("gred.cli", "gred.lab", "gred.counting", *map("gred.{}".format, later)):
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


# Programs that run in processes of their own, which they could break.
PROGRAMS = {
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


# ---- optional dependencies ----

# Modules that are found before installed ones.
STAND_INS = """
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock
def jax_of(*version):
    for name in "jax", "jax.extend", "jax.ffi", "jax.interpreters", "jax.numpy":
        sys.modules[name] = MagicMock()
    for name in "extend.core", *map("interpreters.{}".format, ("ad", "batching", "mlir")):
        sys.modules[f"jax.{name}"] = MagicMock()
    jax = sys.modules["jax"]
    jax.__version__, jax.__version_info__ = ".".join(map(str, version)), version
    sys.modules["jax.ffi"].include_dir.return_value = "FOLDER"
"""
HEADER = "#define XLA_FFI_API_MAJOR 0\n#define XLA_FFI_API_MINOR 3\n"
OF_TORCH = ("sum", "mean", "prod", "amin", "amax", "min", "max", "logsumexp", "var", "std", "norm")
CALLS = {
    "dask": ["sum(0)"],
    "mpi": ["allreduce(0)"],
    "torch": [*(f"{name}(0)" for name in OF_TORCH), "dot(0, 0)", "all_reduce(0)"],
    "jax": ["__name__"],  # raises when it is imported
}
# The imported module, the replacement of what it needs, and the error.
MISSING = {
    "dask": ("dask", "sys.modules['dask'] = None", r"pip install 'gred\[dask\]'"),
    "mpi": ("mpi", "sys.modules['mpi4py'] = None", r"pip install 'gred\[mpi\]'"),
    "torch": ("torch", "sys.modules['torch'] = None", r"needs torch.*pip install 'gred\[torch\]'"),
    "old torch": (
        "torch",
        "sys.modules['torch'] = SimpleNamespace(__version__='2.4.1')",
        r"needs torch( 2\.5 or later, but 2\.4\.1 is installed|\.distributed).*'gred\[torch\]'",
    ),
    "jax": ("jax", "sys.modules['jax'] = None", r"needs jax, .*run pip install 'gred\[jax\]'"),
    "old jax": (
        "jax",
        "jax_of(0, 5, 3)",
        r"needs jax 0\.6 or later, but 0\.5\.3 is installed; run pip",
    ),
    "not built": (
        "jax",
        "jax_of(0, 9, 0); sys.modules['gred._jax'] = None",
        r"built without JAX support .*GRED_JAX=1 pip install '\.\[jax\]'",
    ),
    "of a later JAX": (
        "jax",
        "jax_of(0, 9, 0); sys.modules['gred._jax'] = MagicMock(version=(0, 4))",
        r"later JAX than the installed 0\.9\.0;.*--no-build-isolation",
    ),
}


@pytest.mark.unsanitized
@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_said_in_one_line_and_gred_needs_none_of_it(case, tmp_path):
    name, setup, says = MISSING[case]
    header = tmp_path / "xla/ffi/api/c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER)
    code = f"""
        import gred
        assert not {{"dask", "mpi4py", "torch", "jax", "gred._jax"}} & sys.modules.keys()
        {setup}
        for call in {CALLS[name]}:
            try:
                import gred.{name} as module
                assert {{*module.__all__}} <= {{*dir(module)}}
                eval(f"module.{{call}}")
            except ImportError as error:
                print(error)
        """
    said = printed(STAND_INS.replace("FOLDER", str(tmp_path)), code).splitlines()
    assert len(said) == len(CALLS[name])
    assert all(re.search(says, line) for line in said), said


# ---- building ----

TAG = f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_x86_64"
NVCC = Path("/somewhere/bin/nvcc")
KNOWN = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]


@pytest.fixture
def building(monkeypatch):
    """Make the build's modules importable."""
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    monkeypatch.chdir(ROOT)
    yield importlib.import_module
    for name in ("backend", "kernels_wheel", "toolkit", "wheels", "xla"):
        sys.modules.pop(name, None)


NONE = {"GRED_CUDA_ARCHS": "none"}
ASKED = [
    ({}, None, None, False),  # a laptop without a GPU
    ({}, NVCC, (13, 0), False),  # a toolkit is there
    ({}, None, (13, 0), True),  # a driver is enough
    ({}, None, (12, 9), False),  # it could not run what the wheels compile
    (NONE, None, (13, 0), False),
    ({"GRED_SANITIZE": "1"}, None, (13, 0), False),
    ({"GRED_CUDA": "wheels"}, NVCC, (12, 4), True),
]


def test_a_build_asks_for_the_compiler_and_jax_where_they_are_wanted_and_missing(building):
    for environment, nvcc, driver, needed in ASKED:
        got = building("wheels").requirements(environment, nvcc, driver)
        assert len(got) == 5 * needed, (environment, nvcc, driver)
    xla = building("xla")
    assert xla.requirements({}) == []
    assert xla.requirements({"GRED_JAX": "1"}) == [xla.REQUIREMENT]
    assert f'jax = ["{xla.REQUIREMENT}"]' in text_of("pyproject.toml")


def test_the_backend_asks_for_wheels_for_wheels_and_editable_installs_alone(building, monkeypatch):
    backend, wheels = building("backend"), building("wheels")
    monkeypatch.setenv("GRED_CUDA", "wheels")
    for name in ("GRED_CUDA_ARCHS", "GRED_SANITIZE"):
        monkeypatch.delenv(name, raising=False)
    for hook in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        monkeypatch.setattr(backend.build_meta, hook, lambda settings: ["before"])
        assert getattr(backend, hook)() == ["before", *wheels.WHEELS]
    for hook in ("build_wheel", "build_editable", "build_sdist", "get_requires_for_build_sdist"):
        assert getattr(backend, hook) is getattr(backend.build_meta, hook)


ARCHITECTURES = "GRED_CUDA_ARCHS.*'80;90a'"
NOT_UNDERSTOOD = [
    ("xla.requirements", [{"GRED_JAX": "yes"}], "GRED_JAX='yes' is not understood"),
    ("toolkit.find_nvcc", [{"GRED_CUDA": "wheels"}], "pip install 'nvidia-cuda-nvcc"),
    ("wheels.requirements", [{"GRED_CUDA": "13.0"}, None, None], "'wheels'.*GRED_CUDA_ARCHS=none"),
    ("wheels.requirements", [{"GRED_CUDA": "Wheels"}, None, None], "'wheels'"),
    *(("toolkit.asked_architectures", [text], ARCHITECTURES) for text in ("sm_90", "8.0")),
    *(("toolkit.asked_architectures", [text], ARCHITECTURES) for text in ("90;all", "ptx 80")),
]
WITHOUT = [
    (NONE, (13, 0), "CUDA left out"),
    ({}, None, "no nvcc"),
    ({}, (12, 8), "no nvcc, .* CUDA 13.0, .* runs 12.8 .* newer driver"),
    ({}, (13, 1), "no nvcc, .* --no-build-isolation .*"),
]


def test_what_a_build_cannot_be_asked_for_or_is_without_is_told(building):
    for call, arguments, words in NOT_UNDERSTOOD:
        module, _, name = call.partition(".")
        with pytest.raises(SystemExit, match=words):
            getattr(building(module), name)(*arguments)
    for environment, driver, why in WITHOUT:
        assert re.fullmatch(why, building("toolkit").without_nvcc(environment, driver))


def test_a_compiler_of_wheels_is_taken_only_whole_and_of_one_version(building, tmp_path):
    """Other packages install some of the wheels, which compile nothing without the rest."""
    wheels = building("wheels")
    versions = dict(wheel.split("==") for wheel in wheels.WHEELS)
    least = "{}.{}.".format(*wheels.VERSION)  # supported by the oldest driver
    assert all(version.startswith(least) for version in versions.values())
    names = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt")
    assert len({versions[name] for name in names}) == 1
    folder = tmp_path / wheels.FOLDER
    for name in reversed(wheels.ONE_OF_EACH):
        assert wheels.installed_nvcc(["/nowhere", str(tmp_path)]) is None
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert wheels.installed_nvcc(["/nowhere", str(tmp_path)]) == folder / "bin" / "nvcc"


def test_nvcc_is_found_where_it_is_named(building, tmp_path, monkeypatch):
    def program(folder):
        path = tmp_path / folder / "bin" / "nvcc"
        path.parent.mkdir(parents=True)
        path.touch(0o755)
        return path

    toolkit, environment = building("toolkit"), {"PATH": ""}
    monkeypatch.setattr(lab_building, "_ELSEWHERE", str(tmp_path / "nothing"))
    of_wheels = program(building("wheels").FOLDER)
    assert lab_building.find_nvcc(environment, []) is None
    assert lab_building.find_nvcc(environment, ["/nothing", str(tmp_path)]) == of_wheels
    for name in ("PATH", "CUDA_PATH", "CUDA_HOME"):  # each takes precedence over the one before
        nvcc = program(name)
        environment[name] = str(nvcc.parent if name == "PATH" else nvcc.parent.parent)
        assert lab_building.find_nvcc(environment, [str(tmp_path)]) == nvcc
        assert toolkit.toolkit_nvcc(environment) == toolkit.find_nvcc(environment) == nvcc
    for left_out in (NONE, {"GRED_SANITIZE": "1"}):
        assert toolkit.find_nvcc(environment | left_out) is None


def test_architectures_are_those_asked_for_or_here_or_one_of_each_major_version(building):
    toolkit = building("toolkit")
    asked = {"80;90a": ["80", "90a"], " 80,90a; ": ["80", "90a"], "all": ["all"], "ptx": ["ptx"]}
    for text, found in asked.items():
        assert toolkit.asked_architectures(text) == found
    assert toolkit.default_architectures(KNOWN, ["86", "90"]) == ["86", "90"]
    for present in ([], ["70"], ["90", "130"]):
        assert toolkit.default_architectures(KNOWN, present) == ["ptx"]
    assert toolkit.every_architecture(KNOWN) == ["75", "80", "90", "100", "110", "120"]


# Machine code for each architecture and PTX for later ones, by one run of the front end, or by one
# run per generation for units that are tuned by generation.
BOTH = (False, True)
FLAGS = [
    ("90", BOTH, ["90 sm_90,compute_90"]),
    ("90a", BOTH, ["90a sm_90a"]),  # its PTX runs on no later chip
    ("90 80 90", BOTH, ["80 sm_80,sm_90,compute_80"]),
    ("100f 103", BOTH, ["100f sm_100f", "103 sm_103,compute_103"]),
    ("80 90 90a 100", [False], ["80 sm_80,sm_90,sm_100,compute_80", "90a sm_90a"]),
    ("80 90 90a 100", [True], ["80 sm_80,sm_90", "90a sm_90a", "100 sm_100,compute_100"]),
]


def test_every_architecture_gets_machine_code_and_later_ones_ptx(building):
    for architectures, tunings, flags in FLAGS:
        pairs = [flag.split() for flag in flags]
        expected = [f"-gencode=arch=compute_{least},code=[{codes}]" for least, codes in pairs]
        for tuned in tunings:
            made = building("toolkit").architecture_flags(architectures.split(), tuned=tuned)
            assert made == expected


def test_what_later_gpus_brought_is_compiled_for_these_alone(building):
    """PTX is for the lowest architecture that has what the unit needs."""
    kind = building("toolkit").Toolkit

    def toolkit(*architectures):
        made = object.__new__(kind)
        vars(made).update(nvcc="nvcc", architectures=[*architectures], version="13.0", lowest=75)
        return made

    of_four, ptx = toolkit("75", "80", "90", "120"), toolkit("ptx")
    for made, least, codes in (
        (of_four, {}, "75,code=[sm_75,sm_80,sm_90,sm_120,compute_75]"),
        (of_four, {"least": 90}, "90,code=[sm_90,sm_120,compute_90]"),
        (ptx, {}, "75,code=compute_75"),
        (ptx, {"least": 90}, "90,code=compute_90"),
    ):
        assert made.command(tuned=False, **least)[-1] == f"-gencode=arch=compute_{codes}"
    assert toolkit("75", "89").from_on(90) == []
    assert ptx.from_on(90)
    assert "GRED_CUDA_ARCHS" in str(ptx)


def test_every_unit_of_the_kernels_has_its_source_and_an_object_of_its_own(building):
    script = runpy.run_path("setup.py")
    for table in ("kernels_cuda", "kernels_simulated"):
        units = script["kernel_units"](table)
        assert len({name for _, name, _ in units}) == len(units)
        for source in (*(source for source, _, _ in units), script["NO_LATER"]):
            assert (ROOT / "kernels/units" / source).exists()
    assert (ROOT / script["LOOPS"]).exists()
    listed = {*script["SOURCES"], *script["APART"]}
    assert listed == {str(path.relative_to(ROOT)) for path in ROOT.glob("csrc/**/*.c")}


@pytest.mark.parametrize("listing", ["{0}: {1} \\\n {2}\n", "{0} : {1} \\\n    {2} \n"])
def test_a_unit_is_compiled_again_only_where_a_file_of_it_is_newer(building, listing, tmp_path):
    """Depfiles of gcc and of nvcc are understood."""
    target, source, header = (tmp_path / name for name in ("unit.o", "unit.cu", "fold.cuh"))
    for at, path in enumerate((source, header, target)):
        path.touch()
        os.utime(path, (at, at))
    told = tmp_path / "unit.d"
    told.write_text(listing.format(target, source, header))
    job = runpy.run_path("setup.py")["Job"]([], source, target)
    assert job.is_current(told)
    os.utime(header, (3, 3))
    assert not job.is_current(told)


@pytest.mark.unsanitized
def test_gred_takes_the_core_of_the_package_of_kernels(building, tmp_path):
    if sysconfig.get_platform() != "linux-x86_64" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the wheel made here has another tag")
    named, own, site = f"gred-{gred.__version__}", gred._core.__file__, tmp_path / "site"
    path = tmp_path / f"{named}-{TAG}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.write(own, f"gred/{Path(own).name}")
        wheel.writestr("gred/_core.pyi", "")
        told = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {TAG}\n"
        wheel.writestr(f"{named}.dist-info/WHEEL", told)
    made = building("kernels_wheel").kernels_wheel(path, tmp_path)
    assert made.name == f"gred_cuda13-{gred.__version__}-{TAG}.whl"
    install = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target"]
    output_of([sys.executable, *install, site, made])
    code = """
        import importlib.metadata, gred
        print(gred._core.__file__, gred.sum([1, 2, 3]))
        print(*importlib.metadata.requires("gred-cuda13"))
        """
    beside = str(Path(gred.__file__).parents[1])
    core, total, needed = printed(code, PYTHONPATH=f"{site}:{beside}").split()
    assert Path(core).parent == site / "gred_cuda13"
    assert (total, needed) == ("6", f"gred=={gred.__version__}")
    assert printed("import gred; print(gred._core.__file__)", PYTHONPATH=beside).strip() == own
