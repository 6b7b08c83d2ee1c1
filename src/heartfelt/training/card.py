"""The model card: what a model is, what it was made from, how well it does, where it must not be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.serialization import from_json
from heartfelt.stats.estimate import Estimate
from heartfelt.training.evaluating import LEAST_SYSTEMS, PANELS, Score
from heartfelt.wording import MISSING, interval, number, percent

_SINGLE = (
    "Single answers, predicted as a distribution (continuous ranked probability score, in points of the scale; smaller is"
    " better). The ceiling is expected of whoever knows what each stimulus conveys and how raters differ; blind is the"
    " distribution of all answers. Spreads are standard deviations of single answers about the predicted value."
)


def card(model: TrainedModel) -> str:
    """The card as Markdown."""
    facts = model.facts
    panel = facts.panel
    scores = [from_json(Score, row) for row in facts.evaluation]
    single = answers_table(scores)
    lines = [
        f"# {model.name}",
        "",
        f"A small head on frozen embeddings ({model.look().about}), made by"
        f" `heartfelt train --recipe {model.recipe}{_embedding(model)}`.",
        "",
        "## Data",
        "",
        f"{facts.stimuli:,} stimuli of the study `{facts.study}`"
        + (f" by {len(facts.systems)} systems ({', '.join(facts.systems)})" if facts.systems else "")
        + f", rated by {panel['kept']:,} of {panel['raters']:,} raters (policy `{facts.policy}`,"
        f" {panel['ratings_kept']:,} of {panel['ratings']:,} ratings)."
        f" {facts.left_out:,} stimuli with a label had no file that could be read.",
        f"Snapshot `{facts.snapshot[:16]}`, seed {facts.seed}.",
        "",
        "## Scores",
        "",
        "Every stimulus predicted by a head that was chosen and fitted without it.",
        *([facts.grouping.words] if facts.grouping else []),
        "",
        *evaluation_table(scores),
        "",
        *([_SINGLE, "", *single, ""] if single else []),
        "## Intervals",
        "",
    ]
    for output in model.outputs:
        parts = ", ".join(f"{key} {value:.2f}" for key, value in output.errors.items() if key != "systems")
        lines.append(
            f"- {output.question}: ±{output.half_width:.2f} covers {percent(output.confidence)} of labels of"
            f" {left_out_words(model)}; standard deviation of the error: {parts}. Head: {facts.chosen[output.question].head}."
        )
    return "\n".join(lines) + "\n"


def left_out_words(model: TrainedModel) -> str:
    """What was left out when the intervals were calibrated, in words."""
    if len(model.facts.systems) >= LEAST_SYSTEMS:
        return "systems that were left out"
    by = model.facts.grouping.by if model.facts.grouping else None
    return f"stimuli whose {by} was left out" if by else "stimuli that were left out"


def evaluation_table(scores: Sequence[Score]) -> list[str]:
    """The evaluation as lines of a Markdown table."""
    out = [
        "| question | labels of | reading | n | Pearson r | ceiling | bare means | RMSE | intervals cover |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for score in scores:
        cover = f"{percent(score.coverage)} (±{number(score.half_width, 2)})"
        cells = [
            score.question,
            PANELS[score.raters],
            score.reading,
            number(score.n),
            *(_cell(each) for each in (score.pearson, score.ceiling, score.bare_means)),
            number(score.rmse.value, 2),
            MISSING if score.coverage is None else cover,
        ]
        out.append(f"| {' | '.join(cells)} |")
    return out


def answers_table(scores: Sequence[Score]) -> list[str]:
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


def _cell(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else interval(estimate, 2)


def _embedding(model: TrainedModel) -> str:
    """The option that chose the embedding; nothing where it may be the recipe's."""
    return f" --embedding {model.embedding}" if ":" in model.embedding else ""
