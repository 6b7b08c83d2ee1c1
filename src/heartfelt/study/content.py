"""Everything that a ``study.yaml`` says, and what follows from it.

:mod:`heartfelt.study.consistency.references` checks it as a whole.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from heartfelt.errors import UnknownNameError, suggestion
from heartfelt.study.model import (
    AnchorProbe,
    ExtendedPart,
    Id,
    Language,
    OpenPart,
    Part,
    Place,
    Probe,
    Question,
    RepeatProbe,
    Text,
    check_name,
)
from heartfelt.study.parts.adjudication_rules import Adjudication
from heartfelt.study.parts.between import Between, QuestionnaireSource
from heartfelt.study.parts.branding import Branding
from heartfelt.study.parts.consent import Consent, Debriefing
from heartfelt.study.parts.design import Demographic, Design, Recruiting, Screener
from heartfelt.study.parts.instrument import Instrument
from heartfelt.study.parts.sets import Sets
from heartfelt.study.scales.answer import NONE, Coded, Scale
from heartfelt.study.scales.scale import AnyScale


class System(OpenPart):
    """What made stimuli: a model, a service, a person. Further keys are kept."""

    id: Id
    name: str | None = None
    group: str | None = Field(default=None, description="such as open-source or commercial")


class Intent(ExtendedPart, OpenPart):
    """What stimuli were meant to convey, with its place on the axes of the questions. Further keys are kept."""

    later_keys: ClassVar[tuple[str, ...]] = ("norms",)
    id: Id
    text: Text | None = None
    group: str | None = Field(default=None, description="such as the quadrant")
    reference: dict[Id, float] = Field(default={}, description="coordinates by axis, such as valence and arousal")
    norms: str | None = Field(
        default=None, description="the table that the coordinates are from, as methods sections cite it"
    )


class Prompt(OpenPart):
    """The text stimuli were made from. ``{intent}`` in it stands for the intent's id."""

    id: Id
    text: str
    systems: list[Id] = Field(default=[], description="only for these systems; all if left out")


class StimuliSource(Part):
    """Where the stimuli are listed and where their media lie, both inside the study folder."""

    manifest: str = Field(default="stimuli.csv", description="CSV or Parquet with a column 'stimulus'")
    media: str = Field(default="media", description="the folder that paths in the manifest are relative to")
    items: str | None = Field(
        default=None, description="CSV or Parquet of (stimulus, question); every pair if left out"
    )


class StudyContent(ExtendedPart, Part):
    """Everything a study says, part by part; :class:`heartfelt.study.Study` is it checked as a whole."""

    later_keys: ClassVar[tuple[str, ...]] = (
        "sets",
        "adjudication",
        "debriefing",
        "before",
        "after",
        "between",
        "screeners",
        "instruments",
        "branding",
    )
    heartfelt: Literal[1] = Field(default=1, description="version of this file's layout")
    name: Id = Field(max_length=200, description="also the name of files and folders")
    title: Text = ""
    description: Text = ""
    media: Literal["audio", "speech", "image"] = "audio"
    seed: int = 0
    languages: list[Language] = Field(default=["en"], min_length=1)
    instructions: Text = ""
    systems: list[System] = []
    intents: list[Intent] = []
    prompts: list[Prompt] = []
    stimuli: StimuliSource = StimuliSource()
    sets: Sets | None = Field(
        default=None, description="which stimuli are presented together; one at a time if left out"
    )
    scales: dict[Id, AnyScale] = {}
    questions: list[Question] = Field(min_length=1)
    probes: list[Probe] = []
    design: Design = Design()
    smallest_effect: float | None = Field(
        default=None,
        gt=0,
        description="the smallest difference between two systems that would matter, in points of the scale",
    )
    adjudication: Adjudication | None = Field(
        default=None, description="which items senior raters decide; none if left out"
    )
    consent: Consent | None = None
    debriefing: Debriefing | None = Field(default=None, description="what raters read in the end; nothing if left out")
    demographics: list[Demographic] = []
    before: list[Question] = Field(
        default=[], description="a questionnaire before the stimuli, such as one on personality"
    )
    after: list[Question] = Field(default=[], description="a questionnaire after the stimuli")
    between: list[Between] = Field(default=[], description="questionnaires between trials")
    screeners: list[Screener] = Field(default=[], description="who is screened out by their answers or failed probes")
    instruments: dict[Id, Instrument] = Field(
        default={}, description="questionnaires that score themselves, as 'before' and 'after' use them"
    )
    branding: Branding | None = Field(default=None, description="logo and colour of the rating pages")
    credit: str | None = Field(default=None, description="whom to cite for this design or its data")
    licence: str | None = None
    recruiting: Recruiting = Field(default=Recruiting(), exclude=True)
    database: str | None = Field(
        default=None,
        exclude=True,
        description="URL of a PostgreSQL database to collect in; a file in the study folder if left out",
    )

    @property
    def system_ids(self) -> list[str]:
        return [system.id for system in self.systems]

    def check_question(self, path: Place, name: str) -> None:
        check_name(path, name, self._asked_by_id, "no question is called", "Questions")

    @cached_property
    def asked(self) -> list[Question]:
        """Every concrete question, with ``for_each`` spread out."""
        return [concrete for question in self.questions for concrete in question.spread()]

    @cached_property
    def forms(self) -> dict[str, QuestionnaireSource]:
        """Every form by its name: ``questions``, ``before``, ``after``, and ``between:ID`` for each block of those."""
        forms = {name: QuestionnaireSource((name,), getattr(self, name)) for name in ("before", "questions")}
        for number, block in enumerate(self.between):
            forms[block.form] = QuestionnaireSource(("between", number, "questions"), block.questions)
        return {**forms, "after": QuestionnaireSource(("after",), self.after)}

    @cached_property
    def _questionnaires(self) -> dict[str, list[Question]]:
        return {
            name: [concrete for question in form.questions for concrete in question.spread()]
            for name, form in self.forms.items()
            if name != "questions"
        }

    def asked_in(self, where: str) -> list[Question]:
        """Every concrete question of a form, or of one time it comes (``between:ID@N``)."""
        name = where.partition("@")[0]
        return self.asked if name == "questions" else self._questionnaires[name]

    def read(self, question: Question, answer: Any) -> Coded:
        """Return ``(value, answer)`` for what a rater answered about one stimulus or themselves; "none" if it may be."""
        if question.none and answer == NONE:
            return None, NONE
        return self.scales[question.scale].read(answer)

    @cached_property
    def conditional(self) -> bool:
        """Whether any question about a stimulus is asked only under a condition."""
        return any(question.show_if for question in self.asked)

    @property
    def set_aside(self) -> dict[str, str]:
        """Stimuli that test or prepare the rater, with what each is: anchors and practice stimuli."""
        aside = dict.fromkeys(self.design.practice_stimuli, "practice stimulus")
        for probe in self.probes:
            if isinstance(probe, AnchorProbe):
                aside |= dict.fromkeys(probe.stimuli, f"anchor of the probe '{probe.id}'")
        return aside

    @property
    def repeats_are_probes(self) -> bool:
        """Whether a stimulus comes again to test the rater; otherwise a repeated answer is an answer like any other."""
        sessions = self.design.sessions
        again = sessions is not None and sessions.stimuli == "same"
        return again or any(isinstance(probe, RepeatProbe) for probe in self.probes)

    @cached_property
    def _asked_by_id(self) -> dict[str, Question]:
        return {question.id: question for question in self.asked}

    def question(self, name: str) -> Question:
        if name not in self._asked_by_id:
            raise UnknownNameError(
                f"The study has no question '{name}'.", suggestion(name, self._asked_by_id, "Questions")
            )
        return self._asked_by_id[name]

    def scale_of(self, question: str) -> Scale:
        return self.scales[self.question(question).scale]

    def reference(self, axis: str) -> dict[str, float]:
        """The coordinate of each intent on ``axis``, where it has one."""
        return {intent.id: intent.reference[axis] for intent in self.intents if axis in intent.reference}

    def plain(self) -> dict[str, Any]:
        """The study as plain data, without what was left at its default."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def hash(self) -> str:
        """A hash of everything the study says, the same for the same content in another layout."""
        # Fields that came later count where they are used, so that studies from before keep their hash.
        later = {name for name in ("smallest_effect",) if getattr(self, name) is None}
        text = json.dumps(self.model_dump(mode="json", exclude=later), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()
