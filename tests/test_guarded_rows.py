"""Slices are read from their first element to their last, and nowhere else."""

from processes import printed


def test_nothing_in_front_of_a_slice_or_behind_it_is_read():
    assert printed("import guarded_rows; guarded_rows.main()", path=True) == "all right\n"
