"""What each rank has of a whole, for the tests of MPI and of torch.distributed."""

import numpy as np

import gred


def numbers():
    random = np.random.default_rng(7)
    return random.normal(size=10_001) * np.exp2(random.integers(-500, 500, 10_001))


def shares(rank, size, own=np.asarray):
    """Give exact results of all numbers, and of those that a rank has, in arrays of its own."""
    x = numbers()
    rows, keys = x[:10_000].reshape(100, 100), np.arange(10_000) % 7
    for of in (
        lambda part: gred.ExactSum(own(x[part])),
        lambda part: gred.ExactSums(own(rows[part]), 0),
        lambda part: gred.ExactMoments(own(x[part])),
        lambda part: gred.describe(own(x[part]), 1, method="exact"),
        lambda part: gred.by_key("describe", keys[part], x[:10_000][part], 7, method="exact"),
    ):
        yield of(slice(None)), of(slice(rank, None, size))
