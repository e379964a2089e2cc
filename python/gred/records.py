"""What there is to choose from: methods and devices, as records that print as a table."""

from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple

from gred import _core


class Method(NamedTuple):
    """One row of the table of methods; it may need a GPU of some compute capability, or later."""

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
    """One row of the table of reductions."""

    name: str
    on_ladder: bool
    is_record: bool
    summary: str


class Device(NamedTuple):
    """A device that reductions can run on; bytes, and bytes a second."""

    name: str
    title: str
    units: int
    memory: int
    bandwidth: int | None
    l2_cache: int
    compute_capability: str | None


class Records(tuple[Any, ...]):
    """A tuple of records that shows itself as a table, at a prompt and in a notebook."""

    __slots__ = ()

    columns: tuple[str, ...] = ()

    def cells(self, record: Any) -> list[str]:
        """Give the texts of one row."""
        raise NotImplementedError

    def __repr__(self) -> str:
        rows = [list(self.columns), *(self.cells(record) for record in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def row(tag: str, texts: Iterable[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(t)}</{tag}>" for t in texts) + "</tr>"

        body = "".join(row("td", self.cells(record)) for record in self)
        return f"<table><thead>{row('th', self.columns)}</thead><tbody>{body}</tbody></table>"


class Methods(Records):
    """What `methods` returns."""

    __slots__ = ()

    columns = ("#", "method", "runs on", "block", "idea")

    def cells(self, record: Method) -> list[str]:
        """Give number, name with aliases, devices, default block size and idea."""
        return [
            "" if record.number is None else str(record.number),
            " = ".join((record.name, *record.aliases)),
            ", ".join(record.devices),
            str(record.default_block_size or ""),
            f"{record.title}: {record.idea}",
        ]


class Reductions(Records):
    """What `reductions` returns."""

    __slots__ = ()

    columns = ("reduction", "every rung", "what it is")

    def cells(self, record: Reduction) -> list[str]:
        """Give name, whether all methods take it, and the one line on it."""
        return [record.name, "yes" if record.on_ladder else "", record.summary]


class Devices(Records):
    """What `devices` returns."""

    __slots__ = ()

    columns = ("device", "what", "units", "memory", "bandwidth", "capability")

    def cells(self, record: Device) -> list[str]:
        """Give name, title, cores or multiprocessors, GiB, TB/s and compute capability."""
        return [
            record.name,
            record.title,
            str(record.units),
            f"{record.memory / 2**30:.0f} GiB",
            f"{record.bandwidth / 1e12:.2f} TB/s" if record.bandwidth else "",
            record.compute_capability or "",
        ]


def methods() -> Methods:
    """List the methods that ``method=`` accepts, in climbing order.

    Returns
    -------
    tuple of Method
        The host's recursion, the rungs 0 to 24, and CUB. The tuple prints as a table.

    Examples
    --------
    >>> import gred
    >>> [m.name for m in gred.methods() if "shared" in m.aliases]
    ['shared_sequential']

    """
    return Methods(Method(*row) for row in _core.methods())


def reductions() -> Reductions:
    """List the reductions that there are.

    Returns
    -------
    tuple of Reduction
        Each is a function of that name. Those that every method takes are the ladder's; the others
        run by the default method alone. The tuple prints as a table.

    Examples
    --------
    >>> import gred
    >>> [r.name for r in gred.reductions() if r.on_ladder]
    ['sum', 'prod', 'min', 'max', 'mean']

    """
    return Reductions(Reduction(*row) for row in _core.reductions())


def devices() -> Devices:
    """List the devices that ``device=`` accepts here.

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
    """Tell how this copy of gred was built.

    Returns
    -------
    dict
        ``cuda``: the toolkit's version, or None without one; ``architectures``: the compute
        capabilities that kernels were compiled for, without the dot, or ``("ptx",)`` where a GPU's
        driver compiles them as they are first called.

    """
    return {
        "cuda": _core.cuda or None,
        "architectures": tuple(_core.architectures.split()),
    }
