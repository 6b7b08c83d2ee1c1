"""A small image study with machine-first questions, and a server that speaks the chat contract well or badly."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from heartfelt.predictors import Retry, RunOptions
from heartfelt.predictors.drafts import DraftOptions
from tests.predictors.servers import Reply, Served, serving

STUDY = """
heartfelt: 1
name: pictures
media: image
languages: [en, ko]
intents: [{id: joy}, {id: fear}]
systems: [{id: PaintBot}, {id: DrawBot}]
scales:
  mood:
    type: categories
    categories: [{id: calm, text: {en: Calm, ko: 차분함}}, {id: tense, text: {en: Tense, ko: 긴장}}]
  nine: {type: points, points: 9}
  sentence: {type: text, min_words: 2, max_words: 20}
  tags: {type: tags}
  light: {type: numeric, low: 0, high: 1, step: 0.01}
questions:
  - {id: mood, text: "Which mood do you feel?", scale: mood}
  - {id: caption, text: {en: "What does it show?", ko: "무엇이 보입니까?"}, scale: sentence, machine_first: true}
  - {id: atmosphere, text: Atmosphere, scale: mood, machine_first: true, none: true, help: Judge the light alone.}
  - {id: clutter, text: "How cluttered is it?", scale: nine, machine_first: true}
  - {id: things, text: Things in it, scale: tags, machine_first: true, none: true}
  - {id: light, text: "How light is it?", scale: light, machine_first: true}
design: {ratings_per_item: 2}
"""
FIELDS = ("caption", "atmosphere", "clutter", "things", "light")
GOOD: dict[str, Any] = {
    "caption": "A plain square.",
    "atmosphere": "calm",
    "clutter": 2,
    "things": ["square", "sky"],
    "light": 0.42,
}
QUICK = RunOptions(retry=Retry(retries=1, first_wait=0.001), give_up_after=None)
Answer = Callable[[dict[str, Any], str], Reply]
"""Called with the request and the stimulus it is about."""


def write_study(folder: Path, count: int = 4, text: str = STUDY) -> Path:
    """A study with ``count`` images ``p0``, ``p1`` and so on, no two alike."""
    media = folder / "media"
    media.mkdir(parents=True)
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    rows = []
    for place in range(count):
        picture(place).save(media / f"p{place}.png")
        rows.append(
            {
                "stimulus": f"p{place}",
                "system": ("PaintBot", "DrawBot")[place % 2],
                "intent": ("joy", "fear")[place % 2],
                "path": f"p{place}.png",
            }
        )
    pl.DataFrame(rows).write_csv(folder / "stimuli.csv")
    return folder


def picture(place: int) -> Image.Image:
    """An image of its own for every place: a grid of squares that spell the place in bits."""
    image = Image.new("L", (32, 32), 20)
    for bit in range(16):
        if (place * 2654435761 >> bit) & 1:
            image.paste(230, (8 * (bit % 4), 8 * (bit // 4), 8 * (bit % 4) + 8, 8 * (bit // 4) + 8))
    return image.convert("RGB")


def words_of(request: Mapping[str, Any]) -> str:
    """The text of a request's user message."""
    return "\n".join(part["text"] for part in request["messages"][1]["content"] if part["type"] == "text")


def fields_of(request: Mapping[str, Any]) -> list[str]:
    """The fields a request asks about, recognised by their words."""
    known = {
        "What does it show": "caption",
        "무엇이": "caption",
        "Atmosphere": "atmosphere",
        "How cluttered": "clutter",
        "Things in it": "things",
        "How light": "light",
    }
    lines = [line for line in words_of(request).splitlines() if line[:1] == "q"]
    return [next(name for start, name in known.items() if start in line) for line in lines]


def filled(request: Mapping[str, Any], **changed: Any) -> str:
    """The form of a request, filled in."""
    answers = {**GOOD, **changed}
    entries = {
        f"q{place}": {"answer": answers[name], "confidence": 0.8} for place, name in enumerate(fields_of(request), 1)
    }
    return json.dumps(entries, ensure_ascii=False)


def completion(content: Any, tokens: tuple[int, int] | None = (1_000, 100), **choice: Any) -> Reply:
    """A chat completion with this content."""
    message = {"role": "assistant", "content": content}
    whole: dict[str, Any] = {"choices": [{"message": message, "finish_reason": "stop", **choice}], "model": "seer-2"}
    if tokens is not None:
        whole["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Reply(body=json.dumps(whole).encode())


def good(request: dict[str, Any], stimulus: str) -> Reply:
    """Everything answered well."""
    del stimulus
    return completion(filled(request))


@contextmanager
def chat_server(folder: Path, answer: Answer = good) -> Iterator[Served]:
    """A server that knows which stimulus an image is, by its bytes."""
    names = {hashlib.sha256(path.read_bytes()).hexdigest(): path.stem for path in (folder / "media").iterdir()}

    def behave(request: dict[str, Any], count: int) -> Reply:
        del count
        url = next(part for part in request["messages"][1]["content"] if part["type"] == "image_url")
        content = base64.b64decode(url["image_url"]["url"].split(",", 1)[1])
        return answer(request, names[hashlib.sha256(content).hexdigest()])

    with serving(behave) as served:
        yield served


def chat_spec(served: Served, options: str = "") -> str:
    """The drafter behind a server."""
    return f"chat{f'[{options}]' if options else ''}:seer@{served.url.rsplit('/', 1)[0]}/v1"


def options(*drafters: str, fields: Sequence[str] = (), **more: Any) -> DraftOptions:
    """Options for a quick run."""
    return DraftOptions(fields=tuple(fields), drafters=drafters, **{"asking": QUICK, "duplicates": False, **more})
