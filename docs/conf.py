"""Sphinx configuration: `sphinx-build -W docs OUT`, with `pip install '.[docs]'`."""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import gred

project = "gred"
author = "the authors of gred"
version = release = gred.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "generated"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# Warn about unresolved names and internal links; -W turns warnings into errors.
nitpicky = True
# Names of the standard library, NumPy and other packages have no page on this site.
nitpick_ignore_regex = [("py:.*", r"(?!gred\b).*")]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
# Notebooks are stored with their outputs, which notebooks/run.py checks.
nb_execution_mode = "off"

# `gred.sum` in a docstring becomes a link; `a`, a parameter, does not.
default_role = "autolink"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Optional dependencies of modules that are documented even if they are not installed.
autodoc_mock_imports = [
    name for name in ("dask", "mpi4py", "torch") if not importlib.util.find_spec(name)
]
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"gred {release}"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = html_show_sphinx = False
