"""List methods, reductions and devices, as records that print as tables; report versions."""

import contextlib
import importlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from gred import _core


class Method(NamedTuple):
    """A method; `compute_capability` is the lowest that it needs on a GPU, or None."""

    number: int | None
    name: str
    aliases: tuple[str, ...]
    title: str
    idea: str
    source: str
    devices: tuple[str, ...]
    block_sizes: tuple[int, ...]
    default_block_size: int | None
    compute_capability: str | None


class Reduction(NamedTuple):
    """A reduction."""

    name: str
    on_ladder: bool
    is_record: bool
    summary: str


class Device(NamedTuple):
    """A device; memory and cache sizes are in bytes, bandwidth in bytes per second."""

    name: str
    title: str
    units: int
    memory: int
    bandwidth: int | None
    l2_cache: int
    compute_capability: str | None


Columns: TypeAlias = tuple[tuple[str, str | Callable[[Any], object]], ...]


if TYPE_CHECKING:
    from typing_extensions import disjoint_base as disjoint_base
else:

    def disjoint_base(cls):
        """Return the class unchanged; for type checkers it marks a solid base (PEP 800)."""
        return cls


@disjoint_base
class Records(tuple[Any, ...]):
    """A tuple of records that prints as a table, as text and in a notebook.

    A column is a title and a record's attribute or a function of the record; None leaves a cell
    empty. At most `printed` records are printed.
    """

    columns: ClassVar[Columns] = ()
    printed: ClassVar[int] = sys.maxsize

    def rows(self) -> list[list[str]]:
        """Return the table's texts: the titles, and a row for each printed record."""
        getters = [attrgetter(of) if isinstance(of, str) else of for _, of in self.columns]
        cells = ([of(record) for of in getters] for record in self[: self.printed])
        texts = [["" if cell is None else str(cell) for cell in row] for row in cells]
        return [[title for title, _ in self.columns], *texts]

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self._more()])

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        body = "".join(_html("td", row) for row in rows)
        table = f"<table><thead>{_html('th', head)}</thead><tbody>{body}</tbody></table>"
        return table + "".join(f"<p>{more}</p>" for more in self._more())

    def _more(self) -> list[str]:
        left = len(self) - self.printed
        return [f"and {left:,} more"] if left > 0 else []


def _html(tag: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"


def facts_text(facts: Sequence[tuple[str, str]]) -> str:
    """Format names and texts, one pair per line."""
    width = max(len(name) for name, _ in facts)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in facts)


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Format names and texts as an HTML table."""
    rows = (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in facts)
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


class Methods(Records):
    """Result of `methods`."""

    columns = (
        ("#", "number"),
        ("method", lambda m: " = ".join((m.name, *m.aliases))),
        ("runs on", lambda m: ", ".join(m.devices)),
        ("block", lambda m: m.default_block_size or None),
        ("idea", lambda m: f"{m.title}: {m.idea}"),
    )


class Reductions(Records):
    """Result of `reductions`."""

    columns = (
        ("reduction", "name"),
        ("every rung", lambda r: "yes" if r.on_ladder else None),
        ("summary", "summary"),
    )


class Devices(Records):
    """Result of `devices`."""

    columns = (
        ("device", "name"),
        ("what", "title"),
        ("units", "units"),
        ("memory", lambda d: f"{d.memory / 2**30:.0f} GiB"),
        ("bandwidth", lambda d: d.bandwidth and f"{d.bandwidth / 1e12:.2f} TB/s"),
        ("capability", "compute_capability"),
    )


def methods() -> Methods:
    """List the methods that ``method=`` accepts, in the order of the ladder.

    Returns
    -------
    tuple of Method
        The recursion on the host, rungs 0 to 24, and CUB. The tuple prints as a table.

    Examples
    --------
    >>> import gred
    >>> [m.name for m in gred.methods() if "shared" in m.aliases]
    ['shared_sequential']
    """
    return Methods(Method(*row) for row in _core.methods())


def method_named(name: str) -> Method:
    """Find a method by its name."""
    found: Method = next(method for method in methods() if method.name == name)
    return found


def inserted_after_like(
    rows: Sequence[Any], own: Any, like: str, number: Any = attrgetter("number")
) -> list[Any]:
    """Insert the row of a user's rung after the rungs up to the one that it is `like`."""
    place = sum(number(row) <= method_named(like).number for row in rows)
    return [*rows[:place], own, *rows[place:]]


def reductions() -> Reductions:
    """List the reductions.

    Returns
    -------
    tuple of Reduction
        Each names a function of gred. Those with ``on_ladder`` run by every rung; the others by
        no rung but the default method's. The tuple prints as a table.

    Examples
    --------
    >>> import gred
    >>> [r.name for r in gred.reductions() if r.on_ladder]
    ['sum', 'prod', 'min', 'max', 'mean']
    """
    return Reductions(Reduction(*row) for row in _core.reductions())


def devices() -> Devices:
    """List the devices that ``device=`` accepts on this machine.

    Returns
    -------
    tuple of Device
        The host, the simulated device, and every GPU. The tuple prints as a table.

    Examples
    --------
    >>> import gred
    >>> [d.name for d in gred.devices()][:2]
    ['host', 'simulated']
    """
    return Devices(Device(*row) for row in _core.devices())


def build_info() -> dict[str, object]:
    """Return how this installation of gred was built.

    Returns
    -------
    dict
        ``cuda``: the CUDA toolkit's version, or None; ``architectures``: the compute capabilities
        that kernels are compiled for, without the dot, or ``("ptx",)`` if the driver compiles them.
    """
    return {"cuda": _core.cuda or None, "architectures": tuple(_core.architectures.split())}


# Distribution names of libraries that gred works with.
_LIBRARIES = ["numpy", "cupy", "cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "torch", "jax"]
_LIBRARIES += ["numba", "dask", "mpi4py", "ml_dtypes", "pandas", "polars", "pyarrow"]


def show_config(mode: str = "stdout") -> dict[str, str] | None:
    """Show versions, processor, threads, devices and libraries, as needed for a bug report.

    Parameters
    ----------
    mode : {'stdout', 'dicts'}, default 'stdout'
        Print, or return, the information, as for `numpy.show_config`; else ValueError.

    Returns
    -------
    dict of str, or None
        The information by name, if mode is 'dicts'.

    Examples
    --------
    >>> import gred
    >>> sorted(gred.show_config("dicts"))[:4]
    ['Python', 'built for', 'devices', 'gred']
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"mode must be 'stdout' or 'dicts'; got {mode!r}")
    gred = importlib.import_module("gred")
    loops = re.search(r"by (\w+) instructions", gred.explain(np.ones(1 << 10)).array)
    facts = {
        "gred": f"{gred.__version__}, {os.path.dirname(__file__)}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "instructions": loops[1] if loops else "baseline",
        "threads": str(gred.threads()),
        "built for": f"CUDA {_core.cuda} {_core.architectures}" if _core.cuda else "no GPU",
        "devices": "; ".join(f"{one.name}: {one.title}" for one in devices()),
        "libraries": ", ".join(filter(None, map(_installed, _LIBRARIES))),
    }
    if mode == "dicts":
        return facts
    print(facts_text(list(facts.items())))
    return None


def _installed(name: str) -> str | None:
    """Return a library's name and version without importing it; None if it is not installed."""
    metadata = importlib.import_module("importlib.metadata")  # slow to import
    with contextlib.suppress(metadata.PackageNotFoundError):
        return f"{name} {metadata.version(name)}"
    return None
