"""The model card of a fine-tuned model: what it is, from what data, how well it does next to the ceiling, its limits and credit."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.finetuning.folder import ModelFacts, PartScore
from heartfelt.finetuning.task import ADAPTER, Output
from heartfelt.serialization import dumps
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import MISSING, interval, number

_HEADLINES = ("pearson", "spearman", "mse", "accuracy", "balanced_accuracy", "macro_f1", "auroc")


def model_card(facts: ModelFacts) -> str:
    """The card as Markdown, with the header that model hubs read."""
    fitted = facts.fitted
    sizes = ", ".join(f"{count:,} {part}" for part, count in facts.stimuli.items())
    studies = " and ".join(
        f"`{name}` (snapshot `{part[:16]}`)"
        for name, part in zip(facts.studies, facts.snapshots, strict=True)
    )
    systems = f" by {len(facts.systems)} systems" if facts.systems else ""
    limits = [
        "It predicts what raters like those of the study answered about stimuli like those of the study."
        " Other systems, other media and other people may differ.",
    ]
    if facts.systems and not facts.settings.get("left_out_system"):
        limits.append(
            "It may have been scored on systems it was also trained on; unknown systems are harder."
        )
    onnx = (
        f"No ONNX file: {facts.onnx}." if facts.onnx else "`model.onnx` is the same network for ONNX Runtime."
    )
    alone = "`model.safetensors` has the weights; `config.json` and the preprocessing files say how inputs are made."
    if ADAPTER in facts.files:
        alone = (
            f"`{ADAPTER}` and `adapter_config.json` are adapters that PEFT adds to the base model"
            " (`PeftModel.from_pretrained(model, DIR)`); `config.json` names it and has the questions as they were asked."
        )
    lines = [
        "---",
        "library_name: heartfelt",
        "license: other",
        "license_name: see-below",
        f'tags: ["{facts.recipe}"]',
        "---",
        "",
        f"# {facts.name}",
        "",
        f"Fine-tuned by `heartfelt train --recipe {facts.recipe}` (heartfelt {facts.heartfelt}). It answers:",
        "",
        *(f"- `{output.question}`: {_answer_words(output)}" for output in facts.outputs),
        "",
        "## Data",
        "",
        f"{studies}: {sizes} stimuli{systems}; {facts.left_out:,} more could not be used."
        f" Raters were screened by the policy `{facts.policy}`.",
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
        "## Licence and credit",
        "",
        "The weights are derived from the models and data below, whose licences apply.",
        "",
        *(f"- {line}" for line in facts.credit),
        "",
        "## Use",
        "",
        "```bash",
        "heartfelt bench SOURCE --model trained:DIR",
        "```",
        "",
        f"Without heartfelt: {alone} {onnx}",
    ]
    return "\n".join(lines) + "\n"


def _answer_words(output: Output) -> str:
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
