"""What the host's loops promise beside right answers: positions, counts, and nothing at all."""

import numpy as np
import pytest

from gred import _core

SIZES = (1, 4095, 4097, 70_000, 300_000)


def views(x):
    """Yield the same kind of array, brought to the loops in every way that there is."""
    yield "flat", x
    yield "strided", x[::-3]
    yield "swapped", x.astype(x.dtype.newbyteorder())
    yield "columns", x[: x.size // 7 * 7].reshape(-1, 7).T
    yield "broadcast", np.broadcast_to(x[:5000], (3, min(x.size, 5000)))


def masks(shape, random):
    size = int(np.prod(shape))
    numbers = np.arange(size).reshape(shape)
    yield "half", random.random(shape) < 0.5
    yield "every other", numbers % 2 > 0
    yield "the last", numbers == size - 1
    yield "one in each of some chunks", numbers % 20_000 == 7
    yield "all but a run", (numbers < 10) | (numbers > 5000)
    yield "a row for all", random.random(shape[-1]) < 0.5


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_positions_count_what_a_mask_hides(name, dtype, n):
    random = np.random.default_rng(n)
    x = random.integers(0, 100, n).astype(dtype)
    for way, view in views(x):
        for kind, mask in masks(view.shape, random):
            shown = np.flatnonzero(np.broadcast_to(mask, view.shape))
            if not shown.size:
                continue
            right = shown[getattr(np, name)(view.ravel()[shown])]
            assert getattr(_core, name)(view, where=mask) == right, (way, kind)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_counted_is_what_a_mask_shows(n):
    random = np.random.default_rng(n)
    x = random.integers(0, 3, n).astype(np.float32)
    for way, view in views(x):
        for kind, mask in masks(view.shape, random):
            shown = view[np.broadcast_to(mask, view.shape)].astype(np.float64)
            if not shown.size:
                continue
            assert _core.mean(view, where=mask) == np.float32(shown.mean()), (way, kind)
            assert _core.all(view, where=mask) == shown.all(), (way, kind)
            assert _core.count_nonzero(view, where=mask) == np.count_nonzero(shown), (way, kind)


@pytest.mark.parametrize("n", [0, 3, 100_000])
def test_of_nothing_there_is_what_the_reduction_begins_with(n):
    x = np.ones(n, np.float32)[::-1]
    options = {"where": np.zeros(n, bool)} if n else {}
    for method in ("auto", "recursive"):
        assert _core.sum(x, method=method, **options) == 0
        assert _core.prod(x, method=method, **options) == 1
        assert _core.max(x, method=method, initial=5, **options) == 5
    assert _core.all(x, **options)
    assert not _core.any(x, **options)
    assert _core.count_nonzero(x, **options) == 0


INTEGERS = "?bhiqBHIQ"


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("n", [1, 300, 70_000])
@pytest.mark.parametrize("asked", INTEGERS)
@pytest.mark.parametrize("given", INTEGERS)
def test_integers_become_what_is_asked_for_before_they_are_reduced(given, asked, n):
    """Though loops leave that out where it makes no difference."""
    random = np.random.default_rng(n)
    if given == "?":
        x = random.integers(0, 2, n).astype(bool)
    else:
        x = random.integers(0, 256, n * np.dtype(given).itemsize, np.uint8).view(given)
    converted = x.astype(asked)
    for way, view in (("flat", x), ("backwards", x[::-1])):
        for name in ("min", "max"):
            right = getattr(np, name)(converted)
            assert getattr(_core, name)(view, dtype=asked) == right, (name, way)
        for name in ("sum", "prod"):
            right = getattr(np, name)(converted, dtype=asked)
            assert getattr(_core, name)(view, dtype=asked) == right, (name, way)
        if asked != "?":
            right = np.mean(converted, dtype=asked)
            assert _core.mean(view, dtype=asked) == right, ("mean", way)
