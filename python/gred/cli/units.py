"""Numbers as people read them: times, bytes and bandwidths with a unit and few digits."""

from collections.abc import Callable
from typing import Any


def _scaled(value: float, step: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if value < step * 0.9995:
            return f"{_short(value)} {unit}"
        value /= step
    return f"{_short(value)} {units[-1]}"


def _short(value: float) -> str:
    """Write three digits, without an exponent."""
    for digits, below in ((2, 9.995), (1, 99.95)):
        if value < below:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def time_text(seconds: float) -> str:
    """1.23 ms."""
    return _scaled(seconds * 1e9, 1000, ("ns", "us", "ms", "s"))


def bytes_text(count: float) -> str:
    """4 MiB; 141 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"


def bandwidth_text(bytes_per_second: float) -> str:
    """4.38 TB/s."""
    return _scaled(bytes_per_second, 1000, ("B/s", "KB/s", "MB/s", "GB/s", "TB/s"))


def gigabytes_text(bytes_per_second: float) -> str:
    """Write a bandwidth in GB/s without its unit, for a column that says it."""
    giga = bytes_per_second * 1e-9
    if giga < 0.0995:
        return f"{giga:.2g}" if giga >= 0.001 else f"{giga:.1e}"
    return _short(giga) if giga < 99.95 else f"{giga:,.0f}"


def count_text(count: float) -> str:
    """Write a count in at most six characters: 999, 12.3k, 4.73M."""
    text = _scaled(count, 1000, ("", "k", "M", "G", "T"))
    return text.replace(" ", "") if count >= 1000 else f"{count:.0f}"


def size_text(size: int) -> str:
    """2^20 for a power of two from 1024 up, else the number with its thousands apart."""
    if size >= 1024 and not size & (size - 1):
        return f"2^{size.bit_length() - 1}"
    return f"{size:,}"


def optional(write: Callable[[Any], str], value: Any) -> str:
    """Write what may not be there: - for None."""
    return "-" if value is None else write(value)


def speedup_text(ratio: float) -> str:
    return f"{_short(ratio)}x" if ratio >= 0.0995 else f"{ratio:.2g}x"


def percent_text(share: float) -> str:
    return f"{share * 100:.1f} %" if share < 0.0995 else f"{share * 100:.0f} %"
