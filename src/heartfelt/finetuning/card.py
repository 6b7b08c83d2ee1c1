"""The model card of a fine-tuned model: what it is, from what data, how well it does next to the ceiling, its limits and credit."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.finetuning.folder import ModelFacts, PartScore
from heartfelt.serialization import dumps
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import MISSING, interval, number

_HEADLINES = ("pearson", "spearman", "mse", "accuracy", "balanced_accuracy", "macro_f1", "auroc")


def model_card(facts: ModelFacts) -> str:
    """The card as Markdown, with the header that model hubs read."""
    answers = [
        f"- `{output.question}`: "
        + (
            f"probabilities of {', '.join(output.categories)}"
            if output.categories
            else f"a number from {output.bounds[0]:g} to {output.bounds[1]:g}"
            if output.bounds
            else "a number"
        )
        for output in facts.outputs
    ]
    sizes = ", ".join(f"{count:,} {part}" for part, count in facts.stimuli.items())
    lines = [
        "---",
        "library_name: heartfelt",
        "license: other",
        "license_name: see-below",
        f"tags: [{facts.recipe}]",
        "---",
        "",
        f"# {facts.name}",
        "",
        f"Fine-tuned by `heartfelt train --recipe {facts.recipe}` (heartfelt {facts.heartfelt}). It answers:",
        "",
        *answers,
        "",
        "## Data",
        "",
        f"Study {' and '.join(f'`{name}`' for name in facts.studies)} (snapshot {', '.join(f'`{part[:16]}`' for part in facts.snapshots)}):"
        f" {sizes} stimuli" + (f" by {len(facts.systems)} systems." if facts.systems else ".")
        + f" {facts.left_out:,} more could not be used. Raters were screened by the policy `{facts.policy}`.",
        f"{facts.split} {facts.grouping}",
        "",
        "## Training",
        "",
        f"Seed {facts.seed}, {facts.fitted.device}, precision {facts.fitted.precision}, {facts.fitted.steps:,} steps; the weights are those"
        f" of epoch {facts.fitted.best_epoch} of {len(facts.fitted.history)} ({facts.fitted.stopped}).",
        "",
        "```json",
        dumps(facts.settings),
        "```",
        "",
        "## Scores",
        "",
        "On stimuli that were neither trained on nor used to stop training, against the labels of the screened raters; 95% intervals.",
        "",
        *score_table(facts.scores),
        "",
        "## Limits",
        "",
        "- It predicts what raters like those of the study answered about stimuli like those of the study. Other systems, other media and"
        " other people may differ.",
        *(["- It was scored on systems it was also trained on; unknown systems are harder."] if facts.systems and "left out and scored" not in facts.split.split("random")[0] else []),
        *(f"- {note}" for note in facts.notes),
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
        "Without heartfelt: `model.safetensors` has the weights, `config.json` and the preprocessing files say how inputs are made."
        + (f" No ONNX file: {facts.onnx}." if facts.onnx else " `model.onnx` is the same network for ONNX Runtime."),
    ]
    return "\n".join(lines) + "\n"


def score_table(scores: Sequence[PartScore]) -> list[str]:
    """The main metrics as lines of a Markdown table."""
    shown = [score for score in scores if score.metric in _HEADLINES]
    if not shown:
        return ["No part was scored."]
    out = ["| part | question | over | n | metric | value | ceiling |", "|---|---|---|---|---|---|---|"]
    for score in shown:
        part = f"{score.part} {score.source}".strip()
        over = {"item": "stimuli", "system": "systems"}[score.aggregation]
        cells = [part, score.task, over, number(score.n), score.metric, _cell(score.estimate), _cell(score.ceiling)]
        out.append(f"| {' | '.join(cells)} |")
    return out


def _cell(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else interval(estimate, 2)
