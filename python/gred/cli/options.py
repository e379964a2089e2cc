"""What the command's arguments mean: sizes, ranges and names, each checked before any work.

Whatever is wrong raises UsageError with one line that says what was given and what is accepted.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import gred
from gred.cli.cases import Extent
from gred.counting import ELEMENT_TYPES as ELEMENT_TYPES

OPS = ("sum", "prod", "min", "max")
# gred.kernel_time takes no more.
MOST_SAMPLES = 1_000_000
_MOST_SEEDS = 2**64
_MOST_SECONDS = 1_000_000
_MOST_DIGITS = 40
EXTRA = "pip install 'gred[cli]'"

_BYTES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}

_Value = TypeVar("_Value")


class UsageError(Exception):
    """The command cannot do what was asked; the message is the one line the user sees."""


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations, whose errors are UsageErrors."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _help_format)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Leave with one line instead of argparse's several."""
        raise UsageError(f"{message} ({self.prog} --help lists the options)")


def parser(prog: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Make a command's parser."""
    return Parser(prog=prog, description=description, epilog=epilog)


def _help_format(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=96)


def argument(parse: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """Turn `parse` into an argparse type: its UsageError keeps its words."""

    def convert(text: str) -> _Value:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def parse_size(text: str) -> int:
    """Read a count of elements: 1000000, 1_000_000, 1e6, 2**20 or 2^20."""
    given = text.strip()
    size = None
    if re.fullmatch(r"\d[\d_]*", given):
        size = _whole(given)
    elif power := re.fullmatch(r"(\d{1,4})(?:\*\*|\^)(\d{1,2})", given):
        size = int(power[1]) ** int(power[2])
    elif re.fullmatch(r"\d+(\.\d+)?[eE]\+?\d{1,2}", given):
        size = int(float(given)) if float(given).is_integer() else None
    if size is None:
        elements = "it counts elements, not bytes: " if given.endswith(tuple(_BYTES)) else ""
        raise UsageError(f"{text!r} is not a size; {elements}write 1000000, 1e6, 2**20 or 2^20")
    if not 1 <= size < 2**48:
        raise UsageError(f"{text!r} is out of range; a size is at least 1 and less than 2**48")
    return size


def _whole(text: str) -> int:
    """Read digits. So many that Python refuses to are a number beyond every range, too."""
    digits = text.replace("_", "").lstrip("0")
    return int(digits or "0") if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS


def parse_samples(text: str) -> int:
    """Read how often to measure."""
    if not text.isdecimal() or not 1 <= _whole(text) <= MOST_SAMPLES:
        raise UsageError(f"{text!r} is not a whole number from 1 to {MOST_SAMPLES}")
    return _whole(text)


def parse_seconds(text: str) -> int:
    """Read how long something may take."""
    if not text.isdecimal() or not 1 <= _whole(text) <= _MOST_SECONDS:
        raise UsageError(f"{text!r} is not a whole number of seconds from 1 to {_MOST_SECONDS}")
    return _whole(text)


def parse_seed(text: str) -> int:
    """Read a seed of random data."""
    if not text.isdecimal() or _whole(text) >= _MOST_SEEDS:
        raise UsageError(f"{text!r} is not a whole number from 0 to 2**64 - 1")
    return _whole(text)


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add the one rung that a command is about."""
    parser.add_argument(
        "method",
        metavar="METHOD",
        type=argument(parse_method),
        help="name, alias or number of a rung",
    )


def add_methods(parser: argparse.ArgumentParser, default: str) -> None:
    """Add `--methods`, with what help says of its default."""
    parser.add_argument(
        "--methods",
        metavar="A,B,C",
        type=argument(parse_methods),
        help=f"names, aliases or rung numbers (default: {default})",
    )


def add_size(parser: argparse.ArgumentParser, said: str, default: int | None = None) -> None:
    """Add `--size`, with what help says of its default."""
    parser.add_argument(
        "--size",
        metavar="N",
        type=argument(parse_size),
        default=default,
        help=f"elements: 1000000, 1e6, 2**20, 2^20 (default: {said})",
    )


def add_block_size(parser: argparse.ArgumentParser, said: str, default: int | None = None) -> None:
    """Add `--block-size`, with what help says of its default."""
    parser.add_argument(
        "--block-size",
        metavar="N",
        type=argument(parse_block_size),
        default=default,
        help=f"threads in a block (default: {said})",
    )


def add_dtype(parser: argparse.ArgumentParser) -> None:
    """Add `--dtype`."""
    parser.add_argument(
        "--dtype",
        choices=ELEMENT_TYPES,
        default="int32",
        metavar="TYPE",
        help=f"element type: {', '.join(ELEMENT_TYPES)} (default: int32)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the option that all commands with random data have."""
    parser.add_argument(
        "--seed",
        metavar="N",
        type=argument(parse_seed),
        default=0,
        help="for the random data (default: 0)",
    )


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read sizes from a comma list; 2**10:2**20 in it is every power of two from end to end."""
    found: set[int] = set()
    for item in filter(None, (part.strip() for part in text.split(","))):
        first, colon, last = item.partition(":")
        if colon:
            found.update(_powers(item, parse_size(first), parse_size(last)))
        else:
            found.add(parse_size(item))
    if not found:
        raise UsageError(f"{text!r} names no size; write 2**10:2**20, or 1000,2**16")
    return tuple(sorted(found))


def _powers(item: str, first: int, last: int) -> list[int]:
    if first & (first - 1) or last & (last - 1) or first > last:
        raise UsageError(f"{item!r} is not a range of powers of two, low to high: 2**10:2**20")
    return [1 << k for k in range(first.bit_length() - 1, last.bit_length())]


def parse_extents(text: str) -> tuple[Extent, ...]:
    """Read sizes as parse_sizes does, and those in bytes: 64KiB, 1KiB:1GiB."""
    found: dict[Extent, None] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        ends = [_extent(end) for end in item.split(":", 1)]
        if ends[0].in_bytes != ends[-1].in_bytes:
            raise UsageError(f"{item!r} is a range from elements to bytes; 1KiB:1GiB is not")
        counts = [end.number for end in ends]
        counts = _powers(item, *counts) if len(counts) == 2 else counts
        found.update(dict.fromkeys(Extent(count, ends[0].in_bytes) for count in counts))
    if not found:
        raise UsageError(f"{text!r} names no size; write 64KiB,1GiB, or 2**10:2**20")
    return tuple(found)


def _extent(text: str) -> Extent:
    given = text.strip()
    unit = re.sub(r".*[^A-Za-z]", "", given)
    if unit not in ("", *_BYTES) or unit == given != "":
        units = ", ".join(reversed(_BYTES))
        raise UsageError(
            f"{text!r} is not a size; write bytes with {units}, as in 64KiB, or elements: 2**20"
        )
    if not unit:
        return Extent(parse_size(given), in_bytes=False)
    return Extent(parse_size(given.removesuffix(unit)) * _BYTES[unit], in_bytes=True)


def parse_block_sizes(text: str) -> tuple[int, ...]:
    """Read sizes as parse_sizes does, of block sizes that at least one method accepts."""
    accepted = sorted({size for method in gred.methods() for size in method.block_sizes})
    for size in (sizes := parse_sizes(text)):
        if size not in accepted:
            known = ", ".join(map(str, accepted))
            raise UsageError(f"{size} is not a block size; accepted are {known}")
    return sizes


def parse_block_size(text: str) -> int:
    """Read one block size."""
    sizes = parse_block_sizes(text)
    if len(sizes) != 1:
        raise UsageError(f"{text!r} is more than one block size")
    return sizes[0]


def parse_methods(text: str) -> tuple[Any, ...]:
    """Read methods, in climbing order, from a comma list of names, aliases and rung numbers."""
    known = {name: method for method in gred.methods() for name in (method.name, *method.aliases)}
    numbered = {str(m.number): m for m in gred.methods() if m.number is not None}
    for number in (part.strip() for part in text.split(",")):
        if number.isdecimal() and number not in numbered:
            raise UsageError(
                f"{number!r} is not a method; rungs have numbers from 0 to {len(numbered) - 1}"
            )
    wanted = parse_names(text, known | numbered, "method", "`gred.methods()` lists them")
    chosen = {(known | numbered)[name].name for name in wanted}
    return tuple(method for method in gred.methods() if method.name in chosen)


def parse_method(text: str) -> Any:
    """Read one method."""
    methods = parse_methods(text)
    if len(methods) > 1:
        raise UsageError(f"{text!r} is more than one method; this is about one at a time")
    return methods[0]


def parse_names(text: str, known: Collection[str], noun: str, where: str) -> tuple[str, ...]:
    """Read a comma list of names that are `known`; `where` says where else they are listed."""
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    if not wanted:
        raise UsageError(f"{text!r} names no {noun}; {where}")
    for name in wanted:
        check_name(name, known, noun, where)
    return tuple(wanted)


def check_name(name: str, known: Collection[str], noun: str, where: str) -> None:
    """Refuse a name that is not `known`; `where` says where those are listed."""
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else where
        article = "an" if noun[0] in "aeiou" else "a"
        raise UsageError(f"{name!r} is not {article} {noun}; {hint}")


def names(known: Collection[str], noun: str) -> Callable[[str], tuple[str, ...]]:
    """Make an argparse type for a comma list of such names."""
    where = f"there are {', '.join(known)}"
    return argument(lambda text: parse_names(text, known, noun, where))


def resolve_device(name: str | None) -> Any:
    """Find the Device of that name; without one, the first GPU, else the simulated device."""
    there = {device.name: device for device in gred.devices()}
    gpu = next((device for name, device in there.items() if name.startswith("cuda")), None)
    if name is None:
        return gpu or there["simulated"]
    if name == "cuda" and gpu:
        return gpu
    if name not in there:
        why = "there is no GPU here; " if name.startswith("cuda") and gpu is None else ""
        raise UsageError(f"{name!r} is not a device: {why}this machine has {', '.join(there)}")
    return there[name]


def check_memory(device: Any, size: int, dtype: str) -> None:
    """Refuse an array that fits neither the machine nor, with a working copy, its GPU."""
    nbytes = size * (8 if dtype.endswith("64") else 4)
    copies = 2 if device.name.startswith("cuda") else 1
    check_room(f"{size} elements of {dtype}", {"host": nbytes})
    check_room(f"{size} elements of {dtype}", {device.name: copies * nbytes})


def check_room(what: str, needed: Mapping[str, int]) -> None:
    """Refuse what a device, by its name, has not the bytes for."""
    for device in gred.devices():
        nbytes = needed.get(device.name, 0)
        if device.memory and nbytes > device.memory:
            raise UsageError(
                f"{what} do not fit: {device.name} would need "
                f"{nbytes / 2**30:.4g} GiB and has {device.memory / 2**30:.4g}"
            )


def check_plot(option: str, path: Path | None) -> None:
    """Refuse a file that matplotlib cannot draw, or any where there is no matplotlib."""
    if path is None:
        return
    if path.name == str(path) == "-":
        raise UsageError(f"{option} -: a drawing does not go to standard output; name a file")
    require_matplotlib(option)
    from matplotlib.backend_bases import FigureCanvasBase

    endings: Sequence[str] = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix[1:].lower() not in endings:
        raise UsageError(f"{option} {path}: the name has to end in one of .{', .'.join(endings)}")


def require_matplotlib(option: str) -> None:
    """Say early, and with the remedy, that a plot cannot be drawn."""
    try:
        there = importlib.util.find_spec("matplotlib") is not None
    except ValueError:
        there = False
    if not there:
        raise UsageError(f"{option} draws with matplotlib, which is not installed: {EXTRA}")
