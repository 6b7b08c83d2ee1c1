"""The arguments of public functions, checked against their annotations before any work.

Only what a text can say is checked: text, numbers, switches, paths and sequences of these. A single text or number where several
are expected counts as one of them: ``questions="valence"`` is one question, not seven letters.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from typing import ParamSpec, TypeVar

from heartfelt.errors import InputError
from heartfelt.extras import names_the_extra

P = ParamSpec("P")
R = TypeVar("R")
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "Path": (os.PathLike,),
    "int": (Integral,),
    "float": (Real,),
    "bool": (bool,),
}
_WORDS = {
    "str": "text",
    "Path": "a path",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
}


def notebook_function(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function answer a missing package, or an argument of the wrong kind, with what to do."""
    return names_the_extra(_checks_arguments(function))


def _checks_arguments(function: Callable[P, R]) -> Callable[P, R]:
    signature = inspect.signature(function)
    kinds = {name: _kind(str(part.annotation)) for name, part in signature.parameters.items()}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            kind = kinds[name]
            if kind is not None:
                bound.arguments[name] = _checked(name, value, *kind)
        return function(*bound.args, **bound.kwargs)

    return call


def _kind(annotation: str) -> tuple[frozenset[str], bool, bool] | None:
    """Of an annotation: the kinds a value may be, whether several, whether None; nothing where it is not of plain kinds."""
    several = re.fullmatch(r"(?:Sequence|Iterable)\[(\w+)\](?: \| None)?", annotation)
    optional = annotation.endswith("| None")
    if several:
        return (frozenset({several[1]}), True, optional) if several[1] in _KINDS else None
    plain = re.sub(r"Literal\[[^\]]*\]", "str", annotation)
    parts = {part.strip() for part in plain.split("|")} - {"None"}
    return (frozenset(parts), False, optional) if parts <= set(_KINDS) else None


def _checked(name: str, value: object, kinds: frozenset[str], several: bool, optional: bool) -> object:
    if value is None and optional:
        return value
    if not several:
        if _is_one(value, kinds) and not ("Path" in kinds and value == ""):
            return value
        raise InputError(
            f"{name}={_shown(value)} is not {_words(kinds)}.", f"Give {_words(kinds)} for {name}."
        )
    if _is_one(value, kinds):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, bytes | dict):
        values = tuple(value)
        if all(_is_one(each, kinds) for each in values):
            return values
    raise InputError(
        f"{name}={_shown(value)} is not a list of {_words(kinds)}.",
        f"Give a list for {name}, with {_words(kinds)} in it.",
    )


def _is_one(value: object, kinds: frozenset[str]) -> bool:
    if isinstance(value, bool):
        return "bool" in kinds
    return any(isinstance(value, _KINDS[kind]) for kind in kinds)


def _words(kinds: frozenset[str]) -> str:
    return "a path" if "Path" in kinds else " or ".join(_WORDS[kind] for kind in sorted(kinds))


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
