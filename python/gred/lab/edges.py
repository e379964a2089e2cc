"""Edge cases for checks of a rung: lengths around the sizes of warps, blocks and tiles."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gred.lab.form import BLOCK_SIZES, Form

ORDERS = ("forwards", "backwards", "shuffled")
_WARP = 32
_LONGEST = 1 << 16
_MULTIPROCESSORS = 3


def cases(form: Form) -> Iterator[dict[str, Any]]:
    """Yield the checks, simplest first; the largest blocks, most of the work, in one order only."""
    for block_size in form.block_sizes:
        for size in sizes(block_size, form.data_blocks):
            for order in ORDERS if block_size < BLOCK_SIZES[-1] else ORDERS[-1:]:
                yield case(form, size, block_size, order=order)
    for block_size in form.block_sizes[:2]:
        for size in sizes(block_size, form.data_blocks)[-2:]:
            yield case(form, size, block_size, dtype=form.dtype or "float64")
            yield case(form, size, block_size, offset=1)


def cases_on(gpu: str, form: Form) -> Iterator[dict[str, Any]]:
    """Yield the checks on a GPU: the same lengths and block sizes, in the GPU's thread order."""
    for block_size in form.block_sizes:
        for size in sizes(block_size, form.data_blocks):
            for dtype in [form.dtype] if form.dtype else ["int32", "float64"]:
                one = case(form, size, block_size, dtype=dtype, order=f"on {gpu}")
                yield one | {"kind": "answer", "device": gpu}


def case(form: Form, size: int, block_size: int, **unusual: Any) -> dict[str, Any]:
    """Build one check; the array starts `offset` elements after a 256-byte boundary."""
    job = {"kind": "check", "like": form.like, "multiprocessors": _MULTIPROCESSORS}
    job |= {"size": size, "block_size": block_size, "dtype": form.dtype or "int32"}
    return job | {"order": "forwards", "values": "random", "offset": 0} | unusual


def sizes(block_size: int, data_blocks: int) -> list[int]:
    """List lengths around a warp, a block and a block's tile, and some of several blocks."""
    tile = block_size * data_blocks
    ends = {edge + k for edge in (_WARP, block_size, tile) for k in (-1, 0, 1)}
    ends |= {1, 2, 2 * tile + 1, 3 * tile + block_size // 2 + 1, 7 * tile - 1}
    return sorted(size for size in ends if 0 < size <= max(_LONGEST, tile + 1))


def array_of(job: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Create a check's array, preceded by `offset` elements that are not part of it.

    Random integers cover the type's full range, so that every missing or repeated element is
    noticed; floats are small integers, with sums that are exact in every order.
    """
    length = job["offset"] + job["size"]
    dtype = np.dtype(job["dtype"])
    if job["values"] == "ones":
        return np.ones(length, dtype)
    if job["values"] == "counted":
        return np.arange(length, dtype=dtype)
    random = np.random.default_rng(length)
    if dtype.kind in "iu":
        whole = np.iinfo(dtype)
        return np.asarray(random.integers(whole.min, whole.max, length, dtype, endpoint=True))
    most = max(1, 2**23 // length) if dtype == np.float32 else 2**20
    return np.asarray(random.integers(-most, most, length, np.int64, endpoint=True), dtype)


def truth(job: dict[str, Any]) -> int | float:
    """Return the expected sum, in the element type."""
    own = array_of(job)[job["offset"] :]
    return own.sum(dtype=own.dtype).item()  # type: ignore[no-any-return]
