"""Runs every kernel once on a GPU, to be watched by compute-sanitizer.

    compute-sanitizer --tool memcheck python tests/sanitize.py
    compute-sanitizer --tool racecheck python tests/sanitize.py

Lengths leave tails, block sizes are the least, a common one and the greatest, and element types
meet each kernel's vector loads and conversions. The default method meets every element type, laid
out and masked in every way that has a kernel of its own, and gives its result to the host or to the
GPU; the reductions that are not on the ladder are tried in the same ways, and all along axes, in
every way in which threads share that. So are segments, exact sums, and sums of products. Answers
are checked, too: each part yields what is wrong with every run, or nothing.
Exit status 1: one was wrong. pytest does not collect this file; `--device simulated` tries it
without a GPU.
"""

import argparse
import itertools
import sys
from functools import partial
from pathlib import Path

sys.path[:0] = map(str, Path(__file__).parent.glob("*/"))

import numpy as np
from along import NAMES as ALONG_AXES
from exact_truths import exact_products, nearest, nearest_root, same
from exact_truths import truth as sum_or_mean
from exactly import NAMES as EXACTLY
from forcing import CONFIGURATIONS, forced
from gpu_arrays import GpuArray
from inputs import EVERY_KIND, KINDS, OPS, Kind, block_sizes, exact, methods_on, reduce
from reference import COMPLEX, EVERY_TYPE, REALS, agrees, truth
from samples import element_there, fetched, options_of, sample, takes, wrong
from segments import UFUNCS, by_one
from test_axes_kernels import wrong_in_every_way
from truths import NAMES, RECORDS, answer

import gred
from gred.testing import SimulatedArray

LENGTHS = (1, 33, 1027, 9001)
QUICK_LENGTHS = (1027,)
BLOCK_SIZES = (None, 32, 256, 1024)
QUICK_KINDS = ("int32", "float32")
MARGIN = 3
ROWS, COLUMNS = 33, 41
FEW_BYTES = 2**14
LAYOUTS = {
    "flat": lambda x: x,
    "rows that do not touch": lambda x: x[:, 1:],
    "elements that do not touch": lambda x: x[:, ::2],
    "short rows": lambda x: x.T[:, :3],
}
SEGMENTS_OF = ("int8", "float32", "float64", "complex64")
# Pairs that no kernel converts by C's rules alone, so that elements are gathered one by one.
GATHERED = (("uint16", None), ("float32", "int32"), ("float16", "bool"))


def there(view, device):
    """Copy a host array to the device as it lies; the simulated one takes it in C order."""
    return GpuArray.laid_out(view) if device == "cuda" else SimulatedArray(view)


def unless(right, what):
    """Say what is wrong, if it is."""
    return "" if right else what


# ---- the ladder ----


def arrays(case, device):
    """Offer the array from the GPU, where it begins where no vector does; some from the host."""
    if device != "cuda" or case.array.size in QUICK_LENGTHS:
        yield "host array", case.array
    if device == "cuda":
        around = np.zeros(case.array.size + 2 * MARGIN, case.array.dtype)
        around[MARGIN:-MARGIN] = case.array
        yield "GPU array", GpuArray.of(around)[MARGIN:-MARGIN]


def of_method(method, device, quick):
    """Run one method every way there is; quick lengths still have a tail and a vector."""
    sizes = [size for size in BLOCK_SIZES if size is None or size in block_sizes(method)]
    kinds = [kind for kind in KINDS if not quick or kind.name in QUICK_KINDS]
    lengths = QUICK_LENGTHS if quick else LENGTHS
    for op, kind, n, block_size in itertools.product(OPS, kinds, lengths, sizes[1:] or sizes):
        case = exact(op, kind, n)
        wanted = {"method": method, "block_size": block_size, "dtype": kind.dtype}
        for name, array in arrays(case, device):
            got = reduce(op, array, device=device, **wanted)
            what = f"{op} of {n} {kind.name}, a {name}, by {wanted}: {got!r}"
            yield unless(agrees(got, case.truth), f"{what}, not {case.truth.value!r}")
    options = {"method": method, "device": device, "samples": 2, "warmup": 0}
    timed = gred.kernel_time(np.ones(9001, np.float32), **options)
    yield unless(timed.result == 9001, f"kernel_time: {timed.result!r}")
    yield from gathered(method, device)


def gathered(method, device):
    """Run a rung on elements that have to be gathered, and on an array in pieces."""
    for given, dtype in GATHERED:
        x = exact("sum", Kind(given, np.dtype(given)), ROWS * COLUMNS).array.reshape(ROWS, COLUMNS)
        for view in (x[:, ::2], x.T[::3]):
            got = gred.sum(there(view, device), method=method, dtype=dtype)
            right = agrees(got, truth("sum", view, dtype))
            yield unless(right, f"{given} into {dtype}, gathered: {got!r}")
    host = np.arange(-4000, 6001, dtype=np.int32)
    for view in (host, host[::-2]):
        with gred.workspace_limit(FEW_BYTES):
            got = gred.sum(view, method=method, device=device)
        yield unless(got == view.sum(), f"{view.size} in pieces: {got!r}")


# ---- the default method, and the reductions that are not on the ladder ----


def masks(view, device):
    """Offer no mask, one on the device and one on the host, each with NumPy's."""
    mask = np.arange(view.size).reshape(view.shape) % 3 != 1
    return {}, {"where": mask, "mask": there(mask, device)}, {"where": mask}


def wrong_result(name, view, more, device, *, into_element):
    """Reduce what lies on the device to a number or to an element there; say what is wrong."""
    a = there(view, device)
    if not into_element:
        return wrong(name, a, view, **more)
    given = {key: value for key, value in more.items() if key != "mask"}
    right = (truth if name in OPS else answer)(name, view, **given)
    out = element_there(right.dtype, device)
    getattr(gred, name)(a, out=out, **given | ({"where": more["mask"]} if "mask" in more else {}))
    got = fetched(out, device)
    return unless(agrees(got, right), f"{name} into {right.dtype}: {got!r}")


def laid_out(x):
    """Give each layout of an array of rows."""
    return ((layout, take(x.reshape(ROWS, COLUMNS))) for layout, take in LAYOUTS.items())


def by_default(device, quick):
    """Run the default method on every type, layout and kind of mask."""
    kinds = [kind for kind in EVERY_KIND if not quick or kind.name in QUICK_KINDS]
    number = 0
    for kind, op in itertools.product(kinds, OPS):
        given = {} if kind.dtype is None else {"dtype": kind.dtype}
        for layout, view in laid_out(exact(op, kind, ROWS * COLUMNS).array):
            all_masks = masks(view, device)
            for turn, where in enumerate(all_masks if layout != "flat" else all_masks[:1]):
                begin = {"initial": 3} if op in ("min", "max") and where else {}
                into = (number + turn) % 2 > 0
                options = {**given, **where, **begin}
                yield wrong_result(op, view, options, device, into_element=into)
            number += 1


def off_the_ladder(device, quick):
    """Run each reduction on every type and layout; with and without a mask, to host and device."""
    types = [dtype for dtype in EVERY_TYPE if not quick or dtype.name in QUICK_KINDS]
    every = [
        (name, options, view)
        for dtype, name in itertools.product(types, NAMES)
        if takes(name, dtype)
        for turn, options in enumerate(options_of(name))
        for k, (_, view) in enumerate(laid_out(sample(name, dtype, ROWS * COLUMNS)))
        if not turn or k % 2 == turn % 2
    ]
    for number, (name, more, view) in enumerate(every):
        _, on_device, on_host = masks(view, device)
        where = {} if number // 4 % 2 == 0 else on_device if number % 2 else on_host
        begin = {"initial": 1} if name in ("nanmin", "nanmax") and where else {}
        for into in (False, *[True] * (number % 3 == 0 and name not in RECORDS)):
            given = more if into else {**more, **where, **begin}
            yield wrong_result(name, view, given, device, into_element=into)


def in_pieces(device, _quick):
    """Run each reduction on an array from the host that goes to the device in pieces."""
    x = np.arange(-4000, 6001, dtype=np.float32)[::-1]
    for name in NAMES:
        with gred.workspace_limit(FEW_BYTES):
            yield wrong(name, x, x, device=device)


# ---- along axes, segments, and exactly ----


def along_axes(device, _quick):
    """Run each reduction along axes; views have rows, columns, boundaries and distances."""
    for name in ALONG_AXES:
        yield from wrong_in_every_way(name, device, ("general",))
    host = np.arange(-4000, 6000, dtype=np.float32).reshape(20, 500)
    for axis in (0, 1):
        with gred.workspace_limit(FEW_BYTES):
            got = gred.sum(host, axis=axis, device=device)
        yield unless(np.array_equal(got, host.sum(axis)), f"axis {axis} in parts: {got}")


def rows(device, _quick):
    """Reduce rows of every type, short and long ones, shared in every way."""
    for name in ALONG_AXES:
        yield from wrong_in_every_way(name, device, ("short rows", "long rows"))


def segments(device, _quick):
    """Reduce segments in every way in which they are shared, with offsets here and there."""
    rises, random = np.sort(np.arange(300) ** 2 % 997), np.random.default_rng(3)
    given = ((rises, 1), (rises[::-1], 1), (np.array([0, 2**40, 5]), 4))
    for op, sharing, dtype in itertools.product(UFUNCS, CONFIGURATIONS["segments"], SEGMENTS_OF):
        x = random.integers(0, 2, 3997).astype(dtype)
        for offsets, step in given:
            view = x[3::step]
            with forced("segments", sharing):
                got = gred.reduceat(op, there(view, device), there(offsets, device)).to_numpy()
            right = np.array_equal(got, by_one(op, view, offsets)[0])
            yield unless(right, f"{op} of {dtype} segments, {sharing}")


def exact_views():
    """Draw numbers for one window, for windows that move, and for none, laid out in three ways."""
    random = np.random.default_rng(1)
    for dtype in REALS:
        for spread in (0, 5) if dtype == np.float16 else (0, 30, 100):
            exponents = random.integers(-spread, spread + 1, 9001)
            x = np.ldexp(random.normal(size=9001), exponents).astype(dtype)
            x[::3] = np.nan
            for view in (x, x[1::3], x[1:].reshape(3, -1)[:, 1::3]):
                yield f"{dtype} of 2^-{spread} to 2^{spread}", view


def exactly(device, _quick):
    """Add exactly, with and without a mask, to a number and to an element of the device's."""
    for (what, view), name in itertools.product(exact_views(), EXACTLY):
        mask = np.arange(view.size).reshape(view.shape) % 5 != 1
        for shown, begin in itertools.product((None, mask), (None, 0)):
            given = {} if shown is None else {"where": there(shown, device)}
            if begin is not None and name in ("sum", "nansum"):
                given["initial"] = begin
            out = element_there(view.dtype, device)
            add = partial(getattr(gred, name), there(view, device), method="exact", **given)
            add(out=out)
            right = sum_or_mean(name, view if shown is None else view[shown])
            for got in (add(), fetched(out, device)):
                yield unless(same(got, right), f"{name} of {what}: {got!r}, not {right!r}")


def by_key(device, _quick):
    """Add in tables and without them, in few digits and in many, one key more often."""
    views = [(what, view) for what, view in exact_views() if view.ndim == 1]
    for (what, view), num_keys, name in itertools.product(views, (7, 40_000), EXACTLY):
        keys = np.random.default_rng(2).integers(0, num_keys, view.size)
        keys[::7] = 3
        got = gred.by_key(name, there(keys, device), there(view, device), num_keys).to_numpy()
        for key in {3, int(keys[0]), int(keys[1])}:
            right = sum_or_mean(name, view[keys == key])
            yield unless(same(got[key], right), f"{name} of {what}: {got[key]!r}, not {right!r}")
    for (what, view), op in itertools.product(views, ("max", "nanmin")):
        keys = np.arange(view.size) // 20
        got = gred.by_key(op, there(keys, device), there(view, device)).to_numpy()
        right = gred.by_key(op, keys, view)
        yield unless(np.array_equal(got, right, equal_nan=True), f"{op} of {what} by key")


def ranks(device, _quick):
    """Select in rows of every type, by one warp, by several, and by all blocks together."""
    for dtype, (rows, n) in itertools.product(
        EVERY_TYPE, ((40, 30), (5, 900), (2, 9001), (1, 40_000))
    ):
        if dtype in COMPLEX:
            continue
        x = (np.random.default_rng(3).normal(size=(rows, n)) * 40).astype(dtype)
        for leaves_out in (False, True) if x.dtype.kind == "f" else (False,):
            x[0, n // 3 : n // 2] = np.nan if leaves_out else x[0, 0]
            asked = np.array([0, 0.5, 1]), "lower", leaves_out, False
            got = gred._core.select_rows(there(x.reshape(-1), device), rows, asked, None).to_numpy()
            most = n - 1 - np.isnan(x).sum(1) if leaves_out else np.full(rows, n - 1)
            right = np.sort(x, 1)[np.arange(rows), [0 * most, most // 2, most]]
            yield unless(
                np.array_equal(got.reshape(3, rows), right), f"ranks of {rows} x {n} {dtype}"
            )


# ---- products ----


def factors():
    """Draw pairs of factors of every type, alike; exact ones for windows and for none."""
    random = np.random.default_rng(1)
    for dtype in EVERY_TYPE:
        for spread in (0, 25) if dtype in REALS and dtype.itemsize > 2 else (0,):
            x = np.ldexp(random.normal(size=9001), random.integers(-spread, spread + 1, 9001))
            if dtype.kind in "iu":
                x *= 50
            x = x + 1j * x[::-1] if dtype in COMPLEX else x
            with np.errstate(all="ignore"):
                yield (x.clip(0) if dtype.kind == "u" else x).astype(dtype)


def products(device, _quick):
    """Multiply and add, fast and exactly, arrays that are aligned alike, not alike, or not flat."""
    for x in factors():
        a = there(x, device)
        for first, second, step in ((0, 0, 1), (1, 1, 1), (0, 3, 1), (2, 1, 3)):
            n = (x.size - 3) // step
            i, j = (slice(begin, begin + n * step, step) for begin in (first, second))
            b, y = (a[i], a[j]) if step == 1 else (there(x[i], device), there(x[j], device))
            real = exact_products(x[i].real, x[j].real) - exact_products(x[i].imag, x[j].imag)
            for method in ("auto", "exact"):
                got = gred.dot(b, y, method=method)
                yield unless(is_product(got, real, method), f"dot of {x.dtype}: {got!r}")
        squares = exact_products(x.real, x.real) + exact_products(x.imag, x.imag)
        got = gred.norm(a, method="exact")
        yield unless(same(got, nearest_root(squares, got.dtype)), f"norm: {got!r}")
        out = element_there(np.float64, device)
        gred.norm(x[::-1], method="exact", out=out)
        right = same(fetched(out, device), nearest_root(squares, np.float64))
        yield unless(right, f"norm of {x.dtype} into float64")
    x = np.arange(-4000.0, 6001)
    with gred.workspace_limit(FEW_BYTES):
        got = gred.dot(x, x[::-1], method="exact", device=device)
    yield unless(same(got, nearest(exact_products(x, x[::-1]), np.float64)), f"{got!r}")


def is_product(got, real, method):
    """Tell whether this is the real part of a sum of products."""
    if got.dtype.kind in "iu":
        return (int(got) - int(real)) % 2**64 == 0
    if method == "exact":
        return same(got.real, nearest(real, got.real.dtype))
    return abs(float(got.real) - float(real)) <= 1e-2 * abs(float(real)) + 1


PARTS = {
    "default": by_default,
    "off the ladder": off_the_ladder,
    "in pieces": in_pieces,
    "along axes": along_axes,
    "rows": rows,
    "segments": segments,
    "exactly": exactly,
    "by key": by_key,
    "ranks": ranks,
    "products": products,
}


def told(what, findings):
    """Print a line, and one for every wrong answer; tell whether there was one."""
    findings = list(findings)
    wrong = [finding for finding in findings if finding]
    print(f"{what:20} {len(findings)} runs, {len(wrong)} wrong", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="", help="names, with commas; all by default")
    parser.add_argument("--part", choices=PARTS, help="of what is run by the default method alone")
    parser.add_argument("--quick", action="store_true", help="fewer types, lengths and block sizes")
    parser.add_argument("--device", default="cuda", choices=["cuda", "simulated"])
    given = parser.parse_args()
    methods = given.methods.split(",") if given.methods else methods_on(given.device)
    failed = False
    for part in [given.part] if given.part else [] if given.methods else PARTS:
        failed |= told(part, PARTS[part](given.device, given.quick))
    for method in [] if given.part else methods:
        failed |= told(method, of_method(method, given.device, given.quick))
    gred.read_limit(given.device, 2**20, samples=1)
    sys.exit(failed)


if __name__ == "__main__":
    main()
