"""The build backend: setuptools', which asks for CUDA's compiler and JAX where they are wanted."""

import os

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

import toolkit
import wheels
import xla


def more_requirements() -> list[str]:
    """List the wheels of CUDA's compiler that this build needs here, and JAX."""
    nvcc = toolkit.toolkit_nvcc(os.environ)
    cuda = wheels.requirements(os.environ, nvcc, wheels.driver_version())
    return cuda + xla.requirements(os.environ)


def get_requires_for_build_wheel(config_settings: dict | None = None) -> list[str]:
    """Add these to what setuptools needs."""
    return build_meta.get_requires_for_build_wheel(config_settings) + more_requirements()


def get_requires_for_build_editable(config_settings: dict | None = None) -> list[str]:
    """Add these to what setuptools needs."""
    return build_meta.get_requires_for_build_editable(config_settings) + more_requirements()
