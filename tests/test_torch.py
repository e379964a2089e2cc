"""Exact sums over torch.distributed's ranks: the same bits for every number of them."""

import os
import socket
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


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ranks(n, backend):
    """Run so many ranks on this machine, and return what each of them had to say."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(n)}
    running = [
        subprocess.Popen(
            [sys.executable, PROGRAM, backend],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **place, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
        )
        for rank in range(n)
    ]
    done = [(rank, *rank.communicate(timeout=900)) for rank in running]
    for rank, out, errors in done:
        assert rank.returncode == 0, out + errors
    return done[0][1].split()


def same_bits(sizes, backend):
    made = [ranks(n, backend) for n in sizes]
    assert [int(size) for size, _ in made] == list(sizes)
    assert len({digest for _, digest in made}) == 1


@needs_torch
def test_any_number_of_ranks_makes_the_same_bits_with_gloo():
    same_bits((1, 4), "gloo")


@needs_torch
def test_any_number_of_gpus_makes_the_same_bits_with_nccl():
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("there are no two GPUs")
    same_bits((1, 2), "nccl")


def test_without_torch_one_error_says_what_brings_it():
    code = "import sys; sys.modules['torch'] = None; import gred.torch; gred.torch.all_reduce(0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'gred[torch]'" in done.stderr.splitlines()[-1]
