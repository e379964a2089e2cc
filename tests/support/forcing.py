"""Kernels and launch configurations that tests force, or query, through gred._testing.

A configuration gives a family of kernels its numbers, in the order of FIELDS; the C code that reads
them documents them. Arrays small enough for the simulated device then meet teams of any size,
blocks that split a reduction or do not, and every kind of remainder.
"""

import contextlib
import math
from collections.abc import Iterator

from gred import _testing

FIELDS = {
    "shape": "block data_blocks",
    "axes": "block threads share blocks windows across unsplit unsplit_block small strided",
    "short_rows": "several staging staged turns threads",
    "long_rows": "few_rows bytes block least threads packs waves stacked few",
    "segments": "block tiling tile share rounds blocks few",
}
NO_ROW = 2**32 - 1  # longer than any row
NONE = 1 << 31


def force(configuration: dict[str, tuple[int, ...]]) -> None:
    """Force a configuration from now on; families it lacks are configured as measured."""
    for family, names in FIELDS.items():
        numbers = configuration.get(family, ())
        fields = dict(zip(names.split(), numbers, strict=False))
        if numbers and family == "axes":
            fields = _whole_axes(**fields)
        elif numbers and family == "short_rows":
            fields |= {"longest": 48_000, "batch": 1, "batches": fields["staged"]}
        elif family == "short_rows" and "axes" in configuration:
            fields = {"batches": 0}  # short batches stay columns
        _testing.force(family, fields, not numbers)


def _whole_axes(block, *, unsplit_block=0, **fields) -> dict[str, int]:
    """Add the fields that tests leave out: blocks of one size for all kinds."""
    usual = {"block": block, "windows": 2, "across": 7, "unsplit_block": unsplit_block or block}
    return usual | fields


@contextlib.contextmanager
def forced(kernels: str, name) -> Iterator[None]:
    force(CONFIGURATIONS[kernels][name])
    try:
        yield
    finally:
        force({})


def launch(shape, axis, size, strides=None, **asked) -> dict:
    """Query the launch of a reduction along axes: the members of struct launch_config by name."""
    strides = strides or tuple(size * math.prod(shape[k + 1 :]) for k in range(len(shape)))
    axes = sum(1 << k for k in (axis if isinstance(axis, tuple) else (axis,)))
    found = _testing.launch(shape, strides, size=size, axes=axes, **asked)
    return {name.rpartition(".")[2]: value for name, value in found.items()}


def _of(hook: str, numbers: dict) -> dict:
    return {name: {hook: each} for name, each in numbers.items()}


# Rows by kernels with a runtime type, and columns by any kernels: few and many threads, small and
# large teams, no splits and as many as possible.
_GENERAL = {
    "a thread each": (8, 1, 16, 0, 2, 5),
    "a warp": (5, 1 << 20, 0, 0),
    "a block": (7, 1 << 20, 0, 0),
    "a warp and splits": (5, 1 << 20, 0, 1 << 16, 4, 5),
    "splits alone": (6, 1, 0, 1 << 16),
    "few columns side by side": (7, 1 << 20, 0, 2, 2, 1),
    "small arrays": (8, 1 << 20, 0, 0, 2, 7, 0, 0, 1 << 30),
    "unsplit columns": (5, 1, 0, 0, 2, 5, 4),
}
_NO_ROWS = {"short_rows": (0, 5, 0, False, 1)}
_NO_ROWS["long_rows"] = (NO_ROW, NO_ROW, 8, 5, 1, 0, 1, NO_ROW, 0)

_COLUMNS = {
    "alone": (8, 1, 0, 0, 2, 5),
    "a team": (7, 1 << 20, 0, 0, 2, 3),
    "splits": (5, 1, 0, 1 << 16, 2, 5),
    "a team and splits": (6, 1 << 20, 0, 1 << 16, 2, 2),
    "unsplit": (5, 1, 0, 0, 2, 5, 4),
}

# Blocks of one warp, so that a few hundred columns have many boundaries of blocks and warps:
# columns shared by threads, and columns of few loads, which one thread reduces.
_SHARED = (5, 1, 0, 0, 2, 5)
_UNSPLIT = {"shared": _SHARED, **{f"{loads} loads": (*_SHARED, loads) for loads in (1, 2, 4)}}

_ONE_BY_ONE = (2, 5, 0, 0, 0, 1 << 30)
_STRIDED = {"a thread each": (8, 1, 0, 0, *_ONE_BY_ONE)}
_STRIDED["teams and splits"] = (8, 1 << 20, 0, 1 << 16, *_ONE_BY_ONE)

_SHORT_ROWS = {
    "measured": (),
    "a row a thread": (5, 5, 40_000, 1, 1),
    "not swizzled": (0, 6, 40_000, 0, 1),
    "teams": (0, 5, 4000, 1, 1),
    "teams, not swizzled": (0, 5, 2500, 0, 1),
    "large blocks": (6, 8, 40_000, 1, 1),
    "teams of warps": (0, 5, 600, 1, 1 << 20),
}

_LONG_ROWS = {
    "measured": (),
    "a thread each": (1, 1, 5, 0, 1, 16, 1, NONE, 99),
    "four threads": (1, 1, 6, 2, 1, 16, 1, 16, 0),
    "a warp": (1, 1, 5, 5, 1, 16, 1, 16, 0),
    "a warp and two": (1, 1, 8, 6, 1, 16, 1, NONE, 60),
    "a block": (1, 1, 8, 8, 1, 16, 1, 16, 0),
    "as many as can be": (1, 1, 7, 3, 1 << 20, 0, 1, NONE, 0),
    "splits of a warp": (1, 1, 5, 5, 1 << 20, 0, 1 << 10, NONE, 0),
    "splits of two warps": (1, 1, 6, 6, 1 << 20, 0, 1 << 10, NONE, 0),
    "splits": (1, 1, 6, 6, 1, 0, 1, 16, 0),
}

# Segments one by one, or in tiles; the last number is the size below which tiles are not used.
_SEGMENTS = {
    "measured": (),
    "least tiles": (5, 5, 64, 0, 1, 1, 0),
    "little tiles": (6, 6, 256, 3, 1, 4, 0),
    "tiles": (8, 7, 16 << 10, 3, 4, 2, 0),
    "a thread each": (7, 7, 1 << 10, 16, 1, 2, 0),
    "warps": (8, 5, 2 << 10, 0, 64, 1, 0),
    "one by one": (6, 5, 64, 2, 1, 1, 1 << 60),
    "by a thread": (5, 5, 64, 16, 1 << 16, 1, 1 << 60),
}
_SCANS = {
    "measured": (),
    "a warp": (8, 5, 32 << 10, 4, 16, 8, 0),
    "least tiles": _SEGMENTS["least tiles"],
    "large blocks": (8, 8, 32 << 10, 4, 16, 8, 0),
}
_TILES = {"tiles": _SEGMENTS["little tiles"]}
_TILES["no tiles"] = (*_TILES["tiles"][:-1], 1 << 60)

_TUNING = {f"{block}x{n}": (block, n) for block, n in ((32, 1), (64, 3), (256, 16), (512, 8))}
_TUNING["1024x64"] = 1024, 64

CONFIGURATIONS = {
    "general": {"measured": {}}
    | {name: {"axes": numbers, **_NO_ROWS} for name, numbers in _GENERAL.items()},
    "columns": _of("axes", _COLUMNS),
    "unsplit columns": _of("axes", _UNSPLIT),
    "strided": _of("axes", _STRIDED),
    "short rows": _of("short_rows", _SHORT_ROWS),
    "long rows": _of("long_rows", _LONG_ROWS),
    "segments": _of("segments", _SEGMENTS),
    "scans": _of("segments", _SCANS),
    "tiles": _of("segments", _TILES),
    "tuning": _of("shape", _TUNING),
}
