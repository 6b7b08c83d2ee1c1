"""What a language model is shown, the form it fills in, and what it wrote, read again.

The model is shown the medium itself and the questions in words, as raters met them. It is not given the intent, the prompt or
the system, unless raters were shown it with the question or the option ``context`` asks for it. Questions with which raters were
shown something go into a request of their own, so that no other question's answer can lean on it.

The form has one entry per question, as a JSON schema: ``{"reason", "answer"}``, the reason first so that it is written before the
answer; questions answered in words have no reason. Categories are read by their scale. Numbers must lie on the scale but may
lie between its points: a prediction is compared with a mean of ratings.

Models that reason write their draft between tags such as ``<think>`` and ``</think>``, sometimes nested, sometimes without the
opening tag (the chat template wrote it) and, where the answer was cut off, without the closing one. Nothing inside such a
stretch is an answer.
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.media.sound import read_samples
from heartfelt.predictors.answers.texts import answer_names
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.hosted.chat_sets import (
    LETTERS,
    object_schema,
    of_members,
    set_allowed,
    set_answer,
    set_values,
)
from heartfelt.predictors.interface.calls import Call
from heartfelt.predictors.interface.predictor import Ask, Case, Media, Prediction
from heartfelt.study.model import say
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import FreeText, Points, Tags
from heartfelt.study.scales.set_scale import SetScale

SYSTEM = (
    "You take the place of the people in a rating study. Look at or listen to what you are given and answer every "
    "question as people on average would. Answer with one JSON object and nothing else."
)
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
CONTEXT = {"prompt": "the prompt", "intent": "what it was meant to convey", "system": "what made it"}
"""What a model may be given about a stimulus on request, in words."""
MEDIA_PARAMETERS = "pictures: PNG, JPEG and WebP as they are, else PNG; sound: WAV and MP3 as they are, else 16-bit WAV"
UNCLOSED = "the model was still reasoning when its answer ended"
_PART_KINDS = {
    "text": "text",
    "output_text": "text",
    "thinking": "thinking",
    "reasoning": "thinking",
    "refusal": "refusal",
}
"""What the parts of a message are, by the type that servers give them."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
_TAG_NAMES = (
    r"think|thinking|thought|thoughts|reasoning|reason|scratchpad|analysis|reflection|begin_of_thought|end_of_thought"
)
_TAG = re.compile(
    rf"<\s*\|?\s*(?P<close>/)?\s*(?P<name>{_TAG_NAMES})\b[^<>]*>"
    r"|\[(?P<square_close>/)?(?P<square>THINK)\]"
    r"|(?P<black>[◁])(?P<black_close>/)?(?:think|thinking)▷",
    re.IGNORECASE,
)


def groups(asks: Sequence[Ask]) -> list[tuple[Ask, ...]]:
    """The questions that go into one request each: those without anything shown together, the others by what was shown."""
    by_shown: dict[str, list[Ask]] = {}
    for ask in asks:
        by_shown.setdefault(ask.shown, []).append(ask)
    return [tuple(part) for part in by_shown.values()]


def known_facts(case: Case, wanted: Sequence[str]) -> dict[str, str]:
    """Those of the ``wanted`` facts (keys of ``CONTEXT``) that are known of a stimulus."""
    facts = {"prompt": case.prompt, "intent": case.intent, "system": case.system}
    return {name: fact for name in wanted if (fact := facts[name])}


def message(case: Case, asks: Sequence[Ask], context: Sequence[str], *, reasons: bool) -> list[dict[str, object]]:
    """The parts of the user's message: the medium, or those of all stimuli of a set in order, then the questions."""
    about = [f"About this stimulus, {CONTEXT[name]}: {fact}" for name, fact in known_facts(case, context).items()]
    form = questions(asks, reasons=reasons, members=len(case.members))
    words: dict[str, object] = {"type": "text", "text": "\n".join([*about, form])}
    part = partial(media_part, asks)
    if not case.members:
        return [words] if case.media is None else [part(case.media), words]
    shown: list[dict[str, object]] = []
    for letter, member in zip(LETTERS, case.members, strict=False):
        member_facts = [f", {CONTEXT[name]}: {fact}" for name, fact in known_facts(member, context).items()]
        shown.append({"type": "text", "text": f"{letter}{''.join(member_facts)}"})
        shown += [] if member.media is None else [part(member.media)]
    return [*shown, words]


def in_words(messages: Sequence[Mapping[str, Any]]) -> str:
    """The messages of a request as text; media are named, not included."""
    lines = []
    for part_of_chat in messages:
        content = part_of_chat["content"]
        parts = [content] if isinstance(content, str) else [part.get("text") or f"[{part['type']}]" for part in content]
        lines.append(f"{part_of_chat['role']}:\n" + "\n".join(parts))
    return "\n\n".join(lines)


def media_part(asks: Sequence[Ask], media: Media) -> dict[str, object]:
    return _image_part(media) if asks[0].about.get("media", "") == "image" else _sound_part(media)


def _image_part(media: Media) -> dict[str, object]:
    content = media.content
    kind = next((kind for head, kind in _PICTURES.items() if content.startswith(head)), None)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    image = decode_image(content)
    encoded = media.base64
    if kind is None:
        png = io.BytesIO()
        image.save(png, format="PNG")
        kind, encoded = "image/png", base64.b64encode(png.getvalue()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}}


def _sound_part(media: Media) -> dict[str, object]:
    """A sound as WAV or MP3, the two the protocol knows; what is neither travels as 16-bit WAV."""
    import soundfile

    content = media.content
    samples, rate = read_samples(content)
    kind, encoded = "wav", media.base64
    if content[:3] == b"ID3" or (content[0] == 0xFF and content[1] & 0xE6 == 0xE2):
        kind = "mp3"
    elif content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        wav = io.BytesIO()
        soundfile.write(wav, samples.clip(-1.0, 1.0), rate, format="WAV", subtype="PCM_16")
        encoded = base64.b64encode(wav.getvalue()).decode("ascii")
    return {"type": "input_audio", "input_audio": {"data": encoded, "format": kind}}


def questions(asks: Sequence[Ask], *, reasons: bool, members: int = 0) -> str:
    """The questions in words, and the form to fill in; ``members`` is the size of a set."""
    lines = []
    for name, ask in zip(entry_names(asks), asks, strict=True):
        lines.append(f"{name}: {ask.words or ask.text}")
        if ask.shown and ask.shown not in ask.words:
            lines.append(f"    Shown to raters with this question: {ask.shown}")
        choices = set_allowed(ask.scale, members) if isinstance(ask.scale, SetScale) and members else allowed(ask.scale)
        lines.append(f"    Answer: {choices}.")
    entry = '{"reason": one short sentence, "answer": ...}' if reasons else '{"answer": ...}'
    form = ", ".join(f'"{name}": {entry}' for name in entry_names(asks))
    return "\n".join([*lines, f"Answer with a JSON object: {{{form}}}"])


def allowed(scale: Scale) -> str:
    names = answer_names(scale)
    if names:
        ids = scale.labels()
        choices = (ids[code] if ids[code] == name else f"{ids[code]} ({name})" for code, name in names.items())
        return f"one of {', '.join(choices)}"
    if isinstance(scale, FreeText):
        return _allowed_text(scale)
    if isinstance(scale, Tags):
        return f"a list of tags{'' if scale.open else ' from: ' + ', '.join(scale.names)}"
    bounds = scale.bounds()
    if bounds is None:
        return "a number"
    anchors = {float(point): say(text) for point, text in scale.anchors.items()} if isinstance(scale, Points) else {}
    ends = [f"{end:g}" + (f" ({anchors[end]})" if end in anchors else "") for end in bounds]
    return f"a number from {ends[0]} to {ends[1]}, decimals allowed"


def _allowed_text(scale: FreeText) -> str:
    least = f", at least {scale.min_words} words" if scale.min_words else ""
    most = f", at most {scale.max_words}" if scale.max_words else ""
    limits = (("least", scale.min_characters), ("most", scale.max_characters))
    return f"text{least}{most}" + "".join(f", at {how} {limit} characters" for how, limit in limits if limit)


def entry_names(asks: Sequence[Ask]) -> list[str]:
    return [f"q{number}" for number in range(1, len(asks) + 1)]


def schema(asks: Sequence[Ask], *, reasons: bool, members: int = 0) -> dict[str, object]:
    named = zip(entry_names(asks), asks, strict=True)
    return object_schema({name: _entry(ask, reasons, members) for name, ask in named})


def _entry(ask: Ask, reasons: bool, members: int) -> dict[str, object]:
    reason = {"reason": {"type": "string"}} if reasons and ask.scale.level != "text" else {}
    set_scale = ask.scale if members and isinstance(ask.scale, SetScale) else None
    answer = answer_schema(ask.scale) if set_scale is None else set_answer(set_scale, members)
    return object_schema({**reason, "answer": answer})


def answer_schema(scale: Scale) -> dict[str, object]:
    labels = scale.labels()
    if labels:
        return {"type": "string", "enum": list(labels.values())}
    if isinstance(scale, Tags):
        return {"type": "array", "items": {"type": "string"} | ({} if scale.open else {"enum": scale.names})}
    if isinstance(scale, FreeText):
        return {"type": "string"}
    bounds = scale.bounds()
    limits = {} if bounds is None else {"minimum": bounds[0], "maximum": bounds[1]}
    return {"type": "number", **limits}


def read_form(content: str, asks: Sequence[Ask], shown: Sequence[Case] = ()) -> list[Prediction]:
    """The predictions in what the model wrote, question by question; what cannot be read is that question's problem.

    Drafts between reasoning tags are not an answer. Of several filled-in forms the last of the fullest counts. ``shown`` are
    the stimuli of a set in the order they were shown.
    """
    entries = form_entries(content, asks)
    if isinstance(entries, str):
        return [Prediction.failed(entries)] * len(asks)
    return [_read_entry(entry, ask, shown) for entry, ask in zip(entries, asks, strict=True)]


def form_entries(content: str, asks: Sequence[Ask]) -> list[Any] | str:
    """The entry of each question in the form the model filled in, None for one it left out; or why there is no form."""
    names = entry_names(asks)
    filled, unclosed = _filled(content, set(names))
    if filled is not None:
        return [filled.get(name) for name in names]
    if unclosed:
        return UNCLOSED
    return f"the model's answer is not a filled-in form: '{shortened(content)}'"


def _filled(content: str, names: set[str]) -> tuple[dict[str, object] | None, bool]:
    """The form the model filled in, if any, and whether the text ends inside a draft."""
    document = _json(content)
    if isinstance(document, dict) and set(document) & names:
        return document, False
    answer, unclosed = without_thoughts(content)
    best: dict[str, object] | None = None
    for form in _objects(answer):
        if set(form) & names and (best is None or len(set(form) & names) >= len(set(best) & names)):
            best = form
    return best, unclosed


def _json(text: str) -> Any:
    """What a text holds as JSON; None where it holds none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _objects(content: str) -> Iterator[dict[str, object]]:
    """Every JSON object in a text, in order: the whole of it, or what lies between other words."""
    decoder = json.JSONDecoder()
    at = content.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = content.find("{", end)


def _read_entry(entry: Any, ask: Ask, shown: Sequence[Case]) -> Prediction:
    if entry is None:
        return Prediction.failed("the model left this question out")
    reason = entry.get("reason") if isinstance(entry, dict) else None
    reason = reason.strip() or None if isinstance(reason, str) else None
    answer = entry.get("answer") if isinstance(entry, dict) else entry
    if answer is None:
        return Prediction.failed("the model gave no answer to this question")
    try:
        if shown and isinstance(ask.scale, SetScale):
            return of_members(set_values(answer, ask.scale, len(shown)), shown, reason)
        value, words = coded(answer, ask.scale)
    except InputError as error:
        return Prediction.failed(answer_problem(error))
    return Prediction(value=value, answer=words, reason=reason)


def answer_problem(error: InputError) -> str:
    return f"the model's answer {error.problem[:1].lower()}{error.problem[1:]} {error.fix}".strip()


def coded(answer: Any, scale: Scale) -> tuple[float | None, str | None]:
    """The value and the words of an answer as JSON holds it; an error where it is not on the scale."""
    if scale.labels():
        return scale.read(answer)
    if isinstance(scale, FreeText | Tags):
        value, words = scale.read(answer if isinstance(answer, list | str) else json.dumps(answer))
        if not words or not words.strip():
            raise InputError("The text is empty.", "")
        return value, words.strip()
    low, high = scale.bounds() or (-math.inf, math.inf)
    number = _number(answer)
    if number is None or not low <= number <= high:
        raise InputError(f"'{shortened(str(answer))}' is not on the scale.", f"Allowed: {low:g} to {high:g}.")
    return number, None


def _number(answer: Any) -> float | None:
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        return None
    try:
        number = float(answer)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def without_thoughts(content: str) -> tuple[str, bool]:
    """What was written outside of drafts, and whether the text ends inside one that was never closed."""
    outside: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(content):
        if not _closes(tag):
            if depth == 0:
                outside.append(content[at : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
        else:
            # A draft that was opened in the request: all that was written so far belongs to it.
            outside.clear()
        at = tag.end()
    if depth == 0:
        outside.append(content[at:])
    return "".join(outside).strip(), depth > 0


def _closes(tag: re.Match[str]) -> bool:
    closed = tag["close"] or tag["square_close"] or tag["black_close"]
    return bool(closed) or (tag["name"] or "").lower() == "end_of_thought"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One chat completion."""

    content: str | None
    """What the model wrote as its answer; None where there is nothing."""
    refusal: str | None
    error: str | None
    """What went wrong behind the server, where it says so in place of an answer."""
    status: int | None
    """The HTTP status that such an error names."""
    recorded: Mapping[str, Any]
    """What else the server returned, by field of :class:`~heartfelt.predictors.interface.calls.Call`."""


def completion_of(text: str) -> Completion | None:
    """Read a server's answer; None where it is not a chat completion, nor an error in place of one.

    A completion without choices or message, such as one that a filter held back, has its counts: it is paid for.
    """
    document = _mapping(_json(text))
    choice = _choice(document)
    if choice is None:
        return None
    message = _mapping(choice.get("message"))
    written, reasoned, refused = _written(message.get("content"))
    thoughts = [reasoned, *(_text(message.get(name)) for name in _REASONING)]
    error, status = _error(choice.get("error") or document.get("error"))
    recorded = {
        "reasoning": next((text for text in thoughts if text), None),
        "finish_reason": _text(choice.get("finish_reason")),
        "model": _text(document.get("model")),
        "fingerprint": _text(document.get("system_fingerprint")),
        **_tokens(_part(document, "usage")),
    }
    refusal = _text(message.get("refusal")) or refused
    return Completion(content=written, refusal=refusal, error=error, status=status, recorded=recorded)


def _choice(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first choice, empty where there are none; None where the document is no chat completion."""
    choices = document.get("choices")
    if not choices:
        return {} if _part(document, "usage") or document.get("error") else None
    choice = _mapping(choices[0] if isinstance(choices, list) else None)
    return choice if {"message", "error"} & choice.keys() else None


def completion_text(call: Call) -> str:
    """The server's answer to a request, as far as it is on record; :func:`completion_of` reads it."""
    usage = {
        "prompt_tokens": call.input_tokens,
        "completion_tokens": call.output_tokens,
        "prompt_tokens_details": {"cached_tokens": call.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": call.reasoning_tokens},
    }
    message = {"content": call.completion, "reasoning": call.reasoning}
    choice = {"message": message, "finish_reason": call.finish_reason}
    return json.dumps(
        {"choices": [choice], "usage": usage, "model": call.model, "system_fingerprint": call.fingerprint}
    )


def _tokens(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Tokens as a server counts them. Some leave reasoning, which is paid for as output, out of the tokens of the answer."""
    sent = _first_count(usage, "prompt_tokens", "input_tokens")
    written = _first_count(usage, "completion_tokens", "output_tokens")
    reasoned = _count(_part(usage, "completion_tokens_details").get("reasoning_tokens"))
    if written is not None and reasoned is not None and reasoned > written:
        written += reasoned
    if sent is not None and written is not None:
        written = max(written, (_count(usage.get("total_tokens")) or 0) - sent)
    return {
        "input_tokens": sent,
        "cached_tokens": _count(_part(usage, "prompt_tokens_details").get("cached_tokens")),
        "output_tokens": written,
        "reasoning_tokens": reasoned,
    }


def _error(error: Any) -> tuple[str | None, int | None]:
    if not error:
        return None, None
    details = _mapping(error)
    words = _text(details.get("message")) or _text(error) or json.dumps(error)
    status = _count(details.get("code"))
    return shortened(words), status if status is not None and 100 <= status <= 599 else None


def _written(content: Any) -> tuple[str | None, str | None, str | None]:
    """The answer, the reasoning and the refusal in a message's content, which may be a list of parts of several kinds."""
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return _text(content), None, None
    texts = dict.fromkeys(("text", "thinking", "refusal"), "")
    for part in content:
        details = {"text": part} if isinstance(part, str) else _mapping(part)
        kind = _PART_KINDS.get(str(details.get("type", "text")))
        if kind is not None:
            texts[kind] += _text(details.get(kind)) or _text(details.get("text")) or ""
    written, reasoned, refused = map(_text, texts.values())
    return written, reasoned, refused


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _part(document: Any, name: str) -> Mapping[str, Any]:
    return _mapping(_mapping(document).get(name))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _first_count(usage: Mapping[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    """A number of tokens; some servers write it as a text or with a decimal point."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
