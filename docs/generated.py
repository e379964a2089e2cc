"""Sphinx directives that generate content from the code while the site is built.

`records` is a table that gred returns, `picture` a picture of a rung's run, `command` a command's
output, `commands` the help of all commands, `step` a rung with its figures, `gallery` the pictures
of all rungs, and `members` the reference of names.
"""

import io
import os
import shlex
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import steps
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import gred
from gred.cli import command

PICTURES = Path(__file__).parent / "pictures"

# Output width and colors of the commands.
os.environ |= {"COLUMNS": "110", "NO_COLOR": "1"}


class CommandError(Exception):
    """A command of a page has failed."""


class Records(SphinxDirective):
    """`{records} methods`: the records that the function of that name returns, as a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the table."""
        [table] = self.parse_text_to_nodes(records_table(getattr(gred, self.arguments[0])()))
        table["classes"].append(self.arguments[0])
        return [table]


def records_table(records: Any) -> str:
    """Return records as a Markdown table, with their names formatted as code."""
    titles, *rows = records.rows()
    named = titles.index(type(records).__name__.lower().removesuffix("s"))
    for row in rows:
        names = row[named].split(" = ")
        row[:] = map(_escaped, row)
        row[named] = " = ".join(f"`{name}`" for name in names)
    return markdown_table(titles, rows)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


class Command(SphinxDirective):
    """`{command} explain shuffle --size 1000`: the output of `python -m gred` with these words."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Show the command and its output."""
        words = shlex.split(self.arguments[0])
        try:
            text = printed(words)
        except CommandError as error:
            raise self.error(str(error)) from error
        shown = f"$ python -m gred {self.arguments[0]}\n{text.rstrip()}"
        return [nodes.literal_block(shown, shown, language="none")]


def printed(words: Sequence[str]) -> str:
    """Run a gred command and return its output, without colors."""
    output, notes = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(notes):
        status = command.main(words)
    if status:
        raise CommandError(f"python -m gred {shlex.join(words)}: {notes.getvalue()}")
    return output.getvalue()


class Picture(SphinxDirective):
    """`{picture} shuffle --size 32`: the drawing of `python -m gred show` with these words."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Draw it into the doctree directory, from which Sphinx copies it."""
        words = shlex.split(self.arguments[0])
        folder = Path(self.env.doctreedir, "pictures")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / ("_".join(words) + ".svg")
        try:
            printed(["show", *words, "--out", str(path)])
        except CommandError as error:
            raise self.error(str(error)) from error
        link = os.path.relpath(path, Path(self.env.doc2path(self.env.docname)).parent)
        return self.parse_text_to_nodes(
            f"```{{figure}} {link}\n:alt: {words[0]}, step by step\n:width: 100%\n\n"
            f"`python -m gred show {self.arguments[0]}`\n```"
        )


class Step(SphinxDirective):
    """`{step} shuffle`: its picture, speed and counters; without a rung, a plot of all steps."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Draw the plot into the doctree directory, from which Sphinx copies it."""
        method = self.arguments[0] if self.arguments else None
        path = Path(self.env.doctreedir, "pictures", f"step_{method}.svg")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(steps.bars(method), encoding="utf-8")
        here = Path(self.env.doc2path(self.env.docname)).parent
        text = f"![Measured on an NVIDIA H200]({os.path.relpath(path, here)})"
        if method:
            head, *rows = steps.counted(method)
            table = markdown_table(head, rows)
            text = f"{pictured(method)}\n\n{steps.said(method)}\n\n{text}\n\n{table}"
        return self.parse_text_to_nodes(text)


class Gallery(SphinxDirective):
    """`{gallery}`: a section for each rung that has a picture."""

    def run(self) -> list[nodes.Node]:
        """List the rungs in climbing order."""
        text = "\n\n".join(
            f"## {method.number}. {method.name}\n\n{pictured(method.name)}"
            for method in gred.methods()
            if method.number is not None and (PICTURES / f"{method.name}.svg").exists()
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def pictured(method: str) -> str:
    """Return the committed picture of a rung; because of the width Sphinx links it to the file."""
    path = f"/pictures/{method}.svg"
    return f"```{{image}} {path}\n:alt: {method}, step by step\n:width: 100%\n```"


class Commands(SphinxDirective):
    """`{commands}`: a section for each subcommand of `python -m gred`, with its help."""

    def run(self) -> list[nodes.Node]:
        """Generate a `command` directive for the help of each subcommand."""
        text = "\n\n".join(f"## {job}\n\n```{{command}} {job} --help\n```" for job in jobs())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def jobs() -> list[str]:
    """List the named subcommands."""
    return sorted(command._JOBS)


class Members(SphinxDirective):
    """`{members} reductions`: the reference of that group of names of `gred`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Generate an autodoc directive for each name."""
        text = "\n".join(map(entry, GROUPS[self.arguments[0]]()))
        return self.parse_text_to_nodes(f"```{{eval-rst}}\n{text}\n```\n")


def entry(name: str) -> str:
    """Return the autodoc directive for a name of `gred`."""
    kind = directive(name)
    members = "" if kind == "autofunction" else "   :members:\n"
    inherited = "   :inherited-members:\n" if name.startswith("Exact") else ""  # words
    return f".. {kind}:: gred.{name}\n{members}{inherited}"


def directive(name: str) -> str:
    """Return the kind of autodoc directive for a name of `gred`."""
    named = getattr(gred, name)
    if isinstance(named, ModuleType):
        return "automodule"
    if not isinstance(named, type):
        return "autofunction"
    return "autoexception" if issubclass(named, Exception) else "autoclass"


def reductions() -> list[str]:
    """List the reductions, in the order of `gred.reductions`."""
    return [*(reduction.name for reduction in gred.reductions()), "dot", "reduceat"]


def functions() -> list[str]:
    """List the other functions."""
    others = (name for name in gred.__all__ if name not in reductions())
    return [name for name in others if directive(name) == "autofunction"]


def classes() -> list[str]:
    """List the classes and exceptions."""
    return [name for name in gred.__all__ if directive(name) in ("autoclass", "autoexception")]


GROUPS = {"reductions": reductions, "functions": functions, "classes": classes}


def is_field(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip the fields of a named tuple, which the signature contains."""
    is_field = type(obj).__name__ == "_tuplegetter"
    return True if is_field else None


def without_last_blank_lines(app: Sphinx, page: nodes.document) -> None:
    """Remove the blank lines that doctest needs after an example."""
    for block in page.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()
        block.children = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and event handlers with Sphinx."""
    app.add_directive("records", Records)
    app.add_directive("command", Command)
    app.add_directive("picture", Picture)
    app.add_directive("commands", Commands)
    app.add_directive("step", Step)
    app.add_directive("gallery", Gallery)
    app.add_directive("members", Members)
    app.connect("autodoc-skip-member", is_field)
    app.connect("doctree-read", without_last_blank_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
