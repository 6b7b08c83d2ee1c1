"""Reading ``study.yaml``: every mistake is reported with its file, line, key and the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from heartfelt.errors import StudyError, suggestion
from heartfelt.files import read_text
from heartfelt.study.instruments import expanded
from heartfelt.study.model import Place, ReferenceProblem, Text, is_language
from heartfelt.study.parts.consent import document_file, file_names
from heartfelt.study.study import Study
from heartfelt.study.yaml_lines import Document, read_yaml

STUDY_FILE = "study.yaml"
_NOT_TEXTS = frozenset({"about", "for_each", "reference", "instruments"})
_NOT_SHOWN = frozenset({"description", "credit", "licence", "contact", "systems", "intents", "prompts", "adjudication"})
"""Keys that raters do not read, or that are the material itself."""
_SHOWN_IDS = frozenset({"categories", "tags"})
"""Keys whose ids raters read where there is no text."""


def load_study(source: Path | str) -> Study:
    """Read a study from its folder or its ``study.yaml``."""
    path = Path(source)
    if path.is_dir():
        path = path / STUDY_FILE
    fix = "Point to a study folder, or make one with 'heartfelt new RECIPE DIR'."
    return parse_study(read_text(path, fix, StudyError), str(path), path.parent)


def parse_study(text: str, where: str = STUDY_FILE, folder: Path | None = None) -> Study:
    """Read a study from the text of a ``study.yaml``; instruments it names by file are read from ``folder``."""
    document = read_yaml(text, where)
    if not isinstance(document.data, dict):
        raise StudyError(
            f"{where} holds no study.",
            "It needs at least the keys 'name', 'scales' and 'questions'; see 'heartfelt schema'.",
        )
    document = expanded(document, where, folder)
    try:
        return Study.model_validate(document.data)
    except ValidationError as error:
        raise explained(error, document, where) from error


def study_text(study: Study) -> str:
    """The study as YAML text that reads back as the same study."""
    return yaml.safe_dump(study.plain(), sort_keys=False, allow_unicode=True, width=110)


def explained(
    error: ValidationError,
    document: Document,
    where: str,
    root: type[BaseModel] = Study,
    at: Place = (),
    help: str = "'heartfelt schema' describes every key.",
) -> StudyError:
    """The first mistake that validating ``root``, which stands ``at`` a place of the document, brought up."""
    details = error.errors()
    first = min(details, key=lambda d: (d["type"] != "extra_forbidden", document.line(_place(d, document, at)) or 0))
    key_path = _place(first, document, at)
    line = document.line(key_path)
    key = ".".join(str(part) for part in key_path) or "the file"
    more = f" ({len(details) - 1} more beside it)" if len(details) > 1 else ""
    problem, fix = _words(first, key_path, root, help)
    return StudyError(f"{where}, line {line}, {key}: {problem}{more}.", fix)


def _place(detail: ErrorDetails, document: Document, at: Place = ()) -> Place:
    """The place of an error in the file: pydantic's location less the names of union members."""
    context = detail.get("ctx", {}).get("error")
    if isinstance(context, ReferenceProblem):
        return context.place
    key_path: list[str | int] = []
    node: Any = document.data
    tag_passed: Any = None
    for part in (*at, *detail["loc"]):
        if isinstance(node, dict) and node is not tag_passed and node.get("type") == part:
            tag_passed = node
        elif _has(node, part):
            key_path.append(part)
            node = node[part]
    if detail["type"] == "missing":
        key_path.append(str(detail["loc"][-1]))
    return tuple(key_path)


def _has(node: Any, part: str | int) -> bool:
    if isinstance(node, list):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, dict) and part in node


def _words(detail: ErrorDetails, key_path: Place, root: type[BaseModel], help: str) -> tuple[str, str]:
    message, context = detail["msg"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            keys = _keys_at(detail["loc"], root)
            return "there is no such key here", suggestion(str(key_path[-1]), keys, "Keys here")
        case "missing":
            return "this key is missing", f"Add '{key_path[-1]}'. {help}"
        case "union_tag_invalid" | "literal_error":
            answer = str(context.get("tag", detail.get("input")))
            allowed = str(context.get("expected_tags") or context.get("expected", ""))
            choices = [choice.strip() for choice in allowed.replace("'", "").replace(" or ", ", ").split(",")]
            return f"'{answer}' is not one of the choices", suggestion(answer, choices, "Choices")
        case "union_tag_not_found":
            return "this key is missing: 'type'", f"Add 'type'. {help}"
        case "value_error":
            problem, _, fix = str(context.get("error", message)).partition(". ")
            return problem.rstrip("."), fix or f"Correct the value; {help}"
    answer = repr(detail.get("input"))
    return f"{message[0].lower()}{message[1:]} (given: {answer[:60]})", f"Correct the value; {help}"


def _keys_at(location: tuple[str | int, ...], root: type[BaseModel]) -> list[str]:
    """The keys allowed beside the unknown one at the end of ``location``."""
    models: list[type[BaseModel]] = [root]
    for part in location[:-1]:
        tagged = [model for model in models if _tag(model) == part]
        fields = [model.model_fields[str(part)] for model in models if part in model.model_fields]
        inner = [member for field in fields for member in _models(field.annotation)]
        models = tagged or inner or models
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def _tag(model: type[BaseModel]) -> str | None:
    field = model.model_fields.get("type")
    return None if field is None else str(get_args(field.annotation)[0])


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def check_documents(study: Study, folder: Path) -> None:
    """Refuse a study whose consent, debriefing or branding names a file that cannot be served."""
    for part in (study.consent, study.debriefing):
        for name in file_names(None if part is None else part.document):
            document_file(folder, name, "en")
    if study.branding is not None and study.branding.logo is not None:
        document_file(folder, study.branding.logo, "en")


# --- texts that are missing in a language the study offers ------------------------------------------------------------


def texts_of(study: Study) -> dict[str, Mapping[str, str]]:
    """Every text the study gives in several languages, by its place in ``study.yaml``."""
    return dict(_texts(study, ""))


def _texts(part: Any, prefix: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    by_language = isinstance(part, Mapping) and part
    if by_language and all(is_language(key) and isinstance(value, str) for key, value in part.items()):
        yield prefix, part
        return
    for at, value in _children(part, prefix):
        yield from _texts(value, at)


def _children(part: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The parts of a part, each with its place in ``study.yaml``."""
    named: Iterable[tuple[str | int, Any]] = ()
    if isinstance(part, BaseModel):
        named = ((name, getattr(part, name)) for name in type(part).model_fields if name not in _NOT_TEXTS)
    elif isinstance(part, Mapping):
        named = part.items()
    elif isinstance(part, Sequence) and not isinstance(part, str):
        named = enumerate(part)
    for name, value in named:
        yield f"{prefix}.{name}" if prefix else str(name), value


def missing_texts(study: Study) -> dict[str, list[str]]:
    """The places that say nothing in each offered language, where there are such; one text for all is in every language."""
    texts = texts_of(study)
    out: dict[str, list[str]] = {}
    for language in study.languages:
        missing = [
            text_key for text_key, text in texts.items() if not (text.get(language) or text.get(language.split("-")[0]))
        ]
        if missing:
            out[language] = missing
    return out


def untranslated_texts(study: Study) -> list[str]:
    """The places whose text is the same in all of a study's languages; none where the study has one language."""
    return [] if len(study.languages) < 2 else list(_one_for_all(study, ""))


def _one_for_all(part: Any, prefix: str) -> Iterator[str]:
    fields = type(part).model_fields if isinstance(part, BaseModel) else {}
    for at, value in _children(part, prefix):
        name = at.rpartition(".")[2]
        field = fields.get(name)
        if field is None:
            yield from _one_for_all(value, at)
        elif name not in _NOT_SHOWN and value != field.default:
            if _holds_text(field.annotation) or name in _SHOWN_IDS:
                yield from _plain_texts(value, at)
            elif not isinstance(value, str):
                yield from _one_for_all(value, at)


def _plain_texts(value: Any, key_path: str) -> Iterator[str]:
    """The texts in one language only, of a key that holds texts."""
    if isinstance(value, str):
        if any(letter.isalpha() for letter in value):
            yield key_path
    elif isinstance(value, BaseModel):
        yield from _one_for_all(value, key_path)
    elif isinstance(value, list) or (isinstance(value, Mapping) and not any(map(is_language, value))):
        for at, inner in _children(value, key_path):
            yield from _plain_texts(inner, at)


def _holds_text(annotation: Any) -> bool:
    by_language = get_args(Text)[1]
    return annotation == by_language or any(_holds_text(inner) for inner in get_args(annotation))


def check_texts(study: Study) -> dict[str, list[str]]:
    """Refuse a language in which the study says nothing at all; give the places that are missing in the others."""
    missing, texts = missing_texts(study), texts_of(study)
    for language, keys in missing.items():
        if len(keys) == len(texts):
            found_languages = sorted({written_language for text in texts.values() for written_language in text})
            raise StudyError(
                f"study.yaml, languages: none of the study's own texts is in '{language}';"
                f" they are in {', '.join(found_languages)}.",
                f"Add '{language}:' to the texts, beginning with {keys[0]}, or take '{language}' out of languages.",
            )
    return missing
