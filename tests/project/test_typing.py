"""Type stubs agree with the module, and docstrings have numpydoc's form."""

import ast
import importlib.util
import inspect
import operator
import os
import re
import sys
from pathlib import Path

import pytest
from numpydoc import validate
from processes import output_of

import gred

pytestmark = pytest.mark.unsanitized

# The options of `mypy --strict`, which stubtest does not take.
CHECKED = """check_untyped_defs disallow_any_generics disallow_incomplete_defs
disallow_subclassing_any disallow_untyped_calls disallow_untyped_decorators disallow_untyped_defs
extra_checks strict_equality warn_redundant_casts warn_return_any warn_unused_ignores"""
STRICT = "".join(f"{name} = True\n" for name in CHECKED.split()) + "implicit_reexport = False\n"
# Correct lines, and wrong ones, whose `type: ignore` would be an error if they were correct.
USER = """
import numpy as np
import gred
from gred.testing import SimulatedArray

def uses() -> None:
    x = np.ones((3, 4), np.float16)
    out = np.zeros(())
    gred.sum(x, dtype=np.float32, initial=1.5, where=x > 0, out=out, stream=1)
    gred.prod([1, 2], method="unroll8", block_size=64, device="simulated", initial=2)
    gred.sum(SimulatedArray(x), 0, np.float64, np.zeros(4), keepdims=False)
    gred.max(x, axis=(0, 1), keepdims=True, out=np.zeros((1, 1)))
    total: gred.ExactSum = gred.ExactSum(x, [1.5]) + gred.ExactSum.from_bytes(b"")
    total += gred.ExactSum.from_words(total.words)
    total.add_products(x, x)
    print(total.value(np.float32), float(total), total.fraction() + total.count)
    with gred.workspace_limit(2**20):
        gred.argmin(x, -1)

def misuses() -> None:
    gred.mean(1, initial=3)  # type: ignore
    gred.sum(1, axis=0.5)  # type: ignore
    gred.sum(1, 'unroll8')  # type: ignore
    gred.sum()  # type: ignore
    gred.sum(1, block_size='big')  # type: ignore
    gred.ExactSum() + 1.0  # type: ignore
    gred.workspace_limit('all')  # type: ignore
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_package_is_strictly_typed_its_stubs_are_true_and_users_types_are_checked(tmp_path):
    """One run, in a folder without sources or tests. JAX may be missing; tests use _testing."""
    (tmp_path / "strict.ini").write_text(f"[mypy]\n{STRICT}", encoding="utf-8")
    (tmp_path / "allowed").write_text(r"gred\.(jax|_testing).*", encoding="utf-8")
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "mypy.stubtest", "gred", "user", "--mypy-config-file"]
    command += ["strict.ini", "--allowlist", "allowed", "--ignore-unused-allowlist"]
    variables = {**os.environ, "PYTHONPATH": path, "MYPYPATH": str(tmp_path)}
    output_of(command, cwd=tmp_path, env=variables)


def stubbed():
    """Return the parameters of the reductions in the core's stub, including aliases."""
    stub = ast.parse(Path(gred.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    (launch,) = (node for node in stub.body if getattr(node, "name", "") == "_Launch")
    options, told = {option.target.id: ... for option in launch.body}, {}
    for node in stub.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            told |= {target.id: told[node.value.id] for target in node.targets}
        elif "Unpack[_Launch]" in ast.unparse(node):
            kinds = node.args.posonlyargs, node.args.args, node.args.kwonlyargs
            names = [one.arg for kind in kinds for one in kind]
            given = map(ast.literal_eval, (*node.args.defaults, *node.args.kw_defaults))
            told[node.name] = dict(zip(names, [..., *given], strict=True)) | options
    return told


@pytest.mark.parametrize(("name", "told"), stubbed().items())
def test_a_stub_has_all_parameters_and_defaults_of_its_function(name, told):
    """stubtest does not compare signatures of functions that are aliases in the stub."""
    parameters = inspect.signature(getattr(gred, name)).parameters
    assert list(told) == list(parameters)
    for parameter, default in told.items():
        assert default in (..., parameters[parameter].default)


# What numpydoc wants but this project does not promise: "See Also", examples and longer texts
# everywhere, descriptions of every parameter, and its form of sentences.
NOT_ASKED = {"SA01", "EX01", "ES01", "PR04", "PR08", "RT03", "RT04"}
OF_ANOTHER = ("median", "nanmedian", "nanquantile", "corrcoef")  # documented by another function
REDUCTIONS = {one.name for one in gred.reductions()} - set(OF_ANOTHER)


@pytest.mark.parametrize("name", [*gred.__all__, "testing.SimulatedArray"])
def test_everything_public_is_documented_in_numpydocs_form(name):
    """Functions describe every parameter; records, errors and modules have a summary."""
    public = operator.attrgetter(name)(gred)
    text = inspect.getdoc(public)
    assert text
    if callable(public) and not isinstance(public, type):
        errors = {error: text for error, text in validate.validate(f"gred.{name}")["errors"]}
        assert errors.keys() <= NOT_ASKED | ({"PR01"} if name in OF_ANOTHER else set()), errors
    if name in REDUCTIONS:
        assert {"TypeError", "ValueError", "MemoryError"} <= {*re.findall(r"\w+Error", text)}
