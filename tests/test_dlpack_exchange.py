"""DLPack tensors of host memory are read, and written, alike by capsules and by C's exchange."""

import exchanges
import numpy as np
import pytest
from capsules import BFLOAT, COPIED, NEW, OLD, READ_ONLY, Producer, capsule_of
from exchanges import EXCHANGING, ONLY_EXCHANGING
from inputs import OPS, reduce
from reference import BFLOAT16, EVERY_TYPE, agrees, truth

import gred

PLACES = [{"device": "host"}, {"method": "last_block", "device": "simulated"}]
everywhere = pytest.mark.parametrize("where", PLACES, ids=["host", "simulated"])
X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
WAYS = {
    "old capsule": lambda x, **changes: Producer(capsule_of(x, OLD, **changes)),
    "new capsule": lambda x, **changes: Producer(capsule_of(x, NEW, **changes)),
    "exchange": lambda x, **changes: ONLY_EXCHANGING(capsule_of(x, **changes)),
}
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def nobody_was_asked_in_vain_and_the_next_call_is_right():
    exchanges.refusals.clear()
    yield
    assert not exchanges.refusals
    assert gred.sum([1, 2, 3]) == 6


def check(way, x, right, **changes):
    """Sum what is lent: a capsule is released once, a tensor of an exchange is only shown."""
    producer = WAYS[way](x, **changes)
    assert gred.sum(producer) == right
    is_exchange = way == "exchange"
    assert producer.capsule.deletions == (not is_exchange and changes.get("with_deleter", True))
    assert not is_exchange or producer.functions == ["show"]


@every_way
@everywhere
def test_every_type_and_layout_is_read(way, where):
    for dtype in EVERY_TYPE:
        x = (np.arange(60) % 2).astype(dtype).reshape(3, 4, 5)
        for view in (x, x.T, x[::2, ::-1], x[1, 2, 3, ...], np.broadcast_to(x[0], x.shape), x[:0]):
            bits = view.view(np.int16) if dtype == BFLOAT16 else view
            changes = {"code": BFLOAT} if dtype == BFLOAT16 else {}
            for op in OPS if view.size else ("sum", "prod"):
                producer = WAYS[way](bits, **changes)
                got = reduce(op, producer, **where)
                assert agrees(got, truth(op, view)), f"{op} of {dtype}: {got!r}"
                assert producer.capsule.deletions == (way != "exchange")


@every_way
def test_the_memory_is_the_producers(way):
    """Nothing is copied on the way: a write between two calls is seen, and nothing is written."""
    x = np.zeros(10)
    producer = WAYS[way](x)
    assert gred.sum(producer) == 0
    x[3] = 7
    assert gred.sum(producer) == 7


@every_way
def test_strides_a_deleter_and_data_may_be_left_out_and_an_offset_given(way):
    check(way, X, X.ravel()[2:22].sum(), strides=None, byte_offset=8, shape=(20,))
    check(way, X, X.sum(), with_deleter=False)
    check(way, X, 0, shape=(0,), strides=None, data=None)


@every_way
def test_extents_of_1_and_0_may_have_any_stride(way):
    check(way, X, X.sum(), shape=(1, 24, 1), strides=(2**62, 1, -7))
    check(way, X, 0, shape=(0, 2**40), strides=(2**62, 1))


@pytest.mark.parametrize("way", ["new capsule", "exchange"])
@pytest.mark.parametrize("flags", [READ_ONLY, COPIED, READ_ONLY | COPIED])
def test_a_tensor_that_must_not_be_written_or_is_a_copy_is_no_out(way, flags):
    memory = np.full(1, 9.0)
    out = WAYS[way](memory, flags=flags)
    with pytest.raises(ValueError, match="out is read-only"):
        gred.sum(X, out=out)
    assert memory == 9
    assert out.capsule.deletions == 1
    assert gred.sum(out) == 9


@pytest.mark.parametrize("elsewhere", [0, 4, 7, 8, 10, 14, 15, 99, -1, 2**31 - 1])
def test_memory_of_other_devices_is_refused(elsewhere):
    with pytest.raises(TypeError, match="device"):
        gred.sum(EXCHANGING(capsule_of(X, device_type=elsewhere), (elsewhere, 0)))
    named = rf"a: .*device type {elsewhere}" if elsewhere >= 0 else "a: __dlpack_device__"
    with pytest.raises(TypeError, match=named):
        gred.sum(Producer(capsule_of(X, device_type=elsewhere), (elsewhere, 0)))
