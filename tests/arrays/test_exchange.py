"""Objects that offer DLPack's C exchange API are read without calling Python."""

import ctypes
import gc
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import exchanges
import numpy as np
import pytest
from capsules import CUDA, CUDA_HOST, CUDA_MANAGED, WRONG, Producer, capsule_of
from exchanges import ATTRIBUTE, GIVE, ONLY_EXCHANGING, SHOW, exchange, lender, offer

import gred
from gred.testing import SimulatedArray

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
observed = pytest.fixture(exchanges.observed, autouse=True)


def test_a_producer_that_only_gives_gets_each_tensor_back_once():
    giving = lender(offer(exchange(**{SHOW: None})), exchanges.Untold)
    producer = giving(capsule_of(X))
    for k in range(1, 4):
        assert gred.sum(producer) == X.sum()
        assert producer.capsule.deletions == k
    with pytest.raises(ValueError, match="method"):
        gred.sum(producer, method="none")
    assert producer.functions == ["give"] * 4
    assert producer.capsule.deletions == 4
    assert gred.sum(giving(capsule_of(X, with_deleter=False))) == X.sum()


# ---- usable and unusable tables ----


def endless(*versions):
    """Chain tables of the given versions into a cycle."""
    tables = [exchange(version) for version in versions]
    for table, older in zip(tables, [*tables[1:], tables[0]], strict=True):
        table.prev_api, table.kept = ctypes.addressof(older), older
    return offer(tables[0])


OLDEST, OLDER = exchange((0, 8)), exchange((1, 3), exchange((0, 8)))
NO_OFFERS = [None, 3, "x", property(lambda self: offer()), offer(name=b"dlpack_exchange")]
NO_OFFERS += [offer(exchange(version)) for version in ((0, 0), (0, 8), (2, 0), (2**32 - 1, 3))]
NO_OFFERS += [offer(exchange((2, 1), OLDEST)), endless((3, 0), (2, 0)), endless((3, 0))]
NO_OFFERS += [offer(exchange(**{name: None})) for name in (GIVE, exchanges.STREAM)]
for broken in (exchanges.fail, exchanges.do_nothing, exchanges.SET_ERROR, exchanges.RAISE):
    NO_OFFERS += [offer(exchange(**{SHOW: broken})), offer(exchange(**{GIVE: broken, SHOW: None}))]
OFFERS = [offer(exchange(version)) for version in ((1, 0), (1, 3), (1, 2**32 - 1))]
OFFERS += [offer(), offer(exchange(**{SHOW: None})), offer(OLDER)]
OFFERS += [offer(exchange((2, 1), exchange((2, 0), OLDER)))]


@pytest.mark.parametrize("k", range(len(NO_OFFERS) + len(OFFERS)))
def test_what_is_not_understood_leaves_it_to_python(k):
    producer = lender([*NO_OFFERS, *OFFERS][k])(capsule_of(X))
    assert gred.sum(producer) == X.sum()
    assert bool(producer.calls) == (k < len(NO_OFFERS))


def test_a_class_with_a_protocol_of_its_own_means_that_one():
    """Its own protocol takes precedence over its base's C functions, which may not know all."""
    memory = SimulatedArray(3 * X)
    doubled = {"__dlpack__": lambda self, **options: (2 * X).__dlpack__(**options)}
    elsewhere = {"__cuda_array_interface__": memory.__cuda_array_interface__ | {"stream": 1}}
    both = {"__dlpack__": exchanges.Untold.__dlpack__} | {ATTRIBUTE: offer()}
    for names, factor in ((doubled, 2), (elsewhere, 3), ({}, 1), (both, 1)):
        producer = type("Derived", (exchanges.EXCHANGING,), names)(capsule_of(X))
        assert gred.sum(producer) == factor * X.sum()
        assert producer.functions == ["show"] * (factor == 1)


def test_an_offer_is_the_types_and_may_change_between_calls():
    producer = Producer(capsule_of(X))
    setattr(producer, ATTRIBUTE, offer())
    assert gred.sum(producer) == X.sum()
    assert not producer.functions
    kind = lender(None)
    producer = kind(capsule_of(X))
    for value in (offer(), None, ..., offer()):
        delattr(kind, ATTRIBUTE) if value is ... else setattr(kind, ATTRIBUTE, value)
        assert gred.sum(producer) == X.sum()
    assert len(producer.calls) == len(producer.functions) == 2


def test_types_that_come_where_others_went_are_not_taken_for_them():
    """Python reuses the addresses of freed types, so cached lookups must not outlive a type."""
    failing = exchange(**{SHOW: exchanges.fail, GIVE: exchanges.fail})
    offers = [offer(), None, offer(failing), offer(exchange((2, 0)))]
    for k in range(12):
        kind = lender(offers[k % 4])
        producer = kind(capsule_of(k * X))
        assert gred.sum(producer) == k * X.sum()
        assert producer.functions == ["show"] * (k % 4 == 0)
        del kind, producer
        gc.collect()


# ---- errors ----


@pytest.mark.parametrize("function", [SHOW, GIVE])
def test_an_exception_leaves_it_to_python_and_others_are_heard(function):
    """RAISE calls the object's `__len__`, which raises the exception."""
    offered = offer(exchange(**{SHOW: None, function: exchanges.RAISE}))
    for error in (ZeroDivisionError, MemoryError, RecursionError, KeyboardInterrupt, SystemExit):
        raising = {"__len__": Mock(side_effect=error("not today"))}
        producer = lender(offered, type("Raising", (Producer,), raising))(capsule_of(X))
        if issubclass(error, Exception):
            assert gred.sum(producer) == X.sum()
        else:
            with pytest.raises(error, match="not today"):
                gred.sum(producer)
        assert len(producer.calls) == issubclass(error, Exception)


# Base classes without other protocols, and with `__array__`, which NumPy reads.
BASES = [SimpleNamespace]
BASES += [type("WithArray", (SimpleNamespace,), {"__array__": lambda *_, **__: 2 * X})]
OTHER_VERSIONS = [{"version": version} for version in ((0, 8), (2, 0), (2**32 - 1, 0))]


@pytest.mark.parametrize("only_given", [False, True])
def test_a_wrong_tensor_is_not_read_and_released(only_given):
    """Without another protocol this is an error; otherwise the other protocol is used."""
    offered = offer(exchange(**({SHOW: None} if only_given else {})))
    for changes in [changes for changes, _ in WRONG.values()] + OTHER_VERSIONS * only_given:
        kinds = [lender(offered, base) for base in BASES]
        producers = [kind(capsule=capsule_of(X, **changes), functions=[]) for kind in kinds]
        with pytest.raises(TypeError, match="a: "):
            gred.sum(producers[0])
        assert gred.sum(producers[1]) == 2 * X.sum()
        for producer in producers:
            assert producer.functions == ["give" if only_given else "show"]
            assert producer.capsule.deletions == only_given


def on_simulated(array, device_type, number=0, base=exchanges.Untold, **functions):
    """Lend an array in the simulated device's memory as if it were on a GPU."""
    capsule = exchanges.simulated(array, device_type=device_type, device=number)
    return lender(offer(exchange(**functions)), base)(capsule, (device_type, number))


@pytest.mark.parametrize("device_type", [CUDA, CUDA_MANAGED])
@pytest.mark.parametrize("number", [0, 3, 2**31 - 1, -1])
def test_the_stream_of_device_memory_is_asked_for(device_type, number):
    """Once per call for each array, for its own device; never for host memory."""
    a, mask = on_simulated(X, device_type, number), on_simulated(X > 5, device_type, number)
    out = on_simulated(np.zeros(1, np.float32), device_type, number)
    for k in range(1, 4):
        assert gred.sum(a, where=mask, out=out) is out
        assert out.capsule.array.get() == X[X > 5].sum()
        assert exchanges.asked == [(device_type, number)] * 3 * k
    exchanges.asked.clear()
    for changes in ({}, {"device_type": CUDA_HOST}):
        assert gred.sum(ONLY_EXCHANGING(capsule_of(X, **changes))) == X.sum()
    assert not exchanges.asked


@pytest.mark.parametrize("broken", [exchanges.fail_stream, exchanges.SET_ERROR])
def test_a_stream_that_is_not_told_leaves_it_to_python(broken):
    class Known(Producer):
        @property
        def __cuda_array_interface__(self):
            self.calls.append("interface")
            return self.capsule.array.__cuda_array_interface__ | {"stream": 1}

    producer = on_simulated(X, CUDA, base=Known, **{exchanges.STREAM: broken})
    assert gred.sum(producer) == X.sum()
    assert producer.calls == ["interface"]


# ---- PyTorch, including lazily conjugated and negated tensors ----


def test_pytorchs_tensors_masks_and_outputs_are_taken_and_python_is_not_asked(monkeypatch):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, ATTRIBUTE):
        pytest.skip("this PyTorch has no C exchange interface")
    for name in ("__dlpack__", "__dlpack_device__", "__array__"):
        monkeypatch.setattr(torch.Tensor, name, exchanges.Untold.refuse)
    monkeypatch.setattr(torch.Tensor, "__cuda_array_interface__", property(exchanges.Untold.refuse))
    a = torch.arange(6.0).reshape(2, 3)
    mask, out = a > 2, torch.ones(())
    own = a.as_subclass(type("Own", (torch.Tensor,), {}))
    kept = torch.nn.Parameter(a, requires_grad=False)
    for tensor in (a, a.T, a.bfloat16(), a.to(torch.complex64).conj().resolve_conj(), own, kept):
        assert gred.sum(tensor) == 15
    assert [gred.sum(part) for part in (a[1:, ::2], a[0].expand(3, -1), a[:0])] == [8, 9, 0]
    assert gred.sum(a, where=mask, out=out) is out
    assert out.item() == gred.sum(a.numpy(), where=mask) == 12


def test_pytorchs_lazy_tensors_are_right_and_no_out():
    torch = pytest.importorskip("torch")
    z = torch.tensor([1 + 2j, 3 - 5j])
    imaginary = z.conj().imag
    some = [z.conj(), imaginary, imaginary[0], torch.as_strided(imaginary, (2,), (1,))]
    for tensor in (*some, torch._neg_view(torch.arange(4)), torch._neg_view(z.conj())):
        references = sys.getrefcount(tensor)
        assert gred.sum(tensor) == tensor.sum().item()
        assert sys.getrefcount(tensor) == references
        with pytest.raises(ValueError, match="out is a lazily conjugated or negated tensor"):
            gred.sum(X, out=tensor[..., :1] if tensor.ndim else tensor)
    assert gred.sum(z.conj().conj()) == 4 - 3j
    assert gred.sum(torch.arange(4).conj()) == 6


def test_a_tensor_that_is_overridden_is_read_as_it_says():
    torch = pytest.importorskip("torch")

    class Doubled(torch.Tensor):
        def __dlpack__(self, **options):
            return (2 * self.as_subclass(torch.Tensor)).__dlpack__(**options)

    assert gred.sum(torch.ones(3).as_subclass(Doubled)) == 6
