"""What several GPUs of one host give: threads, lists of arrays, exact sums over NCCL's ranks."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from measures.figure import Figure, figure
from measures.timing import environment, once, rate_together

import gred

GIB = 1 << 30
TWO_GPUS = 1.95
LIST_OF_TWO, LIST_OF_FOUR = 1.15, 3.8
SUMS, TURNS = 60, 60
TENSORS, NBYTES = 200, (1 << 10, 1 << 22)
RANKS = (1, 2, 4)


def measure_gpus() -> Iterator[Figure]:
    """Let two threads sum 1 GiB each on two GPUs, and one thread lists over two and over four."""
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    arrays = [ones(cupy, GIB, device) for device in range(count)]
    alone = [1e-12 * rate_together(arrays[:1], SUMS) for _ in range(7)]
    yield figure("one thread on one GPU, 1 GiB float32 sums", alone, "TB/s")
    together = [1e-12 * rate_together(arrays[:2], SUMS) / np.median(alone) for _ in range(7)]
    what = "two threads on two GPUs: rate over that of one"
    yield figure(what, together, "x", at_least=TWO_GPUS)
    what = "a list of two arrays of 1 GiB on two GPUs: time over that of one"
    yield figure(what, times_over_one(arrays[:2], arrays[0]), "x", at_most=LIST_OF_TWO)
    for nbytes in (GIB, 4 * GIB) if count >= 4 else ():
        large = [ones(cupy, nbytes, device) for device in range(4)]
        rates = [4 / taken for taken in times_over_one(large, large[0])]
        what = f"a list of four arrays of {nbytes // GIB} GiB on four GPUs: rate over that of one"
        yield figure(what, rates, "x", at_least=LIST_OF_FOUR if nbytes == GIB else None)
        del large
    yield from measure_tensors(count)
    yield from measure_ranks(count)


def ones(cupy: Any, nbytes: int, device: int) -> Any:
    with cupy.cuda.Device(device):
        array = cupy.random.random(nbytes // 4, dtype=cupy.float32)
        cupy.cuda.Device(device).synchronize()
        return array


def seconds_of(arrays: Any) -> float:
    return once(partial(gred.sum, arrays))


def times_over_one(many: Any, one: Any) -> list[float]:
    """Sum one array, and all of them in one call, by turns."""
    for _ in range(5):
        gred.sum(many), gred.sum(one)
    return [seconds_of(many) / seconds_of(one) for _ in range(TURNS)]


def measure_tensors(count: int) -> Iterator[Figure]:
    """Sum tensors that are spread over all GPUs, beside all of them on one."""
    import torch

    random = np.random.default_rng(29)
    lengths = np.exp(random.uniform(*np.log(NBYTES), TENSORS)).astype(int) // 4

    def spread(gpus: int) -> list[Any]:
        return [torch.randn(n, device=f"cuda:{k % gpus}") for k, n in enumerate(lengths)]

    on_one, on_all = spread(1), spread(count)
    ratios = times_over_one(on_all, on_one)
    alone = [1e6 * seconds_of(on_one) for _ in range(TURNS)]
    yield figure(f"a list of {TENSORS} tensors on one GPU", alone, "us")
    what = f"a list of {TENSORS} tensors over {count} GPUs: time over that on one"
    yield figure(what, ratios, "x")


RANK = """
import hashlib, json, os, sys, time
import numpy as np, torch, torch.distributed as dist
import gred, gred.torch
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", sys.argv[1], rank=rank, world_size=size)
random = np.random.default_rng(7)
x = random.normal(size=1 << 20) * np.exp2(random.integers(-500, 500, 1 << 20))
part = gred.ExactSum(torch.from_numpy(x[rank::size].copy()).cuda())
number = torch.ones((), dtype=torch.float64, device="cuda")
def exact():
    return gred.torch.all_reduce(part)
def plain():
    dist.all_reduce(number)
    torch.cuda.synchronize()
taken = {}
for name, call in (("exact", exact), ("float", plain)) * 2:
    times = []
    for _ in range(60):
        start = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - start))
    taken[name] = times[10:]
if rank == 0:
    taken["digest"] = hashlib.sha256(exact().to_bytes()).hexdigest()
    print(json.dumps(taken), flush=True)
else:
    exact()
dist.destroy_process_group()
"""


def measure_ranks(count: int) -> Iterator[Figure]:
    """Add exact sums up by NCCL, and a float beside them, with as many ranks as there are GPUs."""
    digests = set()
    for size in (size for size in RANKS if size <= count):
        taken = ranks_took(size)
        digests.add(taken["digest"])
        what = f"an exact sum over {size} NCCL ranks: gred.torch.all_reduce"
        yield figure(what, taken["exact"], "us")
        yield figure(f"a float64 over {size} NCCL ranks: all_reduce", taken["float"], "us")
    yield figure("exact sums over NCCL ranks: different results", [len(digests)], "", at_most=1)


def ranks_took(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", RANK, f"file://{folder}/meeting"]
        common = {**environment(), "WORLD_SIZE": str(size)}
        running = [
            subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env={**common, "RANK": str(rank)}
            )
            for rank in range(size)
        ]
        said = [rank.communicate(timeout=300)[0] for rank in running]
    found: dict[str, Any] = json.loads(said[0].splitlines()[-1])
    return found
