"""Random answers that a study accepts: about oneself, to questionnaires, on any scale, and in attention trials.

Simulated raters qualify: their answers pass the study's screeners, and vary where screeners or strata look at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.simulate.judgements import judge
from heartfelt.simulate.sessions.participants import (
    Departure,
    PageAnswers,
    Participant,
    QuestionPage,
    Trial,
    TrialAnswers,
)
from heartfelt.streams import stream
from heartfelt.study import Scale, Study
from heartfelt.study.consistency.conditions import Source, read_fact, shown_questions
from heartfelt.study.consistency.screeners import screened_by
from heartfelt.study.model import AttentionProbe, say
from heartfelt.study.parts.design import Demographic
from heartfelt.study.scales.answer import Coded
from heartfelt.study.scales.scale import FreeText, Tags
from heartfelt.study.scales.set_scale import TIE, Choice, SetScale, Trace

_SAMPLES = 100
_ATTEMPTS = 500
_AGES = (18, 80)
_SPREAD = 0.35
"""Standard deviation of the logarithm of the time for a trial."""


def simulated_demographics(study: Study, rng: np.random.Generator | None = None) -> dict[str, float | str]:
    """Demographic answers that are not screened out; with ``rng``, they vary where the study looks at them."""
    usual = {fact.id: _usual(fact) for fact in study.demographics}
    if rng is None or not (study.screeners or study.design.strata):
        return usual
    names = set(usual)
    for _ in range(_ATTEMPTS):
        about = {fact.id: _drawn(fact, rng) for fact in study.demographics}
        if screened_by(study, _facts(study, about), names.__contains__) is None:
            return about
    # Screeners that pass hardly anybody would otherwise be drawn for without end.
    raise _all_screened()


def _usual(fact: Demographic) -> float | str:
    if fact.type == "number":
        return max(30.0, fact.at_least or 0.0)
    return fact.choices[0] if fact.choices else "simulated"


def _drawn(fact: Demographic, rng: np.random.Generator) -> float | str:
    if fact.type == "number":
        return max(float(rng.integers(*_AGES)), fact.at_least or 0.0)
    return str(rng.choice(fact.choices)) if fact.choices else "simulated"


def _facts(study: Study, about: Mapping[str, object]) -> dict[Source, Coded]:
    return {("rater", fact.id): read_fact(fact, about[fact.id]) for fact in study.demographics if fact.id in about}


def _all_screened() -> InputError:
    return InputError(
        f"No simulated rater qualifies: {_ATTEMPTS} draws of answers were all screened out.",
        "Loosen the study's screeners, or try the design without them.",
    )


def simulated_pages(study: Study, rng: np.random.Generator, about: Mapping[str, object] | None = None) -> PageAnswers:
    """Random answers to every page of the study's questionnaires, of a rater with these demographic answers."""
    facts = _facts(study, about or {})
    settled = {fact.id for fact in study.demographics}

    def answers(page: QuestionPage) -> dict[str, object]:
        for _ in range(_ATTEMPTS):
            page_answers = _page(study, page, rng)
            if page.time != "before" or not study.screeners:
                return page_answers
            read: dict[Source, Coded] = {
                ("rater", question.id): study.read(question, page_answers[question.id])
                for question in study.asked_in("before")
                if question.id in page_answers
            }
            passed = settled | set(page.questions)
            if screened_by(study, {**facts, **read}, passed.__contains__) is None:
                facts.update(read)
                settled.update(page.questions)
                return page_answers
        raise _all_screened()

    return answers


def _page(study: Study, page: QuestionPage, rng: np.random.Generator) -> dict[str, object]:
    scales = {question.id: study.scales[question.scale] for question in study.asked_in(page.time)}
    drawn_answers = {name: simulated_answer(scales[name], rng) for name in page.questions}
    shown = shown_questions(study, page.questions, drawn_answers, page.time)
    return {name: drawn_answers[name] for name in page.questions if name in shown}


def simulated_answer(scale: Scale, rng: np.random.Generator, members: int = 0) -> Any:
    """A random answer that the scale accepts; ``members`` is the number of stimuli that are judged together."""
    if isinstance(scale, SetScale):
        return judge(scale, [0.0] * max(2, members), rng)
    if isinstance(scale, Trace):
        return {"samples": rng.uniform(*scale.bounds(), _SAMPLES).round(4).tolist()}
    labels, bounds = scale.labels(), scale.bounds()
    if labels:
        return float(rng.choice(sorted(labels)))
    if bounds is not None and getattr(scale, "points", None):
        return int(rng.integers(int(bounds[0]), int(bounds[1]) + 1))
    if bounds is not None:
        return float(rng.uniform(*bounds))
    if isinstance(scale, Tags):
        return [str(rng.choice(scale.names))] if scale.names else ["simulated"]
    if isinstance(scale, FreeText):
        words = " ".join(["simulated"] * max(1, scale.min_words, -(-scale.min_characters // 9)))
        return words[: scale.max_characters]
    least: float | None = getattr(scale, "low", None)
    return float(rng.normal()) if least is None else float(least + rng.exponential())


def attention_answer(study: Study, words: str) -> dict[str, float | str]:
    """The question an attention trial is about, and what the page sends for the answer it asks for."""
    for probe in study.probes:
        if isinstance(probe, AttentionProbe) and words in {say(probe.text, language) for language in study.languages}:
            # The researcher counts places from 1, the page from 0.
            is_position = isinstance(study.scale_of(probe.question), Choice) and probe.answer != TIE
            return {probe.question: int(float(probe.answer)) - 1 if is_position else probe.answer}
    raise HeartfeltError("An attention trial came that matches no probe of the study.", "Check the study's probes.")


def random_rater(study: Study, number: int, hazard: float, seed: int) -> Participant[Trial]:
    """A rater who gives random answers and leaves with a constant hazard; half of those who leave say so."""
    rng = stream(seed, "collect", "person", number)

    def answer(trial: Trial) -> TrialAnswers | Departure:
        if rng.random() < hazard:
            return "leave" if rng.random() < 0.5 else "vanish"
        took = study.design.expected_seconds * float(np.exp(_SPREAD * rng.standard_normal()))
        judged = sum(member.kind == "judged" for member in trial.members)
        values = {name: simulated_answer(study.scale_of(name), rng, judged) for name in trial.questions}
        if trial.words is not None:
            values |= attention_answer(study, trial.words)
        return TrialAnswers(values=shown_values(study, trial, values), seconds=took, duration=took)

    about = simulated_demographics(study, stream(seed, "collect", "about", number))
    pages = simulated_pages(study, rng, about)
    return Participant(name=str(number), answer=answer, about=about, questionnaire=pages)


def shown_values(study: Study, trial: Trial, values: Mapping[str, Any]) -> dict[str, Any]:
    """The answers to the questions that these answers leave shown, in the order asked."""
    shown = shown_questions(study, trial.questions, values)
    return {name: values[name] for name in trial.questions if name in shown}
