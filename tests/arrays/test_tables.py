"""Columns of tables: of pandas, Polars and pyarrow, whose nulls are never NaN in silence."""

import numpy as np
import pytest

import gred

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
    "a": lambda x: gred.sum(x),
    "a along an axis": lambda x: gred.max(x, axis=0),
    "a of exact": lambda x: gred.mean(x, method="exact"),
    "a of var": lambda x: gred.var(x, method="exact"),
    "a of nanvar": lambda x: gred.nanvar(x),
    "b": lambda x: gred.dot([1.0, 2.0, 3.0], x),
    "values": lambda x: gred.reduceat("add", x, [0]),
    "values by key": lambda x: gred.by_key("sum", [0, 1, 0], x),
    "keys": lambda x: gred.by_key("sum", x, [1.0, 2.0, 3.0]),
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
def test_nulls_are_refused_and_numbers_taken(table, call):
    with pytest.raises(TypeError, match=r"1 of the elements are null.*drop_nulls\(\)"):
        CALLS[call](column(table, [1, None, 3]))
    if (call, table) != ("keys", "pandas floats"):  # keys are integers
        CALLS[call](column(table, [1, 2, 3]))


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
@pytest.mark.parametrize("call", [call for call in CALLS if call != "keys"])
def test_columns_of_any_library_have_no_nulls(kind, call):
    with pytest.raises(TypeError, match="1 of the elements are null"):
        CALLS[call](kind([1.0, None, 3.0]))
    CALLS[call](kind([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("call", [call for call in CALLS if call not in ("b", "values")])
def test_masks_are_not_dropped(call):
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    with pytest.raises(TypeError, match="masked arrays are not supported"):
        CALLS[call](masked)


def test_nan_is_a_number_and_no_null():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert np.isnan(gred.sum(pd.Series([1.0, np.nan])))
    assert gred.nansum(pd.Series([1.0, np.nan])) == 1
    table = pd.DataFrame({"a": [1.0, np.nan], "b": [3.0, 4.0]})
    assert np.isnan(gred.sum(table, axis=0)).tolist() == [True, False]
    assert gred.sum(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), axis=1).tolist() == [4, 6]
    nulls = pd.DataFrame({"a": [1.0, np.nan], "b": pd.array([None, 4], "Int64")})
    with pytest.raises(TypeError, match="1 of the elements are null"):
        gred.sum(nulls)


def test_tables_of_polars_are_looked_through():
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    assert gred.sum(pl.DataFrame({"a": [1, 2], "b": [3.0, 4.0]}), axis=0).tolist() == [3, 7]
    with pytest.raises(TypeError, match="2 of the elements are null"):
        gred.sum(pl.DataFrame({"a": [1, None], "b": [None, 4.0]}), axis=0)


def test_labels_stay_where_xarray_reduces():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("a", "b"))
    assert x.reduce(gred.sum, dim="a").dims == ("b",)
    assert x.reduce(gred.nanvar).item() == np.var(np.arange(6.0))
