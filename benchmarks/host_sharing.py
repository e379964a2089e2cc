"""Times sums on one thread and on all, back to back and after pauses.

    python benchmarks/host_sharing.py

It shows how long calls have to be for threads, awake or asleep, to pay off: the basis for the
limits in csrc/cpu/tiles.c.
"""

import sys
import time

import numpy as np

import gred

CHUNK = 4096
PAUSE, TURNS = 0.0005, 300


def shared_times(count: int, pause: float) -> str:
    """Return a sum's median microseconds on one thread and on all, after pauses if any."""
    array = np.ones(count, np.float32)
    most, found = gred.threads(), []
    for threads in (1, most):
        gred.threads(threads)
        seconds = []
        for _ in range(TURNS):
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            gred.sum(array)
            seconds.append(time.perf_counter() - start)
        found.append(f"{1e6 * np.median(seconds):8.1f}")
    return " ".join(found)


def main() -> int:
    print("bytes       one, all: at once    one, all: after a pause")
    for count in (CHUNK << k for k in range(2, 13)):
        times = shared_times(count, 0), shared_times(count, PAUSE)
        print(f"{4 * count:<10}", "   ".join(times), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
