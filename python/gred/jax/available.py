"""JAX, and gred's part for it, if they are here and go together; else one line says so."""

import importlib
import re
from pathlib import Path
from typing import Any

from gred.checks import needed

LEAST = (0, 6)

jax: Any = needed("jax", "jax")
_HERE = f"jax {jax.__version__} is here"
if jax.__version_info__ < LEAST:
    raise ImportError(
        f"this needs jax {LEAST[0]}.{LEAST[1]} or later, and {_HERE}; "
        "pip install -U 'gred[jax]' brings it",
        name="jax",
    )
try:
    targets: Any = importlib.import_module("gred._jax")
except ImportError as _error:
    raise ImportError(
        f"gred was built without its part for JAX ({_error}); in gred's sources, "
        "GRED_JAX=1 pip install '.[jax]' builds it",
        name="gred._jax",
    ) from _error


jnp, ffi = needed("jax.numpy", "jax"), needed("jax.ffi", "jax")
ad, batching, mlir = (
    needed(f"jax.interpreters.{one}", "jax") for one in ("ad", "batching", "mlir")
)
Primitive: Any = needed("jax.extend.core", "jax").Primitive


def spoken() -> tuple[int, ...]:
    """Read the version of XLA's foreign function interface that this JAX has."""
    header = Path(ffi.include_dir(), "xla/ffi/api/c_api.h").read_text(encoding="utf-8")
    found = re.findall(r"#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)", header)
    return tuple(map(int, found))


# XLA takes handlers of older versions, and where it meets a newer one none of its devices works.
if spoken() < targets.version:
    raise ImportError(
        f"gred was built with headers of a later JAX than is here ({_HERE}); update that, or build "
        "gred with it: GRED_JAX=1 pip install --no-build-isolation .",
        name="jax",
    )
