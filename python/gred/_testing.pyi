from typing import Any

def force(family: str, fields: dict[str, int], keep: object = False, /) -> None: ...
def axes(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    mask_strides: tuple[int, ...] | None = None,
    /,
    **problem: Any,
) -> tuple[Any, ...]: ...
def launch(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    mask_strides: tuple[int, ...] | None = None,
    /,
    **problem: Any,
) -> dict[str, Any]: ...
def segments(
    segments: int, elements: int, size: int, state: int, own: bool, multiprocessors: int, /
) -> dict[str, int]: ...
def schedule(
    reduction: str, method: str, elements: str, accumulator: str, layout: str, /, **fields: Any
) -> tuple[Any, ...]: ...
