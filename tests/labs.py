"""What tests of the laboratory need."""

import shutil

import pytest

LAB = [
    pytest.mark.unsanitized,
    pytest.mark.usefixtures("patient_lab"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))),
        reason="there is no C++ compiler here",
    ),
]
