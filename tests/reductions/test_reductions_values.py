"""Every reduction that is not on the ladder is right for every type and special value."""

import itertools
import warnings

import numpy as np
import pytest
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, PARTS, REALS
from samples import all_right, options_of, takes, wrong
from truths import NAMES, WITHOUT_NAN

import gred

every_name = pytest.mark.parametrize("name", NAMES)


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_the_norm_of_one_element_is_its_magnitude_to_the_last_bit(dtype, device):
    x = np.append(np.random.default_rng(1).normal(size=257), [0.1, -3, np.inf]).astype(dtype)
    got = gred.norm(x[:, np.newaxis], axis=1, device=device)
    assert got.dtype == dtype
    assert np.array_equal(got, np.abs(x), equal_nan=True)


def special_arrays(dtype: np.dtype):
    """Offer equals, and what a type has that is unlike other numbers, in short arrays and long."""
    yield np.resize([1, 0, 2, 2, 0, 1, 2], 1027).astype(dtype)
    if dtype in INTEGERS:
        ends = (False, True) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        short = [[ends[0]], [ends[1]], [*ends], [*ends[::-1]], [0], [0, 0], [1, 0, ends[0]]]
        yield from (np.array(values, dtype) for values in (*short, [*ends] * 600))
        return
    numbers = (0.0, -0.0, 1.0, np.nan, np.inf, -np.inf)
    info = np.finfo(np.float32) if dtype == BFLOAT16 else np.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    most = float(info.max) * (0.99 if dtype == BFLOAT16 else 1)
    short = [[a] for a in (*numbers, tiny, most)]
    short += [list(pair) for pair in itertools.product(numbers, repeat=2)]
    short += [[tiny] * 4, [tiny, -tiny], [-most, most], [most, most], [most, 1.0], [tiny, 1.0]]
    short += [[1.0, np.nan, 3.0], [np.nan, np.nan, 5.0], [np.nan] * 3, [np.inf, np.nan, -np.inf]]
    short += [[-np.inf, 1.0, np.inf], [np.inf, np.inf, 2.0], [0.1, -1000.3, 999.7, 3.14159]]
    with np.errstate(all="ignore"):
        for values in short:
            if dtype not in COMPLEX:
                yield np.array(values, dtype)
            elif np.isfinite(values).all():
                parts = np.array(values, PARTS[dtype])
                yield (parts + 1j * parts[::-1]).astype(dtype)
                yield parts.astype(dtype)
            else:
                yield np.array([complex(value, 1) for value in values], dtype)
    if dtype in COMPLEX:
        yield np.array([1 + 1j, complex(np.nan, 1), complex(1, np.nan), 3j], dtype)
        unlike = (np.nan, complex(0, np.nan), complex(np.nan, np.inf))
    else:
        unlike = (np.nan, -np.nan, np.inf, -np.inf)
    for n, value in itertools.product((33, 1027, 4097), unlike):
        for places in (0, n - 1, 256 % n, slice(0, None, 2), slice(n // 2, None), slice(1, None)):
            x = np.arange(n).astype(dtype)
            x[places] = value
            yield x
    for values in (
        [np.nan],
        [0.1],
        [-0.0],
        [0.0, -0.0, 0.0],
        [-0.0, 0.0],
        [1, -np.inf, np.nan, np.inf],
    ):
        yield np.resize(values, 1027).astype(dtype)


@every_name
@pytest.mark.parametrize("limit", [512, 2**40])
def test_special_values_are_numpys(name, device, limit):
    """Also in pieces. Norms have five orders, and descriptions nine fields."""
    step = (5 if name in ("norm", "describe") else 2) if device == "simulated" else 1
    with gred.workspace_limit(limit):
        all_right(
            wrong(name, x, x, device=device, **options)
            for dtype in EVERY_TYPE
            if takes(name, dtype)
            for x in itertools.islice(special_arrays(dtype), 0, None, step)
            for options in options_of(name)
            if options.get("ddof", 0) < x.size
        )


def test_of_an_answer_there_is_no_warning(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype, name in itertools.product(EVERY_TYPE, NAMES):
            x = np.arange(4).astype(dtype)
            if dtype not in INTEGERS and name in (*WITHOUT_NAN, "describe"):
                x[::3] = np.nan
            if dtype not in INTEGERS and name in ("nansum", "nanprod"):
                x[:] = np.nan
            if takes(name, dtype):
                getattr(gred, name)(x, device=device)
