"""A wheel of kernels holds a core, installs as any, and is what gred takes where it is there."""

import importlib
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from processes import printed

import gred

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).resolve().parents[2]
TAG = f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_x86_64"


@pytest.fixture
def whole(tmp_path):
    """Make a wheel of gred's that has the core which is here, and as much more as is looked at."""
    path = tmp_path / f"gred-{gred.__version__}-{TAG}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.write(gred._core.__file__, f"gred/{Path(gred._core.__file__).name}")
        wheel.writestr("gred/_core.pyi", "")
        wheel.writestr(
            f"gred-{gred.__version__}.dist-info/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {TAG}\n",
        )
    return path


def test_gred_takes_the_core_of_the_package_of_kernels(whole, tmp_path, monkeypatch):
    if sysconfig.get_platform() != "linux-x86_64" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the wheel made here has another tag")
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    made = importlib.import_module("kernels_wheel").kernels_wheel(whole, tmp_path)
    assert made.name == f"gred_cuda13-{gred.__version__}-{TAG}.whl"
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", site, made], check=True)
    code = """
        import importlib.metadata, gred
        print(gred._core.__file__, gred.sum([1, 2, 3]))
        print(*importlib.metadata.requires("gred-cuda13"))
        """
    beside = str(Path(gred.__file__).parents[1])
    core, total, needed = printed(code, PYTHONPATH=f"{site}:{beside}").split()
    assert Path(core).parent == site / "gred_cuda13"
    assert (total, needed) == ("6", f"gred=={gred.__version__}")
    assert (
        printed(code.splitlines()[1] + "; print(gred._core.__file__)", PYTHONPATH=beside).strip()
        == gred._core.__file__
    )


def test_the_extra_asks_for_the_kernels_of_this_version():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert (
        re.search(r'^cuda13 = \["gred-cuda13==(.+)"\]$', project, re.MULTILINE)[1]
        == gred.__version__
    )
