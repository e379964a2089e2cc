"""Run every kernel once on a GPU, for compute-sanitizer to watch.

    compute-sanitizer --tool memcheck python tests/sanitize.py
    compute-sanitizer --tool racecheck python tests/sanitize.py

Each method runs with its smallest block size, a common one and the largest, on lengths that leave
tails. Every other call of support/calls.py runs for every element type, in one layout each, with
results on the host and on the GPU. Reductions along axes and of segments run with every way to
share work among threads; exact sums have one window, several, or none. Each part yields an error
message, or an empty string, for every run; the exit status is 1 if any result was wrong. pytest
does not collect this file; `--device simulated` runs it without a GPU.
"""

import argparse
import itertools
import sys
from pathlib import Path

sys.path[:0] = map(str, Path(__file__).parent.glob("*/"))

import numpy as np
from along import NAMES as ALONG_AXES
from calls import LAYOUTS, OTHERS, REDUCTIONS, check, drawn, lie, results, told
from devices import laid_out
from exact_truths import exact_products, nearest, same
from exact_truths import truth as sum_or_mean
from exactly import NAMES as EXACTLY
from exactly import added
from exactly import check as exactly_reduced
from exactly import drawn as factors
from forcing import CONFIGURATIONS, forced
from gpu_arrays import GpuArray
from inputs import KINDS, OPS, Kind, block_sizes, exact, methods_on, reduce
from reference import COMPLEX, EVERY_TYPE, REALS, agrees, truth
from samples import silenced
from segments import UFUNCS, by_one
from test_axes_kernels import wrong_in_every_way
from test_dot import test_elements_are_multiplied_and_added_along_any_axis as multiplied_and_added
from test_quantiles import test_rows_on_devices as selected

import gred

LENGTHS = (1, 33, 1027, 9001)
ROWS = ("short rows", "long rows")
NOT_ROWS = ("general", "columns", "unsplit columns", "strided")
QUICK_LENGTHS = (1027,)
BLOCK_SIZES = (None, 32, 256, 1024)
QUICK_KINDS = ("int32", "float32")
MARGIN = 3
FEW_BYTES = 2**14
SEGMENTS_OF = ("int8", "float32", "float64", "complex64")
# Types that no kernel converts only by C's rules, so that elements are gathered one by one.
GATHERED = (("uint16", None), ("float32", "int32"), ("float16", "bool"))


def held(check, *given, **options):
    """Run a test's check; return its failure as text, or an empty string."""
    try:
        check(*given, **options)
    except AssertionError as error:
        return f"{check.__name__} of {given[:3]}, {options}: {error}"
    return ""


# ---- the ladder ----


def arrays(case, device):
    """Yield the array on the host, for some lengths, and misaligned on the GPU."""
    if device != "cuda" or case.array.size in QUICK_LENGTHS:
        yield "host array", case.array
    if device == "cuda":
        around = np.pad(case.array, MARGIN)
        yield "GPU array", GpuArray.of(around)[MARGIN:-MARGIN]


def of_method(method, device, quick):
    """Run one method in every way; the quick length still has vectors and a tail."""
    sizes = [size for size in BLOCK_SIZES if size is None or size in block_sizes(method)]
    kinds = [kind for kind in KINDS if not quick or kind.name in QUICK_KINDS]
    lengths = QUICK_LENGTHS if quick else LENGTHS
    for op, kind, n, block_size in itertools.product(OPS, kinds, lengths, sizes[1:] or sizes):
        case = exact(op, kind, n)
        wanted = {"method": method, "block_size": block_size, "dtype": kind.dtype}
        for name, array in arrays(case, device):
            got = reduce(op, array, device=device, **wanted)
            what = f"{op} of {n} {kind.name}, a {name}, by {wanted}: {got!r}"
            yield "" if agrees(got, case.truth) else f"{what}, not {case.truth.value!r}"
    options = {"method": method, "device": device, "samples": 2, "warmup": 0}
    timed = gred.kernel_time(np.ones(9001, np.float32), **options)
    yield "" if timed.result == 9001 else f"kernel_time: {timed.result!r}"
    for given, dtype in GATHERED:
        x = exact("sum", Kind(given, np.dtype(given)), 33 * 41).array.reshape(33, 41)
        for view in (x[:, ::2], x.T[::3]):
            got = gred.sum(laid_out(view, device), method=method, dtype=dtype)
            right = agrees(got, truth("sum", view, dtype))
            yield "" if right else f"{given} into {dtype}, gathered: {got!r}"
    host = np.arange(-4000, 6001, dtype=np.int32)
    for view in (host, host[::-2]):
        with gred.workspace_limit(FEW_BYTES):
            got = gred.sum(view, method=method, device=device)
        yield "" if got == view.sum() else f"{view.size} in pieces: {got!r}"


# ---- all other calls ----


def calls(device, quick):
    """Run each call for each type, in one layout: to the host, to the device, and in pieces."""
    types = [dtype for dtype in EVERY_TYPE if not quick or dtype.name in QUICK_KINDS]
    every = [pair for pair in (REDUCTIONS | OTHERS).items() if device in pair[1].places]
    for number, ((name, call), dtype) in enumerate(itertools.product(every, types)):
        layout = list(LAYOUTS)[number % len(LAYOUTS)]
        views = call.of(LAYOUTS[layout](drawn(name, dtype, (33, 273))))
        try:
            want = results(name, [np.array(view, order="C") for view in views])
        except TypeError:
            continue  # few calls take complex numbers
        there = lie(views, device)
        made = [results(name, there, device)]
        if "under a mask" in name:
            made.append(results(name, [there[0], views[1]], device))
        if call.out:
            out = laid_out(np.zeros_like(want[0]), device)
            with silenced():
                call.run(*there, out=out)
            made.append([told(out)[0].reshape(want[0].shape)])
        if "brought" in call.places:
            with gred.workspace_limit(FEW_BYTES), silenced():
                made.append(told(call.run(*views, device=device)))
        for got in made:
            yield held(check, name, got, want)


# ---- along axes, segments, and exactly ----


def along_axes(device, _quick):
    """Run each reduction along axes with all kernels but those for rows, and in pieces."""
    for name in ALONG_AXES:
        yield from wrong_in_every_way(name, device, NOT_ROWS)
    host = np.arange(-4000, 6000, dtype=np.float32).reshape(20, 500)
    for axis in (0, 1):
        with gred.workspace_limit(FEW_BYTES):
            got = gred.sum(host, axis=axis, device=device)
        yield "" if np.array_equal(got, host.sum(axis)) else f"axis {axis} in parts: {got}"


def rows(device, _quick):
    """Reduce short and long rows of every type, with every way to share the work."""
    for name in ALONG_AXES:
        yield from wrong_in_every_way(name, device, ROWS)


def segments(device, _quick):
    """Reduce segments with every way to share the work, and ascending and other offsets."""
    rises, random = np.sort(np.arange(300) ** 2 % 997), np.random.default_rng(3)
    given = ((rises, 1), (rises[::-1], 1), (np.array([0, 2**40, 5]), 4))
    for op, sharing, dtype in itertools.product(UFUNCS, CONFIGURATIONS["segments"], SEGMENTS_OF):
        x = random.integers(0, 2, 3997).astype(dtype)
        for offsets, step in given:
            view = x[3::step]
            with forced("segments", sharing):
                there = laid_out(view, device), laid_out(offsets, device)
                got = gred.reduceat(op, *there).to_numpy()
            right = np.array_equal(got, by_one(op, view, offsets)[0])
            yield "" if right else f"{op} of {dtype} segments, {sharing}"


def exact_views():
    """Yield numbers that need one window, several, or none, in three layouts."""
    random = np.random.default_rng(1)
    for dtype in REALS:
        for spread in (0, 5) if dtype == np.float16 else (0, 30, 100):
            exponents = random.integers(-spread, spread + 1, 9001)
            x = np.ldexp(random.normal(size=9001), exponents).astype(dtype)
            x[::3] = np.nan
            for view in (x, x[1::3], x[1:].reshape(3, -1)[:, 1::3]):
                yield f"{dtype} of 2^-{spread} to 2^{spread}", view


def exactly(device, _quick):
    """Run exact reductions, with and without a mask, to a scalar and to a device element."""
    for (_, view), name in itertools.product(exact_views(), EXACTLY):
        mask = np.arange(view.size).reshape(view.shape) % 5 != 1
        yield held(exactly_reduced, device, name, view)
        yield held(exactly_reduced, device, name, view, where=mask)


def by_key(device, _quick):
    """Reduce by key with and without tables, with few and many digits, and one frequent key."""
    views = [(what, view) for what, view in exact_views() if view.ndim == 1]
    names = (*EXACTLY, "max", "nanmin")
    for (what, view), num_keys, name in itertools.product(views, (7, 40_000), names):
        keys = np.random.default_rng(2).integers(0, num_keys, view.size)
        keys[::7] = 3
        there = laid_out(keys, device), laid_out(view, device)
        got = gred.by_key(name, *there, num_keys).to_numpy()
        for key in {3, int(keys[0]), int(keys[1])}:
            of_key = view[keys == key]
            right = sum_or_mean(name, of_key) if name in EXACTLY else getattr(np, name)(of_key)
            yield "" if same(got[key], right) else f"{name} of {what}: {got[key]!r}, not {right!r}"


def ranks(device, _quick):
    """Select in rows of every type, by a thread, a warp, several warps, and the whole grid."""
    ordered = [dtype for dtype in EVERY_TYPE if dtype not in COMPLEX]
    for dtype, shape in itertools.product(ordered, ((3, 30, 50), (5, 90), (5, 900), (1, 40_000))):
        yield held(selected, device, dtype, shape)


def products(device, _quick):
    """Run dot products, fast and exact, within and beyond the windows, and exact norms."""
    for dtype, n in itertools.product(EVERY_TYPE, LENGTHS):
        yield held(multiplied_and_added, device, (n,), (n,), -1, dtype)
    for dtype, spread in itertools.product(REALS, (0, 25)):
        a, b = factors(dtype, 9001, spread)
        yield "" if added(device, a, b) == exact_products(a, b) else f"{dtype} over 2^{spread}"
        yield held(exactly_reduced, device, "norm", a)
    x = np.arange(-4000.0, 6001)
    with gred.workspace_limit(FEW_BYTES):
        got = gred.dot(x, x[::-1], method="exact", device=device)
    yield "" if same(got, nearest(exact_products(x, x[::-1]), np.float64)) else f"{got!r}"


PARTS = (calls, along_axes, rows, segments, exactly, by_key, ranks, products)
PARTS = {part.__name__.replace("_", " "): part for part in PARTS}


def printed(what, findings):
    """Print a summary and every wrong answer; return whether there was one."""
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
        failed |= printed(part, PARTS[part](given.device, given.quick))
    for method in [] if given.part else methods:
        failed |= printed(method, of_method(method, given.device, given.quick))
    gred.read_limit(given.device, 2**20, samples=1)
    sys.exit(failed)


if __name__ == "__main__":
    main()
