"""Lists of arrays: reduced as the one array that their elements are, or each by itself.

Elements are small integers, so that NumPy's sums are exact in any order; what has roots or
quotients is compared to within the roundings of its type.
"""

import itertools

import numpy as np
import pytest
from devices import laid_out, to_host
from drawn import often
from hypothesis import given
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE
from samples import wrong_result

import gred
from gred.testing import SimulatedArray

RECORDS = ("minmax", "describe")
NAMES = [one.name for one in gred.reductions()]
NEEDS_SOME = ("min", "max", "argmin", "argmax", "ptp", "nanmin", "nanmax", "minmax", "describe")
NEEDS_SOME += ("mean", "nanmean", "var", "std")
SHAPES = ((7,), (3, 5), (), (0, 4), (50_000,), (2, 3, 129), (1, 1))


def parts(dtype, shapes=SHAPES):
    """Draw the arrays of a list: 0 and 1 where sums of more would be rounded."""
    random = np.random.default_rng(1)
    most = 2 if dtype in (np.bool_, BFLOAT16, np.float16) else 7
    return [np.asarray(random.integers(0, most, shape)).astype(dtype) for shape in shapes]


def joined(arrays):
    """Make one array of them, as NumPy promotes their types."""
    return np.concatenate([np.ravel(x) for x in arrays])


def check(name, arrays, device):
    """Reduce a list as a whole, and each of its arrays that has a result by itself."""
    there = [laid_out(x, device) for x in arrays]
    assert not wrong_result(name, getattr(gred, name)(there), joined(arrays))
    kept = [k for k, x in enumerate(arrays) if x.size or name not in NEEDS_SOME]
    got = to_host(gred.each(name, [there[k] for k in kept]))
    for place, k in enumerate(kept):
        of_one = [field[place] for field in got] if name in RECORDS else got[place]
        one = getattr(type(got), "_make", tuple)(of_one) if name in RECORDS else of_one
        assert not wrong_result(name, one, arrays[k].ravel())
    assert name in RECORDS or got.shape == (len(kept),)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_a_list_is_reduced_as_one_array_and_each_has_a_result(dtype, name, device):
    if dtype == np.bool_ and name == "ptp":
        pytest.skip("NumPy has no ptp of bool")
    rounds = name in ("sum", "nansum", "norm", "describe", "ptp")  # more than such types hold
    check(name, parts(dtype)[: 4 if rounds and dtype in (BFLOAT16, np.float16) else None], device)


LAYOUTS = {
    "transposed": lambda x: x.T,
    "every second": lambda x: x[:, ::2],
    "reversed": lambda x: x[::-1],
    "rows": lambda x: x[:, 1:-1],
    "broadcast": lambda x: np.broadcast_to(x[0], x.shape),
    "none of it": lambda x: x[:0],
}


@pytest.mark.parametrize("pair", list(itertools.combinations(EVERY_TYPE, 2)), ids=str)
def test_types_are_promoted_as_numpy_does(pair, device):
    arrays = [(np.arange(5) % 2).astype(dtype) for dtype in pair]
    there = [laid_out(x, device) for x in arrays]
    total, each = gred.sum(there), to_host(gred.each("sum", there))
    assert complex(total) == 4
    assert [complex(one) for one in each] == [2, 2]
    if BFLOAT16 not in pair:
        assert each.dtype == total.dtype == joined(arrays).sum().dtype


def test_positions_count_through_all_arrays(device):
    x = np.random.default_rng(3).permutation(100_000).astype(np.float32)
    ones, zeros = np.ones(70_000, np.int8), np.zeros(5)
    zeros[3] = np.nan
    for parts in (np.split(x, [10, 11, 40_000, 99_990]), [ones[:3], ones], [np.ones(4), zeros]):
        there = [laid_out(part, device) for part in parts]
        assert gred.argmax(there) == joined(parts).argmax()
        assert gred.argmin(there) == joined(parts).argmin()


def test_exact_sums_of_a_list_are_rounded_once(device):
    arrays = [np.array([1e100, 1.0]), np.array([[1.0], [-1e100]]), np.array([2.0**-60])]
    there = [laid_out(x, device) for x in arrays]
    assert gred.sum(there, method="exact") == 2.0
    assert gred.mean(there, method="exact") == 0.4
    assert gred.norm([there[1]], method="exact") == 1e100
    assert to_host(gred.each("sum", there, method="exact")).tolist() == [1e100, -1e100, 2.0**-60]
    nothing = [laid_out(-np.zeros(2), device), laid_out(-np.zeros(3), device)]
    assert np.signbit(gred.sum(nothing, method="exact", initial=-0.0))


def test_a_result_does_not_depend_on_the_other_arrays(device):
    """Bit for bit, for any number of them; larger ones take several tiles."""
    random = np.random.default_rng(5)
    arrays = [random.normal(size=n).astype(np.float32) for n in (1, 33, 5000, 40_001)]
    there = [laid_out(x, device) for x in arrays]
    for name in ("sum", "mean", "norm", "var"):
        alone = [to_host(gred.each(name, [x]))[0] for x in there]
        for count in (2, 3, 5, 8, 63):
            got = to_host(gred.each(name, [there[k % 4] for k in range(count)]))
            assert got.tobytes() == np.array([alone[k % 4] for k in range(count)]).tobytes()


def test_options_hold_for_all(device):
    arrays = parts(np.int32)
    there, whole = [laid_out(x, device) for x in arrays], joined(arrays)
    for options in ({"initial": 5}, {"dtype": np.float64}, {"dtype": np.int16}):
        total, each = gred.sum(there, **options), to_host(gred.each("sum", there, **options))
        assert (total, total.dtype) == (whole.sum(**options), whole.sum(**options).dtype)
        np.testing.assert_array_equal(each, [x.sum(**options) for x in arrays])
    assert gred.var(there, ddof=1) == pytest.approx(whole.var(ddof=1))
    assert gred.norm(there, 1) == np.abs(whole).sum()
    assert to_host(gred.each("norm", there, ord=np.inf)).max() == whole.max()


def test_nothing_is_what_numpy_says(device):
    empty, some = laid_out(np.zeros(0), device), laid_out(np.ones(3), device)
    assert gred.sum([empty, empty]) == 0
    assert to_host(gred.each("sum", [empty, some])).tolist() == [0, 3]
    assert gred.max([empty, some]) == 1
    for call in (lambda: gred.each("max", [some, empty]), lambda: gred.argmin([empty])):
        with pytest.raises(ValueError, match="empty"):
            call()
    assert to_host(gred.each("max", [some, empty], initial=-5)).tolist() == [1, -5]
    if device == "host":
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            got = gred.each("mean", [some, empty])
    else:
        got = to_host(gred.each("mean", [some, empty]))
    np.testing.assert_array_equal(got, [1, np.nan])
    assert gred.sum(iter(())) == 0
    assert gred.each("max", []).shape == (0,)


def test_iterators_are_lists_and_keep_their_arrays(device):
    """Nobody else does."""
    assert gred.sum(laid_out(np.full(1000, k), device) for k in range(40)) == 1000 * sum(range(40))
    arrays = map(lambda k: laid_out(np.full(1000, k), device), range(40))
    assert to_host(gred.each("max", arrays)).tolist() == list(range(40))


def test_what_numpy_makes_an_array_of_is_one_where_there_are_axes():
    rows = [np.arange(3), np.arange(3) + 1]
    assert gred.sum(rows, axis=0).tolist() == [1, 3, 5]
    assert gred.max(rows, keepdims=True).tolist() == [[3]]
    assert gred.sum(rows, where=[[True, False, True]]) == 6


def test_the_hosts_arrays_go_elsewhere_and_by_methods_as_one():
    arrays, out = [np.arange(50.0), np.ones(3)], SimulatedArray(np.zeros(1))
    for way in (*({"method": m} for m in ("recursive", "unroll8")), {"device": "simulated"}):
        assert gred.sum(arrays, **way) == 1228
    assert gred.sum(arrays, out=out) is out
    assert to_host(out).tolist() == [1228]


def resized(other):
    """Make an object that has its neighbour in a list resized when it is viewed."""

    def view(*_, **__):
        other.resize(3, refcheck=False)
        return np.ones(2)

    return type("Resizes", (), {"__array__": view})()


def test_a_list_whose_arrays_change_it_meanwhile_is_what_it_was_or_refused():
    class Clears(SimulatedArray):
        @property
        def __cuda_array_interface__(self):
            arrays.clear()
            return super().__cuda_array_interface__

    arrays = [SimulatedArray(np.ones(3)), Clears(np.ones(4)), SimulatedArray(np.ones(5))]
    assert gred.sum(arrays) == 12
    x = np.ones(100_000)
    with pytest.raises(ValueError, match="resized"):
        gred.sum([x, resized(x)])


HERE, THERE = np.ones(3), SimulatedArray(np.ones(3))
NO_LISTS = [
    (gred.each, ("sum", [HERE, THERE]), {}, ValueError, "several places"),
    (gred.max, ([HERE, THERE],), {}, TypeError, "max does not take arrays that lie in several"),
    (gred.each, ("sum", [HERE, "text"]), {}, TypeError, "element type"),
    (gred.each, ("sum", 5), {}, TypeError, None),
    (gred.each, ("median", [HERE]), {}, ValueError, "name of a reduction"),
    (gred.each, ("sum", [HERE]), {"out": SimulatedArray(HERE[:1])}, ValueError, "lie on the host"),
    *(
        (gred.each, ("sum", [HERE]), {"method": method}, ValueError, "'auto' or 'exact'")
        for method in ("unroll8", "recursive", "none")
    ),
    (gred.sum, ([np.broadcast_to(HERE, (2**55, 3))] * 40,), {}, ValueError, "more elements than"),
    (gred.sum, ([THERE],), {"axis": 0}, TypeError, "no axis"),
    (gred.sum, ([THERE],), {"keepdims": True}, TypeError, "no keepdims"),
    (gred.sum, ([THERE],), {"where": [True]}, TypeError, "no where"),
    (gred.var, ([THERE, THERE],), {"mean": 1.0}, TypeError, "no mean"),
]


@pytest.mark.parametrize(("call", "arguments", "options", "error", "words"), NO_LISTS)
def test_what_is_no_list_of_arrays_is_refused(call, arguments, options, error, words):
    with pytest.raises(error, match=words):
        call(*arguments, **options)


@given(st.data())
@often(60)
def test_any_list_of_arrays_that_lie_in_any_way_is_reduced_as_numpy_does(data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from([np.int8, np.float32, np.float64, np.uint64]))
    columns = data.draw(st.lists(st.sampled_from([0, 3, 4, 5, 250, 9_000]), min_size=1))
    arrays = [random.integers(0, 5, (4, n)).astype(dtype) for n in columns]
    layouts = st.sampled_from(list(LAYOUTS.values()))
    arrays = [data.draw(layouts)(x) if x.shape[1] in (4, 250) else x.ravel()[1:] for x in arrays]
    name = data.draw(st.sampled_from(["sum", "count_nonzero", "any", "nansum", "var"]))
    for device in ("host", "simulated"):
        check(name, arrays, device)
