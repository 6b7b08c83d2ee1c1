"""Losses: categories as distributions, numbers with missing targets, and the emotion models' own terms.

*Conventions*: the target of categories is the distribution of the raters' choices, that of a number is in units of half the
scale about its middle. A weight is 0 where a target is missing; over all stimuli trained on, the weights of a question average
1. A loss is the sum over the batch divided by its size, so that a batch divided into parts gives the same gradient.

*Polarity-consistent terms* (Zhao et al. 2019 for numbers; Zhao et al. 2020, AAAI, 303-311, for categories): an error counts ``1
+ penalty`` times where the predicted polarity is not that of the label. *Hierarchical cross-entropy* (Yang et al. 2021): the
cross-entropy of the categories plus ``penalty`` times that of their groups, a group's probability being the sum over its
categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from heartfelt.training.finetuning.recipes.images.architectures import NetworkSpec
from heartfelt.training.finetuning.recipes.images.networks.emotion import Outputs


@dataclass(frozen=True, slots=True)
class Targets:
    """The labels of a batch."""

    categories: Tensor
    """``(batch, categories)``; a row of zeros where there is none."""
    category_weight: Tensor
    """``(batch,)``."""
    numbers: Tensor
    """``(batch, questions)``."""
    number_weight: Tensor
    """``(batch, questions)``."""


@dataclass(frozen=True, slots=True)
class LossOptions:
    """How the parts of the loss are put together."""

    numbers: Literal["l1", "mse"] = "l1"
    number_weight: float = 1.0
    """Of the numbers' part next to that of the categories."""
    smoothing: float = 0.0
    """The share of a label distribution that is spread over all categories."""
    penalty: float = 0.5
    """Of the wrong polarity (pdanet), and of the groups' part (stimuli-aware, mdan)."""


def soft_cross_entropy(logits: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    """The cross-entropy of each row with its distribution; 0 for a row of zeros."""
    labelled = (target.sum(dim=1) > 0).to(logits.dtype)
    smooth = target * (1 - smoothing) + labelled[:, None] * smoothing / target.shape[1]
    return -(smooth * functional.log_softmax(logits, dim=1)).sum(dim=1)


def group_matrix(groups: Sequence[int], like: Tensor) -> Tensor:
    """``(categories, groups)``: 1 where a category belongs to a group."""
    index = torch.tensor(list(groups), device=like.device)
    return functional.one_hot(index).to(like.dtype)


def group_logits(logits: Tensor, groups: Sequence[int]) -> Tensor:
    """The log-probability of each group: that of any of its categories."""
    outside = group_matrix(groups, logits) == 0
    group_members = functional.log_softmax(logits, dim=1)[:, :, None].masked_fill(outside[None], float("-inf"))
    return torch.logsumexp(group_members, dim=1)


def polarity_factor(logits: Tensor, target: Tensor, groups: Sequence[int], penalty: float) -> Tensor:
    """``1 + penalty`` for rows whose likeliest category is of another group than the label's likeliest, else 1."""
    index = torch.tensor(list(groups), device=logits.device)
    opposite = index[logits.argmax(dim=1)] != index[target.argmax(dim=1)]
    return 1 + penalty * opposite.to(logits.dtype)


def number_errors(values: Tensor, target: Tensor, kind: str) -> Tensor:
    """The absolute or the squared error of each number."""
    gap = values - target
    return gap.abs() if kind == "l1" else gap.square()


def sign_factor(values: Tensor, target: Tensor, penalty: float) -> Tensor:
    """``1 + penalty`` where a number is on the other side of the scale's middle than its label, else 1."""
    return 1 + penalty * ((values.detach() < 0) != (target < 0)).to(values.dtype)


def loss_parts(outputs: Outputs, targets: Targets, spec: NetworkSpec, options: LossOptions) -> dict[str, Tensor]:
    """The parts of the loss by name; the loss is their sum."""
    parts: dict[str, Tensor] = {}
    if "logits" in outputs:
        parts |= _category_parts(outputs, targets, spec, options)
    if "values" in outputs:
        values, target = outputs["values"].float(), targets.numbers
        errors = number_errors(values, target, options.numbers) * targets.number_weight
        if spec.architecture == "pdanet":
            errors = errors * sign_factor(values, target, options.penalty)
        parts["numbers"] = options.number_weight * errors.mean(dim=1).sum() / len(values)
    return parts


def _category_parts(outputs: Outputs, targets: Targets, spec: NetworkSpec, options: LossOptions) -> dict[str, Tensor]:
    # Half precision would round small probabilities away.
    logits, target, weight = outputs["logits"].float(), targets.categories, targets.category_weight
    errors = soft_cross_entropy(logits, target, options.smoothing)
    grouped = spec.group_count > 1
    if spec.architecture == "pdanet" and grouped:
        errors = errors * polarity_factor(logits, target, spec.groups, options.penalty)
    parts = {"categories": (errors * weight).sum() / len(logits)}
    for name in ("detector", "local"):
        if name in outputs:
            row_losses = soft_cross_entropy(outputs[name].float(), target, options.smoothing)
            parts[name] = (row_losses * weight).sum() / len(logits)
    groups: Tensor | None = None
    if "groups" in outputs:
        groups = outputs["groups"].float()
    elif spec.architecture == "stimuli-aware" and grouped:
        groups = group_logits(logits, spec.groups)
    if groups is not None:
        of_groups = soft_cross_entropy(groups, target @ group_matrix(spec.groups, target))
        parts["groups"] = options.penalty * (of_groups * weight).sum() / len(logits)
    return parts
