"""Each exercise fails its check for the reason that it is about, and its answer passes.

The answers are here and nowhere else.
"""

import pytest
from labs import LAB, saved
from thin import chosen

import gred
from gred.lab import checking

pytestmark = LAB

# What the check names, of the exercise as it is.
LACKS = {
    1: ("bounds", "loads element 1, of which there are 1"),
    2: ("unwritten", "shared element 1, which is uninitialized"),
    3: ("goal", "lanes"),
    4: ("goal", "bank conflicts"),
    5: ("answer", "element 32 is left out"),
    6: ("race", "stores shared element"),
    7: ("race", "shared element 0"),
}
IDENTITY, PAIR = "Fold::identity()", "fold_pair<Fold>(data, n, i, blockDim.x)"
# What the hole is filled with: what is there, and what comes in its place.
ANSWERS = {
    1: {"load<Fold>(data, i);": f"i < n ? load<Fold>(data, i) : {IDENTITY};"},
    2: {
        "for (unsigned stride": "__syncthreads();\nfor (unsigned stride",
        "x[tid + stride]);\n": "x[tid + stride]);\n__syncthreads();\n",
    },
    3: {
        "if (tid % (2 * stride) == 0)": "unsigned i = 2 * stride * tid;\nif (i < blockDim.x)",
        "x[tid] = Fold::merge(x[tid], x[tid + ": "x[i] = Fold::merge(x[i], x[i + ",
    },
    4: {
        "stride = 1; stride < blockDim.x; stride *=": "stride = blockDim.x / 2; stride; stride /=",
        "i = 2 * stride * threadIdx.x": "i = threadIdx.x",
        "i < blockDim.x": "i < stride",
    },
    5: {f"i < n ? load<Fold>(data, i) : {IDENTITY}": PAIR},
    6: {
        "x[tid] = value;\n": "x[tid] = value;\n__syncwarp();\n",
        "x[tid + stride]);\n": "x[tid + stride]);\n__syncwarp();\n",
    },
    7: {
        "of_warps[warp] = value;": "if (lane == 0)\nof_warps[warp] = value;\n__syncthreads();",
        "(of_warps[lane])": f"(lane < blockDim.x / warp_size ? of_warps[lane] : {IDENTITY})",
    },
}


def checked(source, folder):
    """Check what is right or what an exercise is about, and name one finding."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "FINDINGS_MAX", 1)
        return gred.lab.compile(saved(folder, source)).check()


@pytest.mark.parametrize("number", LACKS)
def test_an_exercise_says_what_it_lacks(number, tmp_path):
    source, (kind, text) = gred.lab.exercise(number).source, LACKS[number]
    report = checked(source, tmp_path)
    assert not report.right
    assert report[0].kind == kind
    assert text in report[0].text
    if kind != "answer":
        above = source.splitlines()[: report[0].line][-9:]
        assert "/* The hole" in "".join(above)


@pytest.mark.parametrize("number", chosen(ANSWERS))
def test_its_answer_is_right(number, tmp_path):
    head, hole = gred.lab.exercise(number).source.split("/* The hole", 1)
    for there, instead in ANSWERS[number].items():
        assert hole.count(there) == 1, there
        hole = hole.replace(there, instead)
    report = checked(f"{head}/* The hole{hole}", tmp_path)
    assert report.right, report


def test_there_are_seven_and_no_other_and_an_answer_is_never_overwritten(tmp_path):
    sheet = gred.lab.exercises()
    assert [one.number for one in sheet] == [*LACKS] == [*ANSWERS]
    assert all(one.name in one.source for one in sheet)
    for number in (0, 8, "1", None):
        with pytest.raises(ValueError, match="from 1 to 7"):
            gred.lab.exercise(number)
    path = saved(tmp_path, "my answer")
    with pytest.raises(FileExistsError):
        gred.lab.exercise(1).save(path)
    assert path.read_text(encoding="utf-8") == "my answer"
