"""What a compiler says of a rung: its first error, once, at a line of the user's file.

g++, clang++ and nvcc tell of a mistake in a template once for each of its instances, with all that
led there, in files that are not the user's.
"""

import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from gred.lab.processes import printable

_MESSAGE = 4000
_PLACE = re.compile(
    r"(?:In file included from |\s*from )?(.+?)(?::(\d+)(?::(\d+))?|\((\d+)\)): *(.*)"
)
_ERROR = re.compile(r"(?:fatal )?error(?: #\d+(?:-D)?)?: ")
_LED_HERE = re.compile(r" *required (?:from|by)|note: in instantiation of")
_IS_SHOWN = re.compile(r" (?!.*detected during)")
_TEMPLATES = [
    (r" \[with [^\]]*\]", ""),
    (r" \{aka '[^']*'\}", ""),
    (r"\b(?:counting|simulated|cuda)_kernels::", ""),
    (r"\bmemory<([^<>]+)>", r"\1 *"),
    (r"\bcell<([^<>]+)>", r"\1"),
    (r"\bpointer<([^<>,]+), (?:\(simulator_event\)2|SIMULATOR_SHARED)[^<>]*>", r"shared<\1>"),
    (r"\bpointer<([^<>,]+), [^<>]*>", r"global<\1>"),
    (r"\bcounted<sum<[^<>]*> ?>", "Fold"),
]


def first_error(text: str, path: str) -> str:
    """Keep of a compiler's text its first error, at the line of the file that is to blame.

    All of it, in bounds, where no error has to do with the file.
    """
    lines = text.splitlines()
    led_here: str | None = None  # the last line of the file's on the way to what is said next
    for number, line in enumerate(lines):
        place = _PLACE.match(line)
        if place is None:
            if "In instantiation of" in line:
                led_here = None
            continue
        is_own = place[1] == path
        if _LED_HERE.match(place[5]):
            led_here = _where(place) if is_own else led_here
        elif _ERROR.match(place[5]):
            if is_own:  # with the source and the caret below it
                below = takewhile(_IS_SHOWN.match, lines[number + 1 : number + 4])
                return _plain("\n".join([f"{_where(place)}: {place[5]}", *below]))
            led_here = led_here or _asked_for(lines[number + 1 :], path)
            if led_here:
                return _plain(f"{led_here}: {place[5]}{_source(led_here, path)}")
    return text[:_MESSAGE]


def _where(place: re.Match[str]) -> str:
    return ":".join(filter(None, [place[1], place[2] or place[4], place[3]]))


def _asked_for(following: Iterable[str], path: str) -> str | None:
    """Find where the file asks for what is wrong: clang++ and nvcc say so after the error."""
    for line in following:
        place = _PLACE.match(line)
        if place and _ERROR.match(place[5]):
            return None
        if place and place[1] == path and _LED_HERE.match(place[5]):
            return _where(place)
        told = re.search(r"at line (\d+) of (\S+)", line)
        if told and told[2] == path:
            return f"{path}:{told[1]}"
    return None


def _source(where: str, path: str) -> str:
    """Show the line of the file."""
    number = where.removeprefix(path).split(":")[1]
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    return f"\n{number:>5} | {printable(''.join(lines[int(number) - 1 : int(number)]))}"


def _plain(text: str) -> str:
    """Leave the names of gred's templates out."""
    for pattern, instead in _TEMPLATES:
        text = re.sub(pattern, instead, text)
    return text[:_MESSAGE]
