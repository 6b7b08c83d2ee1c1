"""What a language model is shown: the medium itself and the questions in words, as raters met them.

The model is not told what the stimulus was meant to convey, what it was made from or what made it, unless raters were shown it
with the question or the option ``context`` asks for it. Questions with which raters were shown something go into a request of
their own, so that no other question's answer can lean on it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

from heartfelt.media.image import decode_image
from heartfelt.media.sound import read_samples
from heartfelt.predictors.chat.form import entry_names
from heartfelt.predictors.predictor import Ask, Case, Media
from heartfelt.predictors.sentences import answer_names
from heartfelt.study.model import say
from heartfelt.study.scale import FreeText, Points, Scale, Tags

SYSTEM = (
    "You take the place of the people in a rating study. Look at or listen to what you are given and answer every "
    "question as people on average would. Answer with one JSON object and nothing else."
)
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


CONTEXT = {"prompt": "the prompt", "intent": "what it was meant to convey", "system": "what made it"}
"""What a model may be told about a stimulus on request, in words."""
MEDIA_PARAMETERS = (
    "pictures: PNG, JPEG and WebP as they are, else PNG; sound: WAV and MP3 as they are, else 16-bit WAV"
)


def groups(asks: Sequence[Ask]) -> list[tuple[Ask, ...]]:
    """The questions that go into one request each: those without anything shown together, the others by what was shown."""
    by_shown: dict[str, list[Ask]] = {}
    for ask in asks:
        by_shown.setdefault(ask.shown, []).append(ask)
    return [tuple(part) for part in by_shown.values()]


def context_lines(case: Case, wanted: Sequence[str]) -> list[str]:
    """What the model is told about the stimulus beside the questions, on request."""
    known = {"prompt": case.prompt, "intent": case.intent, "system": case.system}
    return [f"About this stimulus, {CONTEXT[name]}: {known[name]}" for name in wanted if known[name]]


def message(
    case: Case, asks: Sequence[Ask], context: Sequence[str], *, reasons: bool
) -> list[dict[str, Any]]:
    """The parts of the user's message: the medium first, then the questions."""
    text = "\n".join([*context_lines(case, context), questions(asks, reasons=reasons)])
    words = {"type": "text", "text": text}
    if case.media is None:
        return [words]
    about = asks[0].about.get("media", "")
    return [picture_part(case.media) if about == "image" else sound_part(case.media), words]


def picture_part(media: Media) -> dict[str, Any]:
    """A picture as a data URL; what browsers do not all show travels as PNG."""
    content = media.content
    kind = next((kind for head, kind in _PICTURES.items() if content.startswith(head)), None)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    image = decode_image(content)
    if kind is not None:
        return _picture(kind, media.base64)
    png = io.BytesIO()
    image.save(png, format="PNG")
    return _picture("image/png", base64.b64encode(png.getvalue()).decode("ascii"))


def _picture(kind: str, encoded: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}}


def sound_part(media: Media) -> dict[str, Any]:
    """A sound as WAV or MP3, the two the protocol knows; what is neither travels as 16-bit WAV."""
    import soundfile

    content = media.content
    samples, rate = read_samples(content)
    kind = None
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        kind = "wav"
    elif content[:3] == b"ID3" or (content[0] == 0xFF and content[1] & 0xE6 == 0xE2):
        kind = "mp3"
    if kind is not None:
        return _sound(kind, media.base64)
    wav = io.BytesIO()
    soundfile.write(wav, samples.clip(-1.0, 1.0), rate, format="WAV", subtype="PCM_16")
    return _sound("wav", base64.b64encode(wav.getvalue()).decode("ascii"))


def _sound(kind: str, encoded: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": encoded, "format": kind}}


def questions(asks: Sequence[Ask], *, reasons: bool) -> str:
    """The questions in words, and the form to fill in."""
    lines = []
    for name, ask in zip(entry_names(asks), asks, strict=True):
        lines.append(f"{name}: {ask.words or ask.text}")
        if ask.shown and ask.shown not in ask.words:
            lines.append(f"    Shown to raters with this question: {ask.shown}")
        lines.append(f"    Answer: {allowed(ask.scale)}.")
    entry = '{"reason": one short sentence, "answer": ...}' if reasons else '{"answer": ...}'
    form = ", ".join(f'"{name}": {entry}' for name in entry_names(asks))
    return "\n".join([*lines, f"Answer with a JSON object: {{{form}}}"])


def allowed(scale: Scale) -> str:
    """The answers a scale allows, in words."""
    names = answer_names(scale)
    if names:
        ids = scale.labels()
        told = (ids[code] if ids[code] == name else f"{ids[code]} ({name})" for code, name in names.items())
        return f"one of {', '.join(told)}"
    if isinstance(scale, FreeText):
        most = f", at most {scale.max_words}" if scale.max_words else ""
        return f"text{f', at least {scale.min_words} words' if scale.min_words else ''}{most}"
    if isinstance(scale, Tags):
        return f"a list of tags{'' if scale.open else ' from: ' + ', '.join(scale.names)}"
    bounds = scale.bounds()
    if bounds is None:
        return "a number"
    anchors = (
        {float(point): say(text) for point, text in scale.anchors.items()}
        if isinstance(scale, Points)
        else {}
    )
    ends = [f"{end:g}" + (f" ({anchors[end]})" if end in anchors else "") for end in bounds]
    return f"a number from {ends[0]} to {ends[1]}, decimals allowed"
