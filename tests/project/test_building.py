"""How gred is built: for which GPUs, by which compiler, and the wheel of kernels."""

import importlib
import re
import runpy
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from processes import printed
from test_packaging import ROOT, text_of

import gred
from gred.lab import nvcc as lab_nvcc

TAG = f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_x86_64"
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
    for name in ("backend", "kernels_wheel", "toolkit", "wheels", "xla"):
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
    xla = building("xla")
    assert xla.requirements({}) == []
    assert xla.requirements({"GRED_JAX": "1"}) == [xla.REQUIREMENT]
    assert f'jax = ["{xla.REQUIREMENT}"]' in text_of("pyproject.toml")


NOT_UNDERSTOOD = [
    ("xla.requirements", ({"GRED_JAX": "yes"},), "GRED_JAX='yes' is not understood: 1 builds"),
    *[
        (
            "wheels.requirements",
            ({"GRED_CUDA": value}, None, None),
            "'wheels'.*GRED_CUDA_ARCHS=none",
        )
        for value in ("yes", "none", "13.0", "Wheels")
    ],
    ("toolkit.find_nvcc", ({"GRED_CUDA": "wheels"},), "pip install 'nvidia-cuda-nvcc=="),
    *[
        ("toolkit.asked_architectures", (text,), "GRED_CUDA_ARCHS.*'80;90a'")
        for text in ("sm_90", "8.0", "90;None", "90;all", "ptx 80")
    ],
]


@pytest.mark.parametrize(("call", "arguments", "words"), NOT_UNDERSTOOD)
def test_what_a_build_cannot_be_asked_for_is_refused_with_what_there_is(
    building, call, arguments, words
):
    module, _, name = call.partition(".")
    with pytest.raises(SystemExit, match=words):
        getattr(building(module), name)(*arguments)


def test_the_parts_of_the_compiler_are_of_one_version_that_the_least_driver_runs(building):
    wheels = building("wheels")
    versions = dict(wheel.split("==") for wheel in wheels.WHEELS)
    least = "{}.{}.".format(*wheels.VERSION)
    assert all(version.startswith(least) for version in versions.values())
    names = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt")
    assert len({versions[name] for name in names}) == 1
    assert str(wheels.FOLDER) == f"nvidia/cu{wheels.VERSION[0]}"


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


def test_what_later_gpus_brought_is_compiled_for_these_alone(building):
    """PTX is of the lowest architecture that has what a unit needs."""

    def toolkit(*architectures, **more):
        made = object.__new__(building("toolkit").Toolkit)
        vars(made).update(nvcc="nvcc", architectures=[*architectures], **more)
        return made

    every = "-gencode=arch=compute_75,code=[sm_75,sm_80,sm_90,sm_120,compute_75]"
    later = "-gencode=arch=compute_90,code=[sm_90,sm_120,compute_90]"
    of_four = toolkit("75", "80", "90", "120")
    assert of_four.command(tuned=False)[-1] == every
    assert of_four.command(tuned=False, least=90)[-1] == later
    assert toolkit("75", "89").from_on(90) == []
    ptx = toolkit("ptx", version="13.0", lowest=75)
    assert ptx.command(tuned=True)[-1] == "-gencode=arch=compute_75,code=compute_75"
    assert ptx.command(tuned=False, least=90)[-1] == "-gencode=arch=compute_90,code=compute_90"
    assert ptx.from_on(90)
    assert "GRED_CUDA_ARCHS" in str(ptx)


def test_architectures_are_those_asked_for_those_that_are_here_or_one_of_each_major_version(
    building,
):
    toolkit = building("toolkit")
    for text in ("80;90a", "80,90a", " 80 90a; "):
        assert toolkit.asked_architectures(text) == ["80", "90a"]
    for text in ("all", "ptx"):
        assert toolkit.asked_architectures(text) == [text]
    assert toolkit.default_architectures(KNOWN, ["86", "90"]) == ["86", "90"]
    for present in ([], ["70"], ["90", "130"]):
        assert toolkit.default_architectures(KNOWN, present) == ["ptx"]
    assert toolkit.every_architecture(KNOWN) == EVERY


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


@pytest.mark.unsanitized
def test_gred_takes_the_core_of_the_package_of_kernels(building, tmp_path):
    """The wheel of gred's has the core which is here, and as much more as is looked at."""
    if sysconfig.get_platform() != "linux-x86_64" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the wheel made here has another tag")
    path = tmp_path / f"gred-{gred.__version__}-{TAG}.whl"
    own = gred._core.__file__
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.write(own, f"gred/{Path(own).name}")
        wheel.writestr("gred/_core.pyi", "")
        wheel.writestr(
            f"gred-{gred.__version__}.dist-info/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {TAG}\n",
        )
    made = building("kernels_wheel").kernels_wheel(path, tmp_path)
    assert made.name == f"gred_cuda13-{gred.__version__}-{TAG}.whl"
    site = tmp_path / "site"
    install = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target"]
    subprocess.run([sys.executable, *install, site, made], check=True)
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
