"""A launch's result counts as there when all its words have that launch's tag, and not before."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
C_COMPILER = os.environ.get("CC", "gcc").split()
WORDS = 556  # POSTED_BYTES_MAX in words of 4 bytes

pytestmark = [
    pytest.mark.skipif(not shutil.which(C_COMPILER[0]), reason="there is no C compiler here"),
    pytest.mark.unsanitized,  # it is compiled by itself, without sanitizers
]


class Mailbox(ctypes.Structure):
    _fields_ = (
        ("words", ctypes.POINTER(ctypes.c_uint64)),
        ("on_device", ctypes.POINTER(ctypes.c_uint64)),
        ("tag", ctypes.c_uint32),
        ("bytes", ctypes.c_size_t),
        ("awaited", ctypes.c_bool),
    )


class Ending(ctypes.Structure):
    _fields_ = (
        ("mailbox", ctypes.POINTER(ctypes.c_uint64)),
        ("tag", ctypes.c_uint32),
        ("out", ctypes.c_void_p),
        ("divisor", ctypes.c_double),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    target = tmp_path_factory.mktemp("mailbox") / "mailbox.so"
    flags = [f"-I{ROOT / 'csrc'}", "-std=c11", "-O2", "-fPIC", "-shared", "-o", target]
    subprocess.run([*C_COMPILER, *flags, ROOT / "csrc/run/mailbox.c"], check=True)
    library = ctypes.CDLL(str(target))
    library.mailbox_next.restype = Ending
    library.mailbox_next.argtypes = (ctypes.POINTER(Mailbox), ctypes.c_size_t)
    library.mailbox_read.restype = library.mailbox_is_awaited.restype = ctypes.c_bool
    return library


@pytest.fixture
def mailbox():
    words = (ctypes.c_uint64 * WORDS)()
    return Mailbox(words=words, on_device=words)


def post(ending, k, half):
    ending.mailbox[k] = ending.tag << 32 | half


def read(library, mailbox, count):
    halves = (ctypes.c_uint32 * count)()
    return list(halves) if library.mailbox_read(ctypes.byref(mailbox), halves) else None


def is_awaited(library, mailbox):
    return library.mailbox_is_awaited(ctypes.byref(mailbox))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_result_is_there_with_its_last_word_whichever_that_is(library, mailbox, order):
    assert not is_awaited(library, mailbox)
    for launch in range(3):
        ending = library.mailbox_next(mailbox, 12)
        for k in order:
            assert is_awaited(library, mailbox)
            assert read(library, mailbox, 3) is None
            post(ending, k, 10 * launch + k)
        if launch != 1:
            assert read(library, mailbox, 3) == [10 * launch + k for k in range(3)]
        assert not is_awaited(library, mailbox)


def test_what_an_earlier_launch_posts_late_is_not_the_next_ones(library, mailbox):
    earlier = library.mailbox_next(mailbox, 4)
    later = library.mailbox_next(mailbox, 4)
    post(earlier, 0, 1)
    assert is_awaited(library, mailbox)
    post(later, 0, 2)
    assert read(library, mailbox, 1) == [2]


def test_tags_that_begin_again_are_taken_for_no_older_ones(library, mailbox):
    first = library.mailbox_next(mailbox, 8)
    post(first, 0, 7), post(first, 1, 7)
    mailbox.tag = 2**32 - 1
    again = library.mailbox_next(mailbox, 8)
    assert again.tag == first.tag
    assert read(library, mailbox, 2) is None
    post(again, 1, 8)
    assert read(library, mailbox, 2) is None


def test_what_has_been_given_up_is_not_awaited(library, mailbox):
    library.mailbox_next(mailbox, 4)
    library.mailbox_give_up(ctypes.byref(mailbox))
    assert not is_awaited(library, mailbox)
