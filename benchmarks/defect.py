"""A defect that mutations.py plants: one substitution in one file, which compiles."""

from typing import NamedTuple

KINDS = ("edge", "type", "race", "leak", "error path")


class Defect(NamedTuple):
    """What is planted: `old`, which occurs once in the file, becomes `new`."""

    name: str
    kind: str
    file: str
    tests: str
    says: str
    old: str
    new: str

    def planted(self, text: str) -> str:
        """Give the file's text with the defect; ValueError where the table is out of date."""
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: {self.file} has what is replaced {found} times, not 1")
        return text.replace(self.old, self.new)
