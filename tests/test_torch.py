"""Exact sums over torch.distributed's ranks: the same bits for every number of them."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "torch_ranks.py"
pytestmark = pytest.mark.unsanitized
needs_torch = pytest.mark.skipif(
    not find_spec("torch"),
    reason="PyTorch is not installed: its wheel is larger than all the others that tests need",
)


def ranks(n, backend, folder):
    """Run so many ranks on this machine, and return what the first of them had to say.

    They meet in a file: a port that is free now may be somebody's when they want it.
    """
    command = [sys.executable, PROGRAM, backend, f"file://{folder}/of_{n}"]
    running = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "WORLD_SIZE": str(n), "RANK": str(rank), "OMP_NUM_THREADS": "1"},
        )
        for rank in range(n)
    ]
    done = [(rank, *rank.communicate(timeout=900)) for rank in running]
    for rank, out, errors in done:
        assert rank.returncode == 0, out + errors
    return done[0][1].split()


def same_bits(sizes, backend, folder):
    made = [ranks(n, backend, folder) for n in sizes]
    assert [int(size) for size, _ in made] == list(sizes)
    assert len({digest for _, digest in made}) == 1


@needs_torch
def test_any_number_of_ranks_makes_the_same_bits_with_gloo(tmp_path):
    same_bits((1, 4), "gloo", tmp_path)


@needs_torch
def test_any_number_of_gpus_makes_the_same_bits_with_nccl(tmp_path):
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("there are no two GPUs")
    same_bits((1, 2), "nccl", tmp_path)
