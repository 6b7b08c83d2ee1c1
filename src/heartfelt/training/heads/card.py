"""The model card: what a model is, what it was made from, how well it does, where it must not be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.predictors.trained.model import QuestionHead, TrainedModel
from heartfelt.serialization import from_json
from heartfelt.stats.estimate import Estimate
from heartfelt.training.heads.evaluating import LEAST_SYSTEMS, PANELS, ProtocolScore
from heartfelt.training.model_card import LIMITS, CardScore, header, licence_lines, note_lines
from heartfelt.wording import MISSING, interval, number, percent

_SINGLE = (
    "Single answers, predicted as a distribution (continuous ranked probability score, in points of the scale; smaller is"
    " better). The ceiling is expected of whoever knows what each stimulus conveys and how raters differ; blind is the"
    " distribution of all answers. Spreads are standard deviations of single answers about the predicted value."
)


_ALONE = """```python
import numpy, onnxruntime

session = onnxruntime.InferenceSession("DIR/model.onnx")
rows = numpy.load("rows.npy")  # float32, one row per window of time; model.json names the columns ("blocks")
print({{"{name}": session.run(["{name}"], {{"embedding": rows}})[0].mean()}})
```"""


def card(model: TrainedModel) -> str:
    """The card as Markdown, with the header that model hubs read."""
    facts = model.facts
    scores = [from_json(ProtocolScore, row) for row in facts.evaluation]
    single = answers_table(scores)
    lines = [
        *header(model.core, card_scores(model, scores)),
        f"# {model.name}",
        "",
        f"A small head on frozen embeddings ({model.look().about}), made by"
        f" `heartfelt train --recipe {model.recipe}{_embedding(model)}`.",
        "",
        "## Data",
        "",
        f"{facts.stimuli:,} stimuli of the study `{facts.study}`"
        + (f" by {len(facts.systems)} systems ({', '.join(facts.systems)})" if facts.systems else "")
        + f"; {facts.labels}."
        f" {facts.left_out:,} stimuli with a label had no file that could be read.",
        f"Snapshot `{facts.snapshot[:16]}`, seed {facts.seed}.",
        "",
        *note_lines(facts.notes),
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
        parts = ", ".join(f"{key} {value:.2f}" for key, value in _parts_of_error(output).items())
        lines.append(
            f"- {output.question}: {half_width(output.half_width)} covers {percent(output.confidence)} of labels of"
            f" {left_out_words(model)}; standard deviation of the error: {parts}. Head: {facts.chosen[output.question].head}."
        )
    lines += [
        "",
        "## Limits",
        "",
        f"- {LIMITS}",
        "",
        *licence_lines(model.core),
        "## Use",
        "",
        "```bash",
        "heartfelt bench SOURCE --model trained:DIR",
        "```",
    ]
    lines += [
        "",
        "Without heartfelt, from the columns of the embedding:",
        "",
        _ALONE.format(name=model.outputs[0].question),
    ]
    return "\n".join(lines) + "\n"


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
            *(_cell(estimate) for estimate in (score.pearson, score.ceiling, score.bare_means)),
            _cell(score.rmse) if score.rmse.value is None else number(score.rmse.value, 2),
            MISSING if score.coverage is None else cover,
        ]
        out.append(f"| {' | '.join(cells)} |")
    reasons = {score.reading: score.pearson.why_missing for score in scores if score.pearson.value is None}
    return [
        *out,
        *(["", *(f"- {reading}: {reason}." for reading, reason in reasons.items())] if reasons else []),
    ]


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


def _cell(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else interval(estimate, 2)


def _embedding(model: TrainedModel) -> str:
    """The option that chose the embedding; nothing where it may be the recipe's."""
    return f" --embedding {model.embedding}" if ":" in model.embedding else ""
