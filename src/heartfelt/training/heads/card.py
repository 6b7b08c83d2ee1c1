"""The model card: what a model is, what it was made from, how well it does, where it must not be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.predictors.trained.heads.head import QuestionHead
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.serialization import from_json
from heartfelt.training.heads.evaluating import LEAST_SYSTEMS, PANELS, ProtocolScore
from heartfelt.training.model_card import CardScore, filled, header, score_cell
from heartfelt.wording import MISSING, interval, number, percent


def card(model: TrainedModel) -> str:
    """The card as Markdown, with the header that model hubs read."""
    scores = [from_json(ProtocolScore, row) for row in model.facts.evaluation]
    return filled(
        "head_card.md.j2",
        model=model,
        core=model.core,
        credit=(),
        facts=model.facts,
        header=header(model.core, card_scores(model, scores)),
        evaluation=evaluation_table(scores),
        single=answers_table(scores),
        half_width=half_width,
        parts_of_error=_parts_of_error,
        left_out=left_out_words(model),
    )


def card_scores(model: TrainedModel, scores: Sequence[ProtocolScore]) -> list[CardScore]:
    """What the header lists: correlation and error against the labels of the screened raters, where some were dropped."""
    sides = {score.question: score.raters for score in reversed(scores)}
    return [
        CardScore(
            question=score.question,
            categories=False,
            part=score.reading,
            data=model.data[0],
            metric=metric,
            value=estimate.value,
        )
        for score in scores
        for metric, estimate in (("pearson", score.pearson), ("rmse", score.rmse))
        if estimate.value is not None and sides[score.question] == score.raters and model.data
    ]


def _parts_of_error(output: QuestionHead) -> dict[str, float]:
    """Standard deviations of the error by what it is shared by; what could not be told apart is one part."""
    parts = {key: value for key, value in output.errors.items() if key != "systems"}
    if parts.get("stimulus") == 0 and "intent" in parts:
        parts = {"system": parts["system"], "intent and stimulus together": parts["intent"]}
    return parts


def half_width(width: float) -> str:
    """``±1.56``; a width that would round to nothing is told as smaller than what is shown."""
    return f"±{number(width, 2)}" if width >= 0.005 else "less than ±0.01"


def left_out_words(model: TrainedModel) -> str:
    """What was left out when the intervals were calibrated, in words."""
    if len(model.facts.systems) >= LEAST_SYSTEMS:
        return "systems that were left out"
    by = model.facts.grouping.by if model.facts.grouping else None
    return f"stimuli whose {by} was left out" if by else "stimuli that were left out"


def evaluation_table(scores: Sequence[ProtocolScore]) -> list[str]:
    out = [
        "| question | labels of | reading | n | Pearson r | ceiling | bare means | RMSE | intervals cover |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for score in scores:
        cover = f"{percent(score.coverage)} ({half_width(score.half_width or 0.0)})"
        cells = [
            score.question,
            PANELS[score.raters],
            score.reading,
            number(score.n),
            *(score_cell(estimate) for estimate in (score.pearson, score.ceiling, score.bare_means)),
            score_cell(score.rmse) if score.rmse.value is None else number(score.rmse.value, 2),
            MISSING if score.coverage is None else cover,
        ]
        out.append(f"| {' | '.join(cells)} |")
    reasons = {score.reading: score.pearson.why_missing for score in scores if score.pearson.value is None}
    return [*out, *(["", *(f"- {reading}: {reason}." for reading, reason in reasons.items())] if reasons else [])]


def answers_table(scores: Sequence[ProtocolScore]) -> list[str]:
    """How well single answers are predicted, as lines of a Markdown table; nothing for heads that learned from means."""
    rows = [
        [
            score.question,
            PANELS[score.raters],
            score.reading,
            interval(answers.crps, 2),
            number(answers.ceiling.value, 2),
            number(answers.blind.value, 2),
            number(answers.spread, 2),
            number(answers.observed, 2),
        ]
        for score in scores
        if (answers := score.answers) is not None
    ]
    heads = [
        "| question | answers of | reading | CRPS | ceiling | blind | predicted spread | observed spread |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return [*heads, *(f"| {' | '.join(row)} |" for row in rows)] if rows else []
