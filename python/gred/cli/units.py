"""Format times, bytes and bandwidths with a unit and few digits."""

from collections.abc import Callable
from typing import Any


def _short(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def _scaled(value: float, *units: str) -> str:
    """Format a value, given in the first unit, in the best of these units, 1000 apart."""
    for unit in units[:-1]:
        if value < 999.5:
            return f"{_short(value)} {unit}"
        value /= 1000
    return f"{_short(value)} {units[-1]}"


def time_text(seconds: float) -> str:
    """Format a time: 1.23 ms."""
    return _scaled(seconds * 1e9, "ns", "us", "ms", "s")


def bandwidth_text(bytes_per_second: float) -> str:
    """Format a bandwidth: 4.38 TB/s."""
    return _scaled(bytes_per_second, "B/s", "KB/s", "MB/s", "GB/s", "TB/s")


def count_text(count: float) -> str:
    """Format a count in at most six characters: 999, 12.3k, 4.73M."""
    text = _scaled(count, "", "k", "M", "G", "T")
    return text.replace(" ", "") if count >= 1000 else f"{count:.0f}"


def bytes_text(count: float) -> str:
    """Format bytes: 4 MiB, 141 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"


def gigabytes_text(bytes_per_second: float) -> str:
    """Format a bandwidth in GB/s, without the unit."""
    giga = bytes_per_second * 1e-9
    if giga < 0.0995:
        return f"{giga:.2g}" if giga >= 0.001 else f"{giga:.1e}"
    return _short(giga) if giga < 99.95 else f"{giga:,.0f}"


def size_text(size: int) -> str:
    """Format a size: 2^20 for a power of two from 1024 on, otherwise with thousands separators."""
    is_power = size >= 1024 and not size & (size - 1)
    return f"2^{size.bit_length() - 1}" if is_power else f"{size:,}"


def optional(write: Callable[[Any], str], value: Any) -> str:
    return "-" if value is None else write(value)


def speedup_text(ratio: float) -> str:
    return f"{_short(ratio)}x" if ratio >= 0.0995 else f"{ratio:.2g}x"


def percent_text(share: float) -> str:
    return f"{share * 100:.1f} %" if share < 0.0995 else f"{share * 100:.0f} %"
