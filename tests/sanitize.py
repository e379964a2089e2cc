"""Runs every method once on a GPU, to be watched by compute-sanitizer.

    compute-sanitizer --tool memcheck python tests/sanitize.py
    compute-sanitizer --tool racecheck python tests/sanitize.py

Lengths leave tails, block sizes are the least, a common one and the greatest, and element types
meet each kernel's vector loads and conversions. Answers are checked, too. Exit status 1: one was
wrong. pytest does not collect this file; `--device simulated` tries it without a GPU.
"""

import argparse
import sys

import numpy as np
from gpu_arrays import GpuArray
from inputs import KINDS, OPS, block_sizes, exact, methods_on, reduce
from reference import agrees

import gred

LENGTHS = (1, 33, 1027, 9001)
QUICK_LENGTHS = (1027,)
BLOCK_SIZES = (None, 32, 256, 1024)
QUICK_KINDS = ("int32", "float32")
MARGIN = 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="", help="names, with commas; all by default")
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


def main():
    options = arguments()
    chosen = options.methods.split(",") if options.methods else methods_on(options.device)
    failed = False
    for method in chosen:
        runs, wrong = wrong_answers(method, options)
        timed = gred.kernel_time(
            np.ones(9001, np.float32), method=method, device=options.device, samples=2, warmup=0
        )
        wrong += [] if timed.result == 9001 else [f"kernel_time: {timed.result!r}"]
        print(f"{method:20} {runs} runs, {len(wrong)} wrong", flush=True)
        for line in wrong:
            print(f"    {line}", flush=True)
        failed |= bool(wrong)
    gred.read_limit(options.device, 2**20, samples=1)
    sys.exit(failed)


if __name__ == "__main__":
    main()
