"""Runs the notebooks beside it, and keeps what they show: `python notebooks/run.py [NAME ...]`.

`--check` keeps nothing: it fails where a notebook shows another text than is kept with it. Pictures
are compared by their kinds, and cells that are tagged `times` by nothing, for they show times.
"""

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
SECONDS = 900  # that a kernel may take to start, or a cell
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TEXTS = ("text/plain", "text/html")

Notebook = Any


def executed(kept: Notebook) -> Notebook:
    """Run all cells of a notebook, in order, in a fresh kernel; what it is then."""
    fresh = nbformat.from_dict(kept)
    fresh.metadata = nbformat.from_dict(KERNEL)
    where = {"metadata": {"path": str(HERE)}}
    with TemporaryDirectory() as sockets:
        kernel = AsyncKernelManager(transport="ipc", ip=f"{sockets}/kernel")
        limits = {"timeout": SECONDS, "startup_timeout": SECONDS}
        NotebookClient(fresh, kernel, resources=where, **limits).execute()
    return cleaned(fresh)


def cleaned(notebook: Notebook) -> Notebook:
    """Leave what a reader sees, and nothing of an editor's or of how the outputs came."""
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type == "code":
            cell.outputs = list(_joined(cell.outputs))
    return notebook


def _joined(outputs: Sequence[Any]) -> Iterator[Any]:
    """Make one of what was printed piece by piece."""
    last = None
    for output in outputs:
        if "metadata" in output:
            output.metadata = nbformat.from_dict({})
        if last is not None and output.get("name", "") == last.get("name"):
            last.text += output.text
            continue
        last = output
        yield output


def shown(notebook: Notebook) -> Iterator[str]:
    """List what a notebook shows, line by line, but for pictures and times."""
    for cell in notebook.cells:
        yield from cell.source.splitlines()
        if "times" in cell.metadata.get("tags", ()):
            continue
        for output in cell.get("outputs", ()):
            yield from output.get("text", "").splitlines()
            for kind, content in sorted(output.get("data", {}).items()):
                yield kind
                yield from content.splitlines() if kind in TEXTS else ()


def differences(kept: Notebook, fresh: Notebook) -> list[str]:
    """Compare what is kept with what is shown now."""
    return list(difflib.unified_diff(list(shown(kept)), list(shown(fresh)), "kept", "now", n=1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and keep, or run and compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="without .ipynb (default: all)")
    parser.add_argument("--check", action="store_true", help="keep nothing, only compare")
    given = parser.parse_args(arguments)
    paths = [HERE / f"{name}.ipynb" for name in given.names] or sorted(HERE.glob("*.ipynb"))
    return max(map(_checked if given.check else _renewed, paths), default=0)


def _renewed(path: Path) -> int:
    try:
        nbformat.write(executed(nbformat.read(path, 4)), path)
    except CellExecutionError as error:
        return _told(path, [str(error)])
    return 0


def _checked(path: Path) -> int:
    kept = nbformat.read(path, 4)
    try:
        return _told(path, differences(kept, executed(kept)))
    except CellExecutionError as error:
        return _told(path, [str(error)])


def _told(path: Path, wrong: Sequence[str]) -> int:
    print(f"{path.name}: {'differs' if wrong else 'as kept'}", *wrong, sep="\n", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
