"""`where=`: what is selected is what NumPy selects, by masks of every shape, layout and place."""

import itertools

import numpy as np
import pytest
from inputs import OPS, shown
from numpys import FLOATS, SMALL, A, as_in_numpy, everywhere
from samples import quietly, takes, there, wrong
from truths import NAMES, PLACES, SPREADS

import gred

EVERY = (*OPS, *NAMES)
TYPES = tuple(map(np.dtype, (np.int8, np.uint64, np.float16, np.float32, np.complex128)))
NEEDING = ("min", "max", "nanmin", "nanmax")  # an initial value for a mask
OF_NOTHING = {"all": True, "nanprod": 1, "prod": 1, "logsumexp": -np.inf}
every_name = pytest.mark.parametrize("name", EVERY)


def initial(name, value=1):
    return {"initial": value} if name in NEEDING else {}


def numbers(dtype, shape, *, nan=False):
    x = (np.arange(np.prod(shape)) ** 2 % 13 - 3).astype(dtype).reshape(shape)
    if nan and dtype.kind in "fc":
        x.reshape(-1)[5::11] = np.nan
        x.reshape(-1)[1::33], x.reshape(-1)[4::33] = np.inf, -np.inf
    return x


def masks_of(shape: tuple):
    """Offer masks of every shape that broadcasts to this one, none of which hides all."""
    random = np.random.default_rng(len(shape))
    yield True
    yield np.True_
    for own in itertools.product(*((1, length) for length in shape)):
        mask = random.random(own) < 0.6
        mask.reshape(-1)[0] = True
        yield mask
    for first in range(1, len(shape)):
        mask = random.random(shape[first:]) < 0.6
        mask.reshape(-1)[-1:] = True
        yield mask
    yield np.asfortranarray(random.random(shape) < 0.5)
    yield (random.random(shape) < 0.5)[::-1]
    yield np.repeat(random.random(shape) < 0.5, 2, axis=-1)[..., ::2]
    last = np.zeros(shape, bool)
    last.reshape(-1)[-1] = True
    yield last


@every_name
def test_masks_of_every_shape_select_as_in_numpy(name, device):
    """Each mask meets each type, in one of the layouts."""
    layouts = (lambda x: x, lambda x: x.transpose(2, 0, 1), lambda x: x[::-1, ::2])
    for turn, dtype in enumerate(TYPES, start=EVERY.index(name)):
        x = layouts[turn % len(layouts)](numbers(dtype, (3, 5, 37)))
        for mask in masks_of(x.shape):
            found = wrong(name, x, x, device=device, where=mask, **initial(name))
            assert not found, f"mask of {np.shape(mask)}: {found}"


MASKS = [True, False, np.True_, np.False_, [True, False, True], [[True], [False]], A > 2]
MASKS += [A.T[:, :1].T > 0, A != A, np.zeros((), bool), np.ones((1, 1), bool), [[False] * 3] * 2]
MASKS += [np._NoValue]  # NumPy's own mark, for what its caller left out
NO_MASKS = [A, FLOATS, [True, False], np.ones((2, 2), bool), [], [[True, False]], [[True], [1, 0]]]
NO_MASKS += [np.ones((2, 2, 3), bool), np.ones(6, bool), np.ones((3, 2), bool)]
NO_MASKS += [np.ones((0, 3), bool)]
DOUBTFUL = [1, 0, [1, 0, 1], 1.5, None, "yes", object(), np.zeros(3, "M8[s]")]
DOUBTFUL += [[None, True, False]]


@everywhere
@pytest.mark.parametrize("mask", [*MASKS, *NO_MASKS], ids=shown)
def test_where_selects_and_is_refused_as_in_numpy(mask, where):
    for a, op in itertools.product((A, FLOATS, SMALL, A[:, ::-1]), OPS):
        as_in_numpy(op, a, where, where=mask)
        if op != "mean":
            as_in_numpy(op, a, where, where=mask, initial=4)


@everywhere
@pytest.mark.parametrize("mask", DOUBTFUL, ids=shown)
def test_what_is_true_enough_for_numpy_is_a_mask_or_refused(mask, where):
    try:
        got = gred.sum(A, where=mask, **where)
    except TypeError as error:
        assert "where" in str(error) or "bool" in str(error)  # noqa: PT017
    else:
        assert got == np.sum(A, where=mask)


@every_name
def test_what_is_no_mask_for_a_sum_is_none_for_others(name, device):
    for mask in (*NO_MASKS, *DOUBTFUL):
        try:
            gred.sum(A, where=mask, device=device)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                getattr(gred, name)(A, where=mask, device=device)
        else:
            hides_all = not np.broadcast_to(mask, A.shape).astype(bool).any()
            if not (hides_all and name in (*PLACES, "ptp", "minmax")):
                quietly(name, A, where=mask, device=device, **initial(name))


@everywhere
def test_a_mask_is_never_broadcast_the_other_way_round(where):
    for a, mask in ((A[0], A > 2), (A[:, :1], A > 2), (np.int64(3), [True]), (A[:1], A > 2)):
        for op in OPS:
            options = where if op == "mean" else where | {"initial": 1}
            with pytest.raises(ValueError, match="where"):
                getattr(gred, op)(a, where=mask, **options)


@every_name
def test_masks_in_the_devices_memory_are_read_there(name, device):
    for dtype in TYPES:
        x = numbers(dtype, (33, 41), nan=True)
        mask = np.arange(x.size).reshape(x.shape) % 3 != 1
        for layout in (lambda y: y, lambda y: y.T, lambda y: y[:, ::2], lambda y: y[::-1, 1:]):
            a, hidden = there(x, device, layout), there(mask, device, layout)
            for given in ({"mask": hidden}, {}):
                options = {"where": layout(mask), **given, **initial(name)}
                found = wrong(name, a, layout(x), **options)
                assert not found, found


@every_name
def test_any_byte_that_is_not_zero_is_true(name, device):
    bytes_ = np.array([0, 1, 2, 255, 128, 0, 4], np.uint8)
    strange, usual = bytes_.view(bool), bytes_ != 0
    x = np.array([5, 3, 9, 2, 7, 8, 1.5])
    assert not wrong(name, x, x, device=device, where=usual, mask=strange, **initial(name, 3))
    if takes(name, np.bool_):
        for repeats in (1, 200):
            a, truth = np.tile(strange, repeats), np.tile(usual, repeats)
            assert not wrong(name, a, truth, device=device)


@every_name
def test_a_mask_that_hides_all_leaves_nothing(name, device):
    call = getattr(gred, name)
    for where in (False, np.zeros(A.shape, bool), np.zeros((), bool), [False] * 3):
        options = {"where": where, "device": device}
        if name in (*PLACES, "ptp", "minmax"):
            with pytest.raises(ValueError, match=name):
                call(A, **options)
        elif name in NEEDING:
            with pytest.raises(ValueError, match="initial"):
                call(A, **options)
            assert call(A, initial=4, **options) == 4
        elif name in SPREADS:
            with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
                assert np.isnan(call(A, **options))
        elif name in ("mean", "nanmean"):
            with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
                assert np.isnan(call(A, **options))
        elif name == "describe":
            assert quietly(name, A, **options).count == 0
        else:
            assert call(A, **options) == OF_NOTHING.get(name, 0)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "count_nonzero"])
def test_none_is_no_mask(name):
    with pytest.raises(TypeError, match="where must be an array of bool or a bool; got None"):
        getattr(gred, name)(A, where=None)
