"""How work is shared among threads: forced, or chosen for arrays and devices that are not there."""

from gred import _testing

MANY = 2**32 - 1


def forced_tuning(block, data_blocks):
    """Force the shape of launches over whole arrays; 0, 0: as measured."""
    _testing.force("shape", {"block": block, "data_blocks": data_blocks})


def forced_axes(
    block,
    threads,
    share,
    blocks,
    staged,
    columns,
    windows=2,
    large=0,
    across=7,
    typed=MANY,
    lone=0,
    alone=0,
    small=0,
):
    """Force how reductions along axes are shared; a block of 0: as measured."""
    fields = {"block": block, "threads": threads, "share": share, "blocks": blocks}
    fields |= {"staged": staged, "columns": columns, "windows": windows, "across": across}
    fields |= {"typed": typed, "unsplit": lone, "small": small, "staging": block}
    fields |= {"large": large or block, "unsplit_block": alone or block}
    _testing.force("axes", fields | {"small_block": block, "small_large": fields["large"]})


def forced_short_rows(several, staging, staged, turns, threads):
    """Force how short rows are shared; a block that stages of 0: as measured."""
    fields = {"several": several, "staging": staging, "staged": staged, "turns": turns}
    _testing.force("short_rows", {**fields, "threads": threads, "longest": 48000})


def forced_long_rows(
    elements, nbytes, block, least, threads, packs, waves, rounds, stacked, few, alone=0
):
    """Force how long rows are shared; a block of 0: as measured."""
    fields = {"elements": elements, "bytes": nbytes, "block": block, "least": least}
    fields |= {"threads": threads, "packs": packs, "waves": waves, "rounds": rounds}
    _testing.force("long_rows", {**fields, "stacked": stacked, "few": few, "alone": alone})


def forced_segments(block, tiling, tile, share, rounds, blocks, few):
    """Force how reductions of segments are shared; a block of 0: as measured."""
    fields = {"block": block, "tiling": tiling, "tile": tile, "share": share}
    _testing.force("segments", {**fields, "rounds": rounds, "blocks": blocks, "few": few})


def chosen(record, shape, **more):
    """Make a record of those fields of a shape that it has; None: there is no shape."""
    found = {name.replace(".", "_"): value for name, value in (shape or {}).items()}
    return shape and record(**{n: found[n] for n in record._fields if n in found} | more)
