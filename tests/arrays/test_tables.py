"""Columns of tables: of pandas, Polars and pyarrow, whose nulls are never NaN in silence."""

import sys

import numpy as np
import pytest

import gred
from gred import checks

MAKES = {
    "pandas": lambda pd, values: pd.Series(values, dtype="Int64"),
    "pandas of arrow": lambda pd, values: pd.Series(values, dtype="int64[pyarrow]"),
    "pandas array": lambda pd, values: pd.array(values, dtype="Int32"),
    "pandas floats": lambda pd, values: pd.Series(values, dtype="Float64"),
    "polars": lambda pl, values: pl.Series(values),
    "pyarrow": lambda pa, values: pa.array(values),
    "pyarrow chunks": lambda pa, values: pa.chunked_array([values[:1], values[1:]]),
}
every_table = pytest.mark.parametrize("table", MAKES)
CALLS = {
    "a of var": lambda x: gred.var(x, method="exact"),
    "b": lambda x: gred.dot([1.0, 2.0, 3.0], x),
    "values": lambda x: gred.reduceat("add", x, [0]),
    "values by key": lambda x: gred.by_key("sum", [0, 1, 0], x),
    "keys": lambda x: gred.by_key("sum", x, [1.0, 2.0, 3.0]),
    "a of a list": lambda x: gred.sum([x, x]),
    "a of a median": lambda x: gred.median(x),
    "a of ExactSum": lambda x: gred.ExactSum(x),
    "a of ExactSums": lambda x: gred.ExactSums(x, 0),
    "m": lambda x: gred.cov(x),
}


def column(table, values):
    if table == "pandas of arrow":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    library = table.split()[0]
    return MAKES[table](pytest.importorskip(library, reason=f"{library} is not installed"), values)


@every_table
@pytest.mark.parametrize("call", CALLS)
def test_nulls_are_refused_where_there_can_be_no_mask(table, call):
    with pytest.raises(TypeError, match=r"\d of the elements are null.*drop_nulls\(\)"):
        CALLS[call](column(table, [1, None, 3]))
    if (call, table) != ("keys", "pandas floats"):  # keys are integers
        CALLS[call](column(table, [1, 2, 3]))


@every_table
@pytest.mark.parametrize("name", [one.name for one in gred.reductions()])
def test_reductions_leave_nulls_out_as_the_library_itself_does(table, name):
    """NumPy tells the truth of what is left; of what it lacks, gred does."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    call = getattr(gred, name)
    there = np.array([True, False, True, True, False])
    whole = np.array([3, 7, 1, 2, 9], np.int32 if table == "pandas array" else np.int64)
    whole = whole.astype(np.float64) if table == "pandas floats" else whole
    given = column(
        table, [value if here else None for value, here in zip(whole.tolist(), there, strict=True)]
    )
    truth = np.linalg.norm if name == "norm" else getattr(np, name, call)
    expected = truth(whole[there])
    expected = np.flatnonzero(there)[expected] if name.startswith("arg") else expected
    assert_same(call(given), expected)
    assert_same(call(given, axis=0), expected)
    assert_same(call(given, where=np.arange(5) < 1), truth(whole[:1]))


def assert_same(got, expected):
    got, expected = (np.array(one, np.float64).ravel() for one in (got, expected))
    np.testing.assert_array_max_ulp(got, expected, 2)


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def pl():
    return pytest.importorskip("polars", reason="Polars is not installed")


@pytest.fixture
def pd():
    return pytest.importorskip("pandas", reason="pandas is not installed")


def test_elements_beside_nulls_are_read_where_they_lie(pa, pl):
    whole = pa.array([0, 1, None, 3, 4, None], pa.int16())
    part = whole[1:5]
    values, present = checks.nulls_apart(part, "a")
    assert values.__array_interface__["data"][0] == whole.buffers()[1].address + 2
    assert present.tolist() == [True, False, True, True]
    series = pl.Series([1.0, None, 3.0])
    values, _ = checks.nulls_apart(series, "a")
    assert values.__array_interface__["data"][0] == series.to_arrow().buffers()[1].address


def test_of_nothing_but_nulls_there_is_a_sum_and_no_extreme(pa):
    nothing = pa.array([None, None], pa.int32())
    assert gred.sum(nothing) == 0
    assert gred.max(nothing, initial=-5) == -5
    for call in (gred.max, gred.argmax):
        with pytest.raises(ValueError, match="mask hides all"):
            call(nothing)
    with pytest.raises(TypeError, match="where must be an array of bool"):
        gred.sum(nothing, where=None)
    with pytest.raises(ValueError, match="broadcast"):
        gred.sum(nothing, where=[True, False, True])


def test_columns_of_no_numbers_have_no_mask(pa):
    """Nor have tables."""
    for column_of_none in (pa.array(["a", None]), pa.array([[1], None])):
        assert_refused(gred.sum, column_of_none)
    assert_refused(gred.sum, pa.array([7, None]).dictionary_encode())
    assert_refused(gred.sum, pa.table({"a": [1, None]})["a"].dictionary_encode())
    columns = {"a": [1, None], "b": [2, 3]}
    for table in (pa.table(columns), pa.record_batch(columns)):
        for call in (gred.sum, gred.max, gred.median, gred.describe):
            assert_refused(call, table)


def assert_refused(call, given, nulls=1):
    with pytest.raises(TypeError, match=f"{nulls} of the elements are null"):
        call(given)


def test_without_pyarrow_nulls_are_told_of(monkeypatch, pl):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'gred\[arrow\]'"):
        gred.sum(pl.Series([1, None]))
    assert gred.sum(pl.Series([1, 2])) == 3


@every_table
def test_columns_without_nulls_are_arrays(table):
    whole = column(table, [3, 1, 2])
    assert gred.sum(whole) == 6
    assert gred.argmin(whole) == 1
    assert gred.by_key("sum", [1, 0, 1], whole).tolist() == [1, 5]


class Column:
    """What libraries of tables have in common, whichever are installed."""

    def __init__(self, values):
        self.values = np.array([np.nan if value is None else value for value in values])

    def __array__(self, dtype=None, copy=None):
        return self.values

    @property
    def nulls(self):
        return int(np.isnan(self.values).sum())


class OfArrow(Column):
    """Has a property, as pyarrow's arrays."""

    null_count = Column.nulls


class OfPolars(Column):
    """Has a method."""

    def null_count(self):
        return self.nulls


class OfPandas(Column):
    """Has a type that is none of NumPy's."""

    dtype = "Int64"

    def isna(self):
        return np.isnan(self.values)


@pytest.mark.parametrize("kind", [OfArrow, OfPolars, OfPandas])
@pytest.mark.parametrize("call", [call for call in CALLS if call not in ("keys", "a of a list")])
def test_columns_of_any_library_have_no_nulls(kind, call):
    assert_refused(CALLS[call], kind([1.0, None, 3.0]))
    CALLS[call](kind([1.0, 2.0, 3.0]))


def test_nan_is_a_number_and_no_null(pd):
    pytest.importorskip("pyarrow")
    assert np.isnan(gred.sum(pd.Series([1.0, np.nan])))
    assert gred.nansum(pd.Series([1.0, np.nan])) == 1
    table = pd.DataFrame({"a": [1.0, np.nan], "b": [3.0, 4.0]})
    assert np.isnan(gred.sum(table, axis=0)).tolist() == [True, False]
    assert gred.sum(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), axis=1).tolist() == [4, 6]
    nulls = pd.DataFrame({"a": [1.0, np.nan], "b": pd.array([None, 4], "Int64")})
    assert_refused(gred.sum, nulls)
    x = pd.Series([1.0, None, 3.0, 7.0], dtype="Float64")
    assert gred.nanvar(x, ddof=1) == x.var()
    assert gred.nanargmax(x) == 3


def test_tables_of_polars_are_looked_through(pl):
    assert gred.sum(pl.DataFrame({"a": [1, 2], "b": [3.0, 4.0]}), axis=0).tolist() == [3, 7]
    nulls = pl.DataFrame({"a": [1, None], "b": [None, 4.0]})
    assert_refused(lambda table: gred.sum(table, axis=0), nulls, 2)
