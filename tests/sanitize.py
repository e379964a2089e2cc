"""Runs every kernel once on a GPU, to be watched by compute-sanitizer.

    compute-sanitizer --tool memcheck python tests/sanitize.py
    compute-sanitizer --tool racecheck python tests/sanitize.py

Lengths leave tails, block sizes are the least, a common one and the greatest, and element types
meet each kernel's vector loads and conversions. The default method meets every element type, laid
out and masked in every way that has a kernel of its own, and gives its result to the host or to the
GPU; the reductions that are not on the ladder are tried in the same ways, and all along axes, in
every way in which threads share that. So are segments, exact sums, and sums of products. Answers
are checked, too.
Exit status 1: one was wrong. pytest does not collect this file; `--device simulated` tries it
without a GPU.
"""

import argparse
import itertools
import sys
from functools import partial

import numpy as np
from along import NAMES as ALONG_AXES
from axes_kernels import NAMES as OF_LONG_ROWS
from axes_kernels import wrong_long_rows
from exact_truths import exact_products, nearest, nearest_root, same
from exact_truths import truth as sum_or_mean
from forcing import CONFIGURATIONS, force
from gpu_arrays import GpuArray
from inputs import EVERY_KIND, KINDS, OPS, Kind, block_sizes, exact, methods_on, reduce
from reference import COMPLEX, EVERY_TYPE, REALS, agrees, truth
from samples import element_there, fetched, options_of, sample, takes, wrong
from segments import UFUNCS, by_one
from test_axes_on_devices import wrong_on_device
from test_exact_method import NAMES as EXACTLY
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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="", help="names, with commas; all by default")
    parser.add_argument("--part", choices=PARTS, help="of what is run by the default method alone")
    parser.add_argument("--quick", action="store_true", help="fewer types, lengths and block sizes")
    parser.add_argument("--device", default="cuda", choices=["cuda", "simulated"])
    return parser.parse_args()


def cases(op, quick):
    """List the element types and lengths of an op; quick ones still have a tail and a vector."""
    for kind in KINDS:
        if quick and kind.name not in QUICK_KINDS:
            continue
        for n in QUICK_LENGTHS if quick else LENGTHS:
            yield kind, exact(op, kind, n)


def arrays(case, device):
    """Offer the array from the GPU, where it begins where no vector does; some from the host."""
    if device != "cuda" or case.array.size in QUICK_LENGTHS:
        yield "host array", case.array
    if device == "cuda":
        around = np.zeros(case.array.size + 2 * MARGIN, case.array.dtype)
        around[MARGIN:-MARGIN] = case.array
        yield "GPU array", GpuArray.of(around)[MARGIN:-MARGIN]


def wrong_answers(method, options):
    """Run one method every way there is; tell how many runs there were, and which went wrong."""
    runs, wrong = 0, []
    sizes = [size for size in BLOCK_SIZES if size is None or size in block_sizes(method)]
    for op in OPS:
        for kind, case in cases(op, options.quick):
            for block_size in sizes[1:] or sizes:
                for name, array in arrays(case, options.device):
                    wanted = {"method": method, "block_size": block_size, "dtype": kind.dtype}
                    got = reduce(op, array, device=options.device, **wanted)
                    runs += 1
                    if not agrees(got, case.truth):
                        what = f"{op} of {case.array.size} {kind.name}, a {name}, by {wanted}"
                        wrong.append(f"{what}: {got!r}, not {case.truth.value!r}")
    return runs, wrong


# ---- the default method ----


def there(view, device):
    """Copy a host array to the device as it lies; the simulated one takes it in C order."""
    return GpuArray.laid_out(view) if device == "cuda" else SimulatedArray(view)


def masks(view, device):
    """Offer no mask, one on the device and one on the host, each with NumPy's."""
    mask = np.arange(view.size).reshape(view.shape) % 3 != 1
    return {}, {"where": mask, "mask": there(mask, device)}, {"where": mask}


def wrong_results(name, view, more, device, *, into_element):
    """Reduce what lies on the device to a number or to an element there; say what is wrong."""
    a = there(view, device)
    if not into_element:
        return wrong(name, a, view, **more)
    given = {key: value for key, value in more.items() if key != "mask"}
    right = (truth if name in OPS else answer)(name, view, **given)
    out = element_there(right.dtype, device)
    getattr(gred, name)(a, out=out, **given | ({"where": more["mask"]} if "mask" in more else {}))
    got = fetched(out, device)
    return "" if agrees(got, right) else f"{name} into {right.dtype}: {got!r}"


def default_cases(quick):
    """List op, its options, layout and array, for every kernel of the default method."""
    for kind in EVERY_KIND:
        if not quick or kind.name in QUICK_KINDS:
            options = {} if kind.dtype is None else {"dtype": kind.dtype}
            for op in OPS:
                x = exact(op, kind, ROWS * COLUMNS).array.reshape(ROWS, COLUMNS)
                for layout, take in LAYOUTS.items():
                    yield op, options, layout, take(x)


def wrong_defaults(options):
    """Run the default method on every type, layout and kind of mask."""
    runs, found, device = 0, [], options.device
    for number, (op, more, layout, view) in enumerate(default_cases(options.quick)):
        all_masks = masks(view, device)
        for turn, where in enumerate(all_masks if layout != "flat" else all_masks[:1]):
            begin = {"initial": 3} if op in ("min", "max") and where else {}
            given = {**more, **where, **begin}
            into = (number + turn) % 2 > 0
            one = wrong_results(op, view, given, device, into_element=into)
            runs, found = runs + 1, [*found, *([f"{layout}: {one}"] if one else [])]
    return runs, found


# ---- the reductions that are not on the ladder ----


def cases_off_the_ladder(quick):
    """List reduction, its options, and an array as it lies, for every type and layout."""
    for dtype in EVERY_TYPE:
        if quick and dtype.name not in QUICK_KINDS:
            continue
        for name in NAMES:
            if not takes(name, dtype):
                continue
            x = sample(name, dtype, ROWS * COLUMNS).reshape(ROWS, COLUMNS)
            for turn, options in enumerate(options_of(name)):
                for layout in list(LAYOUTS)[turn % 2 :: 2] if turn else LAYOUTS:
                    yield name, options, layout, LAYOUTS[layout](x)


def wrong_off_the_ladder(options):
    """Run each reduction on every type and layout; with and without a mask, to host and device."""
    runs, found, device = 0, [], options.device
    for number, (name, more, layout, view) in enumerate(cases_off_the_ladder(options.quick)):
        _, on_device, on_host = masks(view, device)
        where = {} if number // 4 % 2 == 0 else on_device if number % 2 else on_host
        begin = {"initial": 1} if name in ("nanmin", "nanmax") and where else {}
        for into in (False, *[True] * (number % 3 == 0 and name not in RECORDS)):
            given = more if into else {**more, **where, **begin}
            one = wrong_results(name, view, given, device, into_element=into)
            runs, found = runs + 1, [*found, *([f"{layout}: {one}"] if one else [])]
    return runs, found


def wrong_pieces(options):
    """Run each reduction on an array from the host that goes to the device in pieces."""
    host = np.arange(-4000, 6001, dtype=np.float32)
    with gred.workspace_limit(FEW_BYTES):
        found = [wrong(name, host[::-1], host[::-1], device=options.device) for name in NAMES]
    return len(found), [one for one in found if one]


# ---- along axes, and exactly ----


def wrong_along(options):
    """Run each reduction along axes; views have rows, columns, boundaries and distances."""
    views = ("as it is",) if options.quick else ("as it is", "off a boundary", "every second")
    found = [
        one
        for name in ALONG_AXES
        for view in views
        for one in wrong_on_device(name, view, options.device)
    ]
    host = np.arange(-4000, 6000, dtype=np.float32).reshape(20, 500)
    for axis in (0, 1):
        with gred.workspace_limit(FEW_BYTES):
            got = gred.sum(host, axis=axis, device=options.device)
        found.append("" if np.array_equal(got, host.sum(axis)) else f"axis {axis} in parts: {got}")
    return len(found), [one for one in found if one]


def wrong_long(options):
    """Run the reductions that know the type of long rows, shared in every way."""
    found = [one for name in OF_LONG_ROWS for one in wrong_long_rows(name, options.device)]
    return len(found), [one for one in found if one]


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


def wrong_exact(options):
    """Add exactly, with and without a mask, to a number and to an element of the device's."""
    runs, wrong, device = 0, [], options.device
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
                runs += 1
                wrong += [] if same(got, right) else [f"{name} of {what}: {got!r}, not {right!r}"]
    return runs, wrong


# ---- segments ----


def wrong_segments(options):
    """Reduce segments in every way in which they are shared, with offsets here and there."""
    runs, wrong, device = 0, [], options.device
    rises, random = np.sort(np.arange(300) ** 2 % 997), np.random.default_rng(3)
    for op, sharing, dtype in itertools.product(UFUNCS, CONFIGURATIONS["segments"], SEGMENTS_OF):
        x = random.integers(0, 2, 3997).astype(dtype)
        force(CONFIGURATIONS["segments"][sharing])
        for offsets, step in ((rises, 1), (rises[::-1], 1), (np.array([0, 2**40, 5]), 4)):
            view = x[3::step]
            expected, _ = by_one(op, view, offsets)
            got = gred.reduceat(op, there(view, device), there(offsets, device)).to_numpy()
            runs += 1
            right = np.array_equal(got, expected)
            wrong += [] if right else [f"{op} of {dtype} segments, {sharing}"]
        force({})
    return runs, wrong


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


def wrong_products(options):
    """Multiply and add, fast and exactly, arrays that are aligned alike, not alike, or not flat."""
    runs, wrong, device = 0, [], options.device
    for x in factors():
        a = there(x, device)
        for first, second, step in ((0, 0, 1), (1, 1, 1), (0, 3, 1), (2, 1, 3)):
            n = (x.size - 3) // step
            i, j = (slice(begin, begin + n * step, step) for begin in (first, second))
            b, y = (a[i], a[j]) if step == 1 else (there(x[i], device), there(x[j], device))
            real = exact_products(x[i].real, x[j].real) - exact_products(x[i].imag, x[j].imag)
            for method in ("auto", "exact"):
                got = gred.dot(b, y, method=method)
                runs += 1
                wrong += [] if is_product(got, real, method) else [f"dot of {x.dtype}: {got!r}"]
        squares = exact_products(x.real, x.real) + exact_products(x.imag, x.imag)
        got = gred.norm(a, method="exact")
        runs += 1
        wrong += [] if same(got, nearest_root(squares, got.dtype)) else [f"norm: {got!r}"]
        out = element_there(np.float64, device)
        gred.norm(x[::-1], method="exact", out=out)
        right = nearest_root(squares, np.float64)
        wrong += [] if same(fetched(out, device), right) else [f"norm of {x.dtype} into float64"]
    with gred.workspace_limit(FEW_BYTES):
        got = gred.dot(x := np.arange(-4000.0, 6001), x[::-1], method="exact", device=device)
    wrong += [] if same(got, nearest(exact_products(x, x[::-1]), np.float64)) else [f"{got!r}"]
    return runs + 1, wrong


def is_product(got, real, method):
    """Tell whether this is the real part of a sum of products."""
    if got.dtype.kind in "iu":
        return (int(got) - int(real)) % 2**64 == 0
    if method == "exact":
        return same(got.real, nearest(real, got.real.dtype))
    return abs(float(got.real) - float(real)) <= 1e-2 * abs(float(real)) + 1


# ---- arrays that are not flat, and pieces ----


def wrong_gathered(method, options):
    """Run a rung on elements that have to be gathered, and on an array in pieces."""
    runs, wrong, device = 0, [], options.device
    for given, dtype in GATHERED:
        kind = Kind(given, np.dtype(given))
        x = exact("sum", kind, ROWS * COLUMNS).array.reshape(ROWS, COLUMNS)
        for view in (x[:, ::2], x.T[::3]):
            expected = truth("sum", view, dtype)
            got = gred.sum(there(view, device), method=method, dtype=dtype)
            runs += 1
            wrong += [] if agrees(got, expected) else [f"{given} into {dtype}, gathered: {got!r}"]
    host = np.arange(-4000, 6001, dtype=np.int32)
    with gred.workspace_limit(FEW_BYTES):
        for view in (host, host[::-2]):
            got = gred.sum(view, method=method, device=device)
            runs += 1
            wrong += [] if got == view.sum() else [f"{view.size} in pieces: {got!r}"]
    return runs, wrong


def told(what, runs, wrong):
    """Print a line, and one for every wrong answer; tell whether there was one."""
    print(f"{what:20} {runs} runs, {len(wrong)} wrong", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)
    return bool(wrong)


PARTS = {
    "default": wrong_defaults,
    "off the ladder": wrong_off_the_ladder,
    "in pieces": wrong_pieces,
    "along axes": wrong_along,
    "long rows": wrong_long,
    "segments": wrong_segments,
    "exactly": wrong_exact,
    "products": wrong_products,
}


def main():
    options = arguments()
    chosen = options.methods.split(",") if options.methods else methods_on(options.device)
    parts = [options.part] if options.part else [] if options.methods else PARTS
    failed = False
    for part in parts:
        failed |= told(part, *PARTS[part](options))
    for method in [] if options.part else chosen:
        runs, wrong = wrong_answers(method, options)
        timed = gred.kernel_time(
            np.ones(9001, np.float32), method=method, device=options.device, samples=2, warmup=0
        )
        wrong += [] if timed.result == 9001 else [f"kernel_time: {timed.result!r}"]
        more_runs, more_wrong = wrong_gathered(method, options)
        failed |= told(method, runs + more_runs, wrong + more_wrong)
    gred.read_limit(options.device, 2**20, samples=1)
    sys.exit(failed)


if __name__ == "__main__":
    main()
