"""The build backend: setuptools', which also requires CUDA's compiler and JAX where needed."""

import os

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

import toolkit
import wheels
import xla


def more_requirements() -> list[str]:
    """List the wheels of CUDA's compiler, and JAX, that this build needs."""
    nvcc = toolkit.toolkit_nvcc(os.environ)
    cuda = wheels.requirements(os.environ, nvcc, wheels.driver_version())
    return cuda + xla.requirements(os.environ)


def get_requires_for_build_wheel(config_settings: dict | None = None) -> list[str]:
    """Add this build's requirements to those of setuptools."""
    return build_meta.get_requires_for_build_wheel(config_settings) + more_requirements()


def get_requires_for_build_editable(config_settings: dict | None = None) -> list[str]:
    """Add this build's requirements to those of setuptools."""
    return build_meta.get_requires_for_build_editable(config_settings) + more_requirements()
