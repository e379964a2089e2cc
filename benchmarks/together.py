"""What several threads of Python read together, each summing an array of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import gred


def rate_together(arrays: Sequence[Any], sums: int) -> float:
    """Sum each array so many times in a thread of its own: the bytes per second of all together."""
    start = threading.Barrier(len(arrays) + 1)

    def work(array: Any) -> None:
        gred.sum(array)
        start.wait()
        for _ in range(sums):
            gred.sum(array)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return sum(array.nbytes for array in arrays) * sums / (time.perf_counter() - began)
