"""The network that is trained: a language model with adapters, asked for losses of answers and for the logits where answers part.

Only the adapters are trained, stored in checkpoints and written, under the names PEFT gives them: the folder of a trained model
is a PEFT adapter of its base model. This module needs PyTorch; it is imported when a network is first built.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from peft import get_peft_model_state_dict, set_peft_model_state_dict
from torch import nn

from heartfelt.training.finetuning.recipes.chat.decisions import Decisions

IGNORED = -100
"""The label of a token that carries no loss."""


class ChatNetwork(nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
    """A model with adapters; its weights are those of the adapters."""

    def __init__(self, model: Any, decisions: Sequence[Decisions]) -> None:
        super().__init__()
        branches = [branch for decision in decisions for branch in decision.places]
        width = max((len(branch.tokens) for branch in branches), default=1)
        rows = [[*branch.tokens, *[0] * (width - len(branch.tokens))] for branch in branches]
        self.model = model
        self.register_buffer("tokens", torch.tensor(rows), persistent=False)
        # Models that can compute logits at some positions only save most of the memory: vocabularies are large.
        self._selects = "logits_to_keep" in inspect.signature(model.get_base_model().forward).parameters

    def forward(
        self, positions: Any, labels: Any, answered: Any = None, places: Any = None, **inputs: Any
    ) -> dict[str, torch.Tensor]:
        """The mean loss per token of each labelled answer, and the logits where answers part.

        Logits are computed at ``positions`` only, which ``labels`` belong to. ``answered`` are the rows of the labelled
        answers by stimulus and question, ``places`` the row and position of each place where answers part, by stimulus.
        """
        more = {"logits_to_keep": positions} if self._selects else {}
        logits = self.model(**inputs, **more, use_cache=False).logits
        logits = (logits if self._selects else logits[:, positions]).float()
        outputs = {}
        if answered is not None:
            losses = nn.functional.cross_entropy(logits.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
            means = losses.sum(1) / (labels != IGNORED).sum(1).clamp(min=1)
            outputs["loss"] = means[answered]
        if places is not None:
            branch_logits = logits[places[..., 0], places[..., 1]]
            outputs["logits"] = branch_logits.gather(2, self.tokens.expand(branch_logits.shape[0], -1, -1))
        return outputs

    def state_dict(self, *_: Any, **__: Any) -> dict[str, torch.Tensor]:
        """The adapters' weights, by PEFT's names."""
        adapters: dict[str, torch.Tensor] = get_peft_model_state_dict(self.model, save_embedding_layers=False)
        return adapters

    def load_state_dict(self, weights: Mapping[str, Any], *_: Any, **__: Any) -> None:
        """Set the adapters' weights; none may be missing or unknown."""
        mismatched = sorted(set(self.state_dict()) ^ set(weights))
        if mismatched:
            raise RuntimeError(f"its adapters do not fit the model: {len(mismatched)} differ, such as {mismatched[0]}")
        set_peft_model_state_dict(self.model, dict(weights))
