"""A language model that drafts: it describes what is there, for people to verify, where a judge answers as people would.

All fields of a stimulus are in one request, each with the question as raters read it in the study's language, its help text as
guidance, and the answers its scale allows. The form has ``{"answer", "confidence"}`` per field, the confidence from 0 to 1. The
model is given neither the intent nor the system. Where a question allows "none", so does its entry. Images that are turned,
transparent, animated or in CMYK, which servers read in different ways, and those with a side above 2,048 pixels are sent as
what people see of them.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.predictors.answers.draft_values import MOST_TAGS, category_of, draft_value, split_tags
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.hosted.chat_form import (
    allowed,
    answer_problem,
    answer_schema,
    coded,
    entry_names,
    form_entries,
    media_part,
)
from heartfelt.predictors.hosted.chat_sets import object_schema
from heartfelt.predictors.interface.predictor import Ask, Case, Media, Prediction
from heartfelt.study.scales.answer import NONE, Scale
from heartfelt.study.scales.scale import FreeText, Points, Tags

DRAFT_SYSTEM = (
    "You describe media for a data set. Report only what can be seen or heard in what you are given, in plain words without "
    "markup; do not guess who made it or what it was meant to convey. People will check every answer. Answer with one "
    "JSON object and nothing else."
)
LONGEST_SIDE = 2_048
DRAFT_MEDIA = (
    f"pictures: RGB and grey PNG, JPEG and WebP up to {LONGEST_SIDE} pixels a side as they are; else upright, on white, "
    "reduced to that, as JPEG"
)
_MIME_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_ORIENTATION = 0x0112


def draft_message(case: Case, asks: Sequence[Ask], language: str) -> list[dict[str, object]]:
    words: dict[str, object] = {"type": "text", "text": draft_questions(asks, language)}
    if case.media is None:
        return [words]
    image = asks[0].about.get("media", "") == "image"
    return [_image_part(case.media) if image else media_part(asks, case.media), words]


def _image_part(media: Media) -> dict[str, object]:
    """An image as a data URL: as it is, or what people see of it where a server may see something else."""
    from PIL import Image

    content, image = media.content, decode_image(media.content, name=media.path.name)
    with Image.open(io.BytesIO(content)) as file:
        turned = file.getexif().get(_ORIENTATION, 1) != 1
        frames, kind = getattr(file, "n_frames", 1), _MIME_TYPES.get(file.format or "")
        unchanged = kind and file.mode in {"RGB", "L"} and frames == 1 and not turned
    if not unchanged or max(image.size) > LONGEST_SIDE:
        kind, memory = "image/jpeg", io.BytesIO()
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        image.save(memory, format="JPEG", quality=92)
        content = memory.getvalue()
    encoded = base64.b64encode(content).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}}


def draft_questions(asks: Sequence[Ask], language: str) -> str:
    lines = []
    for name, ask in zip(entry_names(asks), asks, strict=True):
        lines.append(f"{name}: {ask.words or ask.text}")
        if ask.shown and ask.shown not in ask.words:
            lines.append(f"    Shown with this question: {ask.shown}")
        none = f'; or "{NONE}" if there is nothing to answer' if ask.none else ""
        lines.append(f"    Answer: {_allowed(ask.scale)}{none}.")
    if language:
        lines.append(f"Write texts and tags of your own in this language: {language}.")
    entry = '{"answer": ..., "confidence": from 0 to 1, how sure you are}'
    form = ", ".join(f'"{name}": {entry}' for name in entry_names(asks))
    return "\n".join([*lines, f"Answer with a JSON object: {{{form}}}"])


def _allowed(scale: Scale) -> str:
    if isinstance(scale, Points):
        return allowed(scale).replace("a number", "a whole number").removesuffix(", decimals allowed")
    return f"{allowed(scale)}, at most {MOST_TAGS}" if isinstance(scale, Tags) else allowed(scale)


def draft_schema(asks: Sequence[Ask]) -> Mapping[str, object]:
    confidence = {"type": "number", "minimum": 0, "maximum": 1}
    named = zip(entry_names(asks), asks, strict=True)
    return object_schema(
        {name: object_schema({"answer": _answer(ask), "confidence": confidence}) for name, ask in named}
    )


def _answer(ask: Ask) -> dict[str, object]:
    schema = answer_schema(ask.scale)
    if isinstance(ask.scale, Points):
        schema["type"] = "integer"
    if not ask.none or schema == {"type": "string"}:
        return schema
    if "enum" in schema:
        return {**schema, "enum": [*ask.scale.labels().values(), NONE]}
    return {"anyOf": [schema, {"type": "string", "enum": [NONE]}]}


def read_drafts(content: str, asks: Sequence[Ask], language: str) -> list[Prediction]:
    """The drafts in what the model wrote, field by field; what cannot be used is that field's problem."""
    entries = form_entries(content, asks)
    if isinstance(entries, str):
        return [Prediction.failed(entries)] * len(asks)
    return [_read(entry, ask, language) for entry, ask in zip(entries, asks, strict=True)]


def _read(entry: Any, ask: Ask, language: str) -> Prediction:
    if entry is None:
        return Prediction.failed("the model left this question out")
    details = entry if isinstance(entry, dict) else {"answer": entry}
    answer, score = details.get("answer"), _share(details.get("confidence"))
    is_empty = answer in (None, "", [])
    if is_empty and not ask.none:
        return Prediction.failed("the model gave no answer to this question")
    try:
        draft = Prediction(answer=NONE) if is_empty or answer in (NONE, [NONE]) else _read_answer(answer, ask.scale)
        drafted = draft_value(draft, ask, language)
    except InputError as error:
        return Prediction.failed(answer_problem(error))
    words = drafted.value if ask.scale.level == "text" else draft.answer
    return Prediction(value=draft.value, score=score, answer=words, note=drafted.changed or None)


def _share(confidence: object) -> float | None:
    """A confidence from 0 to 1; None for anything else."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return None
    return float(confidence) if 0 <= confidence <= 1 else None


def _read_answer(answer: Any, scale: Scale) -> Prediction:
    if isinstance(scale, Tags):
        parts = answer if isinstance(answer, list) else split_tags(str(answer), scale)
        return Prediction(answer=scale.separator.join(str(part) for part in parts))
    if isinstance(scale, FreeText):
        if not isinstance(answer, str):
            raise InputError(f"'{shortened(str(answer))}' is not a text.", "")
        return Prediction(answer=answer)
    value, words = coded(category_of(answer, scale), scale)
    return Prediction(value=value, answer=words)
