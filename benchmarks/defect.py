"""A defect that mutations.py plants: one substitution in one file, which still compiles."""

from typing import NamedTuple

KINDS = ("edge", "type", "race", "leak", "error path")


class Defect(NamedTuple):
    """A substitution: `old`, which occurs once in the file, becomes `new`."""

    name: str
    kind: str
    file: str
    says: str
    old: str
    new: str
    tests: str

    def planted(self, text: str) -> str:
        """Return the file's text with the defect; raise ValueError if `old` does not occur once."""
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: {self.file} has what is replaced {found} times, not 1")
        return text.replace(self.old, self.new)
