"""The model card of a fine-tuned model: what it is, from what data, how well it does next to the ceiling, its limits and credit."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.predictors.trained.folder import ADAPTER
from heartfelt.serialization import dumps
from heartfelt.stats.estimate import Estimate
from heartfelt.training.finetuning.folder import ModelFacts, PartScore
from heartfelt.training.finetuning.task import QuestionOutput
from heartfelt.training.model_card import LIMITS, METRICS, CardScore, header, licence_lines
from heartfelt.wording import MISSING, interval, number

_HEADLINES = ("pearson", "spearman", "mse", "accuracy", "balanced_accuracy", "macro_f1", "auroc")


def model_card(facts: ModelFacts) -> str:
    """The card as Markdown, with the header that model hubs read."""
    fitted, core = facts.fitted, facts.core
    sizes = ", ".join(f"{count:,} {part}" for part, count in facts.stimuli.items())
    studies = " and ".join(f"`{part.study}` (snapshot `{part.snapshot[:16]}`)" for part in core.data)
    systems = f" by {len(facts.systems)} systems" if facts.systems else ""
    limits = [LIMITS]
    if facts.systems and not facts.settings.get("left_out_system"):
        limits.append(
            "It may have been scored on systems it was also trained on; unknown systems are harder."
        )
    onnx = (
        f"No ONNX file: {core.onnx}." if core.onnx else "`model.onnx` is the same network for ONNX Runtime."
    )
    alone = "`model.safetensors` has the weights; `config.json` and the preprocessing files say how inputs are made."
    if ADAPTER in core.files:
        alone = (
            f"`{ADAPTER}` and `adapter_config.json` are adapters that PEFT adds to the base model"
            " (`PeftModel.from_pretrained(model, DIR)`); `config.json` names it and has the questions as they were asked."
        )
    lines = [
        *header(core, card_scores(facts)),
        f"# {core.name}",
        "",
        f"Fine-tuned by `heartfelt train --recipe {core.recipe}` (heartfelt {core.heartfelt}). It answers:",
        "",
        *(f"- `{output.question}`: {_answer_words(output)}" for output in facts.outputs),
        "",
        "## Data",
        "",
        f"{studies}: {sizes} stimuli{systems}; {facts.left_out:,} more could not be used."
        f" {facts.labels[:1].upper()}{facts.labels[1:]}.",
        f"{facts.split} {facts.grouping}",
        "",
        "## Training",
        "",
        f"Seed {facts.seed}, {fitted.device}, precision {fitted.precision}, {fitted.steps:,} steps."
        f" The weights are those of epoch {fitted.best_epoch} of {len(fitted.history)} ({fitted.stopped}).",
        "",
        "```json",
        dumps(facts.settings),
        "```",
        "",
        "## Scores",
        "",
        "On stimuli that were neither trained on nor used to stop training, against the labels of the screened raters;"
        " 95% intervals.",
        "",
        *score_table(facts.scores),
        "",
        "## Limits",
        "",
        *(f"- {line}" for line in (*limits, *facts.notes)),
        "",
        *licence_lines(core, facts.credit),
        "## Use",
        "",
        "```bash",
        "heartfelt bench SOURCE --model trained:DIR",
        "```",
        "",
        f"Without heartfelt: {alone} {onnx}",
    ]
    return "\n".join(lines) + "\n"


def card_scores(facts: ModelFacts) -> list[CardScore]:
    """What the header lists: the main metrics over stimuli of every part that was scored."""
    categories = {output.question: bool(output.categories) for output in facts.outputs}
    sources = {part.study: part for part in facts.core.data}
    return [
        CardScore(
            question=score.task,
            categories=categories[score.task],
            part=score.part,
            data=sources.get(score.source, facts.core.data[0]),
            metric=score.metric,
            value=score.estimate.value,
        )
        for score in facts.scores
        if score.aggregation == "item" and score.metric in METRICS and score.estimate.value is not None
    ]


def _answer_words(output: QuestionOutput) -> str:
    if output.categories:
        return f"probabilities of {', '.join(output.categories)}"
    return (
        "a number" if output.bounds is None else f"a number from {output.bounds[0]:g} to {output.bounds[1]:g}"
    )


def score_table(scores: Sequence[PartScore]) -> list[str]:
    """The main metrics as lines of a Markdown table."""
    shown = [score for score in scores if score.metric in _HEADLINES]
    if not shown:
        return ["No part was scored."]
    out = ["| part | question | over | n | metric | value | ceiling |", "|---|---|---|---|---|---|---|"]
    for score in shown:
        part = f"{score.part} {score.source}".strip()
        over = {"item": "stimuli", "system": "systems"}[score.aggregation]
        cells = [
            part,
            score.task,
            over,
            number(score.n),
            score.metric,
            _cell(score.estimate),
            _cell(score.ceiling),
        ]
        out.append(f"| {' | '.join(cells)} |")
    return out


def _cell(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else interval(estimate, 2)
