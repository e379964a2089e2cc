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
    own = [*itertools.product(*((1, n) for n in shape)), *(shape[k:] for k in range(1, len(shape)))]
    for mask in (random.random(each) < 0.6 for each in own):
        mask.reshape(-1)[-1:] = True
        yield mask
    whole = random.random(shape) < 0.5
    yield from (True, np.True_, np.asfortranarray(whole), whole[::-1])
    yield np.repeat(whole, 2, axis=-1)[..., ::2]
    yield np.arange(np.prod(shape)).reshape(shape) == np.prod(shape) - 1


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
NO_MASKS += [np.ones(shape, bool) for shape in ((2, 2, 3), 6, (3, 2), (0, 3))]
DOUBTFUL = [1, 0, [1, 0, 1], 1.5, None, "yes", object(), np.zeros(3, "M8[s]")]
DOUBTFUL += [[None, True, False]]


@everywhere
@pytest.mark.parametrize("mask", [*MASKS, *NO_MASKS], ids=shown)
def test_where_selects_and_is_refused_as_in_numpy(mask, where):
    """It is never broadcast the other way round, to more than the array has."""
    smaller = (
        (A[0], A[:, :1], A[:1], np.int64(3)) if getattr(mask, "dtype", None) == np.bool_ else ()
    )
    arrays = (A, FLOATS, SMALL, A[:, ::-1], *smaller)
    for a, op in itertools.product(arrays, OPS):
        for options in ({}, {"initial": 4})[: 1 + (op != "mean")]:
            as_in_numpy(op, a, where, where=mask, **options)


@every_name
def test_what_is_true_enough_for_numpy_is_a_mask_for_all_or_refused_by_all(name, device):
    for mask in (*NO_MASKS, *DOUBTFUL):
        try:
            assert gred.sum(A, where=mask, device=device) == np.sum(A, where=mask)
        except (TypeError, ValueError) as error:
            if isinstance(error, TypeError):
                assert "where" in str(error) or "bool" in str(error)  # noqa: PT017
            with pytest.raises(type(error)):
                getattr(gred, name)(A, where=mask, device=device)
        else:
            hides_all = not np.broadcast_to(mask, A.shape).astype(bool).any()
            if not (hides_all and name in (*PLACES, "ptp", "minmax")):
                quietly(name, A, where=mask, device=device, **initial(name))


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
    strange = np.array([0, 1, 2, 255, 128, 0, 4], np.uint8).view(bool)
    usual = strange.view(np.uint8) != 0
    x = np.array([5, 3, 9, 2, 7, 8, 1.5])
    assert not wrong(name, x, x, device=device, where=usual, mask=strange, **initial(name, 3))
    for repeats in (1, 200) if takes(name, np.bool_) else ():
        assert not wrong(name, np.tile(strange, repeats), np.tile(usual, repeats), device=device)


OF_NOTHING = {"all": True, "nanprod": 1, "prod": 1, "logsumexp": -np.inf}
NO_RESULT = dict.fromkeys(NEEDING, "initial") | {n: n for n in (*PLACES, "ptp", "minmax")}
WARNED = dict.fromkeys(SPREADS, "Degrees of freedom <= 0")
WARNED |= dict.fromkeys(("mean", "nanmean"), "Mean of empty slice")


@every_name
def test_a_mask_that_hides_all_leaves_nothing(name, device):
    call = getattr(gred, name)
    for where in (False, np.zeros(A.shape, bool), np.zeros((), bool), [False] * 3):
        options = {"where": where, "device": device}
        if name in NO_RESULT:
            with pytest.raises(ValueError, match=NO_RESULT[name]):
                call(A, **options)
            assert name not in NEEDING or call(A, initial=4, **options) == 4
        elif name in WARNED:
            with pytest.warns(RuntimeWarning, match=WARNED[name]):
                assert np.isnan(call(A, **options))
        elif name == "describe":
            assert quietly(name, A, **options).count == 0
        else:
            assert call(A, **options) == OF_NOTHING.get(name, 0)
