"""What `python -m gred versus` compares: cases, data, right answers and libraries."""

import itertools
import sys
from functools import partial
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from scripts import CuPy

import gred
from gred.cli import cases, contest, data, libraries, options, record
from gred.cli.data import Truth, random_array, random_mask

HOST = options.resolve_device("host")
THOUSAND = (cases.Extent(1000, in_bytes=False),)
WHOLE = (tuple(cases.REDUCTIONS), tuple(cases.TYPES), tuple(cases.LAYOUTS))
# Every reduction of every type; three types in every layout.
KNOWN = [
    case
    for case in cases.cases((cases.Block(*WHOLE, THOUSAND),))
    if case.type.known()
    and (case.layout.name == "flat" or case.type.name in ("int8", "float32", "complex64"))
]
TYPES = [name for name, kind in cases.TYPES.items() if kind.known()]


def case_of(reduction="sum", kind="float32", layout="flat", size=1000):
    extents = (cases.Extent(size, in_bytes=False),)
    [case] = cases.cases((cases.Block((reduction,), (kind,), (layout,), extents),))
    return case


def data_of(case):
    array = random_array(case.size, case.type.dtype(), case.data)
    return array, random_mask(case.size) if case.masked else None


def truth_of(case):
    array, mask = data_of(case)
    return Truth(case, array, mask), case.view(array)


def answers_of(library, case):
    array, mask = data_of(case)
    placed = None if mask is None else library.place(mask)
    answer = library.function(case)(*library.given(case, library.place(array), placed))
    return answer if isinstance(answer, tuple) else (answer,)


class Peer(libraries.NumPy):
    """A library with a name and a function that reduces; it lacks some reductions."""

    def __init__(self, key, call, lacks=()):
        super().__init__("host")
        self.key = self.title = self.pool = key
        self.call, self.lacks, self.ours = call, lacks, key == "gred"
        self.module = SimpleNamespace(as_tensor=np.asarray, tile=np.tile)

    def function(self, case):
        if case.reduction.name in self.lacks:
            raise libraries.LackingError("no such reduction")
        return self.call


# ---- cases and data ----


@pytest.mark.parametrize("kind", ["host", "cuda"])
def test_grids_have_every_reduction_type_and_layout_and_what_is_given_takes_a_sides_place(kind):
    """Cases that share an array are adjacent, and small ones come first."""
    grid = cases.GRIDS[kind, False]
    found = cases.cases(grid)
    for side, whole in zip(("reduction", "type", "layout"), WHOLE, strict=True):
        assert {getattr(case, side).name for case in found} == {*whole}
    assert set(cases.REDUCTIONS) == {r.name for r in gred.reductions()}
    assert len(set(found)) == len(found)
    assert len(cases.cases(cases.GRIDS[kind, True])) < len(found) / 8
    keys = [contest.stage_key(case) for case in found]
    assert len(list(itertools.groupby(keys))) == len(set(keys))
    assert [case.nbytes for case in found] == sorted(case.nbytes for case in found)
    only = cases.cases(grid, types=("int8",))
    assert {case.type.name for case in only} == {"int8"}
    assert {case.reduction.name for case in only} > {"sum", "argmax", "any"}
    sides = {"reductions": ("max",), "layouts": ("flat",), "extents": THOUSAND}
    one = cases.cases(grid, types=("int8",), **sides)
    assert [str(case) for case in one] == ["max int8, 1,000"]


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_a_view_is_what_its_text_says(layout):
    case = next(case for case in KNOWN if case.layout.name == layout)
    flat, text = np.arange(case.size), case.layout.text
    written = flat if case.layout.view is None else eval(f"flat.reshape(case.shape){text}")
    assert np.array_equal(case.view(flat), written)


@pytest.mark.parametrize("kind", TYPES)
def test_data_is_repeatable_and_makes_every_reduction_read_to_the_end(kind):
    draw = partial(random_array, 4000, cases.TYPES[kind].dtype())
    assert not draw("any").any()
    assert (draw("all") != 0).all()
    assert 0.2 < np.count_nonzero(draw("count_nonzero")) / 4000 < 0.6
    for op in ("sum", "prod", "max"):
        assert np.array_equal(draw(op, 3), draw(op, 3))
        assert not np.array_equal(draw(op, 3), draw(op, 4)) or (kind, op) == ("bool", "prod")
    drawn = len(np.unique(draw("sum")))
    assert drawn == 2 if kind == "bool" else drawn > 90
    if kind == "bool":
        assert data_of(case_of("argmin", kind))[0].all()
        assert not data_of(case_of("argmax", kind))[0].any()
    if cases.TYPES[kind].kind in "fc":
        assert 0.1 < np.isnan(draw("nansum").astype(complex)).mean() < 0.15


# ---- right answers ----


LOSING = [
    (name, kind)
    for name in ("sum", "prod", "mean", "norm", "max", "count_nonzero", "nansum")
    for kind in ("int32", "float32", "float64", "complex64")
    if cases.TYPES[kind].kind in cases.REDUCTIONS[name].kinds
]


@pytest.mark.parametrize(("name", "kind"), LOSING)
def test_rounding_is_accepted_but_no_answer_that_lost_an_element(name, kind):
    case, plain = case_of(name, kind), np.linalg.norm if name == "norm" else getattr(np, name)
    truth, array = truth_of(case)
    marks = np.abs(array - (name == "prod"))
    lost = int(np.nanargmax(array if name == "max" else marks))
    for few in (array, array[::-1]):
        assert truth.accepts((plain(few),))
    assert not truth.accepts((plain(np.delete(array, lost)),))
    if name in ("sum", "prod") and kind.startswith("float"):
        of_ladder, in_kind = data.numpy_answer(array, name), partial(plain, dtype=kind)
        assert of_ladder.accepts(in_kind(array[::-1]), grid=12, block_size=256)
        assert not of_ladder.accepts(in_kind(np.delete(array, lost)))
        assert not of_ladder.accepts(np.nan)


def test_a_place_is_right_by_what_is_there_and_integers_are_equal_in_64_bits():
    truth, view = truth_of(case_of("argmax", "int8", "columns"))
    is_best = view.ravel() == view.max()
    assert is_best.sum() > 1
    assert all(truth.accepts((place,)) for place in np.flatnonzero(is_best))
    others = (int(np.flatnonzero(~is_best)[0]), view.size, -1)
    assert not any(truth.accepts((place,)) for place in others)
    truth, array = truth_of(case_of("prod", "uint64"))
    answer = int(np.prod(array))
    accepted = [more for more in (0, -(2**64), 1, 2**32) if truth.accepts((answer + more,))]
    assert accepted == [0, -(2**64)]


# ---- libraries ----


@pytest.mark.parametrize("key", ["gred", *libraries.peers_on("host")])
def test_a_library_on_the_host_is_right_or_says_what_it_lacks(key):
    ours = key == "gred"
    field = libraries.assemble("host", [] if ours else [key])
    if key in field.absent:
        pytest.skip(field.absent[key])
    library = field.libraries[0 if ours else -1]
    asked = [case for case in KNOWN if case.type.name in ("int32", "float32", "float64")]
    asked = KNOWN if ours else asked[::9] if key == "jax" else asked  # JAX compiles each
    right, lacking = 0, set()
    for case in asked:
        truth, _ = truth_of(case)
        try:
            answers = answers_of(library, case)[-len(truth.values) :]
        except Exception as error:
            lacking.add((case.reduction.name, libraries.why(error)))
            continue
        right += truth.accepts(answers)
        assert truth.accepts(answers) or (key, case.type.name) == ("numexpr", "int32"), case
        assert not truth.accepts((*answers, 0)), case
        assert not truth.accepts((float("nan"),) * len(answers)), case
    assert right >= 8
    assert not lacking or not (ours or key in ("numpy", "jax"))
    assert key != "bottleneck" or ("argmax", "no such reduction") in lacking


@pytest.fixture
def pretended_cupy(monkeypatch):
    """Replace CuPy by NumPy; its sum takes no mask."""
    fake = CuPy()
    fake.asarray, fake.set_to, fake.__version__ = np.array, [], "14"
    for name in ("sum", "prod", "mean"):
        numpys = getattr(np, name)
        setattr(fake, name, lambda a, dtype=None, numpys=numpys: numpys(a, dtype=dtype))
    fake._core = MagicMock()
    fake._core._accelerator.ACCELERATOR_CUB = 1
    for kind in ("reduction", "routine"):
        getattr(fake._core, f"get_{kind}_accelerators").return_value = []
        setattr(fake._core, f"set_{kind}_accelerators", fake.set_to.append)
    for name, module in {"cupy": fake, "torch": None, "jax": None}.items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


def test_on_a_gpu_cupys_arrays_are_reduced_by_cupy_cub_and_gred(pretended_cupy, monkeypatch):
    """CUB is only called for what it supports itself."""
    field = libraries.assemble("cuda:0", libraries.peers_on("cuda:0"))
    assert [library.key for library in field.libraries] == ["gred", "cupy", "cupy-cub", "cub"]
    assert set(field.absent) == {"torch", "jax"}
    assert {library.pool for library in field.libraries} == {"cupy"}
    *_, cub = field.libraries
    for case in (case for case in KNOWN if case.type.name in ("int32", "float64")):
        for library in field.libraries[1:3]:
            assert truth_of(case)[0].accepts(answers_of(library, case)), case
    asked = []
    monkeypatch.setattr(gred, "sum", lambda a, **options: asked.append(options) or 0)
    answers_of(cub, case_of("sum", "int32"))
    assert asked == [{"method": "cub", "dtype": "int32"}]
    for case in (case_of("sum", "int8"), case_of("sum", layout="columns"), case_of("argmax")):
        with pytest.raises(libraries.LackingError):
            cub.function(case)


def test_cupy_is_told_its_accelerators_before_each_turn_and_its_answer_is_brought(pretended_cupy):
    libraries.CuPyCub("cuda:0").start()
    plain = libraries.CuPy("cuda:0")
    plain.start()
    assert pretended_cupy.set_to == [[1], [1], [], []]
    brought = []
    pretended_cupy.sum = lambda a: SimpleNamespace(item=lambda: brought.append(a))
    answers_of(plain, case_of("sum", "float64"))
    assert len(brought) == 1
    for kind in ("reduction", "routine"):
        setattr(pretended_cupy._core, f"get_{kind}_accelerators", lambda: [1])
    with pytest.raises(libraries.LackingError, match="by default"):
        libraries.CuPyCub("cuda:0")


def test_the_command_runs_on_a_pretended_gpu(pretended_cupy, screen, monkeypatch, tmp_path):
    gpu = HOST._replace(name="cuda:0", title="a pretended GPU")
    floor = gred.LaunchLimit(np.array([8e-6]), "cuda:0")
    monkeypatch.setattr(options, "resolve_device", lambda _: gpu)
    monkeypatch.setattr(contest, "read_limit", lambda *_: 1e9)
    monkeypatch.setattr(gred, "launch_limit", lambda _: floor)
    given = "--device cuda:0 --samples 2 --sizes 4KiB --reductions sum --types float32"
    out = screen("versus", *given.split(), "--json", "kept.json")
    kept = record.read_json(tmp_path / "kept.json")
    assert kept["run"]["floor_ns"] == 8000
    assert list(kept["run"]["libraries"]) == ["gred", "cupy", "cupy-cub", "cub"]
    right = {row["library"] for row in record.rows_of(kept) if row["right"]}
    assert {"gred", "cupy", "cupy-cub"} <= right
    for words in ("latency floor: ", "a kernel that does nothing", "PyTorch (ModuleNotFoundError"):
        assert words in " ".join(out.split())
