"""What gred.jax needs and does not find, it says in one line; and gred needs none of it."""

import re

import pytest
from processes import printed

pytestmark = pytest.mark.unsanitized

# Modules that are found before any that are installed.
STAND_INS = """
import sys
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
CASES = {
    "missing": ("sys.modules['jax'] = None", "needs jax, .*pip install 'gred.jax.' brings it"),
    "old": ("jax_of(0, 5, 3)", r"needs jax 0\.6 or later, and jax 0\.5\.3 is here; pip install"),
    "not built": (
        "jax_of(0, 9, 0); sys.modules['gred._jax'] = None",
        r"built without its part for JAX .*GRED_JAX=1 pip install '\.\[jax\]' builds it",
    ),
    "of a later JAX": (
        "jax_of(0, 9, 0); sys.modules['gred._jax'] = MagicMock(version=(0, 4))",
        r"later JAX than is here \(jax 0\.9\.0 is here\).*--no-build-isolation",
    ),
}


def test_what_is_missing_is_said_in_one_line_and_gred_needs_none_of_it(tmp_path):
    header = tmp_path / "xla/ffi/api/c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define XLA_FFI_API_MAJOR 0\n#define XLA_FFI_API_MINOR 3\n")
    said = printed(
        STAND_INS.replace("FOLDER", str(tmp_path)),
        f"CASES = {[setup for setup, _ in CASES.values()]}",
        """
        import os, gred
        assert not {"jax", "gred._jax"} & sys.modules.keys()
        for setup in CASES:
            if not os.fork():
                exec(setup)
                try:
                    import gred.jax
                except ImportError as error:
                    print(error, flush=True)
                os._exit(0)
            os.wait()
        """,
    )
    for line, (_, says) in zip(said.splitlines(), CASES.values(), strict=True):
        assert re.search(says, line), line
