"""Libraries around NumPy: xarray keeps labels, no unit is lost, sparse matrices are told of."""

import numpy as np
import pytest

import gred


@pytest.fixture
def xr():
    return pytest.importorskip("xarray", reason="xarray is not installed")


def test_labels_stay_where_xarray_reduces(xr):
    values = np.arange(6.0).reshape(2, 3)
    x = xr.DataArray(values, dims=("a", "b"), coords={"b": [10, 20, 30]}, name="x")
    for name in ("sum", "max", "mean", "std", "median"):
        for dim in ("a", "b", ("a", "b"), None):
            xr.testing.assert_equal(x.reduce(getattr(gred, name), dim), getattr(x, name)(dim))
    kept = x.reduce(gred.sum, "b", keepdims=True)
    assert kept.dims == ("a", "b")
    assert kept.shape == (2, 1)
    by_letter = x.assign_coords(letter=("b", ["p", "q", "p"])).groupby("letter")
    xr.testing.assert_equal(by_letter.reduce(gred.sum), by_letter.sum())
    xr.testing.assert_equal(x.rolling(b=2).reduce(gred.max), x.rolling(b=2).max())
    xr.testing.assert_equal(x.to_dataset().reduce(gred.min, "a"), x.to_dataset().min("a"))
    assert gred.sum(x, axis=0).tolist() == [3, 5, 7]


def test_nulls_behind_labels_are_refused(xr):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert gred.sum(xr.DataArray(pd.array([1, 2], dtype="Int64"))) == 3
    with pytest.raises(TypeError, match="1 of the elements are null"):
        gred.sum(xr.DataArray(pd.array([1, None], dtype="Int64")))


WITH_UNITS = {
    "a": (gred.sum, gred.median, gred.nanvar, gred.explain, gred.ExactSum),
    "a of more": (lambda q: gred.sum([q, q]), lambda q: gred.max(q, axis=0)),
    "b": (lambda q: gred.dot([1.0, 2.0, 3.0], q),),
    "values": (lambda q: gred.by_key("sum", [0, 1, 0], q), lambda q: gred.reduceat("sum", q, [0])),
    "keys": (lambda q: gred.by_key("sum", q, [1.0, 2.0, 3.0]),),
    "weights": (lambda q: gred.mean([1.0, 2.0, 3.0], weights=q),),
    "where": (lambda q: gred.sum([1.0, 2.0, 3.0], where=q),),
    "out": (lambda q: gred.sum([[1.0, 2.0, 3.0]], axis=0, out=q),),
    "mean": (lambda q: gred.var([[1.0, 2.0, 3.0]], axis=0, mean=q),),
}


@pytest.mark.parametrize(("library", "number"), [("pint", "magnitude"), ("astropy", "value")])
def test_units_are_not_lost(library, number):
    if library == "pint":
        kind = pytest.importorskip("pint", reason="pint is not installed").UnitRegistry().Quantity
    else:
        kind = pytest.importorskip("astropy.units", reason="astropy is not installed").Quantity
    given = kind(np.array([1.0, 2.0, 3.0]), "m")
    for role, calls in WITH_UNITS.items():
        name = role.split()[0]
        for call in calls:
            with pytest.raises(TypeError, match=rf"{name}.* a unit.*\.{number}"):
                call(given)
    with pytest.raises((TypeError, ValueError), match=r"initial.*must be a number"):
        gred.sum([1.0], initial=given[0])
    assert gred.sum(getattr(given, number)) * (given[0] / getattr(given[0], number)) == 6 * given[0]


@pytest.mark.parametrize(
    "form", ["csr_matrix", "csr_array", "csc_array", "coo_array", "lil_array", "dok_array"]
)
def test_sparse_matrices_are_told_what_works(form):
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
    matrix = getattr(sparse, form)(dense)
    calls = [gred.sum, gred.median, gred.ExactSum, lambda m: gred.max(m, axis=0)]
    for call in [*calls, lambda m: gred.sum([m, m]), lambda m: gred.dot(m, m)]:
        with pytest.raises(TypeError, match=r"a is sparse; a\.data .*gred\.reduceat.*a\.toarray"):
            call(matrix)
    rows = matrix.tocsr()
    assert gred.sum(rows.data) == gred.sum(matrix.toarray()) == 9
    sums = gred.reduceat("sum", rows.data, rows.indptr[:-1], empty="identity")
    assert sums.tolist() == dense.sum(axis=1).tolist()


def test_what_lies_in_xarray_is_looked_at():
    xarray, pint = pytest.importorskip("xarray"), pytest.importorskip("pint")
    lengths = xarray.DataArray(pint.UnitRegistry().Quantity(np.arange(3.0), "m"))
    with pytest.raises(TypeError, match="unit"):
        gred.sum(lengths)
    with pytest.raises(TypeError, match="reduce one of its arrays"):
        gred.sum(xarray.Dataset({"a": ("x", [1.0, 2.0])}))
