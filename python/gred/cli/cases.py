"""Cases of the comparison with other libraries: reductions, element types, layouts and sizes."""

import importlib.util
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gred.cli import units
from gred.device_array import dtype_named

_Names = tuple[str, ...]
Series = tuple[str, str, str]  # a reduction, an element type and a layout


class Extent(NamedTuple):
    """An array's size, in elements or in bytes."""

    number: int
    in_bytes: bool

    def __str__(self) -> str:
        return units.bytes_text(self.number) if self.in_bytes else units.size_text(self.number)


class Type(NamedTuple):
    """An element type: its kind, as in `numpy.dtype.kind`, and its size in bytes."""

    name: str
    kind: str
    itemsize: int

    def known(self) -> bool:
        """Return whether NumPy has the type: bfloat16 needs ml_dtypes."""
        return self.name != "bfloat16" or importlib.util.find_spec("ml_dtypes") is not None

    def dtype(self) -> np.dtype[Any]:
        return dtype_named(self.name)


class Reduction(NamedTuple):
    """A reduction: element kinds, the op that its data is drawn for, and supported options."""

    name: str
    kinds: str
    data: str
    options: _Names = ()


class Layout(NamedTuple):
    """An array's layout or an option of the call: a view of a matrix, a mask, or a `dtype`."""

    name: str
    text: str
    view: Callable[[Any], Any] | None = None
    option: str | None = None
    dtype: str | None = None
    types: _Names = ()  # element types that it applies to, by default all


class Case(NamedTuple):
    """One reduction of one array; `size` is the number of elements of the underlying array."""

    reduction: Reduction
    type: Type
    layout: Layout
    size: int
    extent: Extent

    @property
    def shape(self) -> tuple[int, ...]:
        """The underlying array's shape: for a view a matrix, with at least as many columns."""
        return _shape(self.size) if self.layout.view else (self.size,)

    @property
    def nbytes(self) -> int:
        return self.size * self.type.itemsize

    @property
    def data(self) -> str:
        own = _BOOL_DATA.get(self.reduction.name) if self.type.kind == "b" else None
        return own or self.reduction.data

    @property
    def masked(self) -> bool:
        return self.layout.option == "where"

    @property
    def series(self) -> Series:
        return self.reduction.name, self.type.name, self.layout.name

    def view(self, flat: Any) -> Any:
        """Return the view of `flat`, an array of any library, that the layout describes."""
        return self.layout.view(flat.reshape(self.shape)) if self.layout.view else flat

    def __str__(self) -> str:
        return f"{series_text(self.series)}, {self.extent}"


def series_text(name: Series) -> str:
    reduction, dtype, layout = name
    return f"{reduction} {dtype}" + ("" if layout == "flat" else f" {LAYOUTS[layout].text}")


def _shape(size: int) -> tuple[int, int]:
    rows = 1 << (size.bit_length() - 1) // 2
    return rows, size // rows


def _by_name(*records: Any) -> dict[str, Any]:
    return {record.name: record for record in records}


_OF_NUMPY = [Type(one.name, one.kind, one.itemsize) for one in map(np.dtype, "?bBhHiIlLefdFD")]
TYPES: dict[str, Type] = _by_name(*_OF_NUMPY[:-4], Type("bfloat16", "f", 2), *_OF_NUMPY[-4:])

_ADDS = ("where", "dtype")

REDUCTIONS: dict[str, Reduction] = _by_name(
    Reduction("sum", "biufc", "sum", _ADDS),
    Reduction("prod", "biufc", "prod", ("where",)),
    Reduction("min", "biufc", "max", ("where",)),
    Reduction("max", "biufc", "max", ("where",)),
    Reduction("mean", "biufc", "sum", _ADDS),
    Reduction("any", "biufc", "any"),
    Reduction("all", "biufc", "all"),
    Reduction("count_nonzero", "biufc", "count_nonzero"),
    Reduction("argmin", "biuf", "max"),
    Reduction("argmax", "biuf", "max"),
    Reduction("var", "iufc", "sum", ("dtype",)),
    Reduction("std", "iufc", "sum", ("dtype",)),
    Reduction("ptp", "iuf", "sum"),
    Reduction("nansum", "fc", "nansum", ("dtype",)),
    Reduction("nanprod", "fc", "nanprod"),
    Reduction("nanmin", "f", "nansum"),
    Reduction("nanmax", "f", "nansum"),
    Reduction("nanmean", "fc", "nansum", ("dtype",)),
    Reduction("nanvar", "fc", "nansum"),
    Reduction("nanstd", "fc", "nansum"),
    Reduction("nanargmin", "f", "nansum"),
    Reduction("nanargmax", "f", "nansum"),
    Reduction("norm", "iufc", "sum"),
    Reduction("logsumexp", "f", "sum"),
    Reduction("minmax", "iuf", "max"),
    Reduction("describe", "iuf", "sum"),
)

# Minima and maxima of random bools are found early; with this data the whole array must be read.
_BOOL_DATA = {"min": "all", "argmin": "all", "max": "any", "argmax": "any"}

_NARROW = (*(t.name for t in TYPES.values() if t.kind in "iu"), "float16", "bfloat16")

LAYOUTS: dict[str, Layout] = _by_name(
    Layout("flat", "flat"),
    Layout("transposed", ".T", lambda matrix: matrix.T),
    Layout("columns", "[:, ::2]", lambda matrix: matrix[:, ::2]),
    Layout("rows", "[::2]", lambda matrix: matrix[::2]),
    Layout("inside", "[:, 1:-1]", lambda matrix: matrix[:, 1:-1]),
    Layout("sparse", "[::3, ::5]", lambda matrix: matrix[::3, ::5]),
    Layout("narrow", "[:, :8]", lambda matrix: matrix[:, :8]),
    Layout("backwards", "[::-1, ::-1]", lambda matrix: matrix[::-1, ::-1]),
    Layout("mask", "where=mask", option="where"),
    Layout("float64", "dtype=float64", None, "dtype", "float64", (*_NARROW, "float32")),
    Layout("float32", "dtype=float32", None, "dtype", "float32", _NARROW),
)


class Block(NamedTuple):
    """A part of a grid: the product of its sides."""

    reductions: _Names
    types: _Names
    layouts: _Names
    extents: tuple[Extent, ...]


def _bytes(*powers: int) -> tuple[Extent, ...]:
    return tuple(Extent(1 << power, in_bytes=True) for power in powers)


_FLAT = ("flat",)


def _whole_grid(sizes: tuple[Extent, ...], middle: Extent, large: Extent) -> tuple[Block, ...]:
    """Return the full grid: the most common cases at all sizes, all others at one large size."""
    ladder = ("sum", "prod", "min", "max", "mean")
    others = tuple(name for name in REDUCTIONS if name not in ladder)
    return (
        Block(("sum",), ("float32",), _FLAT, sizes),
        Block(("sum", "min", "max"), ("float32", "float64", "int64"), _FLAT, (middle, large)),
        Block(ladder, tuple(TYPES), _FLAT, (large,)),
        Block(others, ("bool", "uint8", "int32", "float32", "float64"), _FLAT, (large,)),
        Block((*ladder, "var", "argmax"), ("float32",), tuple(LAYOUTS), (large,)),
        Block(("sum", "mean"), ("int8", "int32", "int64"), ("float32", "float64"), (large,)),
    )


def _quick_grid(sizes: tuple[Extent, ...], large: Extent) -> tuple[Block, ...]:
    return (
        Block(("sum",), ("float32",), _FLAT, sizes),
        Block(("sum", "max"), ("int8", "int32", "float64"), _FLAT, (large,)),
        Block(("mean", "max", "argmax", "var"), ("float32",), _FLAT, (large,)),
        Block(("sum",), ("float32",), ("columns", "inside", "mask", "float64"), (large,)),
    )


# (kind of device, whether --quick) -> grid.
GRIDS = {
    ("cuda", False): _whole_grid(_bytes(2, 10, *range(14, 33, 2)), *_bytes(28, 30)),
    ("cuda", True): _quick_grid(_bytes(2, 16, 20, 24, 28), *_bytes(28)),
    ("host", False): _whole_grid(_bytes(2, *range(10, 29, 2)), *_bytes(20, 25)),
    ("host", True): _quick_grid(_bytes(2, 12, 16, 20, 24), *_bytes(20)),
}


def cases(grid: Iterable[Block], **sides: Any) -> list[Case]:
    """List the grid's valid cases, small ones first; given `sides` replace those of each block."""
    given = {side: names for side, names in sides.items() if names}
    found = dict.fromkeys(case for block in grid for case in _crossed(block._replace(**given)))
    places = {r.data: place for place, r in enumerate(REDUCTIONS.values())}
    types_at = {name: place for place, name in enumerate(TYPES)}
    return sorted(found, key=lambda c: (c.nbytes, types_at[c.type.name], places[c.data], c.size))


def _crossed(block: Block) -> Iterator[Case]:
    for *names, extent in itertools.product(*block):
        reduction, kind, layout = REDUCTIONS[names[0]], TYPES[names[1]], LAYOUTS[names[2]]
        size = max(1, extent.number // kind.itemsize) if extent.in_bytes else extent.number
        if (
            kind.kind in reduction.kinds
            and layout.option in (None, *reduction.options)
            and (not layout.types or kind.name in layout.types)
            and (layout.view is None or size >= 64)  # no view is empty
        ):
            whole = math.prod(_shape(size)) if layout.view else size
            yield Case(reduction, kind, layout, whole, extent)


def table_order(case: Case) -> tuple[int, ...]:
    reduction, dtype, layout = case.series
    tables = (REDUCTIONS, reduction), (LAYOUTS, layout), (TYPES, dtype)
    return (*(tuple(table).index(name) for table, name in tables), case.size)
