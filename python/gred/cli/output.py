"""Begin and end jobs: print the machine, and write records to files.

Files and folders that cannot be written are rejected before any work; results are written before
they are printed, so that they are kept if printing fails.
"""

import argparse
import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import gred
from gred.cli import record, units
from gred.cli.console import Console
from gred.cli.options import STANDARD_OUTPUT, UsageError

# Path, or None -> a function that formats a record, or the name of one that draws it.
Files: TypeAlias = dict[Path | None, Callable[[Any], str] | str]


class Output:
    """The output files of a job, and the outcome of writing them."""

    def __init__(self, console: Console, files: Files) -> None:
        self._console = console
        self._files = {path: make for path, make in files.items() if path}
        self._written: list[Path] = []
        self._failure: OSError | None = None
        # Files are written even if standard output loses its reader.
        console.stdout.patient = bool(self._files)
        if STANDARD_OUTPUT in files:
            console.show_on(console.stderr)  # standard output is used for a file

    def write(self, kept: Any) -> None:
        """Write a record to all files, or until one fails; then standard output needs a reader."""
        for path, make in self._files.items():
            try:
                if isinstance(make, str):
                    draw(path, make, kept)
                elif path == STANDARD_OUTPUT:
                    self._console.stdout.write(make(kept))
                else:
                    path.write_text(make(kept), encoding="utf-8", newline="")
            except OSError as error:
                self._failure = OSError(f"{path}: {error.strerror or error}")
                break
            self._written.append(path)
        self._console.stdout.patient = False
        self._console.stdout.flush()

    def end(self, status: int = 0) -> int:
        """Print the names of the written files; then raise the error if one failed."""
        for path in self._written:
            if path != STANDARD_OUTPUT:
                self._console.line(f"wrote {path}")
        if self._failure:
            raise self._failure
        return status


def draw(path: Path, function: str, kept: record.Record) -> None:
    """Draw a record by a function, given by its qualified name; imports matplotlib."""
    import matplotlib

    from gred.cli import plots

    module, _, name = function.rpartition(".")
    with matplotlib.rc_context(plots.STYLE):
        plots.save(getattr(importlib.import_module(module), name)(kept), path, kept)


def file_outputs(given: argparse.Namespace, console: Console, figure: str = "") -> Output:
    """Return outputs for --json and --plot, drawn by `figure`."""
    plot = getattr(given, "plot", None)
    check_paths({"--json": given.json, "--plot": plot})
    return Output(console, {given.json: record.json_text, plot: figure})


def folder_outputs(
    given: argparse.Namespace, console: Console, command: str, figures: Mapping[str, str]
) -> Output:
    """Return outputs for `options.PLACES`, by default in the command's folder; create folders."""
    named = given.out or given.json or given.csv or given.plots
    out = given.out if named else Path(f"gred-{command}")
    plots, of_plots = given.plots or (out and out / "plots"), "--plots" if given.plots else "--out"
    if plots:
        _require_matplotlib(of_plots)
    check_paths({"--json": given.json, "--csv": given.csv})
    for option, folder in (("--out", out), (of_plots, plots)):
        if folder:
            make_folder(option, folder)
    files: Files = {
        given.json or (out and out / f"{command}.json"): record.json_text,
        given.csv or (out and out / f"{command}.csv"): record.csv_text,
    }
    files |= {plots / f"{name}.svg": function for name, function in figures.items() if plots}
    for path, make in files.items():
        if path:
            _check_file(of_plots if isinstance(make, str) else "--out", path)
    return Output(console, files)


def check_paths(places: Mapping[str, Path | None]) -> None:
    """Raise if two options name the same file, or a file cannot be written."""
    first: dict[Path, str] = {}
    for option, path in places.items():
        if path and first.setdefault(path, option) != option:
            where = "standard output" if path == STANDARD_OUTPUT else str(path)
            raise UsageError(f"{first[path]} and {option} both write to {where}")
    if plot := places.get("--plot"):
        if plot == STANDARD_OUTPUT:
            raise UsageError("--plot -: plots are not written to standard output; name a file")
        _require_matplotlib("--plot")
        from matplotlib.backend_bases import FigureCanvasBase

        endings = sorted(FigureCanvasBase.get_supported_filetypes())
        if plot.suffix[1:].lower() not in endings:
            raise UsageError(f"--plot {plot}: the name must end in one of .{', .'.join(endings)}")
    for option, path in places.items():
        if path:
            _check_file(option, path)


def _check_file(option: str, path: Path) -> None:
    """Raise if a file cannot be written; it is opened for appending, which does not change it."""
    if path == STANDARD_OUTPUT:
        return
    try:
        if path.is_dir():
            raise UsageError(f"{option} {path}: this is a folder; name a file")
        if not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {path.parent}")
        new = not os.path.lexists(path)
        if path.exists() and not path.is_file():  # pipes and devices are not opened
            if not os.access(path, os.W_OK):
                raise PermissionError(0, "permission denied")
            return
        path.open("ab").close()
        if new:
            path.unlink()
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written: {error.strerror}") from None


def make_folder(option: str, path: Path) -> None:
    if path == STANDARD_OUTPUT:
        raise UsageError(f"{option} -: standard output is not a folder; name one")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{option} {path}: this is a file; name a folder") from None
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be created: {error.strerror}") from None


def _require_matplotlib(option: str) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        missing = f"{option} draws with matplotlib, which is not installed"
        raise UsageError(f"{missing}: pip install 'gred[cli]'") from None


def introduce(console: Console, device: Any, what: str) -> record.Record:
    machine = record.describe_machine(device)
    named = {name: machine[name.lower()] for name in ("gred", "Python", "NumPy", "CUDA", "driver")}
    versions = [f"{name} {version}" for name, version in named.items() if version]
    cores = f"{machine['cores']} core{'s' * (machine['cores'] != 1)}"
    memory = units.bytes_text(machine["memory"])
    console.title(f"gred: {what}")
    console.pairs(
        ("machine", f"{machine['processor']}, {cores}, {memory}"),
        ("", f"{machine['system']}; {', '.join(versions)}"),
        ("devices", "host: plain C on the processor"),
        ("", "simulated: the GPU's kernels, thread by thread on the processor"),
        *(("", _gpu_text(gpu)) for gpu in gred.devices() if gpu.name.startswith("cuda")),
    )
    return machine


def _gpu_text(gpu: Any) -> str:
    bandwidth = f", {units.bandwidth_text(gpu.bandwidth)}" if gpu.bandwidth else ""
    memory = units.bytes_text(gpu.memory)
    return f"{gpu.name}: {gpu.title}, {gpu.units} multiprocessors, {memory}{bandwidth}"
