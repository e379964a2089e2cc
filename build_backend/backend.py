"""The build backend: setuptools', which asks for CUDA's compiler where it is wanted and missing."""

import os

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

import toolkit
import wheels


def cuda_requirements() -> list[str]:
    """List the wheels of CUDA's compiler that this build needs here."""
    nvcc = toolkit.toolkit_nvcc(os.environ)
    return wheels.requirements(os.environ, nvcc, wheels.driver_version())


def get_requires_for_build_wheel(config_settings: dict | None = None) -> list[str]:
    """Add the wheels to what setuptools needs."""
    return build_meta.get_requires_for_build_wheel(config_settings) + cuda_requirements()


def get_requires_for_build_editable(config_settings: dict | None = None) -> list[str]:
    """Add the wheels to what setuptools needs."""
    return build_meta.get_requires_for_build_editable(config_settings) + cuda_requirements()
