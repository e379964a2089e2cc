"""Values that harm whoever looks, and how they may be refused."""

REFUSALS = (TypeError, ValueError, RuntimeError, BufferError, OverflowError, MemoryError)


class Refuses:
    """A value all of whose methods raise, but for those that Hypothesis itself needs."""

    def __index__(self):
        raise ZeroDivisionError

    __bool__ = __len__ = __iter__ = __str__ = __int__ = __float__ = __index__
    __hash__ = None

    def __eq__(self, other):
        raise ZeroDivisionError

    def __array__(self, *_, **__):
        raise ZeroDivisionError


class Nameless(Refuses):
    """A value that cannot even be shown in a message."""

    def __repr__(self):
        raise ZeroDivisionError
