"""Parse a rung's file: find its kernel, adapt it, and determine how it is launched.

Ordinary CUDA kernels are supported if they take an input array, an array of results, and a length,

    __global__ void reduce(const float *in, float *out, unsigned n)

of int, long long, unsigned long long, float or double, or of a template's <class T>, with or
without <unsigned Block>. For the simulated device, pointers are rewritten to memory<T>, which
counts accesses, and __shared__ declarations to parts of the simulated block's memory; for a GPU
both are unchanged. The kernel becomes a __device__ function, called by a kernel of the ladder's
form. Line numbers are preserved, so that messages refer to the user's source.
"""

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import gred
from gred.checks import number_from

LATEST = 22  # the checker does not support the asynchronous copies and clusters of later rungs
DATA_BLOCKS_MAX = 1024
_BYTES_MAX = 1 << 20

# Matching takes linear time for any source.
_LAUNCHED = re.compile(
    r"[Ll]aunched\s+like\s+(\w+)(?:,\s*(\d+)\s+data\s+blocks?)?(?:,\s*blocks\s+of\s+(\d+))?"
)
BLOCK_SIZES = (32, 64, 256, 1024)
_FORMS = """
    __global__ void my_rung(const float *in, float *out, unsigned n)
    template <class Fold> __global__ void my_rung(global<state_of<Fold>> data, uint64_t n, ...)
    template <class Fold, class Array> __global__ void my_rung(Array data, uint64_t n, ...)
and any of them with `unsigned Block` as the last template parameter"""


class Form(NamedTuple):
    """How a rung's file is compiled and launched; `call` is set for ordinary CUDA only."""

    name: str
    instance: str  # template instance, in terms of the types In and Acc and the number Block
    like: str = ""  # the rung of the ladder that it is launched as
    data_blocks: int = 1  # least number of elements per thread
    block_sizes: tuple[int, ...] = BLOCK_SIZES  # block sizes of the checks
    dtype: str | None = None  # the only supported element type, or None
    call: str = ""  # call of the kernel, with Block, T, data, n and partials
    has_block: bool = False
    is_dynamic: bool = False  # uses dynamic shared memory

    @property
    def block_size(self) -> int | None:
        """The only supported block size, or None."""
        return None if self.block_sizes == BLOCK_SIZES else self.block_sizes[-1]


def read(path: Path) -> str:
    """Read a source file of limited size."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size > _BYTES_MAX:
        raise ValueError(f"{path} is longer than {_BYTES_MAX:,} bytes, too many for a rung")
    return path.read_text(encoding="utf-8")


def form_of(source: str, like: str | None, data_blocks: int | None) -> Form:
    """Find the kernel, and its launch from arguments, file or name; ValueError if unknown."""
    code = _masked(source)
    kernels = list(_KERNEL.finditer(code))
    if len(kernels) != 1:
        found = ", ".join(one["name"] for one in kernels) or "none"
        forms = f"in one of the forms{_FORMS}"
        raise ValueError(f"a rung's file must have one kernel, {forms}; found {found}")
    (kernel,), name, said = kernels, kernels[0]["name"], _LAUNCHED.search(source)
    form = _plain_of(code, kernel) or Form(name, _instance(name, kernel["template"] or ""))
    rung = like or (said and said[1]) or name
    if form.call and not like and not said and name not in _rungs():
        rung, data_blocks = form.like, data_blocks or form.data_blocks
    method = _rung(rung, is_told=rung != name)
    if data_blocks is None:
        told = said[2] if said and not like else None
        data_blocks = int(told) if told else _data_blocks(method)
    number = number_from(data_blocks, "data_blocks", DATA_BLOCKS_MAX)
    if said and said[3]:
        form = form._replace(block_sizes=(int(said[3]),))
        if form.block_sizes[0] not in _BLOCKS:
            raise ValueError(f"block size must be 32, 64, 128, 256, 512 or 1024; got {said[3]}")
    return form._replace(like=method, data_blocks=number)


def _rung(name: str, is_told: bool) -> str:
    method = _rungs().get(name)
    if method and (method.number or 0) <= LATEST:
        return method.name
    if method:
        raise ValueError(f"{name!r} cannot be checked; rungs 0 to {LATEST} can")
    if is_told:
        raise ValueError(f"{name!r} is not a rung of the ladder; gred.methods() lists them")
    raise ValueError(
        f"the launch of {name} is unknown; pass like=, a rung of the ladder, or write in the "
        "file, in a comment: launched like unroll8"
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
        raise ValueError(f"{name} is a template of <{given}>; the supported forms are{_FORMS}")
    return f"{name}<counted<sum<Acc>>{known[form]}>"


def _data_blocks(rung: str) -> int:
    table = resources.files("gred").joinpath("headers/common/ladder.def").read_text("utf-8")
    row = re.search(rf"^RUNG\(\d+, {rung}, [^,]*, \w+, \w+, (\d+),", table, re.MULTILINE)
    if row is None:
        raise ValueError(f"the ladder's table has no row for {rung!r}")
    return int(row[1])


# ---- ordinary CUDA ----

_ELEMENTS = {
    **dict.fromkeys(("int", "int32_t"), "int32"),
    **dict.fromkeys(("long", "long long", "int64_t"), "int64"),
    **dict.fromkeys(("unsigned long long", "unsigned long", "uint64_t", "size_t"), "uint64"),
    "float": "float32",
    "double": "float64",
}
_COMMENT_OR_STRING = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"\n]*[>\"])[^\n]*", re.MULTILINE)
_OF_CUDA = {"<cuda_runtime.h>", '"cuda_runtime.h"', "<cuda.h>", "<device_launch_parameters.h>"}
_OF_CUDA |= {'"device_launch_parameters.h"', '"cuda.h"'}
_KERNEL = re.compile(
    r"(?:template\s*<(?P<template>[^<>]*)>\s*)?(?P<head>(?:extern\s*\"?\s*C?\s*\"?\s+|static\s+)?"
    r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\((?P<bounds>[^()]*)\)\s*)?(?:void\s+)?)"
    r"(?P<name>\w+)\s*\((?P<parameters>(?:[^()]|\([^()]*\))*)\)"
)
_TYPE = (
    r"(?:unsigned\s+long\s+long(?:\s+int)?|unsigned\s+long|unsigned\s+int|unsigned\s+char|unsigned"
    r"|long\s+long(?:\s+int)?|long|int|float|double|bool|char|short|size_t|u?int(?:8|16|32|64)_t{})"
)
_QUALIFIERS = r"(?:\b(?:const|volatile)\b\s*)*"
_SHARED = re.compile(
    r"(?P<extern>\bextern\s+)?(?:\bstatic\s+)?__shared__\s+(?:__align__\s*\([^()]*\)\s*)?(?:volatile\s+)?"
    r"(?P<type>\w[\w\s]*?)\s*(?P<names>\b\w+\s*(?:\[[^\[\];]*\])?(?:\s*,\s*\w+\s*(?:\[[^\[\];]*\])?)*)"
    r"\s*;"
)
# A * that is not a multiplication: not after an operand, or in the target of an assignment.
_INDIRECTION = (
    r"((?:[;{}(=,+<>&|?:!]|\breturn\b|\belse\b)\s*(?=\*\s*[\w(])"
    r"|\)\s*(?=\*\s*(?:\w+|\([^()]*\))\s*[-+*/]?=[^=]))\*"
)
_BLOCKS = (32, 64, 128, 256, 512, 1024)


def _masked(source: str) -> str:
    """Replace comments and strings by spaces, so that positions are preserved."""
    return _COMMENT_OR_STRING.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def _line(source: str, at: int) -> int:
    """Return the line number of a position."""
    return source.count("\n", 0, at) + 1


def _plain_of(code: str, kernel: re.Match[str]) -> Form | None:
    """Parse an ordinary CUDA kernel in masked code; None if it has another form.

    By default it is launched like 'atomic' if it calls atomicAdd on its results, else like
    'shared_sequential'.
    """
    arguments, dtype = _template(kernel["template"])
    parameters = [" ".join(one.split()) for one in kernel["parameters"].split(",")]
    pointers = [one for one in parameters if "*" in one]
    others = [one for one in parameters if "*" not in one]
    if arguments is None or len(pointers) != 2 or len(others) != 1:
        return None
    for what in (r"<<<", r"\bint\s+main\s*\("):
        if found := re.search(what, code):
            where = f"line {_line(code, found.start())} is host code ({found[0]})"
            raise ValueError(f"{where}: gred launches the kernel; remove it")
    data = next((one for one in pointers if one.startswith("const ")), pointers[0])
    skipped = {"const", "volatile", "int"}
    words = [[w for w in one.partition("*")[0].split() if w not in skipped] for one in pointers]
    types = {" ".join(of_one) or "int" for of_one in words}
    if len(types) != 1 or (dtype is None and not types <= set(_ELEMENTS)):
        raise ValueError(
            f"{kernel['name']} takes {' and '.join(pointers)}; both must be pointers to one of "
            "int, long long, unsigned long long, float and double"
        )
    is_template = dtype is not None and types == {dtype}
    given = {one: "data" if one == data else "partials" for one in pointers}
    call = ", ".join(given.get(one, "n") for one in parameters)
    template = f"<{', '.join(arguments)}>" if arguments else ""
    out = re.escape(re.split(r"[\s*]+", next(one for one in pointers if one != data))[-1])
    adds_to_one = re.search(rf"\batomicAdd\s*\(\s*&?\s*{out}\b", code)
    # The block size is a shared array's length above a warp, else limited by __launch_bounds__.
    lengths = re.findall(r"__shared__[^;\[]*\[([^\[\];]+)\]", code)
    whole = [length for text in lengths if (length := _number(code, text)) in _BLOCKS[1:]]
    most = _number(code, (kernel["bounds"] or "").partition(",")[0])
    sizes = tuple(size for size in BLOCK_SIZES if most is None or size <= most)
    sizes = (min(whole),) if whole else sizes
    return Form(
        kernel["name"],
        f"lab_launched<Acc{', Block' if 'Block' in arguments else ''}>",
        like="atomic" if adds_to_one else "shared_sequential",
        block_sizes=sizes,
        dtype=None if is_template else _ELEMENTS[types.pop()],
        call=f"{kernel['name']}{template}({call})",
        has_block="Block" in arguments,
        is_dynamic=any(found["extern"] for found in _SHARED.finditer(code)),
    )


def _template(text: str | None) -> tuple[list[str] | None, str | None]:
    """Return the template's arguments and the name of its type parameter; None, None if unknown."""
    arguments, dtype = [], None
    for one in text.split(",") if text else []:
        words = one.split()
        if words[:1] in (["class"], ["typename"]) and dtype is None and len(words) == 2:
            dtype = words[1]
            arguments.append("T")
        elif (
            words[:-1] in (["unsigned"], ["unsigned", "int"], ["int"]) and "Block" not in arguments
        ):
            arguments.append("Block")
        elif words[:-1] == ["bool"]:
            arguments.append("false")
        else:
            return None, None
    return arguments, dtype


def _number(code: str, text: str) -> int | None:
    word = text.strip()
    if word.isidentifier():
        named = re.search(
            rf"#define\s+{word}\s+(\d+)|\b(?:int|unsigned|size_t)\s+{word}\s*=\s*(\d+)", code
        )
        word = (named[1] or named[2]) if named else ""
    return int(word) if word.isdecimal() and len(word) < 9 else None


# ---- in gred's form ----


def unit(source: str, name: str, form: Form) -> str:
    """Return the unit to compile: the source with its kernel as a function, and a kernel for it."""
    includes = [
        f"#line {_line(source, found.start())} {name}\n#include {found[1]}\n"
        for found in _INCLUDE.finditer(source)
        if found[1] not in _OF_CUDA
    ]
    text = _INCLUDE.sub("", source)
    kernel = _KERNEL.search(_masked(text))
    assert kernel is not None
    start, end = kernel.span("head")
    lines = "\n" * text.count("\n", start, end)
    text = f"{text[:start]}__device__ void {lines}{text[end:]}"
    on_host = _on_host(text)
    template = "template <class T, unsigned Block>" if form.has_block else "template <class T>"
    return f"""{"".join(includes)}
#include "lab/plain.cuh"
namespace KERNELS
{{
#ifdef __CUDACC__
#line 1 {name}
{_on_gpu(text)}
#define PLAIN(pointer) pointer
#else
#line 1 {name}
{on_host}
#define PLAIN(pointer) memory_from(pointer, false)
#endif
{template}
__global__ void lab_launched(global<T> at, uint64_t n, global<T> results)
{{
    const auto data = PLAIN(at), partials = PLAIN(results);
    {form.call};
}}
}}
"""


def _on_gpu(text: str) -> str:
    """Rewrite extern shared arrays only: one name cannot be declared with several types."""
    for found in reversed(list(_SHARED.finditer(_masked(text)))):
        if found["extern"]:
            kind, name = " ".join(found["type"].split()), found["names"].partition("[")[0].strip()
            lines = "\n" * found[0].count("\n")
            made = f"{kind} *{name} = dynamic_shared<{kind}>();{lines}"
            text = f"{text[: found.start()]}{made}{text[found.end() :]}"
    return text


def _on_host(text: str) -> str:
    """Rewrite shared memory and pointers, from the end, so that positions remain valid."""
    code = _masked(text)
    declared = list(_SHARED.finditer(code))
    for found in re.finditer(r"\b__shared__\b", code):
        if not any(one.start() <= found.start() < one.end() for one in declared):
            raise ValueError(
                f"line {_line(code, found.start())}: shared memory must be declared as __shared__ "
                "T name[N], __shared__ T name or extern __shared__ T name[]"
            )
    for number, found in reversed(list(enumerate(declared))):
        texts, scalars = _declarations(found, number)
        lines = "\n" * found[0].count("\n")
        rest = text[found.end() :]
        for scalar in scalars:
            rest = _substitute_code(rest, rf"\b{scalar}\b", f"{scalar}[0]")
        text = f"{text[: found.start()]}{texts}{lines}{rest}"
    named = re.findall(r"(?:class|typename)\s+(\w+)", code)
    types = _TYPE.format("".join(f"|{name}" for name in named))
    pointers = (
        rf"({_QUALIFIERS})\b({types})\s*({_QUALIFIERS})\*\s*"
        r"(?:(?:const|__restrict__|__restrict)\b\s*)*(\w+)(?=\s*[,)=;])"
    )

    def memory(found: re.Match[str]) -> str:
        const = "const " if "const" in found[1] + found[3] else ""
        return f"memory<{const}{found[2]}> {found[4]}" + "\n" * found[0].count("\n")

    return _substitute_code(_substitute_code(text, pointers, memory), _INDIRECTION, r"\1here() *")


def _declarations(found: re.Match[str], number: int) -> tuple[str, list[str]]:
    """Rewrite a shared declaration as parts of the block's memory; return the scalars, too."""
    kind = " ".join(found["type"].split())
    texts, scalars = [], []
    for place, one in enumerate(found["names"].split(",")):
        name, is_array, size = one.strip().removesuffix("]").partition("[")
        made = f"static_shared<{number * 4 + place}, {kind}, ({size or 1})>()"
        made = f"dynamic_shared<{kind}>()" if found["extern"] else made
        scalars += [] if is_array else [name.strip()]
        texts.append(f"memory<{kind}> {name.strip()} = {made};")
    return " ".join(texts), scalars


def _substitute_code(text: str, pattern: str, instead: str | Callable[[re.Match[str]], str]) -> str:
    """Substitute a pattern outside of comments and strings."""
    code, pieces, last = _masked(text), [], 0
    for found in re.finditer(pattern, code):
        new = found.expand(instead) if isinstance(instead, str) else instead(found)
        pieces += [text[last : found.start()], new]
        last = found.end()
    return "".join([*pieces, text[last:]])
