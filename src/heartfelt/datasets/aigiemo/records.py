"""One AIGIEmo record: what a person judged, what a machine filled in, what is known of the image.

A record may be nested (a JSON object with an object ``fields``) or flat (columns such as ``style_machine``).
Everything a record says ends in one of these three places; a key that is not known is kept as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from heartfelt.errors import InputError, nearest, suggestion
from heartfelt.formats.tables.columns import MISSING

EMOTIONS = ("amusement", "awe", "contentment", "excitement", "anger", "disgust", "fear", "sadness")
TEXTS = ("caption", "reason")
JUDGED = ("emotion", "valence", "arousal", *TEXTS)
FIELDS = ("style", "scene", "objects", "facial_expression", "human_action", "colour", "brightness")
TAGS = ("objects", "facial_expression", "human_action", "colour")
ABOUT_IMAGE = ("system", "intent", "prompt", "split", "path")
PARTS = ("machine", "source", "verdict", "final", "verified_by", "at")
EVIDENCE = ("shown", "first", "seconds", "keystrokes", "version", "prompt_hash", "drafted_at", "confidence")
"""Further parts of a nested field, where a study collected them."""
SHOWN = ("true", "hidden", "planted")
ALIASES = {
    "image": ("image_id", "id"),
    "path": ("image_path", "file_name", "filename"),
    "annotator": ("annotator_id", "rater"),
    "system": ("model", "generator"),
    "intent": ("target_emotion", "intended_emotion"),
    "at": ("created_at",),
    "emotion": ("emotion_category",),
    "reason": ("emotion_reason", "reasoning"),
    "style": ("visual_style",),
    "scene": ("scene_type",),
    "objects": ("object",),
    "facial_expression": ("facial_expressions",),
    "human_action": ("human_actions",),
    "colour": ("color", "colors", "colours"),
}
EMPTY = "the annotator's record holds no judgement"
VERDICTS = {
    "accepted": "accepted", "accept": "accepted", "fixed": "fixed", "fix": "fixed", "edited": "fixed",
    "corrected": "fixed", "rejected": "rejected", "reject": "rejected",
}  # fmt: skip
_CANONICAL = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
_USUAL = {"image", "annotator", "seconds", "at", "fields", *ABOUT_IMAGE, *JUDGED, *FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldValue:
    """What a machine said of one field and what a person made of it."""

    name: str
    machine: str | None = None
    source: str | None = None
    verdict: str | None = None
    final: str | None = None
    verified_by: str | None = None
    at: str | None = None
    shown: str | None = None
    first: str | None = None
    seconds: float | None = None
    keystrokes: float | None = None
    version: str | None = None
    prompt_hash: str | None = None
    drafted_at: str | None = None
    confidence: float | None = None


@dataclass(slots=True, kw_only=True)
class AnnotationRecord:
    """One annotation of one image, and the line it stands on."""

    image: str
    line: int = 0
    annotator: str | None = None
    about: dict[str, str] = field(default_factory=dict)
    emotion: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    at: str | None = None
    fields: list[FieldValue] = field(default_factory=list)
    extras: dict[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> bool:
        return bool(self.emotion or self.numbers or self.texts)


@lru_cache(maxsize=4096)
def canonical(key: str) -> str:
    """A key's usual name: lower case, underscores, aliases resolved, also before a part such as ``_machine``."""
    snake_name = key.strip().casefold().replace(" ", "_").replace("-", "_").replace(".", "_")
    if snake_name in _CANONICAL:
        return _CANONICAL[snake_name]
    for part in PARTS:
        base = _CANONICAL.get(snake_name.removesuffix(f"_{part}"))
        if base in {*FIELDS, *TEXTS}:
            return f"{base}_{part}"
    return snake_name


@lru_cache(maxsize=4096)
def flat_part(key: str) -> tuple[str, str] | None:
    """``("style", "machine")`` for ``style_machine``; None for a key that is not part of a known field."""
    split = ((key.removesuffix(f"_{part}"), part) for part in PARTS if key.endswith(f"_{part}"))
    return next(((base, part) for base, part in split if base in {*FIELDS, *TEXTS}), None)


def plain_text(value: object) -> str | None:
    """A value as text: lists joined with ``;``, structures as JSON; None where there is nothing."""
    if type(value) is str:
        return value or None
    if value in (None, [], {}):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return ";".join(str(part).strip() for part in value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


def parse(raw: Mapping[str, object], bounds: tuple[float, float], where: str) -> AnnotationRecord:
    """Understand one record; ``where`` names its file and line in errors."""
    fields, extras = _sorted_out(raw, where)
    image = plain_text(fields.pop("image", None) or fields.get("path"))
    if image is None:
        raise InputError(f"{where}: the record names no image.", "Give every record an 'image'.")
    record = AnnotationRecord(image=image.strip(), extras=extras)
    _inside(record.image, where)
    record.annotator = (plain_text(fields.pop("annotator", None)) or "").strip() or None
    record.about = {name: text for name in ABOUT_IMAGE if (text := plain_text(fields.pop(name, None))) is not None}
    _inside(record.about.get("path", ""), where)
    record.emotion = _emotion(fields.pop("emotion", None), where)
    record.numbers = dict(_judged_numbers(fields, bounds, where))
    record.seconds = _number(fields.pop("seconds", None), "seconds", where)
    record.at = plain_text(fields.pop("at", None))
    planted = fields.pop("planted", None)
    record.fields = list(_fields(fields, record.annotator, where))
    if planted is not None:
        record.fields += _fields({"fields": planted}, record.annotator, where)
    record.texts = dict(_judged_texts(fields, {field.name for field in record.fields}))
    return record


def _judged_texts(fields: Mapping[str, object], drafted: Set[str]) -> Iterator[tuple[str, str]]:
    """Caption and reason where a person wrote them, and no machine drafted them."""
    for name in TEXTS:
        text = plain_text(fields.get(name))
        if text is not None and name not in drafted and not isinstance(fields[name], dict):
            yield name, text


def _judged_numbers(fields: dict[str, object], bounds: tuple[float, float], where: str) -> Iterator[tuple[str, float]]:
    """Valence and arousal, as far as they are there."""
    for name in ("valence", "arousal"):
        number = _number(fields.pop(name, None), name, where)
        if number is None:
            continue
        if not bounds[0] <= number <= bounds[1]:
            raise InputError(
                f"{where}: the {name} {number:g} is not between {bounds[0]:g} and {bounds[1]:g}.",
                "Correct it, or state the range that was used, such as range=1..9.",
            )
        yield name, number


def _sorted_out(raw: Mapping[str, object], where: str) -> tuple[dict[str, object], dict[str, str]]:
    """The known keys under their usual names, and the rest as text."""
    fields: dict[str, object] = {}
    extras: dict[str, str] = {}
    for key, value in raw.items():
        name = canonical(key)
        if not _is_known(name, value):
            text = plain_text(value)
            if text is not None:
                extras[key.strip()] = text
        elif fields.get(name) is None:
            fields[name] = value
        elif value is not None and value != fields[name]:
            if name in {"image", "path"}:
                extras[key.strip()] = plain_text(value) or ""
                continue
            raise InputError(
                f"{where}: '{key}' says '{value}' where another key for {name} says '{fields[name]}'.",
                "Keep one of the two.",
            )
    return fields, extras


def _is_known(name: str, value: object) -> bool:
    """Whether a key has a meaning here; what was planted is an object."""
    return isinstance(value, dict) if name == "planted" else name in _USUAL or flat_part(name) is not None


def _inside(path: str, where: str) -> None:
    with_slashes = path.replace("\\", "/")
    if (
        with_slashes.startswith("/")
        or ":" in with_slashes[:3]
        or (".." in with_slashes and ".." in with_slashes.split("/"))
    ):
        raise InputError(
            f"{where}: the path '{path}' leads out of the media folder.",
            "Use names relative to that folder, and keep the images inside it.",
        )


def _emotion(value: object, where: str) -> str | None:
    text = plain_text(value) or ""
    name = text.strip().casefold()
    if name and name not in EMOTIONS:
        raise InputError(f"{where}: '{text}' is not one of the eight emotions.", suggestion(name, EMOTIONS, "Emotions"))
    return name or None


def _number(value: object, name: str, where: str) -> float | None:
    if value is None or (isinstance(value, str) and value.strip() in MISSING):
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        return float(value.strip().replace(",", ".") if isinstance(value, str) else value)
    except ValueError:
        raise InputError(
            f"{where}: the {name} '{value}' is not a number.", "Write a number, or nothing where there is none."
        ) from None


def _fields(record_fields: dict[str, object], annotator: str | None, where: str) -> Iterator[FieldValue]:
    """Every field the record holds: nested, flat, or both."""
    values = {canonical(name): value for name, value in _nested(record_fields.pop("fields", None), where).items()}
    for name, field_value in _flat_fields(record_fields):
        if name in values:
            raise InputError(
                f"{where}: the field '{name}' is there twice, in 'fields' and next to it.", "Keep one of the two."
            )
        values[name] = field_value
    for name, value in values.items():
        yield from filter(None, (_field(name, entry, annotator, where) for entry in verifications(value)))


def verifications(value: object) -> list[object]:
    """Each person's verification of a field: one, or a list of objects."""
    several = isinstance(value, list) and value and all(isinstance(part, dict) for part in value)
    return value if isinstance(value, list) and several else [value]


def _nested(fields: object, where: str) -> dict[str, object]:
    """The object ``fields``, or its JSON in a cell."""
    fix = 'Write an object, such as {"style": "oil painting"}.'
    if isinstance(fields, str) and fields.strip():
        try:
            fields = json.loads(fields)
        except ValueError:
            raise InputError(f"{where}: 'fields' is not valid JSON.", fix) from None
    if fields and not isinstance(fields, dict):
        raise InputError(f"{where}: 'fields' is not an object.", fix)
    return fields if isinstance(fields, dict) else {}


def _flat_fields(record_fields: dict[str, object]) -> Iterator[tuple[str, object]]:
    """The fields given as keys of the record itself: ``style``, ``style_machine``, ``style_source`` and so on."""
    parts: dict[str, dict[str, object]] = {}
    for key in list(record_fields):
        split = flat_part(key)
        if split is not None:
            value = record_fields.pop(key)
            if plain_text(value) is not None:
                parts.setdefault(split[0], {})[split[1]] = value
    for name in (*FIELDS, *TEXTS):
        value = record_fields.get(name)
        if name in parts:
            yield name, {**parts[name], **({"final": value} if plain_text(value) is not None else {})}
        elif (name in FIELDS or _is_structured(value)) and plain_text(value) is not None:
            yield name, value


def _is_structured(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and isinstance(next(iter(value), 0), dict))


def _field(name: str, value: object, annotator: str | None, where: str) -> FieldValue | None:
    if not isinstance(value, dict) or not _part_names(name, value, where):
        text = _tags(name, plain_text(value))
        return None if text is None else FieldValue(name=name, final=text, verified_by=annotator)
    texts = {part: plain_text(value.get(part)) for part in PARTS}
    machine, final = _tags(name, texts["machine"]), _tags(name, texts["final"])
    verdict = _verdict(name, texts["verdict"], where)
    if verdict == "accepted" and final is None:
        final = machine
    _check_verdict(name, machine, verdict, final, where)
    if (machine, final, verdict) == (None, None, None):
        return None
    by = texts["verified_by"] or (annotator if (verdict, final) != (None, None) else None)
    return FieldValue(
        name=name,
        machine=machine,
        source=texts["source"],
        verdict=verdict,
        final=final,
        verified_by=by,
        at=texts["at"],
        **_evidence(name, value, where),
    )


def _verdict(name: str, text: str | None, where: str) -> str | None:
    """The usual word for a verdict."""
    if text is None:
        return None
    word = text.strip().casefold()
    if word not in VERDICTS:
        raise InputError(
            f"{where}: '{text}' is not a verdict on '{name}'.", suggestion(word, set(VERDICTS.values()), "Verdicts")
        )
    return VERDICTS[word]


def _evidence(name: str, value: Mapping[str, object], where: str) -> dict[str, Any]:
    out: dict[str, object] = {}
    for part in EVIDENCE:
        evidence = value.get(part)
        if part in {"seconds", "keystrokes", "confidence"}:
            out[part] = _number(evidence, f"{name}.{part}", where)
        else:
            out[part] = _tags(name, plain_text(evidence)) if part == "first" else plain_text(evidence)
    shown = out["shown"]
    if shown is not None and shown not in SHOWN:
        raise InputError(
            f"{where}: '{shown}' does not say what was shown of '{name}'.", suggestion(str(shown), SHOWN, "Allowed")
        )
    return out


def _part_names(name: str, value: Mapping[str, object], where: str) -> bool:
    """Whether an object gives a field's parts, and not a value that happens to be an object."""
    strangers = [key for key in value if key not in PARTS]
    are_parts = len(strangers) < len(value) or any(nearest(key, PARTS) for key in strangers)
    strangers = [key for key in strangers if key not in EVIDENCE]
    if strangers and are_parts:
        raise InputError(
            f"{where}: the field '{name}' has no part '{strangers[0]}'.", suggestion(strangers[0], PARTS, "Parts")
        )
    return bool(value) and are_parts


def _check_verdict(name: str, machine: str | None, verdict: str | None, final: str | None, where: str) -> None:
    problem = fix = ""
    if verdict == "accepted" and final != machine:
        problem = f"was accepted, but the final '{final}' is not the machine's '{machine}'"
        fix = "The verdict on a value that was changed is 'fixed'."
    elif verdict == "rejected" and final is not None:
        problem = f"was rejected, yet has a final value '{final}'"
        fix = "The verdict on a value that was replaced is 'fixed'."
    elif verdict == "fixed" and final is None:
        problem, fix = (
            "was fixed, but has no final value",
            "Give the final value; without one the verdict is 'rejected'.",
        )
    if problem:
        raise InputError(f"{where}: '{name}' {problem}.", fix)


def _tags(name: str, text: str | None) -> str | None:
    """Tags with nothing but ``;`` between them; a list that a CSV cell holds as JSON is a list like any other."""
    if text is not None and text[:1] + text[-1:] == "[]":
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        text = plain_text(value) if isinstance(value, list) else text
    if text is None or name not in TAGS:
        return text
    return ";".join(tag.strip() for tag in text.split(";") if tag.strip()) or None
