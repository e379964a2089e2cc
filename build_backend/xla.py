"""XLA's headers, which gred._jax is compiled with, of JAX: only where GRED_JAX=1 asks for it.

What a build makes shall not depend on what else is installed; and XLA takes handlers of its own
version or an older one, so that whoever asks for them may choose the JAX.
"""

import importlib
import sys
from collections.abc import Mapping

REQUIREMENT = "jax>=0.6"


def wants_jax(environment: Mapping[str, str]) -> bool:
    """Tell whether GRED_JAX asks for gred's part for JAX."""
    asked = environment.get("GRED_JAX", "")
    if asked not in ("", "1"):
        sys.exit(
            f"gred: GRED_JAX={asked!r} is not understood: 1 builds gred's part for JAX; leave it "
            "out to build without"
        )
    return asked == "1"


def requirements(environment: Mapping[str, str]) -> list[str]:
    """List what a build needs for it."""
    return [REQUIREMENT] if wants_jax(environment) else []


def headers() -> str:
    """Ask JAX where XLA's headers are."""
    try:
        return importlib.import_module("jax.ffi").include_dir()
    except ImportError as error:
        sys.exit(
            f"gred: GRED_JAX=1, but jax.ffi cannot be imported ({error}). pip installs JAX for a "
            f"build by itself, unless --no-build-isolation is given; then: pip install "
            f"'{REQUIREMENT}'"
        )
