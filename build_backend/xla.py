"""XLA's headers for compiling gred._jax, which come with JAX; only used if GRED_JAX=1.

A build must not depend on what else is installed. XLA takes handlers of its own or an older
version, so the user may choose the version of JAX.
"""

import importlib
import sys
from collections.abc import Mapping

REQUIREMENT = "jax>=0.6"


def wants_jax(environment: Mapping[str, str]) -> bool:
    """Return whether GRED_JAX requests gred._jax."""
    asked = environment.get("GRED_JAX", "")
    if asked not in ("", "1"):
        sys.exit(
            f"gred: GRED_JAX={asked!r} is not understood: 1 builds gred's part for JAX; leave it "
            "out to build without"
        )
    return asked == "1"


def requirements(environment: Mapping[str, str]) -> list[str]:
    """List what a build of it requires."""
    return [REQUIREMENT] if wants_jax(environment) else []


def headers() -> str:
    """Return the folder of XLA's headers in JAX."""
    try:
        return importlib.import_module("jax.ffi").include_dir()
    except ImportError as error:
        sys.exit(
            f"gred: GRED_JAX=1, but jax.ffi cannot be imported ({error}). pip installs JAX for a "
            f"build by itself, unless --no-build-isolation is given; then: pip install "
            f"'{REQUIREMENT}'"
        )
