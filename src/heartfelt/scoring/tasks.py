"""Tasks: what is scored together. Questions of numbers and of texts each by itself; categories by their scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heartfelt.scoring.metrics import HEADLINES, Kind
from heartfelt.study import Scale, Study
from heartfelt.study.scale import Ordered, Tags, YesNo


@dataclass(frozen=True, slots=True)
class Task:
    """Questions that are scored together, in one way."""

    id: str
    kind: Kind
    questions: tuple[str, ...]
    scale: Scale

    @property
    def headline(self) -> str:
        """The metric models are ranked by."""
        return HEADLINES[self.kind]

    @property
    def lowest(self) -> float:
        """The code of the lowest category; above it is present, or yes."""
        return min(self.scale.labels())

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends of the scale."""
        return self.scale.bounds()


def tasks_of(study: Study, questions: Sequence[str]) -> tuple[list[Task], list[str]]:
    """The tasks of these questions, and notes on questions that are not scored."""
    by_scale: dict[str, list[str]] = {}
    tasks: list[Task] = []
    notes: list[str] = []
    for name in questions:
        scale = study.scale_of(name)
        if isinstance(scale, Tags):
            notes.append(f"The question '{name}' is answered with tags, which are not scored.")
        elif scale.level == "text":
            tasks.append(Task(name, "text", (name,), scale))
        elif not scale.labels():
            tasks.append(Task(name, "numbers", (name,), scale))
        else:
            by_scale.setdefault(study.question(name).scale, []).append(name)
    for scale_name, names in by_scale.items():
        scale, title = study.scale_of(names[0]), names[0] if len(names) == 1 else scale_name
        if isinstance(scale, Ordered | YesNo):
            tasks.append(Task(title, "binary", tuple(names), scale))
        if isinstance(scale, Ordered):
            tasks.append(Task(f"{title} (degree)", "ordinal", tuple(names), scale))
        elif not isinstance(scale, YesNo):
            tasks.append(Task(title, "categories", tuple(names), scale))
    return tasks, notes
