"""A rung's file: which kernel it has, what that is made from, and how it is launched."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import gred
from gred.checks import number_from
from gred.lab import plain

LATEST = 22  # the checker knows no asynchronous copies, and no clusters
DATA_BLOCKS_MAX = 1024
_BYTES_MAX = 1 << 20

# It takes a time in proportion to the source, whatever that is.
_LAUNCHED = re.compile(
    r"[Ll]aunched\s+like\s+(\w+)(?:,\s*(\d+)\s+data\s+blocks?)?(?:,\s*blocks\s+of\s+(\d+))?"
)
BLOCK_SIZES = (32, 64, 256, 1024)
_FORMS = """
    __global__ void my_rung(const float *in, float *out, unsigned n)
    template <class Fold> __global__ void my_rung(global<state_of<Fold>> data, uint64_t n, ...)
    template <class Fold, class Array> __global__ void my_rung(Array data, uint64_t n, ...)
and either of them with `unsigned Block` as the last parameter of the template"""


class Form(NamedTuple):
    """How a rung's file is to be compiled and launched."""

    name: str
    instance: str  # of the template, of types In and Acc and the number Block
    like: str  # the rung of the ladder that it is launched as
    data_blocks: int  # so many elements a thread should get at least
    block_sizes: tuple[int, ...] = BLOCK_SIZES  # that it is checked in
    plain: plain.Plain | None = None  # how it is called, if it is ordinary CUDA

    @property
    def dtype(self) -> str | None:
        """The only type of elements that it takes, if there is one."""
        return self.plain.dtype if self.plain else None

    @property
    def block_size(self) -> int | None:
        """The block size that it is for, unless it is for any."""
        return None if self.block_sizes == BLOCK_SIZES else self.block_sizes[-1]


def read(path: Path) -> str:
    """Read a source, if it is a file of reasonable size."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size > _BYTES_MAX:
        raise ValueError(f"{path} is longer than {_BYTES_MAX:,} bytes: that is no rung")
    return path.read_text(encoding="utf-8")


def form_of(source: str, like: str | None, data_blocks: int | None) -> Form:
    """Find the kernel, and its launch by argument, file or name; ValueError if none tells."""
    code = plain.masked(source)
    kernels = list(plain.KERNEL.finditer(code))
    if len(kernels) != 1:
        found = ", ".join(one["name"] for one in kernels) or "none"
        forms = f"of one of the forms{_FORMS}"
        raise ValueError(f"a rung's file has one kernel, {forms}; found {found}")
    (kernel,), name = kernels, kernels[0]["name"]
    ordinary = plain.plain_of(code, kernel)
    instance = plain.instance(ordinary) if ordinary else _instance(name, kernel["template"] or "")
    said = _LAUNCHED.search(source)
    rung = like or (said and said[1]) or name
    if ordinary and not like and not said and name not in _rungs():
        rung = "atomic" if ordinary.adds_to_one else "shared_sequential"
        data_blocks = data_blocks or 1
    method = _rung(rung, is_told=rung != name)
    if data_blocks is None:
        told = said[2] if said and not like else None
        data_blocks = int(told) if told else _data_blocks(method)
    number = number_from(data_blocks, "data_blocks", DATA_BLOCKS_MAX)
    sizes = ordinary.block_sizes if ordinary else BLOCK_SIZES
    if said and said[3]:
        sizes = (int(said[3]),)
        if sizes[0] not in (32, 64, 128, 256, 512, 1024):
            raise ValueError(f"blocks are of 32, 64, 128, 256, 512 or 1024 threads; got {said[3]}")
    return Form(name, instance, method, number, sizes, ordinary)


def _rung(name: str, is_told: bool) -> str:
    method = _rungs().get(name)
    if method and (method.number or 0) <= LATEST:
        return method.name
    if method:
        raise ValueError(f"{name!r} cannot be checked; rungs 0 to {LATEST} can")
    if is_told:
        raise ValueError(f"{name!r} is no rung of the ladder; gred.methods() lists them")
    raise ValueError(
        f"how is {name} launched? Give like=, a rung of the ladder, or say in the file, in a "
        "comment: launched like unroll8"
    )


def _rungs() -> dict[str, gred.Method]:
    rungs = [method for method in gred.methods() if method.number is not None]
    return {name: method for method in rungs for name in (method.name, *method.aliases)}


def _instance(name: str, parameters: str) -> str:
    kinds = (" ".join(one.split()[:-1]) for one in parameters.split(","))
    form = ", ".join(kind.replace("typename", "class").removesuffix(" int") for kind in kinds)
    known = {
        "class": "",
        "class, class": ", global<const In>",
        "class, unsigned": ", Block",
        "class, class, unsigned": ", global<const In>, Block",
    }
    if form not in known:
        given = parameters.strip()
        raise ValueError(f"{name} is a template of <{given}>; its form is one of{_FORMS}")
    return f"{name}<counted<sum<Acc>>{known[form]}>"


def _data_blocks(rung: str) -> int:
    table = resources.files("gred").joinpath("headers/common/ladder.def").read_text("utf-8")
    row = re.search(rf"^RUNG\(\d+, {rung}, [^,]*, \w+, \w+, (\d+),", table, re.MULTILINE)
    if row is None:
        raise ValueError(f"the ladder's table has no row for {rung!r}")
    return int(row[1])
