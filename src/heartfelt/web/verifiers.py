"""Simulated raters who verify drafts: which drafts are right is planted, and what each rater makes of them follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.collect import Collection
from heartfelt.collect.commands import FieldLog, ShowTrial, Verdict
from heartfelt.formats.machine_values import machine_values
from heartfelt.simulate import Verifier, VerifierMix, field_truth, verify
from heartfelt.streams import stream


@dataclass(frozen=True, slots=True)
class Verified:
    """What a rater makes of the drafts of one trial; ``values`` holds only what they entered themselves."""

    values: Mapping[str, Any]
    verdicts: Mapping[str, Verdict]
    log: Mapping[str, FieldLog]


class DraftedFields:
    """The drafts of a study with the truth behind each."""

    def __init__(self, collection: Collection, mix: VerifierMix, seed: int) -> None:
        self._study, self._mix = collection.study, mix
        drafts = {item: value for item, (value, *_) in machine_values(collection.opened).items()}
        self._others: dict[str, list[str]] = {}
        for (_, question), value in drafts.items():
            self._others.setdefault(question, []).append(value)
        self.truth = {
            (stimulus, question): field_truth(
                self._study.scale_of(question),
                value,
                self._others[question],
                mix,
                stream(seed, "rehearsal", "truth", stimulus, question),
            )
            for (stimulus, question), value in drafts.items()
        }

    def verified(self, trial: ShowTrial, stimulus: str, person: Verifier, rng: np.random.Generator) -> Verified:
        """What a person makes of the drafts of a trial, withheld ones included."""
        by_question = {
            question: verify(
                self._study.scale_of(question),
                self.truth[stimulus, question],
                draft,
                self._others[question],
                person,
                self._mix,
                rng,
            )
            for question, draft in trial.machine.items()
            if question in trial.questions
        }
        return Verified(
            {question: answer.value for question, answer in by_question.items() if answer.value is not None},
            {question: answer.verdict for question, answer in by_question.items() if answer.verdict is not None},
            {
                question: FieldLog(seconds=round(answer.seconds, 3), keystrokes=answer.keystrokes)
                for question, answer in by_question.items()
            },
        )
