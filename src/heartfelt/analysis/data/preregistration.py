"""What was preregistered, and where a study deviated from it.

``preregistration.json`` in a study folder (written by ``heartfelt plan DIR --preregister FILE.md``, copied into snapshots) holds a
``Preregistration``. An analysis compares it with what was done and lists every deviation; it never judges whether one is justified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from heartfelt.analysis.data.counts import distinct_names
from heartfelt.serialization import dumps, read_json
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.study.model import Question, say
from heartfelt.wording import number, percent

FILE = "preregistration.json"
TOLERANCE = 0.05
"""Counts of raters and ratings may differ by this share: a study never ends at an exact number."""


@dataclass(frozen=True, slots=True)
class RegisteredQuestion:
    """A question as it was registered: what raters read, and the scale as plain text."""

    id: str
    text: str
    scale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preregistration:
    """Hypotheses, design, exclusion rules and analyses, as decided before collecting."""

    heartfelt: str
    written: str
    """The day, as year-month-day."""
    study: str
    hash: str
    """Of the study at that time."""
    hypotheses: tuple[str, ...]
    raters: int
    ratings_per_item: int
    stimuli_per_rater: int
    stimuli: int
    systems: tuple[str, ...]
    intents: tuple[str, ...]
    minimum_ratings: int
    questions: tuple[RegisteredQuestion, ...]
    policy: str
    analyses: tuple[str, ...]
    covariates: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    """What the plan forecasts, in words."""
    effect: str = ""
    """The difference that the study is to find, in words."""
    smallest_effect: float | None = None
    """Within so many points systems count as equivalent."""
    power: float | None = None
    """The lowest expected power over the questions."""
    cost_at_most: float | None = None
    exclusions: tuple[str, ...] = ()
    """The screening rules that leave raters out, with their settings."""
    stopping: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Deviation:
    """One difference between what was registered and what was done."""

    topic: str
    registered: str
    done: str


@dataclass(frozen=True, slots=True)
class Registered:
    """A preregistration next to its study: what was registered when, and every deviation."""

    written: str
    hypotheses: tuple[str, ...]
    analyses: tuple[str, ...]
    deviations: tuple[Deviation, ...] = field(default=())

    @property
    def words(self) -> str:
        """How many deviations there are."""
        if not self.deviations:
            return f"The study was preregistered on {self.written}, and nothing deviates from it."
        size = len(self.deviations)
        return f"The study was preregistered on {self.written}; {size} thing{'s' * (size > 1)} deviate{'s' * (size == 1)} from it."


def read_preregistration(path: Path | str) -> Preregistration:
    """Read a preregistration that ``heartfelt plan DIR --preregister FILE.md`` wrote into the study folder."""
    return read_json(Path(path), Preregistration)


def find_preregistration(source: Path) -> Path | None:
    """The preregistration of a study folder or a snapshot: in the folder, or in the study folder a snapshot lies in."""
    for folder in (source, *list(source.resolve().parents)[:2]):
        path = folder / FILE
        if path.is_file() and (folder == source or (folder / "study.yaml").is_file()):
            return path
    return None


def registered_questions(study: Study) -> tuple[RegisteredQuestion, ...]:
    """The study's questions as they are registered."""
    return tuple(_registered(study, question) for question in study.asked)


def _registered(study: Study, question: Question) -> RegisteredQuestion:
    scale = study.scale_of(question.id).model_dump(mode="json", exclude_defaults=True)
    return RegisteredQuestion(question.id, say(question.text), dumps(scale, indent=None))


def check_registration(
    planned: Preregistration,
    snapshot: Snapshot,
    *,
    raters: int,
    dropped: int,
    per_item: float,
    policy: str,
    covariates: tuple[str, ...],
) -> Registered:
    """Compare what was registered with a snapshot and how it is analysed.

    ``raters`` are those who gave ratings, ``dropped`` how many screening left out, ``per_item`` the mean number of ratings
    per item.
    """
    detected: list[Deviation] = []

    def compare(topic: str, registered: str, done: str) -> None:
        if registered != done:
            detected.append(Deviation(topic, registered, done))

    def count(topic: str, registered: float, done: float, decimals: int = 0) -> None:
        if abs(done - registered) > TOLERANCE * max(registered, 1.0):
            detected.append(Deviation(topic, number(registered, decimals), number(done, decimals)))

    study = snapshot.study
    count("raters", planned.raters, raters)
    count("ratings per item", planned.ratings_per_item, per_item, 1)
    count("stimuli rated", planned.stimuli, snapshot.counts["rated"])
    for topic, before, column in (("systems", planned.systems, "system"), ("intents", planned.intents, "intent")):
        compare(topic, _names(before), _names([str(name) for name in distinct_names(snapshot.stimuli, column)]))
    compare("minimum ratings of a label", str(planned.minimum_ratings), str(study.design.minimum_ratings))
    trials = study.design.stimuli_per_rater
    if trials is not None:
        compare("trials per rater", str(planned.stimuli_per_rater), str(trials))
    _questions(planned, study, compare)
    compare("exclusion rules (screening policy)", planned.policy, policy)
    compare("covariates", _names(planned.covariates) or "none", _names(covariates) or "none")
    if planned.policy == "flag-only" and dropped:
        compare("raters left out", "none", number(dropped))
    excluded = (
        snapshot.ledger.filter(snapshot.ledger["what"] == "rater").height if "what" in snapshot.ledger.columns else 0
    )
    if excluded:
        share = percent(excluded / max(raters + excluded, 1))
        detected.append(Deviation("raters excluded by hand or while reading", "none", f"{excluded} ({share})"))
    return Registered(planned.written, planned.hypotheses, planned.analyses, tuple(detected))


def _names(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(sorted(name for name in names if name))


def _questions(planned: Preregistration, study: Study, compare: Callable[[str, str, str], None]) -> None:
    before = {question.id: question for question in planned.questions}
    now = {question.id: question for question in registered_questions(study)}
    compare("questions", _names(list(before)), _names(list(now)))
    for name, question in before.items():
        if name in now:
            compare(f"wording of '{name}'", question.text, now[name].text)
            compare(f"scale of '{name}'", question.scale, now[name].scale)
