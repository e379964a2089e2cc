"""Makes the wheel of kernels for GPUs: `python build_backend/kernels_wheel.py WHEEL... --out DIR`.

A wheel of gred that was built with CUDA has some 80 MB, one without a few. They differ only in the
core, which therefore gets a package of its own, gred-cuda13; gred looks for it when it is imported,
and otherwise uses its own core.
"""

import argparse
import base64
import hashlib
import zipfile
from pathlib import Path

NAME = "gred_cuda13"
METADATA = """\
Metadata-Version: 2.4
Name: gred-cuda13
Version: {version}
Summary: Kernels of gred for NVIDIA GPUs, by CUDA 13
License-Expression: Apache-2.0
Requires-Dist: gred=={version}
"""
MODULE = '"""The core of gred with kernels for NVIDIA GPUs, which gred finds by itself."""\n'


def kernels_wheel(wheel: Path, folder: Path) -> Path:
    """Write the core of a wheel to a wheel of its own in the folder."""
    with zipfile.ZipFile(wheel) as whole:
        [core] = [name for name in whole.namelist() if Path(name).match("gred/_core.*.so")]
        version = wheel.name.split("-")[1]
        info = f"{NAME}-{version}.dist-info"
        files = {
            f"{NAME}/__init__.py": MODULE.encode(),
            f"{NAME}/{Path(core).name}": whole.read(core),
            f"{info}/WHEEL": whole.read(f"gred-{version}.dist-info/WHEEL"),
            f"{info}/METADATA": METADATA.format(version=version).encode(),
        }
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD").encode()
    target = folder / wheel.name.replace("gred-", f"{NAME}-", 1)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return target


def record(files: dict[str, bytes], own: str) -> str:
    """List files with digests and sizes in a wheel's format."""
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{own},,", ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path())
    given = parser.parse_args()
    for one in given.wheels:
        print(kernels_wheel(one, given.out))
