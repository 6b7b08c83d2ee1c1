"""The model card of a fine-tuned model: what it is, from what data, how well it does next to the ceiling, its limits and credit."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.predictors.trained.folder import ADAPTER
from heartfelt.serialization import dumps
from heartfelt.training.finetuning.folder import ModelFacts, PartScore
from heartfelt.training.model_card import METRICS, CardScore, filled, header, score_cell
from heartfelt.wording import number

_HEADLINES = ("pearson", "spearman", "mse", "accuracy", "balanced_accuracy", "macro_f1", "auroc")


def model_card(facts: ModelFacts) -> str:
    """The card as Markdown, with the header that model hubs read."""
    return filled(
        "finetuned_card.md.j2",
        facts=facts,
        core=facts.core,
        credit=facts.credit,
        header=header(facts.core, card_scores(facts)),
        settings=dumps(facts.settings),
        scores=score_table(facts.scores),
        adapter=ADAPTER,
    )


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


def score_table(scores: Sequence[PartScore]) -> list[str]:
    """The main metrics as lines of a Markdown table."""
    shown = [score for score in scores if score.metric in _HEADLINES]
    if not shown:
        return ["No part was scored."]
    out = ["| part | question | over | n | metric | value | ceiling |", "|---|---|---|---|---|---|---|"]
    for score in shown:
        part = f"{score.part} {score.source}".strip()
        over = {"item": "stimuli", "system": "systems"}[score.aggregation]
        estimates = (score_cell(score.estimate), score_cell(score.ceiling))
        cells = [part, score.task, over, number(score.n), score.metric, *estimates]
        out.append(f"| {' | '.join(cells)} |")
    return out
