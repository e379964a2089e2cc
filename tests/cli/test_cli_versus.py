"""`python -m gred versus`: all answers are checked, libraries take turns, and all is shown."""

import csv
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from test_cli_libraries import HOST, Peer, case_of

import gred
from gred.cli import cases, contest, data, libraries, measure, options, record, versus
from gred.cli.measure import Clock, Sampling
from gred.cli.plots import versus as plots

TINY = ("versus", "--device", "host", "--peers", "numpy", "--samples", "2", "--sizes", "64,4KiB")
QUICK = cases.GRIDS["host", True]
TINY += ("--reductions", "sum,argmax", "--types", "float32,int8", "--layouts", "flat,columns")


# ---- turns ----


@pytest.fixture
def calls():
    """The calls made, each as a library's key and its view."""
    return []


@pytest.fixture
def pretended(calls):
    """Make libraries, gred and peers, of functions that may be slow, wrong or failing."""

    def noted(key, function):
        return lambda view, *_: calls.append((key, view)) or function(view)

    return lambda **functions: [Peer(key, noted(key, f)) for key, f in functions.items()]


@pytest.fixture
def taking(monkeypatch):
    """Make sums that take a given time on a clock that nothing else advances."""
    now = [100.0]

    def wait(seconds):
        now[0] += seconds

    clock = {"monotonic": lambda: now[0], "perf_counter_ns": lambda: round(now[0] * 1e9)}
    monkeypatch.setattr(contest, "time", SimpleNamespace(**clock, sleep=wait))
    return lambda seconds: lambda view: wait(seconds) or view.sum()


def competed(case, some, *sampling, device=HOST, **options):
    stage = contest.Stage(case, some, device, seed=0)
    rows = contest.compete(case, stage, Sampling(*sampling), **options)
    return {row["library"]: row for row in rows}


def test_libraries_take_turns_in_changing_order(pretended, calls, given):
    given(contest, _SAMPLE_SECONDS=1e-9, _LONG_SECONDS=0.0)
    rows = competed(case_of(), pretended(gred=np.sum, a=np.sum, b=np.sum), 20, 0)
    assert {len(row["samples_ns"]) for row in rows.values()} == {20}
    timed = [key for key, _ in calls[-60:]]
    rounds = [tuple(timed[k : k + 3]) for k in range(0, 60, 3)]
    assert all(set(one) == {"gred", "a", "b"} for one in rounds)
    assert len(set(rounds)) > 3


def test_what_raises_is_missing_and_says_why_and_a_wrong_answer_is_seen(pretended, calls):
    def raises(view):
        raise NotImplementedError("not for\nthis type at 0x7f00, by far")

    def late(view):
        if [key for key, _ in calls].count("late") > 5:
            raise MemoryError("out of it")
        return view.sum()

    some = pretended(gred=np.sum, wrong=lambda view: view.sum() * 1.1, a=raises, late=late)
    rows = competed(case_of(), some, 4, 1)
    assert {key: row["missing"] for key, row in rows.items()} == {
        **{"gred": "", "wrong": "", "late": "MemoryError: out of it"},
        "a": "NotImplementedError: not for this type, by far",
    }
    assert [rows[key]["right"] for key in ("gred", "wrong", "a")] == [True, False, False]
    assert (len(rows["wrong"]["samples_ns"]), rows["a"]["samples_ns"]) == (4, [])


def test_slow_calls_are_timed_less_often(pretended, calls, taking, monkeypatch):
    """Slow calls run three times; after the deadline none runs more often, and slow ones once."""

    def samples(*sampling, **seconds):
        calls.clear()
        options = {"deadline": seconds.pop("deadline")} if "deadline" in seconds else {}
        some = pretended(**{key: taking(each) for key, each in seconds.items()})
        rows = competed(case_of(), some, *sampling, **options)
        return {key: (len(row["samples_ns"]), *set(row["samples_ns"])) for key, row in rows.items()}

    timed = samples(30, 1, 0.01, gred=1e-3, a=0.03)
    assert (timed["gred"][0], timed["a"]) == (10, (3, 30_000_000))
    timed = samples(30, 2, gred=1e-3, a=1e-6, slow=0.03, deadline=0.0)
    assert [count for count, *_ in timed.values()] == [3, 3, 1]
    assert [key for key, _ in calls].count("slow") == 3
    monkeypatch.setattr(contest, "_SAMPLE_SECONDS", 0.01)  # for many short calls
    assert samples(4, 1, gred=1e-4) == {"gred": (4, 100_000)}
    assert len(calls) == 2 + 4 * (1 + 100)


def test_copies_are_enough_for_the_cache_to_forget(pretended):
    device = HOST._replace(l2_cache=1 << 16, memory=1 << 40)
    some = pretended(gred=np.sum, a=np.sum)
    stage = contest.Stage(case_of(size=1 << 12), some, device, seed=0)
    copies = {1 << 14: (16, True), 1 << 17: (2, True), 1 << 20: (2, True), 1 << 10: (1, False)}
    assert {nbytes: stage.copies(nbytes) for nbytes in copies} == copies
    scarce = contest.Stage(case_of(size=1 << 12), some, device._replace(memory=3 << 16), seed=0)
    assert scarce.copies(1 << 14) == (3, False)


@pytest.mark.parametrize("names", [("gred",), ("gred", "a")])
def test_every_copy_has_memory_of_its_own_and_its_turn(pretended, calls, names):
    """Libraries that share arrays cycle through the copies together."""
    some = pretended(**dict.fromkeys(names, np.sum))
    for library in some:
        library.pool = "shared"
    competed(case_of(size=1 << 12), some, 4, 1, device=HOST._replace(l2_cache=1 << 14))
    places = [view.ctypes.data for _, view in calls]
    assert len(set(places)) == 4
    assert places == [places[k % 4] for k in range(len(places))]


# ---- output ----


def row(library, nanoseconds, right=True, **more):
    given = {"reduction": "sum", "dtype": "float32", "layout": "flat", "extent": "4 KiB"}
    given |= {"size": 1024, "nbytes": 4096, "limit_gb_per_s": 10.0, "cold": True, "missing": ""}
    given |= {"library": library, "median_ns": nanoseconds, "right": right}
    given |= {"gb_per_s": 4096 / nanoseconds if nanoseconds else None}
    return given | {"ours": library.startswith("gred")} | more


def test_the_ratio_is_of_the_best_right_peer_over_the_slower_gred():
    rows = [row("gred", 10), row("gred-torch", 20), row("cupy", 50), row("torch", 30)]
    rows += [row("jax", 5, right=False), row("cub", None, missing="no")]
    [one] = versus.outcomes(rows)
    assert (one.gred["library"], one.peer["library"], one.ratio) == ("gred-torch", "torch", 1.5)
    assert one.share == pytest.approx(4096 / 20 / 10)
    assert str(one) == "sum float32, 4 KiB"
    [wrong] = versus.outcomes([row("gred", 10, right=False), *rows[1:]])
    assert (wrong.wrong, wrong.ratio) == (True, None)
    rows = [row("gred", 10), row("numpy", 40), row("gred", 10, layout="rows")]
    rows[2:2] = [row("gred", 10, extent="8 KiB"), row("numpy", 10, extent="8 KiB")]
    apart = versus.outcomes(rows)
    assert [one.ratio for one in apart] == [4.0, 1.0, None]
    assert versus.mean_ratio(apart) == pytest.approx(2.0)  # geometric mean
    assert versus.mean_ratio(apart[2:]) is None


def test_everything_measured_is_written_and_shown(screen, tmp_path):
    out = screen(*TINY, "--json", "kept.json", "--csv", "kept.csv")
    kept = record.read_json(tmp_path / "kept.json")
    rows, run = record.rows_of(kept), kept["run"]
    assert (kept["kind"], run["floor_ns"]) == ("versus", None)
    assert run["libraries"]["numpy"]["version"] == np.__version__
    assert len(rows) == 2 * 2 * 2 * 2 * 2  # libraries, sizes, reductions, types, layouts
    for one in rows:
        assert (one["right"], one["missing"], len(one["samples_ns"])) == (True, "", 2)
        assert one["median_ns"] == pytest.approx(np.median(one["samples_ns"]), rel=1e-3)
        assert one["gb_per_s"] == pytest.approx(one["nbytes"] / one["median_ns"], rel=1e-3)
        assert one["limit_gb_per_s"] > 0
    useful = {(one["dtype"], one["layout"], one["extent"]): one["nbytes"] for one in rows}
    wanted = {("float32", "flat", "64"): 256, ("int8", "flat", "64"): 64}
    assert (wanted | {("float32", "columns", "4 KiB"): 2048}).items() <= useful.items()
    lines = list(csv.DictReader((tmp_path / "kept.csv").read_text(encoding="utf-8").splitlines()))
    assert [line["library"] for line in lines] == [one["library"] for one in rows]
    assert "samples_ns" not in lines[0]
    table = [line for line in out.splitlines() if line.split()[:1] in (["sum"], ["argmax"])]
    assert len(table) == 16
    assert all("NumPy" in line and "x " in line for line in table)
    assert "gred is faster in " in out


def kept_of(rows, floor=None):
    names = {one["library"]: one["ours"] for one in rows}
    names = {name: {"title": name, "version": "1", "ours": ours} for name, ours in names.items()}
    machine = {"device": {"name": "host"}, "processor": "a processor"}
    return {"machine": machine, "run": {"libraries": names, "floor_ns": floor}, "rows": rows}


def test_plots_show_every_case(screen, tmp_path):
    screen(*TINY, "--out", "new")
    kept = record.read_json(tmp_path / "new" / "versus.json")
    for name in versus.FIGURES:
        text = (tmp_path / "new" / "plots" / f"{name}.svg").read_text(encoding="utf-8")
        assert record.digest(kept) in text
    times = [axes for axes in plots.time_figure(kept).axes if axes.get_visible()]
    series = {versus.series_text(versus.series(one)) for one in record.rows_of(kept)}
    assert sorted(axes.get_title() for axes in times) == sorted(series)
    for axes in times:
        points = {line.get_label(): len(line.get_xdata()) for line in axes.get_lines()}
        assert points == dict.fromkeys(("gred", "NumPy", "read limit, from memory"), 2)
    for axes in plots.ratio_figure(kept).axes:
        assert len(axes.patches) == len(axes.texts) == 8
        assert [label.get_text() for label in axes.get_yticklabels()] == ["sum", "argmax"]


def test_plots_are_green_ahead_and_red_behind_and_show_the_latency_floor():
    rows = []
    for size, peer_ns in enumerate((11, 9, 2000)):
        more = {"extent": f"{1 << size} B", "size": 1 + size, "nbytes": 1 << size}
        rows += [row("gred", 10, **more), row("numpy", peer_ns, **more)]
    [axes, *_] = plots.time_figure(kept_of(rows[::2], floor=8.5)).axes
    [floor] = [line for line in axes.get_lines() if line.get_label() == "latency floor"]
    assert set(floor.get_ydata()) == {8.5}
    [axes, *_] = plots.time_figure(kept_of(rows[:1])).axes
    assert "nothing was measured at two sizes" in axes.get_title()
    rows += [row("gred", 10, reduction="max"), row("gred", 10, right=False, reduction="any")]
    rows += [row("gred", None, reduction="min"), row("numpy", 7, reduction="min")]
    [axes] = plots.ratio_figure(kept_of(rows)).axes
    texts = [text.get_text().replace("\n", " ") for text in axes.texts]
    cells = dict(zip(texts, (patch.get_facecolor()[:3] for patch in axes.patches), strict=True))
    assert set(cells) == {"1.10x numpy", "0.90x numpy", "200x numpy", "no peer", "missing", "WRONG"}
    assert np.argmax([cells[text] for text in cells if "x " in text], 1).tolist() == [1, 0, 1]
    assert cells["WRONG"] == (0, 0, 0)


def lacks(self, case):
    raise libraries.LackingError("nothing of the kind")


SUM = gred.sum
SAID = [  # what is changed; the status, text shown once, and text not shown
    (gred, "sum", lambda *given, **more: SUM(*given, **more) + 5,
     1, ["WRONG: gred, sum float32, 64: "], "WRONG: gred, argmax"),
    (libraries.NumPy, "function", lambda *_: lambda view: view.sum() * 3,
     0, ["wrong: NumPy, sum float32, 64: ", "no case has answers of"], "WRONG"),
    (libraries.NumPy, "function", lacks,
     0, ["NumPy lacks sum, argmax in 16 cases: nothing of the kind"], "NumPy lacks argmax"),
]  # fmt: skip


@pytest.mark.parametrize(("where", "name", "function", "status", "said", "unsaid"), SAID)
def test_a_wrong_answer_and_what_a_library_lacks_are_said_once(
    command, monkeypatch, where, name, function, status, said, unsaid
):
    """A wrong answer of gred ends with status 1; a peer's is no failure."""
    monkeypatch.setattr(where, name, function)
    ended, out, _ = command(*TINY, "--csv", "kept.csv")
    assert (ended, [out.count(words) for words in said]) == (status, [1] * len(said))
    assert unsaid not in out


def test_what_is_not_here_is_named_with_the_reason(screen, refused, monkeypatch, tmp_path):
    """A library or type that is requested by name has to be available."""
    absent = {"bottleneck", "numexpr", "torch", "jax"}
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(cases.Type, "known", lambda self: self.name != "bfloat16")
    one = ("versus", "--device", "host", "--samples", "1", "--sizes", "64", "--layouts", "flat")
    out = screen(*one, "--reductions", "sum", "--json", "kept.json")
    assert "PyTorch (ModuleNotFoundError" in " ".join(out.split())
    assert "bfloat16, which needs ml_dtypes" in out
    assert set(record.read_json(tmp_path / "kept.json")["run"]["absent"]) == absent
    assert "needs ml_dtypes" in refused(*one, "--types", "bfloat16")
    assert "gred: --peers bottleneck: " in refused(*one, "--peers", "bottleneck")


def test_runs_end_in_time_and_say_what_they_left_out(screen, monkeypatch, tmp_path):
    given, deadlines, compete = [], [], versus.compete

    def competed(*arguments):
        deadlines.append(arguments[-1] - 1000.0)
        return compete(*arguments[:-1])

    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(versus, "Clock", lambda seconds: given.append(seconds) or Clock(seconds))
    monkeypatch.setattr(versus, "compete", competed)
    screen(*TINY, "--seconds", "300", "--json", "kept.json")
    assert (given, len(deadlines)) == ([280.0], 16)
    assert all(0 < seconds <= 280.0 for seconds in deadlines)
    assert deadlines[0] < 280.0 / 15
    assert record.read_json(tmp_path / "kept.json")["run"]["left_out"] == []
    monkeypatch.setattr(versus, "_QUICK_SECONDS", 0.0)
    out = screen(*TINY[:5], "--quick", "--json", "kept.json")
    kept, count = record.read_json(tmp_path / "kept.json"), len(cases.cases(QUICK))
    assert (kept["rows"], len(kept["run"]["left_out"])) == ([], count)
    assert f"skipped to end in time: {count} cases" in out


def ends_its_process(*_):
    os._exit(3)


def test_every_case_is_compiled_once_whatever_its_size(monkeypatch):
    """Processes that die leave the remaining cases for later."""
    compiled = []
    some = [case_of("sum", "int8", size=n) for n in (64, 128)] + [case_of("max", "int8")]
    monkeypatch.setattr(contest, "_compile", ends_its_process)
    contest.compile_ahead(libraries.NumPy("host"), some)
    monkeypatch.setattr(contest, "_compile", lambda *work: compiled.append(work))
    monkeypatch.setattr(contest, "ProcessPoolExecutor", ThreadPoolExecutor)  # calls are seen here
    contest.compile_ahead(libraries.NumPy("host"), some)
    assert sorted(compiled) == [("numpy", "host", (op, "int8", "flat")) for op in ("max", "sum")]


# ---- time, sizes and bounds ----


def test_tasks_share_the_time_by_size_and_are_left_out_evenly_where_they_cannot(monkeypatch):
    """Run tasks on a fake clock; return the indices of those done, and the time at the end."""
    now = [0.0]
    monkeypatch.setattr(measure.time, "monotonic", lambda: now[0])

    def tasks_done(seconds, taken, sizes=(1,) * 100):
        now[0], left = 0.0, sum(sizes)
        timer, done = measure.Clock(seconds), []
        for place, size in enumerate(sizes):
            if timer.affords("task", size) and timer.admits(left):
                deadline = timer.deadline(size, left)
                with timer.timing("task", size):
                    now[0] += taken(deadline - now[0])
                done.append(place)
            left -= size
        return done, now[0]

    done, end = tasks_done(30.0, lambda deadline: deadline)
    assert (len(done), 20 < end <= 30) == (100, True)
    assert tasks_done(None, lambda _: 5.0) == (list(range(100)), 500.0)
    shares, sizes = [], (1,) * 20 + (4,) * 20
    tasks_done(100.0, lambda deadline: shares.append(deadline) or deadline, sizes)
    assert shares[0] == pytest.approx(0.8)
    assert shares[20] / shares[19] == pytest.approx(4, rel=0.05)
    done, end = tasks_done(30.0, lambda _: 1.0)
    assert 25 <= len(done) <= end <= 30
    assert {*np.diff([place for place in done if place > 10])} <= {2, 3, 4, 5}
    assert done[-1] > 90
    taking_1_of_10_seconds = tasks_done(10.0, lambda _: 1.0, (1000, 9000))
    assert taking_1_of_10_seconds == ([0], 1.0)  # the second would take 9 times as long


def test_sizes_are_numbers_ranges_and_lists_of_elements_or_bytes_and_methods_have_numbers():
    sizes = {"1000000": 10**6, "1e6": 10**6, "2**20": 1 << 20, "2^20": 1 << 20, "1_000": 1000}
    assert {text: options.parse_size(text) for text in sizes} == sizes
    assert options.parse_sizes("7, 2**3:2^4,7,1e1") == (7, 8, 10, 16)
    many = {"4B,64KiB,1TiB": ["4 B", "64 KiB", "1 TiB"], "1KiB:4KiB": ["1 KiB", "2 KiB", "4 KiB"]}
    for text, shown in (many | {"2**3:2^5, 1000": ["8", "16", "32", "1,000"]}).items():
        assert [str(extent) for extent in options.parse_extents(text)] == shown
    given = {"reductions": ("sum",), "types": ("int8", "complex128"), "layouts": ("flat",)}
    given["extents"] = options.parse_extents("64KiB")
    found = cases.cases(cases.GRIDS["host", False], **given)
    assert {case.type.name: case.size for case in found} == {"int8": 65536, "complex128": 4096}
    assert options.parse_samples(str(options.MOST_SAMPLES)) == options.MOST_SAMPLES
    with pytest.raises(ValueError, match=str(options.MOST_SAMPLES)):  # as options do
        gred.kernel_time([1], samples=options.MOST_SAMPLES + 1)
    named = options.parse_methods("reduce5,3,shared_modulo,global")
    assert [m.name for m in named] == ["interleaved", "shared_modulo", "shared_grid_stride"]


def test_the_bound_of_the_longest_sum_still_says_something():
    assert 0 < data.relative_bound(1 << 28, 2.0**-24) < 0.01
