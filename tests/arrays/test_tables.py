"""Libraries built on NumPy: nulls never silently become NaN, and labels and units are kept.

Columns are from pandas, Polars and pyarrow, labels from xarray, units from pint and astropy.
"""

import sys

import numpy as np
import pytest

import gred
from gred import checks

MAKES = {
    "pandas": lambda pd, values: pd.Series(values, dtype="Int64"),
    "pandas of pyarrow": lambda pd, values: pd.Series(values, dtype="int64[pyarrow]"),
    "pandas array": lambda pd, values: pd.array(values, dtype="Int32"),
    "pandas floats": lambda pd, values: pd.Series(values, dtype="Float64"),
    "polars": lambda pl, values: pl.Series(values),
    "pyarrow": lambda pa, values: pa.array(values),
    "pyarrow chunks": lambda pa, values: pa.chunked_array([values[:1], values[1:]]),
}
installed = pytest.importorskip


class Column:
    def __init__(self, values):
        self.values = np.array([np.nan if value is None else value for value in values])

    def __array__(self, dtype=None, copy=None):
        return self.values

    def nulls(self):
        return np.isnan(self.values)


# A property as in pyarrow, a method as in Polars, or a dtype that NumPy lacks as in pandas.
OWN = {
    "property": {"null_count": property(lambda column: int(column.nulls().sum()))},
    "method": {"null_count": lambda column: int(column.nulls().sum())},
    "type": {"dtype": "Int64", "isna": Column.nulls},
}
# Calls that pass a column of three as the named argument, which cannot be masked.
CALLS = {
    "a of var": lambda x: gred.var(x, method="exact"),
    "b": lambda x: gred.dot([1.0, 2.0, 3.0], x),
    "values": lambda x: gred.reduceat("add", x, [0]),
    "values by key": lambda x: gred.by_key("sum", [0, 1, 0], x),
    "keys": lambda x: gred.by_key("sum", x, [1.0, 2.0, 3.0]),
    "a of a list": lambda x: gred.sum([x, x]),
    "a of a median": gred.median,
    "a of ExactSum": gred.ExactSum,
    "a of ExactSums": lambda x: gred.ExactSums(x, 0),
    "m": gred.cov,
}


def column(table, values):
    if table in OWN:
        return type("Own", (Column,), OWN[table])(values)
    for library in table.split()[2:]:
        installed(library)
    return MAKES[table](installed(table.split()[0]), values)


def assert_refused(call, given, nulls=1):
    with pytest.raises(TypeError, match=rf"{nulls} of the elements are null.*drop_nulls\(\)"):
        call(given)


@pytest.mark.parametrize("table", [*MAKES, *OWN])
@pytest.mark.parametrize("call", CALLS)
def test_nulls_are_refused_where_there_can_be_no_mask(table, call):
    assert_refused(CALLS[call], column(table, [1, None, 3]))
    if call != "keys" or table not in ("pandas floats", *OWN):  # keys are integers
        CALLS[call](column(table, [1, 2, 3]))


@pytest.mark.parametrize("table", MAKES)
@pytest.mark.parametrize("name", [one.name for one in gred.reductions()])
def test_reductions_leave_nulls_out_as_the_library_itself_does(table, name):
    """Compared with NumPy on the remaining elements, or with gred where NumPy lacks it."""
    installed("pyarrow")
    call = getattr(gred, name)
    shown = np.array([True, False, True, True, False])
    whole = np.array([3, 7, 1, 2, 9], np.int32 if table == "pandas array" else np.int64)
    whole = whole.astype(np.float64) if table == "pandas floats" else whole
    values = [value if here else None for value, here in zip(whole.tolist(), shown, strict=True)]
    given = column(table, values)
    truth = np.linalg.norm if name == "norm" else getattr(np, name, call)
    expected = truth(whole[shown])
    expected = np.flatnonzero(shown)[expected] if "arg" in name else expected
    for got, right in (
        (call(given), expected),
        (call(given, axis=0), expected),
        (call(given, where=np.arange(5) < 1), truth(whole[:1])),
    ):
        got, right = (np.array(one, np.float64).ravel() for one in (got, right))
        np.testing.assert_array_max_ulp(got, right, 2)


def test_elements_beside_nulls_are_read_where_they_lie():
    pa, pl = installed("pyarrow"), installed("polars")
    whole, series = pa.array([0, 1, None, 3, 4, None], pa.int16()), pl.Series([1.0, None, 3.0])
    values, present = checks.values_and_validity(whole[1:5], "a")
    assert values.__array_interface__["data"][0] == whole.buffers()[1].address + 2
    assert present.tolist() == [True, False, True, True]
    values, _ = checks.values_and_validity(series, "a")
    assert values.__array_interface__["data"][0] == series.to_arrow().buffers()[1].address


def test_of_nothing_but_nulls_there_is_a_sum_and_no_extreme():
    pa = installed("pyarrow")
    nothing = pa.array([None, None], pa.int32())
    assert gred.sum(nothing) == 0
    assert gred.max(nothing, initial=-5) == -5
    for call in (gred.max, gred.argmax):
        with pytest.raises(ValueError, match="mask excludes all"):
            call(nothing)
    with pytest.raises(TypeError, match="where must be an array of bool"):
        gred.sum(nothing, where=None)
    with pytest.raises(ValueError, match="broadcast"):
        gred.sum(nothing, where=[True, False, True])


def test_columns_of_no_numbers_and_tables_have_no_mask():
    pa, pd, pl, xr = map(installed, ("pyarrow", "pandas", "polars", "xarray"))
    columns = {"a": [1, None], "b": [2, 3]}
    for none in (pa.array(["a", None]), pa.array([[1], None]), pa.array([7, None])):
        assert_refused(gred.sum, none.dictionary_encode() if none.type == pa.int64() else none)
    assert_refused(gred.sum, pa.table(columns)["a"].dictionary_encode())
    for table in (pa.table(columns), pa.record_batch(columns)):
        for call in (gred.sum, gred.max, gred.median, gred.describe):
            assert_refused(call, table)
    assert_refused(gred.sum, pd.DataFrame({"a": [1.0, np.nan], "b": pd.array([None, 4], "Int64")}))
    nulls = pl.DataFrame({"a": [1, None], "b": [None, 4.0]})
    assert_refused(lambda table: gred.sum(table, axis=0), nulls, 2)
    assert_refused(gred.sum, xr.DataArray(pd.array([1, None], dtype="Int64")))


def test_without_pyarrow_nulls_are_told_of(monkeypatch):
    pl = installed("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'gred\[arrow\]'"):
        gred.sum(pl.Series([1, None]))
    assert gred.sum(pl.Series([1, 2])) == 3


def test_columns_and_tables_without_nulls_are_arrays_where_nan_is_a_number():
    pd, pl, xr = map(installed, ("pandas", "polars", "xarray"))
    assert gred.argmin(pd.Series([3, 1, 2])) == 1
    assert gred.by_key("sum", [1, 0, 1], pl.Series([3, 1, 2])).tolist() == [1, 5]
    assert np.isnan(gred.sum(pd.Series([1.0, np.nan])))
    assert gred.nansum(pd.Series([1.0, np.nan])) == 1
    table = pd.DataFrame({"a": [1.0, np.nan], "b": [3.0, 4.0]})
    assert np.isnan(gred.sum(table, axis=0)).tolist() == [True, False]
    assert gred.sum(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), axis=1).tolist() == [4, 6]
    assert gred.sum(pl.DataFrame({"a": [1, 2], "b": [3.0, 4.0]}), axis=0).tolist() == [3, 7]
    assert gred.sum(xr.DataArray(pd.array([1, 2], dtype="Int64"))) == 3
    installed("pyarrow")
    x = pd.Series([1.0, None, 3.0, 7.0], dtype="Float64")
    assert gred.nanvar(x, ddof=1) == pytest.approx(x.var(), rel=2**-51)
    assert gred.nanargmax(x) == 3


def test_labels_stay_where_xarray_reduces():
    xr = installed("xarray")
    values = np.arange(6.0).reshape(2, 3)
    x = xr.DataArray(values, dims=("a", "b"), coords={"b": [10, 20, 30]}, name="x")
    for name in ("sum", "max", "mean", "std", "median"):
        for dim in ("a", "b", ("a", "b"), None):
            xr.testing.assert_equal(x.reduce(getattr(gred, name), dim), getattr(x, name)(dim))
    kept = x.reduce(gred.sum, "b", keepdims=True)
    assert (kept.dims, kept.shape) == (("a", "b"), (2, 1))
    by_letter = x.assign_coords(letter=("b", ["p", "q", "p"])).groupby("letter")
    xr.testing.assert_equal(by_letter.reduce(gred.sum), by_letter.sum())
    xr.testing.assert_equal(x.rolling(b=2).reduce(gred.max), x.rolling(b=2).max())
    xr.testing.assert_equal(x.to_dataset().reduce(gred.min, "a"), x.to_dataset().min("a"))
    assert gred.sum(x, axis=0).tolist() == [3, 5, 7]
    with pytest.raises(TypeError, match="pass one of its arrays"):
        gred.sum(x.to_dataset())


ROW = [[1.0, 2.0, 3.0]]
WITH_UNITS = {
    **{role: call for role, call in CALLS.items() if role != "m"},
    "weights": lambda q: gred.mean(ROW[0], weights=q),
    "where": lambda q: gred.sum(ROW[0], where=q),
    "out": lambda q: gred.sum(ROW, axis=0, out=q),
    "mean": lambda q: gred.var(ROW, axis=0, mean=q),
    "a of nanvar": gred.nanvar,
    "a of explain": gred.explain,
    "a along an axis": lambda q: gred.max(q, axis=0),
}


@pytest.mark.parametrize(("library", "number"), [("pint", "magnitude"), ("astropy.units", "value")])
def test_units_are_not_lost(library, number):
    given = installed(library).Quantity(np.array(ROW[0]), "m")
    for role, call in WITH_UNITS.items():
        with pytest.raises(TypeError, match=rf"{role.split()[0]}.* a unit.*\.{number}"):
            call(given)
    with pytest.raises((TypeError, ValueError), match=r"initial.*must be a number"):
        gred.sum([1.0], initial=given[0])
    assert gred.sum(getattr(given, number)) * (given[0] / getattr(given[0], number)) == 6 * given[0]
    if library == "pint":
        with pytest.raises(TypeError, match="unit"):
            gred.sum(installed("xarray").DataArray(given))


@pytest.mark.parametrize("form", ["csr_matrix", "csr_array", "csc_array", "coo_array", "dok_array"])
def test_sparse_matrices_are_told_what_works(form):
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
    matrix = getattr(installed("scipy.sparse"), form)(dense)
    calls = [gred.sum, gred.median, gred.ExactSum, lambda m: gred.max(m, axis=0)]
    for call in [*calls, lambda m: gred.sum([m, m]), lambda m: gred.dot(m, m)]:
        with pytest.raises(TypeError, match=r"a is sparse; pass a\.data .*toarray.*gred\.reduceat"):
            call(matrix)
    rows = matrix.tocsr()
    assert gred.sum(rows.data) == gred.sum(matrix.toarray()) == 9
    sums = gred.reduceat("sum", rows.data, rows.indptr[:-1], empty="identity")
    assert sums.tolist() == dense.sum(axis=1).tolist()
