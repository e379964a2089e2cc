"""Import JAX and gred's extension for it; raise ImportError if missing or incompatible."""

import importlib
import re
from pathlib import Path
from typing import Any

from gred.checks import import_extra

jax: Any = import_extra("jax", "jax", (0, 6))
try:
    targets: Any = importlib.import_module("gred._jax")
except ImportError as _error:
    raise ImportError(
        f"gred was built without JAX support ({_error}); build it from source with "
        "GRED_JAX=1 pip install '.[jax]'",
        name="gred._jax",
    ) from _error


jnp, ffi = import_extra("jax.numpy", "jax"), import_extra("jax.ffi", "jax")
ad, batching, mlir = (
    import_extra(f"jax.interpreters.{one}", "jax") for one in ("ad", "batching", "mlir")
)
Primitive: Any = import_extra("jax.extend.core", "jax").Primitive

# The version of this JAX's XLA FFI. XLA accepts handlers of older versions; after registering a
# newer one none of its devices works.
_header = Path(ffi.include_dir(), "xla/ffi/api/c_api.h").read_text(encoding="utf-8")
_found = re.findall(r"#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)", _header)
if tuple(map(int, _found)) < targets.version:
    raise ImportError(
        f"gred was built for a later JAX than the installed {jax.__version__}; update JAX, or "
        "rebuild gred with GRED_JAX=1 pip install --no-build-isolation .",
        name="jax",
    )
