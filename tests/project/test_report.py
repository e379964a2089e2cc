"""What the report says of targets, along axes and of exact sums, and which plots it draws anew."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scripts import benchmarks as benchmarks
from scripts import machine

pytestmark = pytest.mark.unsanitized


# ---- parts, and what the README says ----


def test_pieces_are_found_by_the_beginning_of_their_names(benchmarks):
    parse = benchmarks.figures.parse_parts
    assert parse("axes/2GiB") == [f"axes/2GiB/{dtype}" for dtype in benchmarks.axes.TYPES]
    assert parse("exact/calls") == ["exact/calls/float32", "exact/calls/float64"]
    assert parse("host-exact") == ["host-exact/axes", "host-exact/few", "host-exact/many"]
    assert {*parse("axes,exact")} < {*parse("gpu")}


@pytest.fixture
def kept(benchmarks, tmp_path):
    def axes():
        for what, value in (("of the limit", 0.9), ("CuPy's time over gred's, 70.0 us", 1.0)):
            yield benchmarks.figure.figure(
                f"sum float32 (n, 2) axis 1, 256 MiB: {what}", [value], "x",
                at_least=1.05 if value == 1.0 else 0.85, group=f"along axes, rows: {what[:4]}",
            )  # fmt: skip

    def orders():
        yield from benchmarks.exact.sums_of_orders(
            "float64 that cancel: gred, exact", [2.0] * 8, Fraction(2), "float64"
        )
        yield from benchmarks.exact.sums_of_orders(
            "float64 that cancel: NumPy", [2.0, 3.0] * 4, Fraction(2), "float64"
        )

    for name, measure in {"axes/float32": axes, "exact/orders": orders}.items():
        part, piece = name.split("/")
        [(found, named)] = benchmarks.figures.pieces(part, {piece: measure}).items()
        assert found == name
        benchmarks.figures.write(tmp_path, machine(), name, list(named()))
    return benchmarks.report.Results(tmp_path, tmp_path / "README.md")


def test_the_readme_tells_of_axes_and_exact_sums(benchmarks, kept):
    axes = benchmarks.report.axes_part(kept)
    assert axes.startswith("## Along axes\n")
    assert "Targets met: 1 of 2." in axes
    assert "/plots/axes.svg)" in axes
    exact = benchmarks.report.exact_part(kept).splitlines()
    assert "| gred, exact | - | - | 1 | 0 |" in exact
    assert "| NumPy | - | - | 2 | 2.25e+15 |" in exact
    assert "on the GPU and on the host, 2 of 2 are met." in "\n".join(exact)
    figures = benchmarks.report.figures_part(kept)
    assert "along axes" not in figures
    assert "exact sums on a GPU, in eight orders: the worst error | 1 | at most 0.5 |" in figures


def test_the_readme_says_why_sums_are_not_exact_by_themselves(benchmarks, kept):
    """By the figure that is farthest from its target, and by the worst of each row."""
    figure, [folder] = benchmarks.figure.figure, kept.folders
    group = "exact sums on a GPU: rate over that of fast ones"
    large = [
        figure(f"exact sum, {n}: rate", [rate], "x", at_least=0.95, group=group)
        for n, rate in (("256 MiB", 0.76), ("1 GiB", 0.9), ("4 GiB", 0.96))
    ]
    call = figure("exact sum, a call: time over the fast one's", [1.3], "x", at_most=1.2)
    other = figure("a call, float32, 1 MiB: CuPy", [1.0], "GB/s")
    for piece, rows in {"large/float32": large, "calls/float32": [call, other]}.items():
        benchmarks.figures.write(folder.parent, machine(), f"exact/{piece}", rows)
    exact = benchmarks.report.exact_part(kept)
    assert "3 of 6 are met, so it stays fast. The farthest from its target, at 80" in exact
    assert "of it, is: exact sum, 256 MiB: rate, 0.76 x of at least 0.95." in exact
    assert f"| {group} | 3 | at least 0.95 | 0.76 x: exact sum, 256 MiB | **1 of 3** |" in exact
    assert "| exact sum, a call: time over the fast one's | 1 | at most 1.2 | 1.3 x: exact" in exact
    assert "CuPy" not in exact.partition("`method=")[2]


def test_the_readme_says_nothing_of_what_is_not_measured(benchmarks, tmp_path):
    nothing = benchmarks.report.Results(tmp_path, tmp_path / "README.md")
    assert benchmarks.report.axes_part(nothing) == benchmarks.report.exact_part(nothing) == ""


def test_plots_are_drawn_anew_for_their_own_part_only(benchmarks, kept):
    pytest.importorskip("matplotlib")
    stale = [*benchmarks.report.stale_plots(kept)]
    assert [path.name for path, _, _ in stale] == ["axes.svg", "exact.svg"]
    for path, function, shown in stale:
        path.parent.mkdir(exist_ok=True)
        benchmarks.report.draw(path, function, shown)
    assert not [*benchmarks.report.stale_plots(kept)]
    [folder] = kept.folders
    row = benchmarks.figure.figure("import numpy", [1.0], "s")
    benchmarks.figures.write(folder.parent, machine(), "import", [row])
    assert not [*benchmarks.report.stale_plots(kept)]
    benchmarks.figures.write(folder.parent, machine(), "axes/float32", [])
    assert not [*benchmarks.report.stale_plots(kept)]
    row = benchmarks.figure.figure("a call, float32, 1 MiB: CuPy", [1.0], "GB/s")
    benchmarks.figures.write(folder.parent, machine(), "exact/calls/float32", [row])
    assert [path.name for path, _, _ in benchmarks.report.stale_plots(kept)] == ["exact.svg"]


def test_the_worst_of_what_has_an_upper_bound_is_the_maximum(benchmarks):
    rows = [
        benchmarks.figure.figure(f"{n}: time", [n], "us", at_most=1.5, group="calls")
        for n in (1.0, 3.0, 2.0)
    ]
    table = benchmarks.target_parts.groups_table(rows)
    assert table.splitlines()[2] == "| calls | 3 | at most 1.5 | 3 us: 3.0 | **1 of 3** |"
