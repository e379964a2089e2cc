"""Promises that every function keeps; calls.py lists the functions.

Results for contiguous arrays are tested for each function separately.
"""

import itertools
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import calls
import numpy as np
import pytest
from calls import CALLS, OTHERS, REDUCTIONS, check, drawn, every_call, lie, places_of, results
from devices import GPU_IS_HERE, put, to_host
from drawn import FLAVOURS, misaligned, values
from hostile import Nameless
from reference import BFLOAT16, COMPLEX, EVERY_TYPE
from samples import silenced
from thin import chosen

import gred
from gred import _core
from gred.testing import SimulatedArray

ROOM_FOR_ALL = 2**40  # bytes of workspace
REAL = [dtype for dtype in EVERY_TYPE if dtype not in COMPLEX]


def whole(arrays):
    """Copy arrays to contiguous memory of their own, in native byte order."""
    return [np.array(one, one.dtype.newbyteorder("="), order="C") for one in arrays]


def bytes_of(arrays):
    return b"".join(one.tobytes() for one in arrays)


@every_call
def test_neither_a_layout_nor_a_limited_workspace_changes_a_result(name):
    """Nor does it change the error, for types that have no result.

    The workspace has room for one element or more; what cannot go in pieces raises MemoryError.
    """
    layouts = calls.LAYOUTS | calls.OF_THE_HOST
    types = EVERY_TYPE if name in REDUCTIONS else REAL  # few other calls take complex numbers
    where = list(itertools.product(places_of(name), layouts))
    every = chosen(itertools.product(where, (1, 2000, 20_000)), name, "limit")
    every += [(one, ROOM_FOR_ALL) for one in chosen(where, name)]
    for (place, layout), limit in every:
        for dtype in chosen(types, name, (place, layout)):
            there = place in ("simulated", "cuda")
            swapped = dtype == BFLOAT16 and "byte order" in layout
            if swapped or (there and layout in calls.OF_THE_HOST):
                continue
            arrays = CALLS[name].of(layouts[layout](drawn(name, dtype)))
            try:
                want = results(name, whole(arrays))
            except TypeError:
                with pytest.raises(TypeError):
                    results(name, lie(arrays, place), place)
                continue
            with gred.workspace_limit(limit):
                try:
                    check(name, results(name, lie(arrays, place), place), want)
                except MemoryError:
                    assert limit < ROOM_FOR_ALL
                    assert name in OTHERS, "arrays go in pieces"


@every_call
def test_inputs_are_never_written_and_need_not_be_writable(name):
    for place, layout in itertools.product(places_of(name), ("as it is", "columns backwards")):
        arrays = CALLS[name].of(calls.LAYOUTS[layout](drawn(name, "f8")))
        before, there = bytes_of(arrays), lie(arrays, place)
        for one in arrays:
            one.flags.writeable = False
        results(name, there, place)
        results(name, lie(arrays, place), place)
        if name in calls.RUNGS and place != "brought":
            method = CALLS[name].run.keywords["method"]
            gred.kernel_time(there[0], method=method, samples=2, warmup=0, cold=False)
        assert bytes_of(map(np.asarray, arrays)) == before


@every_call
def test_no_threads_and_no_order_of_them_change_a_bit(name, threads_as_before):
    """Except for `atomic`, which adds in the order of the blocks."""
    for place in places_of(name):
        shape = (500, 1003) if place == "host" else (70, 311)
        x, made = np.random.default_rng(2).normal(size=shape), set()
        x = np.repeat(x, 2, 1)[:, ::2] if len(name) % 2 else x
        arrays = lie(CALLS[name].of(x), place)
        orders = (("forwards",), ("backwards",), ("shuffled", 1))
        for threads, order in zip((1, 2, 16), orders, strict=True):
            gred.threads(threads)
            with gred.thread_order(*order):
                made.add(bytes_of(results(name, arrays, place)))
        if place == "host":
            with ThreadPoolExecutor(3) as pool:
                made |= set(map(bytes_of, pool.map(partial(results, name), [arrays] * 3)))
        assert len(made) == 1 or "atomic" in name


# ---- out= ----

OUT_CALLS = [name for name, call in CALLS.items() if call.out]
every_out = pytest.mark.parametrize("name", OUT_CALLS)
SIDES = ("host", "simulated", *["cuda"] * GPU_IS_HERE)


def all_along(*bounds):
    return lambda x: x[(slice(*bounds),) * x.ndim or ...]


# The memory's shape for results of some shape, and their view of it.
OUTS = {
    "as it is": (lambda shape: shape, lambda x: x[...]),
    "transposed": (lambda shape: shape[::-1], lambda x: x.T),
    "backwards": (lambda shape: shape, all_along(None, None, -1)),
    "every other": (lambda shape: [2 * n for n in shape], all_along(None, None, 2)),
    "every third, backwards": (lambda shape: [3 * n for n in shape], all_along(None, None, -3)),
    "between others": (lambda shape: [n + 4 for n in shape], all_along(2, -2)),
}
# Types that `out` may have besides the results' own.
KINDS = {"f": ("f8", "f4"), "i": ("i8", "i4"), "u": ("u8",), "b": ("i1", "f4")}


def sides_of(name):
    """Pair places of arrays with places of `out`: the same, to the host or from it."""
    pairs = itertools.product(places_of(name), SIDES)
    if "each" in name:
        return [(place, side) for place, side in pairs if place == side]
    sides = {"host": ("host", "simulated") if "vecdot" in name else SIDES}
    sides["brought"] = ("host", "simulated")
    return [(place, side) for place, side in pairs if side in sides.get(place, ("host", place))]


@every_out
def test_out_of_any_strides_and_type_gets_the_results_alone(name):
    """The type of `out` is the results' own, or another one for float64 results."""
    types = [one for one in EVERY_TYPE if name in REDUCTIONS or one not in COMPLEX]
    every = itertools.product(sides_of(name), OUTS, (None, 0, -1), (1, 2**30))
    for turn, ((place, side), layout, other, limit) in enumerate(chosen(every, name)):
        dtype = types[turn % len(types)] if other is None else np.float64
        arrays = CALLS[name].of(drawn(name, dtype, (3, 4, 40) if "along" in name else calls.SHAPE))
        try:
            (want,) = results(name, arrays)
        except TypeError:
            continue
        around, part = OUTS[layout]
        kind = want.dtype if other is None else KINDS[want.dtype.kind][other]
        model = np.full(around(want.shape), 7, kind)
        memory, out = put(model.copy(), side, part)
        options = {"device": "simulated"} if place == "brought" else {}
        with silenced(), gred.workspace_limit(limit):
            try:
                assert CALLS[name].run(*lie(arrays, place), out=out, **options) is out
            except MemoryError:
                assert name in OTHERS
                continue
        part(model)[...] = want.astype(kind)
        check(name, [to_host(memory).reshape(model.shape)], [model])


PARTS = {0: (np.s_[0], np.s_[2], np.s_[-1, ::-1]), 1: (np.s_[:, 0], np.s_[::-1, 5])}


@pytest.mark.parametrize("name", [name for name in OUT_CALLS if ", along" in name])
def test_out_may_lie_where_elements_do(name):
    """All elements are read before any is overwritten, and no others are overwritten."""
    axis = int(name[name.index("along") + 6])
    dtype = results(name, [drawn(name, "f8")])[0].dtype
    x = drawn(name, dtype)
    (want,) = results(name, [x])
    for side, part, order in itertools.product(SIDES, PARTS[axis], ("forwards", "shuffled")):
        memory, out = put(x.copy(), side, lambda x, part=part: x[part])
        array = memory.described(shape=x.shape) if side == "cuda" else memory
        with gred.thread_order(order), silenced():
            CALLS[name].run(array, out=out)
        model = x.copy()
        model[part] = want
        np.testing.assert_allclose(to_host(memory).reshape(x.shape), model, 1e-13, 1e-13)


@pytest.mark.parametrize("make", [np.array, SimulatedArray])
def test_out_may_be_the_mask_the_mean_or_the_offsets(make):
    x, y = np.random.default_rng(9).normal(size=(6, 6)), np.arange(900) ** 2
    mask = make(x > 0)
    gred.any(make(x), 0, where=mask, out=mask[1])
    np.testing.assert_array_equal(to_host(mask)[1], np.any(x, 0, where=x > 0))
    memory = make(np.append(x.mean(0), 0))
    gred.var(make(x), 0, mean=memory[None, :6], out=memory[1:])
    right = np.var(x, 0, mean=x.mean(0, keepdims=True))
    np.testing.assert_allclose(to_host(memory)[1:], right, rtol=1e-12)
    for offsets in ([0, 4, 8], [8, 4, 0], np.arange(0, 900, 2)):
        there = make(np.array(offsets))
        gred.reduceat("sum", make(y), there, out=there)
        np.testing.assert_array_equal(to_host(there), np.add.reduceat(y, offsets))


def wrong_outs(want):
    """Yield invalid outs for such results, and the expected errors."""
    locked = np.zeros_like(want)
    locked.setflags(write=False)
    there = SimulatedArray(np.zeros_like(want))
    address = there.__cuda_array_interface__["data"][0]
    yield locked, ValueError
    yield there.described(data=(address, True)), ValueError
    for shape in ((*want.shape, 2), (2, *want.shape), (3,), (0,)):
        yield np.zeros(shape, want.dtype), ValueError
        yield SimulatedArray(np.zeros(shape, want.dtype)), ValueError
    for no_array in (3, 3.5, [0.0], (0,), "out", np.float64(1), object(), bytearray(8)):
        yield no_array, (TypeError, ValueError)
    yield np.ma.zeros(want.shape, want.dtype), TypeError
    for dtype in ("O", "S8", "M8[s]", "g", "i4,f4"):
        yield np.zeros(want.shape, dtype), TypeError
    yield there.described(data=(8, False)), (ValueError, RuntimeError)
    yield there.described(typestr="|O8"), TypeError
    yield there.described(mask=object()), ValueError


@every_out
def test_what_is_no_out_is_refused_and_not_written(name):
    arrays = CALLS[name].of(drawn(name, "f8"))
    (want,) = results(name, arrays)
    for out, error in wrong_outs(want):
        if "vecdot" in name and isinstance(out, SimulatedArray) and out.shape == want.shape:
            continue  # which is written by its library
        with pytest.raises(error), silenced():
            CALLS[name].run(*arrays, out=out)
        if isinstance(out, np.ndarray) and out.dtype == want.dtype:
            assert not out.any()


class Deleted:
    """An array that raises when its buffer is requested, like a deleted one of JAX."""

    def __init__(self, error):
        self.error = error

    def _refuse(self, *_, **__):
        raise self.error("nothing there")

    __dlpack__ = __dlpack_device__ = __array__ = _refuse
    __cuda_array_interface__ = property(_refuse)

    def is_deleted(self):
        return True


NO_ARRAYS = {
    "masked": (lambda x: np.ma.array(x, mask=x > 3), TypeError, "masked"),
    "masked, all shown": (np.ma.array, TypeError, "masked"),
    "text": (lambda x: x.astype("U9"), TypeError, None),
    "objects": (lambda x: x.astype(object), TypeError, None),
    "times": (lambda x: np.zeros(x.shape, "M8[s]"), TypeError, None),
    "records": (lambda x: np.zeros(x.shape, "i4,f4"), TypeError, None),
    "long doubles": (lambda x: x.astype(np.longdouble), TypeError, None),
    "an object": (lambda x: object(), (TypeError, ValueError), None),
    "what cannot be shown": (lambda x: Nameless(), Exception, None),
}
NO_ARRAYS |= {
    f"deleted, {error.__name__}": (lambda x, error=error: Deleted(error), RuntimeError, "deleted")
    for error in (TypeError, ValueError, BufferError, RuntimeError, AttributeError)
}
LOOSE = ("reduceat", "var about")  # offsets and means may be other things than arrays of numbers


@every_call
def test_what_is_no_array_of_numbers_is_refused(name, the_next_call_is_right):
    """As any of the arrays."""
    arrays = CALLS[name].of(drawn(name, "f8"))
    for place, kind in itertools.product(range(len(arrays)), NO_ARRAYS):
        if place and name.startswith(LOOSE) and kind != "masked":
            continue
        make, error, words = NO_ARRAYS[kind]
        given = [make(one) if k == place else one for k, one in enumerate(arrays)]
        with pytest.raises(error, match=words), silenced():
            CALLS[name].run(*given)


# Invalid values of each option.
NO_OPTIONS = {
    "method": ["unrol8", "\0", "", 3, b"auto", None, ["auto"], Nameless()],
    "device": ["tpu", "cuda:x", "host:0", "simulated\0", "", 3, b"host", ["host"], Nameless()],
    "stream": [0, -1, 2**64, "1", 1.5, Nameless()],
    "dtype": ["O", "U3", "M8[s]", "V4", ">f8", "f16", "nonsense", 3, object()],
    "axis": ["x", 9, -9, (0, 0), 1.0, {}],
    "keepdims": ["x", 1.5],
    "where": [None, Nameless()],
    "initial": ["x", [1, 2], 1j, object()],
    "block_size": [77, "big", 256.0, True],
    "nonsense": [3],
}
OF_ALL = {"method": ["unrol8", 3], "device": ["tpu", 3], "nonsense": [3]}
CASES = [(name, option) for name in REDUCTIONS for option in NO_OPTIONS]
CASES += [(name, option) for name in OTHERS if "Exact" not in name for option in OF_ALL]


@pytest.mark.parametrize(("name", "option"), CASES)
def test_what_is_no_option_is_refused_and_named(name, option, the_next_call_is_right):
    call = CALLS[name]
    if option in getattr(call.run, "keywords", {}):
        return
    for value in (NO_OPTIONS if name in REDUCTIONS else OF_ALL)[option]:
        with pytest.raises(Exception) as caught, silenced():  # noqa: PT011
            call.run(*call.of(drawn(name, "f8")), **{option: value})
        said = str(caught.value)
        if not isinstance(caught.value, ZeroDivisionError):  # raised by the value itself
            assert isinstance(caught.value, TypeError | ValueError | IndexError | OverflowError)
            assert option in said or "out of bounds" in said, said


# ---- the fast path for flat NumPy arrays without arguments ----

# `where=True` changes nothing, but as an argument it selects the slow path.
CHUNK, FEW = 4096, 16  # elements per chunk, and the number of chunks that needs no heap memory
AROUND = (CHUNK, 2 * CHUNK, FEW * CHUNK)
LENGTHS = (0, 1, 2, 3, 15, 16, 17, 63, 1023, *(n + k for n in AROUND for k in (-1, 0, 1)))
every_reduction = pytest.mark.parametrize("name", [row.name for row in gred.reductions()])


def told(value):
    """Return the type and bits of a value, or of each field of a record."""
    if isinstance(value, tuple):
        return tuple(map(told, value))
    return type(value), value.dtype, value.tobytes()


def outcome(name, a, **options):
    """Return a call's result or error, and its warnings with their places."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = told(getattr(_core, name)(a, **options))
        except Exception as error:
            result = type(error), str(error)
    return result, [(w.category, str(w.message), w.filename) for w in caught]


def arrays_of(name, dtype):
    """Yield flat arrays of any length and values, and arrays that only look flat."""
    random = np.random.default_rng(9)
    for n, flavour in chosen(itertools.product(LENGTHS, FLAVOURS), name, dtype):
        yield values(dtype, flavour, n, random)
    for layout, lay in (calls.LAYOUTS | calls.OF_THE_HOST).items():
        if dtype != BFLOAT16 or "byte order" not in layout:
            yield lay(values(dtype, "small", 160, random).reshape(4, 40))
    x = values(dtype, "small", 24, random)
    yield from (x.reshape(2, 3, -1), x.reshape(1, -1, 1), x[:0].reshape(0, 3), x[:7:7])
    yield from (x[5], x[5:6].reshape(()), x[1:-1], x[::2], x[::-1], misaligned(x))
    yield x.view(type("Derived", (np.ndarray,), {}))
    yield np.ma.masked_array(x, mask=[k % 2 for k in range(x.size)])
    x.flags.writeable = False
    yield x


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
@every_reduction
def test_an_array_alone_is_answered_as_with_arguments(name, dtype):
    for a in arrays_of(name, dtype):
        assert outcome(name, a) == outcome(name, a, where=True)


@every_reduction
def test_other_types_of_numpys_are_answered_or_refused_alike_and_no_reference_is_kept(name):
    numbers = ("longlong", "ulonglong", "long", "ulong", "longdouble", "clongdouble", "O")
    arrays = [np.arange(6).astype(dtype) for dtype in numbers]
    arrays += [np.zeros(6, dtype) for dtype in ("S3", "U3", "M8[s]", "m8[s]", "V2", "i4,f4")]
    for a in (*arrays, np.ones(9)):
        before = sys.getrefcount(a)
        for _ in range(30):
            assert outcome(name, a) == outcome(name, a, where=True)
        assert sys.getrefcount(a) == before


@pytest.mark.parametrize("name", ["nanmin", "nanmax", "nanmean", "mean"])
def test_a_warning_names_the_callers_file_and_can_be_an_error(name):
    a = np.full(3 if name != "mean" else 0, np.nan)
    [(category, _, filename)] = outcome(name, a)[1]
    assert (category, filename) == (RuntimeWarning, __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            getattr(_core, name)(a)


def test_short_calls_of_many_threads_do_not_mix():
    def are_right(k):
        a, every = np.full(7, k, np.int32), (_core.sum, _core.mean, _core.max)
        return all([reduce(a) for reduce in every] == [7 * k, k, k] for _ in range(3000))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(are_right, range(8)))
