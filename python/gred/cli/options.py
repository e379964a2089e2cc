"""Parse the command's arguments: sizes, ranges and names, all checked before any work.

Errors raise UsageError with one line that states the given and the accepted values.
"""

import argparse
import difflib
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import gred
from gred.cli.cases import Extent
from gred.counting import ELEMENT_TYPES as ELEMENT_TYPES

OPS = ("sum", "prod", "min", "max")
# The limit of gred.kernel_time.
MOST_SAMPLES = 1_000_000
STANDARD_OUTPUT = Path("-")
_MOST_DIGITS = 40
_BYTES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}

_Value = TypeVar("_Value")


class UsageError(argparse.ArgumentTypeError):
    """Raised for invalid arguments; the message is the one line printed to the user."""


def whole(least: int, most: int, said: str = "", noun: str = "") -> Callable[[str], int]:
    """Return a parser for whole numbers in a range; `said` is the upper end in errors."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= _whole(text) <= most:
            end = said or str(most)
            raise UsageError(f"{text!r} is not a whole number{noun} from {least} to {end}")
        return _whole(text)

    return parse


def _whole(text: str) -> int:
    """Convert digits; more digits than Python accepts give a number beyond every range."""
    digits = text.replace("_", "").lstrip("0")
    return int(digits or "0") if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


parse_samples = whole(1, MOST_SAMPLES)
parse_seconds = whole(1, 1_000_000, noun=" of seconds")
parse_seed = whole(0, 2**64 - 1, "2**64 - 1")


def parse_size(text: str) -> int:
    """Parse a number of elements: 1000000, 1_000_000, 1e6, 2**20 or 2^20."""
    given = text.strip()
    size = None
    if re.fullmatch(r"\d[\d_]*", given):
        size = _whole(given)
    elif power := re.fullmatch(r"(\d{1,4})(?:\*\*|\^)(\d{1,2})", given):
        size = int(power[1]) ** int(power[2])
    elif re.fullmatch(r"\d+(\.\d+)?[eE]\+?\d{1,2}", given) and float(given).is_integer():
        size = int(float(given))
    if size is None:
        elements = "sizes are in elements, not bytes: " if given.endswith(tuple(_BYTES)) else ""
        raise UsageError(f"{text!r} is not a size; {elements}write 1000000, 1e6, 2**20 or 2^20")
    if not 1 <= size < 2**48:
        raise UsageError(f"{text!r} is out of range; a size is at least 1 and less than 2**48")
    return size


def _extent(text: str) -> Extent:
    given = text.strip()
    unit = re.sub(r".*[^A-Za-z]", "", given)
    if unit not in ("", *_BYTES) or unit == given != "":
        write = f"write bytes with {', '.join(reversed(_BYTES))}, as in 64KiB, or elements: 2**20"
        raise UsageError(f"{text!r} is not a size; {write}")
    return Extent(parse_size(given.removesuffix(unit)) * _BYTES.get(unit, 1), in_bytes=unit != "")


def _items(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_extents(text: str) -> tuple[Extent, ...]:
    """Parse sizes in elements or bytes: 2**20, 64KiB; 1KiB:1GiB is a range of powers of two."""
    found: dict[Extent, None] = {}
    for item in _items(text):
        ends = [_extent(end) for end in item.split(":", 1)]
        if ends[0].in_bytes != ends[-1].in_bytes:
            raise UsageError(f"{item!r} mixes elements and bytes; write 1KiB:1GiB")
        first, last = ends[0].number, ends[-1].number
        counts = [first]
        if len(ends) == 2:
            if first & (first - 1) or last & (last - 1) or first > last:
                what = "a range of powers of two, low to high: 2**10:2**20"
                raise UsageError(f"{item!r} is not {what}")
            counts = [1 << k for k in range(first.bit_length() - 1, last.bit_length())]
        found |= dict.fromkeys(Extent(count, ends[0].in_bytes) for count in counts)
    if not found:
        raise UsageError(f"{text!r} contains no size; write 2**10:2**20, or 1000,2**16")
    return tuple(found)


def parse_sizes(text: str) -> tuple[int, ...]:
    for end in filter(str.strip, re.split("[,:]", text)):
        parse_size(end)
    return tuple(sorted(extent.number for extent in parse_extents(text)))


def parse_block_sizes(text: str) -> tuple[int, ...]:
    """Parse block sizes, as parse_sizes does; each must be supported by some method."""
    accepted = sorted({size for method in gred.methods() for size in method.block_sizes})
    for size in (sizes := parse_sizes(text)):
        if size not in accepted:
            known = ", ".join(map(str, accepted))
            raise UsageError(f"{size} is not a block size; choose from {known}")
    return sizes


def parse_methods(text: str) -> tuple[Any, ...]:
    """Parse a comma-separated list of names, aliases and rung numbers; return methods in order."""
    numbered = {str(m.number): m for m in gred.methods() if m.number is not None}
    known = {name: m for m in gred.methods() for name in (m.name, *m.aliases)} | numbered
    for number in _items(text):
        if number.isdecimal() and number not in numbered:
            known_as = f"rungs are numbered from 0 to {len(numbered) - 1}"
            raise UsageError(f"{number!r} is not a method; {known_as}")
    wanted = parse_names(text, known, "method", "`gred.methods()` lists them")
    chosen = {known[name].name for name in wanted}
    return tuple(method for method in gred.methods() if method.name in chosen)


def _single(parse: Callable[[str], tuple[_Value, ...]], noun: str) -> Callable[[str], _Value]:

    def parse_one(text: str) -> _Value:
        found = parse(text)
        if len(found) != 1:
            raise UsageError(f"{text!r} is more than one {noun}")
        return found[0]

    return parse_one


parse_method = _single(parse_methods, "method")
parse_block_size = _single(parse_block_sizes, "block size")


def parse_names(text: str, known: Collection[str], noun: str, where: str = "") -> tuple[str, ...]:
    """Parse a comma-separated list of `known` names; `where` tells where they are listed."""
    wanted, where = _items(text), where or f"choose from {', '.join(known)}"
    if not wanted:
        raise UsageError(f"{text!r} contains no {noun}; {where}")
    for name in wanted:
        check_name(name, known, noun, where)
    return tuple(wanted)


def check_name(name: str, known: Collection[str], noun: str, where: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else where
        article = "an" if noun[0] in "aeiou" else "a"
        raise UsageError(f"{name!r} is not {article} {noun}; {hint}")


def parse_path(text: str) -> Path:
    """Parse the name of a file or folder; `-` is standard output, `./-` a file."""
    path = Path(text)
    return path.absolute() if path == STANDARD_OUTPUT and text != "-" else path


# ---- the options and their parser ----

# An option's names, and its arguments for argparse.
Option: TypeAlias = tuple[list[str], dict[str, Any]]


def _settings(text: str, reads: Any = None, metavar: str | None = None, **more: Any) -> Any:
    given = {"type": reads, "metavar": metavar}
    return {"help": text} | {name: one for name, one in given.items() if one} | more


# Options of several commands; `{}` is replaced by each command's text, usually the default.
_SHARED: dict[str, dict[str, Any]] = {
    "method": _settings("name, alias or number of a rung", parse_method, "METHOD"),
    "--methods": _settings("names, aliases or rung numbers (default: {})", parse_methods, "A,B,C"),
    "--size": _settings("elements: 1000000, 1e6, 2**20, 2^20 (default: {})", parse_size, "N"),
    "--block-size": _settings("threads per block (default: {})", parse_block_size, "N"),
    "--dtype": _settings(
        f"element type: {', '.join(ELEMENT_TYPES)} (default: int32)",
        *(None, "TYPE"),
        choices=ELEMENT_TYPES,
        default="int32",
    ),
    "--op": _settings(f"{', '.join(OPS)} (default: sum)", None, "OP", choices=OPS, default="sum"),
    "--seed": _settings("seed of the random data (default: 0)", parse_seed, "N", default=0),
    "--samples": _settings("{}", parse_samples, "N"),
    "--device": _settings("{}", None, "NAME"),
    "--time": _settings(
        "time the simulated device, as output files do: this processor's times, not a GPU's",
        action="store_true",
    ),
    "--json": _settings("{}; - is standard output", parse_path, "FILE"),
    "--csv": _settings("write one line per row; - is standard output", parse_path, "FILE"),
    "--plot": _settings("draw {}", parse_path, "FILE"),
}


def option(names: str, said: str = "", *how: Any, **more: Any) -> Option:
    """Declare an option: a new one, or a shared one with its help completed by `said`."""
    made = _SHARED[names] | more if names in _SHARED else _settings(said, *how, **more)
    return names.split(), made | {"help": made["help"].replace("{}", said)}


# Outputs of commands with many rows; without any of these, a default folder is used.
PLACES = (
    option("--out", "write JSON, CSV and plots here", parse_path, "DIR"),
    option("--json", "write every sample"),
    option("--csv"),
    option("--plots --plot", "draw here (SVG)", parse_path, "DIR"),
)

_EXIT = """\
Exit status: 0 no problem found, 1 a problem or a wrong answer, 2 bad arguments or a missing
dependency, 130 interrupted, 141 broken pipe."""


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ({self.prog} --help lists the options)")


def parser(prog: str, job: Any) -> argparse.ArgumentParser:
    """Create a job's parser from its options and its docstring, which is the help text."""
    summary, description, *more = job.__doc__.strip().split("\n\n")
    made = _Parser(
        prog=prog,
        description=f"{summary}\n\n{description}",
        epilog="\n\n".join((*more, _EXIT)),
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, 2, 26, 96),
    )
    for names, settings in job.OPTIONS:
        made.add_argument(*names, **settings)
    return made


# ---- devices and memory ----


def resolve_device(name: str | None) -> Any:
    """Return the Device of a name; without a name the first GPU, or else the simulated device."""
    there = {device.name: device for device in gred.devices()}
    gpu = next((device for name, device in there.items() if name.startswith("cuda")), None)
    if name is None:
        return gpu or there["simulated"]
    if name == "cuda" and gpu:
        return gpu
    if name not in there:
        why = "no GPU is available; " if name.startswith("cuda") and gpu is None else ""
        raise UsageError(f"{name!r} is not a device: {why}this machine has {', '.join(there)}")
    return there[name]


def check_memory(device: Any, size: int, dtype: str) -> None:
    """Raise if an array does not fit into host memory or, with a working copy, into the GPU's."""
    nbytes = size * (8 if dtype.endswith("64") else 4)
    copies = 2 if device.name.startswith("cuda") else 1
    check_room(f"{size} elements of {dtype}", {"host": nbytes, device.name: copies * nbytes})


def check_room(what: str, needed: Mapping[str, int]) -> None:
    for device in gred.devices():
        nbytes = needed.get(device.name, 0)
        if device.memory and nbytes > device.memory:
            wanted, there = (f"{count / 2**30:.4g}" for count in (nbytes, device.memory))
            why = f"{device.name} would need {wanted} GiB and has {there}"
            raise UsageError(f"{what} do not fit: {why}")
