"""A column of the source that seems to mark answers which should not count, and is not used."""

from __future__ import annotations

from dataclasses import dataclass

from heartfelt.errors import as_option
from heartfelt.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedColumn:
    """What a column seems to mark, by which cells, how many answers that is, and the import option that would use it."""

    column: str
    marks: str
    """``anchors``, ``practice trials``, ``attention checks`` or ``exclusions``."""
    cells: tuple[str, ...]
    answers: int
    total: int
    counted: str = "answers"
    option: str = ""
    """``anchors`` or ``where``; empty where no option reaches the column, as in a table of raters beside the ratings."""
    value: str = ""

    @property
    def finding(self) -> str:
        """``'anchor label' seems to mark anchors (True: 4,110 of 32,880 answers)``."""
        cells = listed([cell or "empty" for cell in self.cells], 4)
        return (
            f"'{self.column}' seems to mark {self.marks} ({cells}: {self.answers:,} of {self.total:,} {self.counted})"
        )

    @property
    def note(self) -> str:
        """The finding when the source is read, with how to use the column and how to say that it marks nothing."""
        use = f" To use it: {as_option(self.option, self.value)}." if self.option else " Leave those rows out yourself."
        return (
            f"{self.finding}, but is not used: they count like all others.{use}"
            f" If that is not what it marks: {as_option('ordinary', self.column)}."
        )

    @property
    def warning(self) -> str:
        """The finding in a verdict."""
        how = f"import again with {as_option(self.option, self.value)}" if self.option else "leave those rows out"
        return f"{self.finding}, which count like all others here; if so, {how}."
