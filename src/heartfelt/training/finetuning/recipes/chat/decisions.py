"""Where the allowed answers to a question part, token by token, and the probability of each.

A model's probability of an answer is the product, over the places where the answers part, of the probability of its next token
among the tokens that some answer continues with there: the distribution that decoding under a JSON schema draws from. Places
where all answers go on alike do not count. Because a causal model sees earlier tokens only, a few answers that pass
through every such place are enough to read all probabilities: one, where the answers differ in one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

_Tokens: TypeAlias = tuple[int, ...]


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
        parting = {start: tokens for start, tokens in _following(token_answers).items() if len(tokens) > 1}
        starts = sorted(parting, key=len)
        rows = _rows_through(token_answers, starts)
        branches = []
        for start in starts:
            row = next(index for index, row in enumerate(rows) if _begins(token_answers[row], start))
            branch = tuple(
                parting[start].index(answer[len(start)]) if _begins(answer, start) else -1 for answer in token_answers
            )
            branches.append(AnswerBranch(row, len(start), parting[start], branch))
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


def _begins(answer: _Tokens, start: _Tokens) -> bool:
    return answer[: len(start)] == start


def _following(answers: Sequence[_Tokens]) -> dict[_Tokens, _Tokens]:
    """By every beginning of an answer, the tokens that answers continue with."""
    following: dict[_Tokens, set[int]] = {}
    for answer in answers:
        for at, token in enumerate(answer):
            following.setdefault(answer[:at], set()).add(token)
    return {start: tuple(sorted(tokens)) for start, tokens in following.items()}


def _rows_through(answers: Sequence[_Tokens], starts: Sequence[_Tokens]) -> list[int]:
    """Answers that together pass through every one of these beginnings; the longest decide first."""
    rows: list[int] = []
    for start in reversed(starts):
        if not any(_begins(answers[row], start) for row in rows):
            rows.append(next(at for at, answer in enumerate(answers) if _begins(answer, start)))
    return rows
