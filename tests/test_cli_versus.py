"""What `python -m gred versus` promises: every answer checked, every library's turn, all shown."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import math
import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from thin import chosen

import gred
from gred.cli import (
    cases,
    console,
    contest,
    data,
    libraries,
    measure,
    options,
    outcome,
    record,
    versus,
)
from gred.cli.data import Truth, random_mask, repeated_array
from gred.cli.measure import Clock, Sampling

pytestmark = pytest.mark.unsanitized

HOST = options.resolve_device("host")
TINY = (
    *("versus", "--device", "host", "--peers", "numpy", "--samples", "2"),
    *("--sizes", "64,4KiB", "--reductions", "sum,argmax", "--types", "float32,int8"),
    *("--layouts", "flat,columns"),
)
THOUSAND = (cases.Extent(1000, in_bytes=False),)
EVERY_CASE = cases.cases(
    (cases.Block(tuple(cases.REDUCTIONS), tuple(cases.TYPES), tuple(cases.LAYOUTS), THOUSAND),)
)
# Every reduction of every type, and of three types in every layout.
KNOWN = [
    case
    for case in EVERY_CASE
    if case.type.known()
    and (case.layout.name == "flat" or case.type.name in ("int8", "float32", "complex64"))
]
FOUR = Sampling(4, 1)
every_reduction = pytest.mark.parametrize("reduction", cases.REDUCTIONS)


MEASURED = functools.cache(contest.read_limit)


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


def case_of(reduction="sum", kind="float32", layout="flat", size=1000):
    extent = cases.Extent(size, in_bytes=False)
    [case] = cases.cases((cases.Block((reduction,), (kind,), (layout,), (extent,)),))
    return case


def data_of(case):
    array = repeated_array(case.size, case.type.dtype(), case.data)
    return array, random_mask(case.size) if case.masked else None


def answers_of(library, case):
    array, mask = data_of(case)
    placed = None if mask is None else library.place(mask)
    answer = library.function(case)(*library.given(case, library.place(array), placed))
    return answer if isinstance(answer, tuple) else (answer,)


# ---- cases ----


def test_the_whole_grids_have_every_reduction_type_and_layout():
    for kind in ("host", "cuda"):
        found = cases.cases(cases.GRIDS[kind, False])
        assert {case.reduction.name for case in found} == {r.name for r in gred.reductions()}
        assert {case.type.name for case in found} == set(cases.TYPES)
        assert {case.layout.name for case in found} == set(cases.LAYOUTS)
        assert len(set(found)) == len(found)
        assert len(cases.cases(cases.GRIDS[kind, True])) < len(found) / 8


def test_what_is_given_takes_the_place_of_a_grids_side():
    grid = cases.GRIDS["host", False]
    only = cases.cases(grid, types=("int8",))
    assert {case.type.name for case in only} == {"int8"}
    assert {case.reduction.name for case in only} > {"sum", "argmax", "any"}
    one = cases.cases(grid, ("max",), ("int8",), ("flat",), THOUSAND)
    assert [str(case) for case in one] == ["max int8, 1,000"]


def test_cases_that_share_an_array_come_together_and_small_ones_first():
    found = cases.cases(cases.GRIDS["cuda", False])
    keys = [contest.stage_key(case) for case in found]
    assert len(list(itertools.groupby(keys))) == len(set(keys))
    assert [case.nbytes for case in found] == sorted(case.nbytes for case in found)


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_a_view_is_what_its_text_says(layout):
    case = next(case for case in KNOWN if case.layout.name == layout)
    flat = np.arange(case.size)
    if case.layout.view is None:
        assert case.view(flat) is flat
    else:
        written = eval(f"matrix{case.layout.text}", {"matrix": flat.reshape(case.shape)})
        assert np.array_equal(case.view(flat), written)


def test_bytes_are_turned_into_elements_of_each_type():
    extents = options.parse_extents("64KiB")
    sizes = {case.type.name: case.size for case in cases.cases(cases.GRIDS["host", False],
             ("sum",), ("int8", "float32", "complex128"), ("flat",), extents)}  # fmt: skip
    assert sizes == {"int8": 65536, "float32": 16384, "complex128": 4096}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("4B,64KiB", ["4 B", "64 KiB"]),
        ("1KiB:4KiB", ["1 KiB", "2 KiB", "4 KiB"]),
        ("2**3:2^5, 1000", ["8", "16", "32", "1,000"]),
        ("1GiB,1TiB", ["1 GiB", "1 TiB"]),
    ],
)
def test_sizes_are_elements_or_bytes(text, shown):
    assert [str(extent) for extent in options.parse_extents(text)] == shown


# ---- data ----


@pytest.mark.parametrize("kind", [name for name, kind in cases.TYPES.items() if kind.known()])
def test_data_makes_every_reduction_read_to_the_end(kind):
    dtype = cases.TYPES[kind].dtype()
    size = 4000
    assert not repeated_array(size, dtype, "any").any()
    assert (repeated_array(size, dtype, "all") != 0).all()
    share = np.count_nonzero(repeated_array(size, dtype, "count_nonzero")) / size
    assert 0.2 < share < 0.6
    drawn = repeated_array(size, dtype, "sum")
    assert np.array_equal(drawn, repeated_array(size, dtype, "sum"))
    assert len(np.unique(drawn)) == 2 if kind == "bool" else len(np.unique(drawn)) > 90
    if cases.TYPES[kind].kind in "fc":
        nans = repeated_array(size, dtype, "nansum")
        assert 0.1 < np.count_nonzero(nans != nans) / size < 0.15


@pytest.mark.parametrize(
    ("reduction", "found"), [("min", False), ("argmin", False), ("max", True), ("argmax", True)]
)
def test_the_extremes_of_bools_are_not_found_early(reduction, found):
    array, _ = data_of(case_of(reduction, "bool"))
    assert found not in array


def test_long_arrays_repeat(monkeypatch):
    monkeypatch.setattr(data, "PERIOD", 100)
    drawn = repeated_array(250, np.dtype("float32"), "sum")
    assert drawn.size == 250
    assert np.array_equal(drawn[:100], drawn[100:200])
    assert np.array_equal(drawn[:50], drawn[200:])
    assert len(np.unique(drawn[:100])) == 100


# ---- truth ----


def exact(case, view, mask):
    """Work an answer out in fractions, or by NumPy's own functions where there is no rounding."""
    taken = view.ravel() if mask is None else view[mask]
    taken = taken.astype(case.layout.dtype) if case.layout.dtype else taken
    name = case.reduction.name
    if name.startswith("nan"):
        name, taken = name[3:], taken[taken == taken]
    if name in ("any", "all", "count_nonzero", "argmin", "argmax", "min", "max"):
        return (getattr(np, name)(taken),)
    if name == "minmax":
        return taken.min(), taken.max()
    if case.type.kind == "c":
        wide = taken.astype(complex)
        parts = wide.real, wide.imag
        total = complex(*(float(sum(map(Fraction, part.tolist()))) for part in parts))
        squares = float(sum(Fraction(x) ** 2 for part in parts for x in part.tolist()))
        product = complex(1)
        for factor in wide.tolist():
            product *= factor
    else:
        fractions = [Fraction(float(x)) if case.type.kind == "f" else Fraction(int(x))
                     for x in taken]  # fmt: skip
        total = sum(fractions, Fraction(0))
        squares = sum((x * x for x in fractions), Fraction(0))
        product = math.prod(fractions)
        product = int(product) % 2**64 if case.type.kind in "biu" else product
    count = len(taken)
    mean = total / count
    variance = squares / count - abs(mean) ** 2
    answers = {
        "sum": total,
        "prod": product,
        "mean": mean,
        "var": variance,
        "std": math.sqrt(variance),
        "norm": math.sqrt(squares),
    }
    if name == "ptp":
        return (int(taken.max()) - int(taken.min())
                if case.type.kind in "iu" else taken.max() - taken.min(),)  # fmt: skip
    if name == "describe":
        return taken.min(), taken.max(), mean, variance, total
    return (answers[name],)


@every_reduction
def test_the_truth_is_that_of_fractions(reduction):
    for case in chosen(case for case in KNOWN if case.reduction.name == reduction):
        array, mask = data_of(case)
        truth = Truth(case, array, mask)
        assert truth.accepts(exact(case, case.view(array), mask)), case
        assert not truth.accepts(tuple(float("nan") for _ in truth.values)), case
        assert not truth.accepts((*(value.number for value in truth.values), 0)), case


@every_reduction
def test_the_truth_of_what_repeats_is_that_of_the_whole(reduction, monkeypatch):
    """Pieces of other places, heights and ends, in a period that no row's length divides."""
    monkeypatch.setattr(data, "PERIOD", 96)
    monkeypatch.setattr(data, "_CHUNK", 40)
    for case in chosen((case for case in KNOWN if case.reduction.name == reduction), "repeats"):
        array, mask = data_of(case)
        assert Truth(case, array, mask).accepts(exact(case, case.view(array), mask)), case


def test_the_truth_looks_at_what_repeats_once(monkeypatch):
    monkeypatch.setattr(data, "PERIOD", 100)
    monkeypatch.setattr(data, "_CHUNK", 50)
    seen = []
    monkeypatch.setitem(data._PARTS, "sum", (lambda piece: seen.append(1) or piece.sum(), sum))
    array = repeated_array(1000, np.dtype("int64"), "sum")
    assert Truth(case_of(kind="int64"), array, None).accepts((array.sum(),))
    assert len(seen) == 2


@pytest.mark.parametrize("kind", ["int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["sum", "mean", "norm", "max", "count_nonzero", "nansum"])
def test_an_answer_that_lost_an_element_is_not_accepted(name, kind):
    if cases.TYPES[kind].kind not in cases.REDUCTIONS[name].kinds:
        pytest.skip("no such case")
    case = case_of(name, kind)
    array, _ = data_of(case)
    plain = np.linalg.norm if name == "norm" else getattr(np, name)
    lost = int(np.nanargmax(np.abs(array) if name != "max" else array))
    truth = Truth(case, array, None)
    assert truth.accepts((plain(array),))
    assert not truth.accepts((plain(np.delete(array, lost)),))


def test_a_place_is_right_by_what_is_there():
    case = case_of("argmax", "int8", "columns")
    array, _ = data_of(case)
    view = case.view(array)
    truth = Truth(case, array, None)
    best = np.flatnonzero(view.ravel() == view.max())
    assert len(best) > 1
    assert all(truth.accepts((place,)) for place in best)
    assert not truth.accepts((int(np.flatnonzero(view.ravel() != view.max())[0]),))
    assert not truth.accepts((view.size,))
    assert not truth.accepts((-1,))


def test_integers_are_equal_in_64_bits():
    case = case_of("prod", "uint64")
    array, _ = data_of(case)
    truth = Truth(case, array, None)
    answer = int(np.prod(array))
    assert truth.accepts((answer,))
    assert truth.accepts((answer - 2**64,))
    assert not truth.accepts((answer + 1,))
    assert not truth.accepts((answer + 2**32,))


# ---- libraries ----


@every_reduction
def test_gred_is_right_in_every_case(reduction):
    ours = libraries.Gred(libraries.NumPy("host"))
    for case in (case for case in KNOWN if case.reduction.name == reduction):
        truth = Truth(case, *data_of(case))
        assert truth.accepts(answers_of(ours, case)[-len(truth.values) :]), case


@pytest.mark.parametrize("key", libraries.peers_on("host"))
def test_a_peer_on_the_host_is_right_or_says_what_it_lacks(key):
    field = libraries.assemble("host", [key])
    if field.absent:
        pytest.skip(field.absent[key])
    library = field.libraries[-1]
    asked = [case for case in KNOWN if case.type.name in ("int32", "float32", "float64")]
    asked = asked[::9] if key == "jax" else asked  # which compiles each
    right, lacking = 0, set()
    for case in asked:
        truth = Truth(case, *data_of(case))
        try:
            answers = answers_of(library, case)
        except Exception as error:
            lacking.add((case.reduction.name, libraries.why(error)))
            continue
        if truth.accepts(answers):
            right += 1
        else:
            assert (key, case.type.name) == ("numexpr", "int32"), case
    assert right >= 8
    if key in ("numpy", "jax"):
        assert not lacking
    if key == "bottleneck":
        assert ("argmax", "no such reduction") in lacking


class Item(np.float64):
    """A scalar on a pretended device: it counts how often it is brought to the host."""

    brought = 0

    def item(self):
        type(self).brought += 1
        return super().item()


@pytest.fixture
def pretended_cupy(monkeypatch):
    """Let a module with NumPy's functions stand for CuPy, whose sum takes no mask."""
    set_to = []

    def without_mask(function):
        return lambda a, dtype=None: function(a, dtype=dtype)

    fake = SimpleNamespace(
        **{name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    )
    fake.__version__ = "14"
    fake.sum, fake.prod, fake.mean = map(without_mask, (np.sum, np.prod, np.mean))
    fake.asarray = np.array
    fake.cuda = SimpleNamespace(Device=lambda index: SimpleNamespace(use=lambda: None))
    fake._core = SimpleNamespace(
        _accelerator=SimpleNamespace(ACCELERATOR_CUB=1),
        get_reduction_accelerators=lambda: [],
        get_routine_accelerators=lambda: [],
        set_reduction_accelerators=set_to.append,
        set_routine_accelerators=set_to.append,
    )
    fake.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    fake.set_to = set_to
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    return fake


def test_on_a_gpu_cupys_arrays_are_reduced_by_cupy_cub_and_gred(pretended_cupy):
    field = libraries.assemble("cuda:0", libraries.peers_on("cuda:0"))
    assert [library.key for library in field.libraries] == ["gred", "cupy", "cupy-cub", "cub"]
    assert set(field.absent) == {"torch", "jax"}
    assert {library.pool for library in field.libraries} == {"cupy"}
    for case in KNOWN:
        if case.type.name not in ("int32", "float64"):
            continue
        truth = Truth(case, *data_of(case))
        for library in field.libraries[1:3]:
            assert truth.accepts(answers_of(library, case)), case


def test_cupy_is_told_its_accelerators_before_each_turn(pretended_cupy):
    plain, told = libraries.CuPy("cuda:0"), libraries.CuPyCub("cuda:0")
    told.start()
    plain.start()
    assert pretended_cupy.set_to == [[1], [1], [], []]
    pretended_cupy._core.get_reduction_accelerators = lambda: [1]
    pretended_cupy._core.get_routine_accelerators = lambda: [1]
    with pytest.raises(libraries.LackingError, match="by itself"):
        libraries.CuPyCub("cuda:0")


def test_an_answer_is_brought_to_the_host(pretended_cupy):
    pretended_cupy.sum = lambda a: Item(a.sum())
    case = case_of("sum", "float64")
    Item.brought = 0
    answers_of(libraries.CuPy("cuda:0"), case)
    assert Item.brought == 1


def test_the_command_runs_on_a_pretended_gpu(pretended_cupy, command, monkeypatch, tmp_path):
    gpu = HOST._replace(name="cuda:0", title="a pretended GPU")
    monkeypatch.setattr(options, "resolve_device", lambda _: gpu)
    monkeypatch.setattr(contest, "read_limit", lambda *_: 1e9)
    monkeypatch.setattr(
        gred, "launch_limit", lambda _: gred.LaunchLimit(np.array([8e-6]), "cuda:0")
    )
    status, out, _ = command(
        *("versus", "--device", "cuda:0", "--samples", "2", "--sizes", "4KiB", "--csv", "kept.csv"),
        *("--reductions", "sum", "--types", "float32", "--json", "kept.json"),
    )
    assert status == 0
    kept = record.read_json(tmp_path / "kept.json")
    assert kept["run"]["floor_ns"] == 8000
    assert list(kept["run"]["libraries"]) == ["gred", "cupy", "cupy-cub", "cub"]
    rows = record.rows_of(kept)
    assert all(one["right"] for one in rows if one["library"] in ("gred", "cupy", "cupy-cub"))
    assert "latency floor: " in out
    assert "a kernel that does nothing" in out
    assert "PyTorch (ModuleNotFoundError" in " ".join(out.split())


def test_cub_is_only_asked_for_what_it_reads_itself(pretended_cupy, monkeypatch):
    asked = []
    monkeypatch.setattr(gred, "sum", lambda a, **options: asked.append(options) or 0)
    cub = libraries.Cub(libraries.CuPy("cuda:0"))
    answers_of(cub, case_of("sum", "int32"))
    assert asked == [{"method": "cub", "dtype": "int32"}]
    for case in (case_of("sum", "int8"), case_of("sum", layout="columns"), case_of("argmax")):
        with pytest.raises(libraries.LackingError):
            cub.function(case)


# ---- turns ----


class Pretended(libraries.Library):
    """A library of a test's own: `function` may be slow, wrong or absent."""

    package = "numpy"
    calls: ClassVar[list[str]] = []

    def __init__(self, key, function, ours=False):
        super().__init__("host")
        self.key = self.title = self.pool = key
        self.ours = ours
        self._function = function

    def place(self, array):
        return array.copy()

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
    assert stage.copies(1 << 14) == (16, True)
    assert stage.copies(1 << 17) == (2, True)
    assert stage.copies(1 << 20) == (2, True)
    assert stage.copies(1 << 10) == (1, False)
    scarce = contest.Stage(case_of(size=1 << 12), some, device._replace(memory=3 << 16), seed=0)
    assert scarce.copies(1 << 14) == (3, False)


@pytest.fixture
def seen():
    """The views that sums are made of."""
    return []


@pytest.fixture
def remember(seen):
    """Make sums that remember what they are given."""
    return lambda view: seen.append(view) or view.sum()


@pytest.mark.parametrize("names", [("gred",), ("gred", "a")])
def test_every_copy_has_memory_of_its_own_and_its_turn(pretended, seen, remember, names):
    """Libraries of the same arrays go round them together."""
    some = pretended(**dict.fromkeys(names, remember))
    for library in some:
        library.pool = "shared"
    competed(case_of(size=1 << 12), some, device=HOST._replace(l2_cache=1 << 14))
    places = [view.ctypes.data for view in seen]
    assert len(set(places)) == 4
    assert places == [places[k % 4] for k in range(len(places))]


def test_what_takes_numpys_arrays_shares_them():
    field = libraries.assemble("host", ["numpy"])
    assert {library.pool for library in field.libraries} == {"numpy"}


def test_peers_that_reuse_a_stage_see_their_own_layout(pretended, seen, remember):
    some = pretended(gred=remember)
    flat, rows = case_of(size=1 << 10), case_of(layout="rows", size=1 << 10)
    assert contest.stage_key(flat) == contest.stage_key(rows)
    stage = contest.Stage(flat, some, HOST, seed=0)
    for case in (flat, rows):
        [row] = contest.compete(case, stage, some, Sampling(1, 0))
        assert row["right"]
    assert {view.shape for view in seen} == {(1024,), (16, 32)}


def test_there_is_no_latency_floor_on_the_host():
    assert contest.latency_floor(HOST).seconds is None


def test_the_floor_of_a_gpu_is_the_median_launch_of_nothing(monkeypatch):
    limit = gred.LaunchLimit(np.array([3e-6, 1e-6, 2e-6]), "cuda:1")
    monkeypatch.setattr(gred, "launch_limit", {"cuda:1": limit}.get)
    floor = contest.latency_floor(HOST._replace(name="cuda:1"))
    assert floor.seconds == 2e-6
    assert "does nothing" in floor.meaning


# ---- outcomes ----


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


def test_a_wrong_gred_has_no_ratio():
    rows = [row("gred", 10, ours=True, right=False), row("gred-torch", 20, ours=True)]
    [one] = outcome.outcomes([*rows, row("numpy", 50)])
    assert one.wrong
    assert one.ratio is None


def test_cases_are_kept_apart_and_summed_up_geometrically():
    rows = [row("gred", 10, ours=True), row("numpy", 40)]
    rows += [row("gred", 10, ours=True, extent="8 KiB"), row("numpy", 10, extent="8 KiB")]
    rows += [row("gred", 10, ours=True, layout="rows")]
    found = outcome.outcomes(rows)
    assert [one.ratio for one in found] == [4.0, 1.0, None]
    assert outcome.mean_ratio(found) == pytest.approx(2.0)
    assert outcome.mean_ratio(found[2:]) is None


# ---- the command ----


def test_everything_measured_is_written_and_shown(command, tmp_path):
    status, out, _ = command(*TINY, "--json", "kept.json", "--csv", "kept.csv")
    assert status == 0
    kept = record.read_json(tmp_path / "kept.json")
    rows = record.rows_of(kept)
    assert kept["kind"] == "versus"
    assert kept["run"]["libraries"]["numpy"]["version"] == np.__version__
    assert kept["run"]["floor_ns"] is None
    assert len(rows) == 2 * 2 * 2 * 2 * 2  # libraries, sizes, reductions, types, layouts
    for one in rows:
        assert one["right"]
        assert one["missing"] == ""
        assert len(one["samples_ns"]) == 2
        assert one["median_ns"] == pytest.approx(np.median(one["samples_ns"]), rel=1e-3)
        assert one["gb_per_s"] == pytest.approx(one["nbytes"] / one["median_ns"], rel=1e-3)
        assert one["limit_gb_per_s"] > 0
    useful = {(one["dtype"], one["layout"], one["extent"]): one["nbytes"] for one in rows}
    assert useful["float32", "flat", "64"] == 256
    assert useful["int8", "flat", "64"] == 64
    assert useful["float32", "columns", "4 KiB"] == 2048
    lines = list(csv.DictReader(io.StringIO((tmp_path / "kept.csv").read_text(encoding="utf-8"))))
    assert [line["library"] for line in lines] == [one["library"] for one in rows]
    assert "samples_ns" not in lines[0]
    table = [line for line in out.splitlines() if line.split()[:1] in (["sum"], ["argmax"])]
    assert len(table) == 16
    assert all("NumPy" in line and "x " in line for line in table)
    assert "gred is ahead in " in out


def test_plots_show_every_case(command, tmp_path):
    pytest.importorskip("matplotlib")
    from gred.cli import versus_plots

    assert command(*TINY, "--out", "new")[0] == 0
    kept = record.read_json(tmp_path / "new" / "versus.json")
    for name in versus.FIGURES:
        text = (tmp_path / "new" / "plots" / f"{name}.svg").read_text(encoding="utf-8")
        assert record.digest(kept) in text
    times = versus_plots.time_figure(kept)
    titles = [axes.get_title(loc="left") for axes in times.axes if axes.get_visible()]
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
    names = {one["library"]: {"title": one["library"], "version": "1", "ours": one["ours"]}
             for one in rows}  # fmt: skip
    machine = {"device": {"name": "host"}, "processor": "a processor"}
    return {"machine": machine, "run": {"libraries": names, "floor_ns": floor}, "rows": rows}


def test_the_map_is_green_ahead_and_red_behind_and_hides_nothing():
    pytest.importorskip("matplotlib")
    from gred.cli import versus_plots

    rows = []
    for extent, gred_ns, peer_ns in (("1 B", 10, 11), ("2 B", 10, 9), ("4 B", 10, 2000)):
        rows += [row("gred", gred_ns, ours=True, extent=extent, size=len(rows) + 1)]
        rows += [row("numpy", peer_ns, extent=extent, size=len(rows))]
    rows += [row("gred", 10, ours=True, reduction="max")]
    rows += [row("gred", None, ours=True, reduction="min"), row("numpy", 7, reduction="min")]
    rows += [row("gred", 10, ours=True, right=False, reduction="any")]
    [axes] = versus_plots.ratio_figure(kept_of(rows)).axes
    cells = {text.get_text().replace("\n", " "): patch.get_facecolor()[:3]
             for text, patch in zip(axes.texts, axes.patches, strict=True)}  # fmt: skip
    assert set(cells) == {"1.10x numpy", "0.90x numpy", "200x numpy", "alone", "lacks", "WRONG"}
    for text in ("1.10x numpy", "200x numpy"):
        red, green, blue = cells[text]
        assert green > max(red, blue) + 0.02
    red, green, blue = cells["0.90x numpy"]
    assert red > max(green, blue) + 0.05
    assert cells["WRONG"] == (0, 0, 0)


def test_the_latency_floor_is_a_line_of_the_times():
    pytest.importorskip("matplotlib")
    from gred.cli import versus_plots

    rows = [row("gred", 10 * k, ours=True, extent=f"{k} B", nbytes=k) for k in (1, 2, 4)]
    [axes] = versus_plots.time_figure(kept_of(rows, floor=8.5)).axes
    [floor] = [line for line in axes.get_lines() if line.get_label() == "latency floor"]
    assert set(floor.get_ydata()) == {8.5}
    lonely = versus_plots.time_figure(kept_of(rows[:1]))
    assert "nothing was measured at two sizes" in lonely.axes[0].get_title(loc="left")


@pytest.fixture
def wrong_sum(monkeypatch):
    true_sum = gred.sum
    monkeypatch.setattr(gred, "sum", lambda *given, **more: true_sum(*given, **more) + 5)


def test_a_wrong_answer_of_greds_ends_with_status_one(command, wrong_sum):
    status, out, _ = command(*TINY, "--csv", "kept.csv")
    assert status == 1
    assert "WRONG: gred, sum float32, 64: " in out
    assert "WRONG: gred, argmax" not in out


def test_a_wrong_answer_of_a_peers_is_shown_and_no_failure(command, monkeypatch):
    monkeypatch.setattr(libraries.NumPy, "function", lambda *_: lambda view: view.sum() * 3)
    status, out, _ = command(*TINY, "--reductions", "sum", "--csv", "kept.csv")
    assert status == 0
    assert "wrong: NumPy, sum float32, 64: " in out
    assert "alone" in out
    assert "no case has both" in out


def test_what_a_library_lacks_is_said_once(command, monkeypatch):
    def lacks(self, case):
        raise libraries.LackingError("nothing of the kind")

    monkeypatch.setattr(libraries.NumPy, "function", lacks)
    status, out, _ = command(*TINY, "--csv", "kept.csv")
    assert status == 0
    assert out.count("NumPy lacks") == 1
    assert "NumPy lacks sum, argmax in 16 cases: nothing of the kind" in out


def test_a_peer_asked_for_by_name_has_to_be_here(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "bottleneck", None)
    status, out, err = command(*TINY, "--peers", "bottleneck")
    assert (status, out) == (2, "")
    assert "gred: --peers bottleneck: " in err


def test_a_peer_that_is_not_here_is_named_with_the_reason(command, monkeypatch, tmp_path):
    for name in ("bottleneck", "numexpr", "torch", "jax"):
        monkeypatch.setitem(sys.modules, name, None)
    status, out, _ = command(
        *("versus", "--device", "host", "--samples", "1", "--sizes", "100", "--types", "int32"),
        *("--reductions", "sum", "--layouts", "flat", "--json", "kept.json"),
    )
    assert status == 0
    assert "PyTorch (ModuleNotFoundError" in " ".join(out.split())
    kept = record.read_json(tmp_path / "kept.json")
    assert set(kept["run"]["absent"]) == {"bottleneck", "numexpr", "torch", "jax"}


def test_quick_ends_in_time_and_says_what_it_left_out(command, monkeypatch, tmp_path):
    monkeypatch.setattr(versus, "_QUICK_SECONDS", 0.0)
    status, out, _ = command("versus", "--device", "host", "--peers", "numpy", "--quick",
                             "--json", "kept.json")  # fmt: skip
    assert status == 0
    kept = record.read_json(tmp_path / "kept.json")
    assert kept["rows"] == []
    assert len(kept["run"]["left_out"]) == len(cases.cases(cases.GRIDS["host", True]))
    assert f"left out to end in time: {len(kept['run']['left_out'])} cases" in out


def test_a_bounded_run_shares_its_time_among_all_cases(command, monkeypatch, tmp_path):
    given, deadlines = [], []
    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(versus, "Clock", lambda seconds: given.append(seconds) or Clock(seconds))
    compete = versus.compete
    monkeypatch.setattr(
        versus, "compete", lambda *a: deadlines.append(a[-1] - 1000.0) or compete(*a[:-1])
    )
    assert command(*TINY, "--seconds", "300", "--json", "kept.json")[0] == 0
    assert given == [280.0]
    assert len(deadlines) == 16
    assert all(0 < seconds <= 280.0 for seconds in deadlines)
    assert deadlines[0] < 280.0 / 15
    assert record.read_json(tmp_path / "kept.json")["run"]["left_out"] == []


def test_a_type_that_numpy_lacks_is_left_out_and_said(command, monkeypatch):
    monkeypatch.setattr(cases.Type, "known", lambda self: self.name != "bfloat16")
    given = ("versus", "--device", "host", "--peers", "numpy", "--samples", "1", "--sizes", "64")
    status, out, _ = command(
        *given, "--reductions", "sum", "--layouts", "flat", "--csv", "kept.csv"
    )
    assert status == 0
    assert "bfloat16, which needs ml_dtypes" in out
    status, _, err = command(*given, "--types", "bfloat16")
    assert status == 2
    assert "needs ml_dtypes" in err


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("width", [20, 60, 100, 200])
def test_the_table_is_readable_in_any_width(command, monkeypatch, rich, width):
    monkeypatch.setattr(console.Stream, "columns", lambda _: width)
    if not rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    arguments = ("--sizes", "64", "--reductions", "sum", "--types", "int8", "--csv", "kept.csv")
    status, out, _ = command(*TINY, *arguments, "--layouts", "flat")
    assert status == 0
    assert "…" not in out
    table = out[out.index("slow") :]
    assert "NumPy" in table
    assert any(len(word) > 1 and word.endswith("x") and word[0].isdigit() for word in table.split())


def test_interrupt_ends_with_status_130(command, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(contest, "Truth", interrupted)
    assert command(*TINY, "--csv", "kept.csv")[0] == 130


def test_help_lists_the_options(command):
    status, out, _ = command("versus", "--help")
    assert status == 0
    for option in ("--device", "--sizes", "--types", "--reductions", "--layouts", "--peers"):
        assert option in out
    assert "cupy-cub" in out
