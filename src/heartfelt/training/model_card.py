"""What the cards of both kinds of trained models share: the header that model hubs read, and their templates.

The header is YAML as the Hugging Face Hub reads it: ``license``, ``library_name``, ``tags``, ``base_model`` and ``model-index``
with one entry per question and part of the evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import yaml
from jinja2 import Environment

from heartfelt.predictors.trained.folder import DataSource, ModelCore
from heartfelt.stats.estimate import Estimate
from heartfelt.templates import text_templates
from heartfelt.wording import MISSING, interval

METRICS = {
    "pearson": ("pearsonr", "Pearson r"),
    "spearman": ("spearmanr", "Spearman rho"),
    "rmse": ("rmse", "RMSE"),
    "mse": ("mse", "MSE"),
    "accuracy": ("accuracy", "accuracy"),
    "balanced_accuracy": ("balanced_accuracy", "balanced accuracy"),
    "macro_f1": ("f1", "macro F1"),
    "auroc": ("roc_auc", "area under the ROC curve"),
}
"""By the name of a metric, its id on the hub and what it is called there."""
_NO_LICENCE = "not-stated"

LIMITS = (
    "It predicts what raters like those of the study answered about stimuli like those of the study."
    " Other systems, other media and other people may differ."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardScore:
    """One value of the evaluation, as the header lists it."""

    question: str
    categories: bool
    """Whether the question is answered with a category."""
    part: str
    """What was left out, or the part that was scored."""
    data: DataSource
    metric: str
    value: float


def header(core: ModelCore, scores: Iterable[CardScore]) -> list[str]:
    facts: dict[str, object] = {**_licence(core.licence), "library_name": "heartfelt"}
    facts["tags"] = list(dict.fromkeys(["heartfelt", core.kind, core.recipe, *([core.media] if core.media else [])]))
    if datasets := [part.hub for part in core.data if part.hub]:
        facts["datasets"] = datasets
    if core.base_models:
        facts["base_model"] = list(dict.fromkeys(base.header_id for base in core.base_models))
    ordered = sorted(scores, key=_entry)
    results = [_result(core, list(group)) for _, group in groupby(ordered, key=_entry)]
    if results:
        facts["model-index"] = [{"name": core.name, "results": results}]
    text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=10_000)
    return ["---", *text.splitlines(), "---", ""]


def _entry(score: CardScore) -> tuple[str, str, str]:
    return score.data.study, score.question, score.part


def _licence(name: str) -> dict[str, object]:
    if re.fullmatch(r"[A-Za-z0-9.-]+", name) and not name.startswith("LicenseRef-"):
        return {"license": name.lower()}
    return {"license": "other", "license_name": re.sub(r"[^a-z0-9.]+", "-", name.lower()) or _NO_LICENCE}


def _result(core: ModelCore, scores: Sequence[CardScore]) -> dict[str, object]:
    first = scores[0]
    task = f"{core.media or 'media'}-{'classification' if first.categories else 'regression'}"
    dataset = {
        "name": first.data.study,
        "type": re.sub(r"[^a-z0-9._-]+", "-", first.data.study.lower()).strip("-") or "study",
        "config": first.part,
        "revision": first.data.snapshot,
    }
    metrics = []
    for score in scores:
        kind, name = METRICS[score.metric]
        metrics.append({"type": kind, "value": round(score.value, 6), "name": name})
    return {"task": {"type": task, "name": first.question}, "dataset": dataset, "metrics": metrics}


@cache
def _environment() -> Environment:
    return text_templates("heartfelt.training", thousands="{:,}".format)


def filled(template: str, **facts: object) -> str:
    """A template of this package with the facts; ``limits`` is what holds for every trained model."""
    return _environment().get_template(f"{template}").render(limits=LIMITS, **facts)


def score_cell(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else interval(estimate, 2)
