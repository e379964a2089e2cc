"""Every kind of array goes in, however it lies in memory, and NumPy's scalar comes out."""

import array
import gc

import numpy as np
import pytest
from drawn import examples, misaligned
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import ELEMENT_TYPES, OPS, reduce, shown
from level import stays_level
from numpys import PLACES, everywhere
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, agrees, truth

import gred

every_type = pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)


def able(where, dtype):
    """Give a place with a method that takes the type: complex numbers have no rungs."""
    return {"device": where["device"]} if dtype in COMPLEX else where


def numbered(dtype, shape=(4, 6, 5)):
    """Fill an array with different numbers, of which no two parts add up to the same."""
    return (np.arange(1, np.prod(shape) + 1) ** 2 % 1009).reshape(shape).astype(dtype)


def field_of_records(x):
    records = np.zeros(x.shape, [("other", np.int8), ("wanted", x.dtype)])
    records["wanted"] = x
    return records["wanted"]


LAYOUTS = {
    "C order": lambda x: x,
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.transpose(2, 0, 1),
    "every other": lambda x: x[::2, ::3, ::2],
    "an inner part": lambda x: x[1:3, 2:5, 1:],
    "backwards": lambda x: x[::-1, :, ::-1],
    "one column": lambda x: x[:, 3, 2],
    "a contiguous row": lambda x: x[2, 3],
    "stride 0": lambda x: np.broadcast_to(x[:, :1, :], x.shape),
    "one element broadcast": lambda x: np.broadcast_to(x[0, 0, 1], (3, 700)),
    "overlapping windows": lambda x: np.lib.stride_tricks.sliding_window_view(x.ravel(), 7),
    "no dimensions": lambda x: x[1, 2, 3, ...],
    "one element": lambda x: x[1:2, 2:3, 3:4],
    "misaligned": misaligned,
    "misaligned and strided": lambda x: misaligned(x)[:, ::2],
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "other byte order, strided": lambda x: x.astype(x.dtype.newbyteorder())[::-2],
    "field of records": field_of_records,
    "matrix": lambda x: x[0].view(np.matrix),
    "record array": lambda x: x.view(np.recarray),
}


@everywhere
@every_type
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_any_layout_goes_in_and_stays_as_it_was(layout, dtype, where):
    if dtype == BFLOAT16 and "byte order" in next(k for k, v in LAYOUTS.items() if v is layout):
        pytest.skip("ml_dtypes has bfloat16 in this machine's byte order only")
    a = layout(numbered(dtype))
    before = a.tobytes()
    elements = np.array(a, dtype, order="C")
    for op in ("sum", "min", "max", "mean", *(["prod"] if dtype in INTEGERS else [])):
        got = reduce(op, a, **able(where, dtype))
        assert agrees(got, truth(op, elements)), f"{op}: {got!r}"
        a.setflags(write=False)
    assert a.tobytes() == before


@st.composite
def views(draw):
    """Make any view of a small array: sliced with any steps, transposed, some axes indexed away."""
    shape = draw(st.lists(st.integers(1, 6), max_size=4))
    view = numbered(draw(st.sampled_from(ELEMENT_TYPES)), tuple(shape))
    if draw(st.booleans()):
        view = view.astype(view.dtype.newbyteorder())
    index = [
        draw(
            st.one_of(
                st.integers(0, length - 1),
                st.builds(
                    slice,
                    st.integers(-length - 1, length + 1) | st.none(),
                    st.integers(-length - 1, length + 1) | st.none(),
                    st.sampled_from([None, 1, 2, 3, -1, -2]),
                ),
            )
        )
        for length in shape
    ]
    view = view[tuple(index)] if index else view
    return np.asarray(view).transpose(draw(st.permutations(range(np.ndim(view)))))


@everywhere
@settings(max_examples=examples(150), deadline=None)
@given(view=views())
def test_any_view_sums_to_what_its_elements_do(view, where):
    expected = sum(view.ravel().tolist())
    assert gred.sum(view, **where) == expected


# ---- what is not a NumPy array ----


@everywhere
@pytest.mark.parametrize("code", "bBhHiIqlQLfd")
def test_arrays_of_the_standard_library_go_in(code, where):
    a = array.array(code, [5, 1, 3])
    for given_array in (a, memoryview(a), memoryview(a)[::2], memoryview(a)[::-1]):
        for op in OPS:
            got = reduce(op, given_array, **where)
            assert agrees(got, truth(op, np.array(given_array))), f"{op}: {got!r}"


@everywhere
def test_buffers_with_a_format_and_a_shape_go_in(where):
    buffer = memoryview(np.arange(6, dtype=np.float32).tobytes()).cast("f", (2, 3))
    assert gred.sum(buffer, **where) == 15
    assert gred.sum(buffer, **where).dtype == np.float32


@everywhere
def test_a_buffer_is_released(where):
    a = array.array("d", [1, 2, 3])
    gred.sum(a, **where)
    with pytest.raises(TypeError):
        gred.sum(a, method=3, **{"device": where["device"]})
    gc.collect()
    a.append(4)
    assert gred.sum(a, **where) == 10


class Convertible:
    """An object that knows how to become an array."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


@everywhere
@every_type
def test_objects_that_become_arrays_go_in(dtype, where):
    got = gred.sum(Convertible(numbered(dtype)), **able(where, dtype))
    assert agrees(got, truth("sum", numbered(dtype)))


@everywhere
@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        (1.5, 2.5),
        [[1, 2], [3, 4]],
        range(10),
        [np.float32(1.5), np.float32(2)],
        [],
        7,
        -2.5,
        np.int32(7),
        np.float32(2.5),
        np.uint64(2**63),
        [2**63, 1],
        [True, False],
        True,
        1j,
        [1, 2j],
        np.float16(2.5),
        np.int8(-3),
        np.complex64(1 + 2j),
    ],
    ids=shown,
)
def test_sequences_and_scalars_are_numpys(values, where):
    for op in ("sum", "prod"):
        place = able(where, np.asarray(values).dtype)
        got, expected = reduce(op, values, **place), getattr(np, op)(values)
        assert got == expected
        assert got.dtype == expected.dtype


@everywhere
def test_a_mapped_file_goes_in(tmp_path, where):
    path = tmp_path / "numbers"
    numbered(np.int64).tofile(path)
    a = np.memmap(path, np.int64, mode="r", offset=8)
    assert agrees(gred.sum(a, **where), truth("sum", np.array(a)))


@everywhere
def test_a_subclass_of_an_array_goes_in_as_its_elements(where):
    class Strange(np.ndarray):
        def sum(self, *_, **__):
            raise AssertionError("nobody asked for this")

        __add__ = __getitem__ = __len__ = sum

    assert gred.sum(np.arange(10).view(Strange), **where) == 45


def metres(library, values):
    if library == "pint":
        return pytest.importorskip("pint").UnitRegistry().Quantity(values, "m")
    return pytest.importorskip("astropy.units").Quantity(values, "m")


WITH_UNITS = {
    "a": lambda metres: gred.sum(metres),
    "axis": lambda metres: gred.max(metres, axis=0),
    "a of explain": lambda metres: gred.explain(metres),
    "b": lambda metres: gred.dot([1.0, 2.0], metres),
    "values": lambda metres: gred.reduceat("add", metres, [0]),
    "a of ExactSum": lambda metres: gred.ExactSum(metres),
    "out": lambda metres: gred.sum([[1.0, 2.0]], axis=0, out=metres),
    "mean": lambda metres: gred.var([[1.0, 2.0]], axis=0, mean=metres),
    "initial": lambda metres: gred.sum([1.0], initial=metres[0]),
}


@pytest.mark.parametrize(("library", "number"), [("pint", "magnitude"), ("astropy", "value")])
@pytest.mark.parametrize("role", WITH_UNITS)
def test_units_are_not_dropped(role, library, number):
    metres_given, name = metres(library, [1.0, 2.0]), role.split()[0]
    told = rf"{name.replace('axis', 'a')}.* (a unit.*\.{number}|must be a number)"
    with pytest.raises(TypeError if role != "initial" else (TypeError, ValueError), match=told):
        WITH_UNITS[role](metres_given)
    assert gred.sum(getattr(metres_given, number)) == 3


@everywhere
@every_type
@pytest.mark.parametrize("op", OPS)
def test_results_are_scalars_of_numpys_type(op, dtype, where):
    got = reduce(op, np.ones(5, dtype), **able(where, dtype))
    expected = getattr(np, op)(np.ones(5, dtype))
    assert type(got) is type(expected)
    assert got == expected


@pytest.mark.parametrize("code", ["?", *"bBhHiIlLqQpPefdFD"])
def test_all_of_cs_names_for_a_type_are_one_type(code):
    a = np.ones(5, code)
    assert gred.sum(a) == 5
    assert gred.sum(a).dtype == np.sum(a).dtype
    assert gred.sum([1.0], dtype=code).dtype == np.dtype(code)
    assert gred.sum(memoryview(a)) == 5


@pytest.mark.parametrize("dtype", [int, float, "int32", "f4", "<f8", np.int64, np.dtype("u8")])
def test_dtype_is_what_numpy_takes_for_one(dtype):
    for where in PLACES:
        got = gred.sum(np.arange(5), dtype=dtype, **where)
        assert got == 10
        assert got.dtype == np.dtype(dtype)


class Several:
    """An object that offers itself in several ways, of which one needs no copy."""

    def __init__(self, array):
        self.array = array
        self.asked = []

    @property
    def __array_interface__(self):
        self.asked.append("interface")
        return self.array.__array_interface__

    def __array__(self, dtype=None, copy=None):
        self.asked.append("array")
        return self.array.copy()

    def __dlpack__(self, **options):
        self.asked.append("dlpack")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_the_way_that_avoids_a_copy_wins():
    several = Several(np.arange(10.0))
    assert gred.sum(several) == 45
    assert "array" not in several.asked


@everywhere
def test_the_array_interface_goes_in(where):
    class Interface:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    for dtype in EVERY_TYPE:
        if dtype == BFLOAT16:
            continue
        x = numbered(dtype)
        for view in (x, x.T, x[::2, ::-1]):
            got = gred.sum(Interface(view), **able(where, dtype))
            assert agrees(got, truth("sum", view))


# ---- memory ----


def test_references_and_memory_stay_flat():
    """Arrays of all kinds, again and again: whoever took a reference gave it back."""
    plain = numbered(np.float64)
    given_arrays = [plain, plain[::2], misaligned(plain), array.array("d", [1, 2]), [1.0, 2.0]]

    def reduce_all():
        for a in given_arrays:
            for where in PLACES:
                for op in OPS:
                    reduce(op, a, dtype=np.float64, **where)
            gred.kernel_time(a, samples=1, warmup=0, cold=False)

    watched = [*given_arrays, plain.dtype, None, "host", np.float64]
    stays_level(reduce_all, watched, rounds=100, slack=20)
