"""What `python -m gred versus` promises: every answer checked, every library's turn, all shown.

Libraries take turns, on copies that caches forget.
"""

import csv
import functools
import io
import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from test_cli_libraries import HOST, case_of

import gred
from gred.cli import cases, contest, libraries, measure, outcome, record, versus
from gred.cli.measure import Clock, Sampling

pytestmark = pytest.mark.unsanitized

FOUR = Sampling(4, 1)
MEASURED = functools.cache(contest.read_limit)
TINY = (
    *("versus", "--device", "host", "--peers", "numpy", "--samples", "2"),
    *("--sizes", "64,4KiB", "--reductions", "sum,argmax", "--types", "float32,int8"),
    *("--layouts", "flat,columns"),
)


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Measure the limit of a size once, for all tests, with warm caches."""
    monkeypatch.setattr(gred, "read_limit", functools.partial(gred.read_limit, cold=False))
    monkeypatch.setattr(contest, "read_limit", MEASURED)


@pytest.fixture
def command(command, monkeypatch, tmp_path):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return command


class Pretended(libraries.Library):
    """A library of a test's own: `function` may be slow, wrong or absent."""

    package = "numpy"
    calls: ClassVar[list[str]] = []

    def __init__(self, key, function, ours=False):
        super().__init__("host")
        self.key = self.title = self.pool = key
        self.ours = ours
        self._function = function

    def function(self, case):
        def call(view, *mask):
            self.calls.append(self.key)
            return self._function(view)

        return call


@pytest.fixture
def pretended():
    """Make pretended libraries: gred and some peers."""
    Pretended.calls.clear()

    def make(**functions):
        return [Pretended(key, function, key == "gred") for key, function in functions.items()]

    return make


@pytest.fixture
def taking(monkeypatch):
    """Make sums that take so long by a clock that nothing else moves."""
    now = [100.0]

    def wait(seconds):
        now[0] += seconds

    def make(seconds):
        return lambda view: wait(seconds) or view.sum()

    pretended = SimpleNamespace(
        monotonic=lambda: now[0], perf_counter_ns=lambda: round(now[0] * 1e9), sleep=wait
    )
    monkeypatch.setattr(contest, "time", pretended)
    return make


def competed(case, some, sampling=FOUR, device=HOST):
    stage = contest.Stage(case, some, device, seed=0)
    return {row["library"]: row for row in contest.compete(case, stage, some, sampling)}


def test_libraries_take_turns_in_changing_order(pretended, monkeypatch):
    monkeypatch.setattr(contest, "_SAMPLE_SECONDS", 1e-9)
    monkeypatch.setattr(contest, "_LONG_SECONDS", 0.0)
    rows = competed(case_of(), pretended(gred=np.sum, a=np.sum, b=np.sum), Sampling(20, 0))
    assert {len(row["samples_ns"]) for row in rows.values()} == {20}
    timed = Pretended.calls[-60:]
    rounds = [tuple(timed[k : k + 3]) for k in range(0, 60, 3)]
    assert all(set(one) == {"gred", "a", "b"} for one in rounds)
    assert len(set(rounds)) > 3


def test_what_raises_is_missing_and_says_why(pretended):
    def raises(view):
        raise NotImplementedError("not for\nthis type at 0x7f00, by far")

    def fails_later(view):
        if Pretended.calls.count("late") > 5:
            raise MemoryError("out of it")
        return view.sum()

    rows = competed(case_of(), pretended(gred=np.sum, a=raises, late=fails_later))
    assert rows["a"]["missing"] == "NotImplementedError: not for this type, by far"
    assert rows["late"]["missing"] == "MemoryError: out of it"
    assert rows["a"]["samples_ns"] == []
    assert (rows["gred"]["right"], rows["gred"]["missing"]) == (True, "")


def test_a_wrong_answer_is_seen(pretended):
    rows = competed(case_of(), pretended(gred=np.sum, a=lambda view: view.sum() * 1.1))
    assert [row["right"] for row in rows.values()] == [True, False]
    assert len(rows["a"]["samples_ns"]) == 4


def test_slow_calls_get_fewer_samples_but_three(pretended, taking):
    some = pretended(gred=taking(1e-3), a=taking(0.03))
    rows = competed(case_of(), some, Sampling(30, 1, 0.01))
    assert rows["a"]["samples_ns"] == [30_000_000] * 3
    assert len(rows["gred"]["samples_ns"]) == 10


def test_after_the_deadline_there_are_no_more_samples_than_three_and_of_the_slow_one(
    pretended, taking
):
    some = pretended(gred=taking(1e-3), a=taking(1e-6), slow=taking(0.03))
    stage = contest.Stage(case_of(), some, HOST, seed=0)
    rows = contest.compete(case_of(), stage, some, Sampling(30, 2), deadline=0.0)
    assert [len(row["samples_ns"]) for row in rows] == [3, 3, 1]
    assert Pretended.calls.count("slow") == 3


def test_short_calls_are_timed_many_at_a_time(pretended, taking, monkeypatch):
    monkeypatch.setattr(contest, "_SAMPLE_SECONDS", 0.01)
    rows = competed(case_of(), pretended(gred=taking(1e-4)))
    assert rows["gred"]["samples_ns"] == [100_000] * 4
    assert Pretended.calls.count("gred") == 2 + 4 * (1 + 100)


def test_copies_are_enough_for_the_cache_to_forget(pretended):
    some = pretended(gred=np.sum, a=np.sum)
    device = HOST._replace(l2_cache=1 << 16, memory=1 << 40)
    stage = contest.Stage(case_of(size=1 << 12), some, device, seed=0)
    copies = {1 << 14: (16, True), 1 << 17: (2, True), 1 << 20: (2, True), 1 << 10: (1, False)}
    assert {nbytes: stage.copies(nbytes) for nbytes in copies} == copies
    scarce = contest.Stage(case_of(size=1 << 12), some, device._replace(memory=3 << 16), seed=0)
    assert scarce.copies(1 << 14) == (3, False)


@pytest.fixture
def seen():
    """The views that sums are made of."""
    return []


@pytest.mark.parametrize("names", [("gred",), ("gred", "a")])
def test_every_copy_has_memory_of_its_own_and_its_turn(pretended, seen, names):
    """Libraries of the same arrays go round them together."""
    some = pretended(**dict.fromkeys(names, lambda view: seen.append(view) or view.sum()))
    for library in some:
        library.pool = "shared"
    competed(case_of(size=1 << 12), some, device=HOST._replace(l2_cache=1 << 14))
    places = [view.ctypes.data for view in seen]
    assert len(set(places)) == 4
    assert places == [places[k % 4] for k in range(len(places))]


def test_peers_that_reuse_a_stage_see_their_own_layout(pretended, seen):
    some = pretended(gred=lambda view: seen.append(view) or view.sum())
    flat, rows = case_of(size=1 << 10), case_of(layout="rows", size=1 << 10)
    assert contest.stage_key(flat) == contest.stage_key(rows)
    stage = contest.Stage(flat, some, HOST, seed=0)
    for case in (flat, rows):
        [found] = contest.compete(case, stage, some, Sampling(1, 0))
        assert found["right"]
    assert {view.shape for view in seen} == {(1024,), (16, 32)}


def test_the_floor_of_a_gpu_is_the_median_launch_of_nothing_and_the_host_has_none(monkeypatch):
    limit = gred.LaunchLimit(np.array([3e-6, 1e-6, 2e-6]), "cuda:1")
    monkeypatch.setattr(gred, "launch_limit", {"cuda:1": limit}.get)
    floor = contest.latency_floor(HOST._replace(name="cuda:1"))
    assert floor.seconds == 2e-6
    assert "does nothing" in floor.meaning
    assert contest.latency_floor(HOST).seconds is None


def row(library, nanoseconds, right=True, ours=False, **more):
    given = {"reduction": "sum", "dtype": "float32", "layout": "flat", "extent": "4 KiB"}
    given |= {"size": 1024, "nbytes": 4096, "limit_gb_per_s": 10.0, "cold": True, "missing": ""}
    given |= {"library": library, "median_ns": nanoseconds, "right": right, "ours": ours}
    given |= {"gb_per_s": 4096 / nanoseconds if nanoseconds else None}
    return given | more


def test_the_ratio_is_of_the_best_right_peer_over_the_slower_gred():
    rows = [row("gred", 10, ours=True), row("gred-torch", 20, ours=True), row("cupy", 50)]
    rows += [row("torch", 30), row("jax", 5, right=False), row("cub", None, missing="no")]
    [one] = outcome.outcomes(rows)
    assert (one.gred["library"], one.peer["library"], one.ratio) == ("gred-torch", "torch", 1.5)
    assert one.share == pytest.approx(4096 / 20 / 10)
    assert str(one) == "sum float32, 4 KiB"
    [wrong] = outcome.outcomes([row("gred", 10, ours=True, right=False), *rows[1:]])
    assert (wrong.wrong, wrong.ratio) == (True, None)
    rows = [row("gred", 10, ours=True), row("numpy", 40)]
    rows += [row("gred", 10, ours=True, extent="8 KiB"), row("numpy", 10, extent="8 KiB")]
    apart = outcome.outcomes([*rows, row("gred", 10, ours=True, layout="rows")])
    assert [one.ratio for one in apart] == [4.0, 1.0, None]
    assert outcome.mean_ratio(apart) == pytest.approx(2.0)  # geometrically
    assert outcome.mean_ratio(apart[2:]) is None


def test_everything_measured_is_written_and_shown(screen, tmp_path):
    out = screen(*TINY, "--json", "kept.json", "--csv", "kept.csv")
    kept = record.read_json(tmp_path / "kept.json")
    rows = record.rows_of(kept)
    assert kept["kind"] == "versus"
    assert kept["run"]["libraries"]["numpy"]["version"] == np.__version__
    assert kept["run"]["floor_ns"] is None
    assert len(rows) == 2 * 2 * 2 * 2 * 2  # libraries, sizes, reductions, types, layouts
    for one in rows:
        assert (one["right"], one["missing"], len(one["samples_ns"])) == (True, "", 2)
        assert one["median_ns"] == pytest.approx(np.median(one["samples_ns"]), rel=1e-3)
        assert one["gb_per_s"] == pytest.approx(one["nbytes"] / one["median_ns"], rel=1e-3)
        assert one["limit_gb_per_s"] > 0
    useful = {(one["dtype"], one["layout"], one["extent"]): one["nbytes"] for one in rows}
    wanted = {("float32", "flat", "64"): 256, ("int8", "flat", "64"): 64}
    assert (wanted | {("float32", "columns", "4 KiB"): 2048}).items() <= useful.items()
    lines = list(csv.DictReader(io.StringIO((tmp_path / "kept.csv").read_text(encoding="utf-8"))))
    assert [line["library"] for line in lines] == [one["library"] for one in rows]
    assert "samples_ns" not in lines[0]
    table = [line for line in out.splitlines() if line.split()[:1] in (["sum"], ["argmax"])]
    assert len(table) == 16
    assert all("NumPy" in line and "x " in line for line in table)
    assert "gred is ahead in " in out


def test_plots_show_every_case(command, tmp_path):
    pytest.importorskip("matplotlib")
    from gred.cli.plots import versus as versus_plots

    assert command(*TINY, "--out", "new")[0] == 0
    kept = record.read_json(tmp_path / "new" / "versus.json")
    for name in versus.FIGURES:
        text = (tmp_path / "new" / "plots" / f"{name}.svg").read_text(encoding="utf-8")
        assert record.digest(kept) in text
    times = versus_plots.time_figure(kept)
    titles = [axes.get_title() for axes in times.axes if axes.get_visible()]
    assert sorted(titles) == sorted({outcome.series_text(outcome.series(one))
                                     for one in record.rows_of(kept)})  # fmt: skip
    for axes in times.axes[: len(titles)]:
        labels = [line.get_label() for line in axes.get_lines()]
        assert labels == ["gred", "NumPy", "read limit, from memory"]
        assert all(len(line.get_xdata()) == 2 for line in axes.get_lines())
    flat, others = versus_plots.ratio_figure(kept).axes
    assert len(outcome.outcomes(record.rows_of(kept))) == 16
    for axes in (flat, others):
        assert len(axes.patches) == len(axes.texts) == 8
        assert [label.get_text() for label in axes.get_yticklabels()] == ["sum", "argmax"]
    names = [label.get_text() for label in others.get_xticklabels()]
    kinds_and_sizes = [("int8", "64"), ("float32", "64"), ("int8", "4 KiB"), ("float32", "4 KiB")]
    assert names == [f"{kind} [:, ::2], {size}" for kind, size in kinds_and_sizes]


def kept_of(rows, floor=None):
    names = {one["library"]: one["ours"] for one in rows}
    names = {name: {"title": name, "version": "1", "ours": ours} for name, ours in names.items()}
    machine = {"device": {"name": "host"}, "processor": "a processor"}
    return {"machine": machine, "run": {"libraries": names, "floor_ns": floor}, "rows": rows}


def test_the_map_is_green_ahead_and_red_behind_and_hides_nothing():
    pytest.importorskip("matplotlib")
    from gred.cli.plots import versus as versus_plots

    rows = []
    for size, peer_ns in enumerate((11, 9, 2000)):
        more = {"extent": f"{1 << size} B", "size": 1 + size}
        rows += [row("gred", 10, ours=True, **more), row("numpy", peer_ns, **more)]
    rows += [row("gred", 10, ours=True, reduction="max")]
    rows += [row("gred", None, ours=True, reduction="min"), row("numpy", 7, reduction="min")]
    rows += [row("gred", 10, ours=True, right=False, reduction="any")]
    [axes] = versus_plots.ratio_figure(kept_of(rows)).axes
    texts = [text.get_text().replace("\n", " ") for text in axes.texts]
    cells = dict(zip(texts, (patch.get_facecolor()[:3] for patch in axes.patches), strict=True))
    assert set(cells) == {"1.10x numpy", "0.90x numpy", "200x numpy", "alone", "lacks", "WRONG"}
    for text in ("1.10x numpy", "200x numpy"):
        red, green, blue = cells[text]
        assert green > max(red, blue) + 0.02
    red, green, blue = cells["0.90x numpy"]
    assert red > max(green, blue) + 0.05
    assert cells["WRONG"] == (0, 0, 0)


def test_the_latency_floor_is_a_line_of_the_times():
    pytest.importorskip("matplotlib")
    from gred.cli.plots import versus as versus_plots

    rows = [row("gred", 10 * k, ours=True, extent=f"{k} B", nbytes=k) for k in (1, 2, 4)]
    [axes] = versus_plots.time_figure(kept_of(rows, floor=8.5)).axes
    [floor] = [line for line in axes.get_lines() if line.get_label() == "latency floor"]
    assert set(floor.get_ydata()) == {8.5}
    lonely = versus_plots.time_figure(kept_of(rows[:1]))
    assert "nothing was measured at two sizes" in lonely.axes[0].get_title()


def test_a_wrong_answer_of_greds_ends_with_status_one(command, monkeypatch):
    true_sum = gred.sum
    monkeypatch.setattr(gred, "sum", lambda *given, **more: true_sum(*given, **more) + 5)
    status, out, _ = command(*TINY, "--csv", "kept.csv")
    assert status == 1
    assert "WRONG: gred, sum float32, 64: " in out
    assert "WRONG: gred, argmax" not in out


def test_a_wrong_answer_of_a_peers_is_shown_and_no_failure(screen, monkeypatch):
    monkeypatch.setattr(libraries.NumPy, "function", lambda *_: lambda view: view.sum() * 3)
    out = screen(*TINY, "--reductions", "sum", "--csv", "kept.csv")
    assert "wrong: NumPy, sum float32, 64: " in out
    assert "alone" in out
    assert "no case has both" in out


def test_what_a_library_lacks_is_said_once(screen, monkeypatch):
    def lacks(self, case):
        raise libraries.LackingError("nothing of the kind")

    monkeypatch.setattr(libraries.NumPy, "function", lacks)
    out = screen(*TINY, "--csv", "kept.csv")
    assert out.count("NumPy lacks") == 1
    assert "NumPy lacks sum, argmax in 16 cases: nothing of the kind" in out


def test_a_peer_asked_for_by_name_has_to_be_here(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "bottleneck", None)
    status, out, err = command(*TINY, "--peers", "bottleneck")
    assert (status, out) == (2, "")
    assert "gred: --peers bottleneck: " in err


def test_a_peer_that_is_not_here_is_named_with_the_reason(screen, monkeypatch, tmp_path):
    for name in ("bottleneck", "numexpr", "torch", "jax"):
        monkeypatch.setitem(sys.modules, name, None)
    out = screen(
        *("versus", "--device", "host", "--samples", "1", "--sizes", "100", "--types", "int32"),
        *("--reductions", "sum", "--layouts", "flat", "--json", "kept.json"),
    )
    assert "PyTorch (ModuleNotFoundError" in " ".join(out.split())
    kept = record.read_json(tmp_path / "kept.json")
    assert set(kept["run"]["absent"]) == {"bottleneck", "numexpr", "torch", "jax"}


def test_quick_ends_in_time_and_says_what_it_left_out(screen, monkeypatch, tmp_path):
    monkeypatch.setattr(versus, "_QUICK_SECONDS", 0.0)
    given = ("versus", "--device", "host", "--peers", "numpy", "--quick")
    out = screen(*given, "--json", "kept.json")
    kept = record.read_json(tmp_path / "kept.json")
    assert kept["rows"] == []
    assert len(kept["run"]["left_out"]) == len(cases.cases(cases.GRIDS["host", True]))
    assert f"left out to end in time: {len(kept['run']['left_out'])} cases" in out


def test_a_bounded_run_shares_its_time_among_all_cases(screen, monkeypatch, tmp_path):
    given, deadlines, compete = [], [], versus.compete

    def competed(*arguments):
        deadlines.append(arguments[-1] - 1000.0)
        return compete(*arguments[:-1])

    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(versus, "Clock", lambda seconds: given.append(seconds) or Clock(seconds))
    monkeypatch.setattr(versus, "compete", competed)
    screen(*TINY, "--seconds", "300", "--json", "kept.json")
    assert given == [280.0]
    assert len(deadlines) == 16
    assert all(0 < seconds <= 280.0 for seconds in deadlines)
    assert deadlines[0] < 280.0 / 15
    assert record.read_json(tmp_path / "kept.json")["run"]["left_out"] == []


def test_a_type_that_numpy_lacks_is_left_out_and_said(screen, command, monkeypatch):
    monkeypatch.setattr(cases.Type, "known", lambda self: self.name != "bfloat16")
    given = ("versus", "--device", "host", "--peers", "numpy", "--samples", "1", "--sizes", "64")
    out = screen(*given, "--reductions", "sum", "--layouts", "flat", "--csv", "kept.csv")
    assert "bfloat16, which needs ml_dtypes" in out
    status, _, err = command(*given, "--types", "bfloat16")
    assert status == 2
    assert "needs ml_dtypes" in err
