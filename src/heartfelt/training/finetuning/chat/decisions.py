"""Where the allowed answers to a question part, token by token, and the probability of each.

A model's probability of an answer is the product, over the places where the answers part, of the probability of its next token
among the tokens that some answer continues with there: the distribution that decoding under a JSON schema draws from. Places
where all answers go on alike do not count. Because a causal model sees earlier tokens only, a few answers that pass
through every such place are enough to read all probabilities: one, where the answers differ in one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AnswerBranch:
    """One place where answers part."""

    row: int
    """Which of the rows of :class:`Decisions` passes through it."""
    at: int
    """How many tokens of the answer come before."""
    tokens: tuple[int, ...]
    """The tokens that answers continue with."""
    branch: tuple[int, ...]
    """Of each answer, which of these tokens is its own; -1 for one that does not pass through this place."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The tokens of every answer, the answers that are read, and the places where answers part."""

    answers: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    places: tuple[AnswerBranch, ...]

    @classmethod
    def of(cls, answers: Sequence[Sequence[int]]) -> Decisions:
        """For answers that are all different, none the beginning of another."""
        token_answers = tuple(tuple(answer) for answer in answers)
        beginnings = {answer[:at]: None for answer in token_answers for at in range(len(answer))}
        following = {
            start: tuple(sorted({answer[len(start)] for answer in token_answers if answer[: len(start)] == start}))
            for start in beginnings
            if any(len(answer) > len(start) for answer in token_answers)
        }
        parting = sorted((start for start, next_ in following.items() if len(next_) > 1), key=len)
        rows: list[int] = []
        for start in reversed(parting):
            if not any(token_answers[row][: len(start)] == start for row in rows):
                rows.append(next(at for at, answer in enumerate(token_answers) if answer[: len(start)] == start))
        branches = []
        for start in parting:
            tokens, at = following[start], len(start)
            branch = tuple(
                tokens.index(answer_tokens[at]) if answer_tokens[:at] == start else -1
                for answer_tokens in token_answers
            )
            row = next(index for index, row in enumerate(rows) if token_answers[row][:at] == start)
            branches.append(AnswerBranch(row, at, tokens, branch))
        return cls(token_answers, tuple(rows), tuple(branches))

    def probabilities(self, logits: Any) -> Any:
        """``(n, answers)`` from the logits of the tokens at every place, ``(n, places, tokens)``, filled up with anything."""
        import torch

        total = torch.zeros(logits.shape[0], len(self.answers), device=logits.device)
        for index, decision in enumerate(self.places):
            log_shares = torch.log_softmax(logits[:, index, : len(decision.tokens)].float(), dim=1)
            for answer, branch in enumerate(decision.branch):
                if branch >= 0:
                    total[:, answer] += log_shares[:, branch]
        return total.exp()
