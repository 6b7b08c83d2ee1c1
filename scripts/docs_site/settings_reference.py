"""The pages of settings, from the classes that validate them: fine-tuning recipes and generators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from formats import cell


def pages() -> dict[str, str]:
    """The Markdown of each page by its path below ``settings/``."""
    return {"training.md": _training(), "generators.md": _generators()}


def _training() -> str:
    from heartfelt.finetuning import FINE_TUNE_RECIPES

    parts = [
        "# Settings of fine-tuning recipes\n",
        "Every setting of every recipe, generated from the program: `--set KEY=VALUE` or `--settings FILE`. "
        "What the recipes do is on the page about [training](../training.md#fine-tuning).\n",
    ]
    for name, recipe in sorted(FINE_TUNE_RECIPES.items()):
        parts.append(
            f"## {name}\n\n{recipe.about[0].upper()}{recipe.about[1:]}.\n\n{_table(recipe.settings)}"
        )
    return "\n".join(parts)


def _generators() -> str:
    from heartfelt.generation import GENERATORS, GeneratorSettings

    shared = set(GeneratorSettings.model_fields)
    parts = [
        "# Settings of generators\n",
        "Every key of a system in `make.yaml`, generated from the program. What the generators do is on the page about "
        "[making stimuli](../make.md#generators).\n",
        f"## Every generator\n\n{_table(GeneratorSettings)}",
    ]
    for name, kind in sorted(GENERATORS.items()):
        parts.append(
            f"## {name}\n\n{kind.about[0].upper()}{kind.about[1:]}.\n\n{_table(kind.settings, shared)}"
        )
    return "\n".join(parts)


def _table(settings: type[BaseModel], without: set[str] | None = None) -> str:
    rows = [
        f"| `{name}` | {default} | {meaning} |"
        for name, default, meaning in _rows(settings, without or set())
    ]
    return "| key | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _rows(settings: type[BaseModel], without: set[str]) -> Iterator[tuple[str, str, str]]:
    for field, info in settings.model_fields.items():
        if field in without:
            continue
        name = info.alias or field
        inner = _model_in(info.annotation)
        if inner is None or info.description:
            yield name, _default(info.get_default(call_default_factory=True)), cell(info.description or "")
        if inner is not None:
            yield from ((f"{name}.{key}", default, meaning) for key, default, meaning in _rows(inner, set()))


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model a field holds, also as an optional one."""
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _default(value: Any) -> str:
    """A default as it is written after ``--set`` or in YAML."""
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, tuple | list):
        value = ",".join(str(each) for each in value)
    if value is None or value in ("", {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
