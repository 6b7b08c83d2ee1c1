"""Screening out: by answers about the rater before the instructions, by failed attention trials at any time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from heartfelt.collect.assign.model import Rater
from heartfelt.collect.session.progress.conditions import pending_page, rater_facts
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.study import Study
from heartfelt.study.consistency.screeners import probe_screener, screened_by
from heartfelt.study.model import AttentionProbe, Text
from heartfelt.study.parts.design import Screener


class ScreenerAnswer(Protocol):
    """An answer as it is stored."""

    @property
    def question(self) -> str:
        """The question that was answered."""

    @property
    def value(self) -> float | None:
        """The number, or the code of the category."""

    @property
    def answer(self) -> str | None:
        """The answer in words."""


def due_screener(study: Study, rater: Rater) -> Screener | None:
    """The screener that ends the rater's session now; answers about themselves are judged before the instructions."""
    if not study.screeners:
        return None
    if not rater.instructed:
        about = {fact.id for fact in study.demographics} if rater.demographics_done else set()
        demographics_over = rater.demographics_done or not study.demographics
        over = demographics_over and not pending_page(study, rater, "before")

        def settled(name: str) -> bool:
            passed = ("before", name) in rater.questioned
            return name in about or passed or (over and any(q.id == name for q in study.asked_in("before")))

        screener = screened_by(study, rater_facts(rater), settled)
        if screener is not None:
            return screener
    return probe_screener(study, rater.failures) if rater.failures else None


def screen_out(work: Transaction, rater: Rater, screener: Screener) -> None:
    """End the rater's session: their leases go back, and nothing they answered counts."""
    work.record("screened", rater.number, words=screener.id)
    work.record("ended", rater.number, words="screened-out")
    work.insert_about(rater, "screen_outs", screener=screener.id)


def judge_attention(work: Transaction, rater: Rater, name: str | None, answers: Sequence[ScreenerAnswer]) -> None:
    """Count an attention trial that was answered otherwise than asked, if that can screen out, and screen out."""
    probe = next((p for p in work.study.probes if isinstance(p, AttentionProbe) and p.id == name), None)
    if probe is None or not any(probe.id in screener.probe for screener in work.study.screeners):
        return
    if _has_answered_as_told(work.study, probe, answers):
        return
    work.record("failed", rater.number, words=probe.id)
    screener = probe_screener(work.study, rater.failures)
    if screener is not None and rater.ended is None:
        screen_out(work, rater, screener)


def _has_answered_as_told(study: Study, probe: AttentionProbe, answers: Sequence[ScreenerAnswer]) -> bool:
    value, text = study.scale_of(probe.question).instructed(probe.answer)
    return any(response.value == value if value is not None else response.answer == text for response in answers)


def screener_text(study: Study, name: str | None) -> Text | None:
    """What a screener of the study says to those it screens out."""
    return next((screener.text for screener in study.screeners if screener.id == name), None)
