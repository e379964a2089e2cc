"""The reduction of Dask arrays: partial results of blocks, merged as a tree, then finished."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike

from gred.checks import import_extra

Axis = int | tuple[int, ...] | None
_Operands = Sequence[tuple[str, Any, tuple[int, ...]]]


class Reduction(NamedTuple):
    """Functions that compute a block's partial result, merge partials, and finish the last one.

    `partial` takes a block, the corresponding blocks of other arrays, and the keyword `axes` with
    distinct nonnegative axes. A partial is any picklable object except a list. `finish` returns an
    array with length 1 along the reduced axes.
    """

    partial: Callable[..., Any]
    merge: Callable[[list[Any]], Any]
    finish: Callable[[Any], Any] = lambda found: found


def library() -> Any:
    """Import dask.array."""
    return import_extra("dask.array", "dask")


def array(x: Any, name: str = "x") -> Any:
    """Return a Dask array; raise TypeError for anything else."""
    if not isinstance(x, library().Array):
        raise TypeError(f"{name} must be a Dask array, not {type(x).__name__}")
    return x


def axes_of(x: Any, axis: Axis) -> tuple[int, ...]:
    """Return nonnegative axes, all of them for None."""
    return normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim, "axis")


# ---- functions that run on workers ----


def _identity(block: Any, axis: Axis, keepdims: bool) -> Any:
    return block


def flat(blocks: Any) -> list[Any]:
    """Flatten Dask's nested lists, which have one level per axis."""
    if not isinstance(blocks, list):
        return [blocks]
    return [one for block in blocks for one in flat(block)]


def _merge(blocks: Any, axis: Axis, keepdims: bool, how: Reduction) -> Any:
    return how.merge(flat(blocks))


def _finish(blocks: Any, axis: tuple[int, ...], keepdims: bool, how: Reduction) -> Any:
    found = how.finish(how.merge(flat(blocks)))
    return found if keepdims else np.squeeze(found, axis)[()]


# ---- the graph ----


def reduced(
    x: Any,
    how: Reduction,
    dtype: DTypeLike,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    operands: _Operands = (),
    split_every: int | None = None,
    size: int = 1,
) -> Any:
    """Reduce a Dask array; `partial` also gets the blocks of `where` and of `operands`.

    `operands` lists other arrays, each with its name and its axes of x. With `keepdims`, results
    have `size` elements along a reduced axis.
    """
    axes, inds = axes_of(x, axis), tuple(range(x.ndim))
    pairs = [x, inds]
    for name, other, its in (*_mask_operand(x, where), *operands):
        _check_chunks(x, name, other, its)
        pairs += [other, its]
    meta = np.empty((0,) * (x.ndim if keepdims else x.ndim - len(axes)), dtype)
    partials = library().blockwise(
        partial(how.partial, axes=axes),
        inds,
        *pairs,
        adjust_chunks=dict.fromkeys(axes, 1),
        meta=np.empty((0,) * x.ndim, dtype),
        dtype=dtype,
        align_arrays=not any(map(_is_unknown, pairs[::2])),
    )
    return library().reduction(
        partials,
        _identity,
        combine=partial(_merge, how=how),
        aggregate=partial(_finish, how=how),
        axis=axes,
        keepdims=keepdims,
        split_every=split_every,
        concatenate=False,
        dtype=dtype,
        meta=meta,
        output_size=size,
    )


def blocks_of(
    x: Any, function: Callable[..., Any], q: Any, axes: tuple[int, ...], dtype: Any
) -> Any:
    """Map each block to one with the dimensions of `q` first, and length 1 along the axes."""
    inds = tuple(range(q.ndim, q.ndim + x.ndim))
    return library().blockwise(
        function,
        (*range(q.ndim), *inds),
        *(x, inds),
        new_axes=dict(enumerate(q.shape)),
        adjust_chunks={q.ndim + k: 1 for k in axes},
        dtype=dtype,
        meta=np.empty((0,) * (q.ndim + x.ndim), dtype),
    )


def _is_unknown(x: Any) -> bool:
    return any(map(math.isnan, x.shape))


def _check_chunks(x: Any, name: str, other: Any, its: tuple[int, ...]) -> None:
    """Check that an array's shape, and for unknown lengths its number of chunks, matches x."""
    lengths = [x.shape[k] for k in its]
    fits = len(its) == other.ndim and all(
        one == 1 or one == of_x or math.isnan(one) or math.isnan(of_x)
        for one, of_x in zip(other.shape, lengths, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} must fit shape {x.shape}; got shape {other.shape}")
    if _is_unknown(x) or _is_unknown(other):
        for count, k, length in zip(other.numblocks, its, other.shape, strict=True):
            if length != 1 and count != x.numblocks[k]:
                raise ValueError(
                    f"{name} must have as many chunks as x where lengths are unknown; got {count} "
                    f"and {x.numblocks[k]}"
                )


def _mask_operand(x: Any, where: Any) -> _Operands:
    """Return the mask as an operand that is broadcast to x; empty without a mask."""
    if where is True:
        return []
    mask = library().asanyarray(where)
    if mask.dtype != bool:
        raise TypeError(f"where must be a bool array; got {mask.dtype}")
    if mask.ndim > x.ndim:
        raise ValueError(f"where must fit shape {x.shape}; got shape {mask.shape}")
    return [("where", mask, tuple(range(x.ndim - mask.ndim, x.ndim)))]
