"""Device time of anybody's calls: between two events on one stream, behind a delay.

While the device waits, the host queues what is measured, so that launching does not count. Before
each call other memory is read, so that the caches hold nothing of the array; were it written, they
would write it back while the call is measured.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Call = Callable[[], Any]

# What has to work, however long it takes.
OURS = ("gred", "exact")
SAMPLES = 5
# Longer than the host needs to queue a call of several kernels.
DELAY_NS = 500_000
OTHER_BYTES = 1 << 28
DELAY = r"""
extern "C" __global__ void delay(unsigned long long ns) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < ns);
}
"""


class DeviceTimes:
    """A stream on which CuPy, PyTorch and gred are measured alike."""

    def __init__(self, cupy: Any, torch: Any) -> None:
        self._cupy, self._torch = cupy, torch
        torch.cuda.init()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self._delay = cupy.RawKernel(DELAY, "delay")
        self._other = cupy.zeros(OTHER_BYTES // 4, np.int32)
        self._greatest = cupy.zeros((), np.int32)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Have both libraries use the stream, for arrays that are there."""
        self._cupy.cuda.Device().synchronize()
        torchs = self._torch.cuda.ExternalStream(self.stream.ptr)
        with self.stream, self._torch.cuda.stream(torchs):
            yield

    def seconds(self, call: Call) -> float:
        before, after = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        self._delay((1,), (1,), (np.uint64(DELAY_NS),))
        self._other.max(out=self._greatest)
        before.record(self.stream)
        call()
        after.record(self.stream)
        after.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(before, after) * 1e-3)

    def medians(self, calls: dict[str, Call], samples: int = SAMPLES) -> dict[str, float]:
        """Measure calls that have been warmed up, in turns of random order."""
        order = random.Random(0)
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(samples):
            for name in order.sample(list(calls), len(calls)):
                taken[name].append(self.seconds(calls[name]))
        return {name: float(np.median(seconds)) for name, seconds in taken.items()}

    def until_done(self, call: Call) -> float:
        """Measure from a call to the end of its work, by the host's clock."""
        start = time.perf_counter()
        call()
        self.stream.synchronize()
        return time.perf_counter() - start

    def able(
        self, calls: dict[str, Call], patience: float, given_up: set[str] | None = None
    ) -> dict[str, Call]:
        """Warm calls up, and leave out peers that raise, are given up, or take longer."""
        given_up = set() if given_up is None else given_up
        found = {}
        for name in (name for name in calls if name not in given_up):
            try:
                self.until_done(calls[name])  # which may compile
                taken = self.until_done(calls[name])
            except Exception:
                if name in OURS:
                    raise
                continue
            if taken <= patience or name in OURS:
                found[name] = calls[name]
            else:
                given_up.add(name)
        return found
