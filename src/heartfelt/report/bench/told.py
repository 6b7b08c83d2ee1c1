"""What pages read of ``scores.json``: one way for scores just made and for those of an earlier run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartfelt.errors import InputError

FILE = "scores.json"


@dataclass(frozen=True, slots=True)
class Told:
    """The content of one ``scores.json``."""

    said: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Told:
        """Read a file, and refuse what is no table of scores."""
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            version = said["heartfelt_scores"]
            _ = (
                said["tasks"],
                said["scores"],
                said["ranks"],
                said["models"],
                said["coverage"],
                said["metrics"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} does not hold scores.", "Point to a folder that heartfelt bench wrote."
            ) from error
        if version != 1:
            raise InputError(
                f"{path} was written in layout {version}; this heartfelt reads layout 1.",
                "Score again, or use the version that wrote it.",
            )
        return cls(said)

    @property
    def title(self) -> str:
        """The study's title."""
        return str(self.said.get("title") or self.said["study"])

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The tasks, each with its kind and headline."""
        return list(self.said["tasks"])

    @property
    def models(self) -> list[str]:
        """The models, in the order they were asked for."""
        return [str(name) for name in self.said["models"]]

    def named(self, metric: str) -> str:
        """A metric by its usual name."""
        found = self.said["metrics"].get(metric)
        return str(found["title"]) if found else metric.replace("_", " ")

    def higher(self, metric: str) -> bool:
        """Whether more of a metric is better."""
        found = self.said["metrics"].get(metric)
        return bool(found["higher_is_better"]) if found else True

    def scores(self, task: str, **where: Any) -> list[dict[str, Any]]:
        """The scores of a task that hold ``where``."""
        return [
            one
            for one in self.said["scores"]
            if one["task"] == task and all(one[key] == value for key, value in where.items())
        ]

    def headline(self, task: Mapping[str, Any], model: str) -> dict[str, Any]:
        """A model's score by the task's headline."""
        return self.scores(task["task"], model=model, metric=task["headline"], level="item")[0]

    def chance(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The chance level of the task's headline."""
        known = [
            one.get("chance") for one in self.scores(task["task"], metric=task["headline"], level="item")
        ]
        return dict(
            next((one for one in known if one), {"value": None, "why_missing": "no chance level is known"})
        )

    def coverage(self, task: str, model: str) -> tuple[int, int]:
        """How many items a model answered, and how many there were."""
        covered = self.said["coverage"].get(model, {}).get(task) or {}
        return int(covered.get("answered") or 0), int(covered.get("items") or 0)

    def ranks(self, task: str) -> list[dict[str, Any]]:
        """The ranks of a task, best first, those without one last."""
        mine = [rank for rank in self.said["ranks"] if rank["task"] == task]
        return sorted(mine, key=lambda rank: (rank["place"] is None, rank["place"] or 0))

    def comparisons(self, task: str) -> list[dict[str, Any]]:
        """Every pair of models of a task."""
        return [pair for pair in self.said["comparisons"] if pair["task"] == task]

    def tied_with(self, task: str, model: str) -> list[str]:
        """The models that a model cannot be told apart from."""
        ranked = {rank["model"] for rank in self.ranks(task) if rank["place"] is not None}
        out = [
            pair["second"] if pair["first"] == model else pair["first"]
            for pair in self.comparisons(task)
            if not pair["apart"] and model in (pair["first"], pair["second"])
        ]
        return [other for other in out if other in ranked]

    def ceiling(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The ceiling of the task's headline."""
        found = self.scores(task["task"], metric=task["headline"], level="item")
        return dict(found[0]["ceiling"]) if found else {"value": None, "why_missing": "nothing was scored"}

    def human(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """What one more rater reaches."""
        return dict(self.said["details"].get(task["task"], {}).get("one_rater") or {"value": None})

    def detail(self, task: Mapping[str, Any], model: str, name: str) -> Any:
        """What lies behind a model's scores: its confusion, its calibration."""
        return self.said["details"].get(task["task"], {}).get("models", {}).get(model, {}).get(name)


NO_CHANCE = "does not beat chance"


def below_chance(rank: Mapping[str, Any]) -> bool:
    """Whether a model was found not to beat chance."""
    return rank.get("beats_chance") is False


def rank_words(rank: Mapping[str, Any]) -> str:
    """``2``, or ``1–3`` where the data leave it open; a dash, or ``does not beat chance``, for a model without a rank."""
    if below_chance(rank):
        return NO_CHANCE
    best, worst = rank["best"], rank["worst"]
    if best is None:
        return "–"
    return str(best) if best == worst else f"{best}–{worst}"
