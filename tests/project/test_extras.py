"""What an extra brings and is missing, too old or not built: one line says so, of each call."""

import re

import pytest
from processes import printed

pytestmark = pytest.mark.unsanitized

# Modules that are found before any that are installed.
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
    "jax": ["__name__"],  # which says so when it is imported
}
# The module that is imported, what is there in place of what it needs, and what is said.
CASES = {
    "dask": ("dask", "sys.modules['dask'] = None", r"pip install 'gred\[dask\]'"),
    "mpi": ("mpi", "sys.modules['mpi4py'] = None", r"pip install 'gred\[mpi\]'"),
    "torch": ("torch", "sys.modules['torch'] = None", r"needs torch.*pip install 'gred\[torch\]'"),
    "old torch": (
        "torch",
        "sys.modules['torch'] = SimpleNamespace(__version__='2.4.1')",
        r"needs torch( 2\.5 or later, and 2\.4\.1 is here|\.distributed).*'gred\[torch\]'",
    ),
    "jax": ("jax", "sys.modules['jax'] = None", r"needs jax, .*pip install 'gred\[jax\]' brings"),
    "old jax": ("jax", "jax_of(0, 5, 3)", r"needs jax 0\.6 or later, and jax 0\.5\.3 is here; pip"),
    "not built": (
        "jax",
        "jax_of(0, 9, 0); sys.modules['gred._jax'] = None",
        r"built without its part for JAX .*GRED_JAX=1 pip install '\.\[jax\]' builds it",
    ),
    "of a later JAX": (
        "jax",
        "jax_of(0, 9, 0); sys.modules['gred._jax'] = MagicMock(version=(0, 4))",
        r"later JAX than is here \(jax 0\.9\.0 is here\).*--no-build-isolation",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_missing_is_said_in_one_line_and_gred_needs_none_of_it(case, tmp_path):
    name, setup, says = CASES[case]
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
