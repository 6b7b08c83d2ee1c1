"""A chat completion as it came back: what the model wrote, why it stopped, and what was counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost; None where no price was given."""

    input: float | None = None
    output: float | None = None

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """The cost of a request; None where a price or a count is missing."""
        if self.input is None or self.output is None or input_tokens is None or output_tokens is None:
            return None
        return (self.input * input_tokens + self.output * output_tokens) / 1e6


@dataclass(frozen=True, slots=True)
class Completion:
    """One chat completion."""

    content: str | None
    """What the model wrote as its answer; None where there is nothing."""
    reasoning: str | None = None
    """What the server returned as reasoning, apart from the answer."""
    refusal: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


def completion_of(text: str) -> Completion | None:
    """Read a server's answer; None where it is not a chat completion."""
    try:
        whole = json.loads(text)
        choice = whole["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    usage = _part(whole, "usage")
    written, thought = _written(content)
    thoughts = [thought, *(_text(message.get(name)) for name in _REASONING)]
    return Completion(
        content=written,
        reasoning=next((one for one in thoughts if one), None),
        refusal=_text(message.get("refusal")),
        finish_reason=_text(choice.get("finish_reason")),
        model=_text(whole.get("model")),
        fingerprint=_text(whole.get("system_fingerprint")),
        input_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(_part(usage, "prompt_tokens_details").get("cached_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(_part(usage, "completion_tokens_details").get("reasoning_tokens")),
    )


def _written(content: Any) -> tuple[str | None, str | None]:
    """The answer and the reasoning in a message's content, which may be a list of parts of several kinds."""
    if not isinstance(content, list):
        return _text(content), None
    parts = [part for part in content if isinstance(part, Mapping)]
    answer = [_text(part.get("text")) or "" for part in parts if part.get("type") in {"text", "output_text"}]
    thought = [
        _text(part.get("thinking")) or _text(part.get("text")) or ""
        for part in parts
        if part.get("type") in {"thinking", "reasoning"}
    ]
    return "".join(answer) or None, "".join(thought) or None


def _part(whole: Any, name: str) -> Mapping[str, Any]:
    part = whole.get(name) if isinstance(whole, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
