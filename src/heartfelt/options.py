"""Options: each named, typed, explained, defaulted and checked once, in the frozen Options class of its stage.

A field of type ``Annotated[T, Option("What it does.")]`` is an option: a flag of the stage's command (``heartfelt.cli.flags``)
and a keyword of its public function (``heartfelt.arguments``). Fields without an ``Option`` are settings of other stages, not of
people. A field whose type is itself a class of options contributes that class's options under their own names; where two nested
classes share a name, one value fills both. :func:`build` makes the object from what a person wrote.
"""

from __future__ import annotations

import builtins
import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from heartfelt.errors import InputError, is_on_command_line, suggestion

T = TypeVar("T")
REQUIRED = dataclasses.MISSING
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}


@dataclass(frozen=True, slots=True)
class Option:
    """What a person is told about an option, and how it is written."""

    help: str
    """One sentence or two, for the help of the command and the docstring of the function."""
    _: KW_ONLY
    flags: tuple[str, ...] = ()
    """The flags, such as ``("--out", "-o")`` or ``("--media/--no-media",)``; from the field's name if left out."""
    metavar: str | None = None
    panel: str | None = None
    """The panel of the command's help."""
    low: float | None = None
    high: float | None = None
    """The smallest and the largest value."""
    separator: str = ""
    """What separates several values that are written as one text; a flag of several values is repeated if it is empty."""
    parse: Callable[[Any], Any] | None = None
    """Makes the value from what a person wrote; the type of its parameter is what the function takes."""
    example: str = ""
    """A value to show in a message, such as ``20,40,80``."""
    blank: bool = False
    """Whether a value of a mapping may be empty."""
    positional: bool = False
    """Whether the function also takes it by position."""


class Without:
    """Marks a nested class of options some of whose options are not offered: ``Annotated[RunOptions, Without("budget")]``."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionField:
    """An option of a class, its own or a nested one's."""

    name: str
    option: Option
    type: Any
    """The type of the field, evaluated; a name that is imported for type checkers only counts as ``Any``."""
    annotation: str
    """The type as it is written in the class."""
    owner: type
    default: Any = REQUIRED

    @property
    def flags(self) -> tuple[str, ...]:
        """How it is written on the command line."""
        if self.option.flags:
            return self.option.flags
        name = self.name.replace("_", "-")
        negative = f"/--{'no-' + name}" if self.default is True else ""
        return (f"--{name}{negative}",)

    @property
    def written(self) -> str:
        """Its name as the person who reads a message would write it."""
        return self.flags[0].partition("/")[0] if is_on_command_line() else self.name


class _Names(dict[str, Any]):
    """The names of a module; one that only type checkers know is ``Any``."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def evaluated(annotation: Any, module: str) -> Any:
    """An annotation of a module as a type."""
    if not isinstance(annotation, str):
        return NoneType if annotation is None else annotation
    names = vars(sys.modules[module])
    return eval(annotation, names, _Names(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A field of a class of options: an option, a nested class of options, or a setting of other stages."""

    name: str
    type: Any
    option: Option | None
    hidden: frozenset[str]
    """The options of a nested class that are not offered."""
    annotation: str
    default: Any

    @property
    def nested(self) -> Mapping[str, OptionField]:
        """The options of a nested class, by name; the field of one has a default."""
        if self.option is not None or self.default is REQUIRED or not is_options(self.type):
            return {}
        return {name: field for name, field in options_of(self.type).items() if name not in self.hidden}


_PARTS: dict[Any, tuple[_Part, ...]] = {}
_OPTIONS: dict[Any, Mapping[str, OptionField]] = {}


def _parts(kind: Any) -> tuple[_Part, ...]:
    """The fields of a class, with their types evaluated once."""
    if kind not in _PARTS:
        homes = {name: base for base in reversed(kind.__mro__) for name in vars(base).get("__annotations__", {})}
        parts = []
        for field in fields(kind):
            hint = evaluated(field.type, homes[field.name].__module__)
            bare, notes = _unwrapped(hint)
            parts.append(
                _Part(
                    name=field.name,
                    type=bare,
                    option=next((note for note in notes if isinstance(note, Option)), None),
                    hidden=_hidden(notes),
                    annotation=str(field.type),
                    default=field.default if field.default_factory is REQUIRED else field.default_factory(),
                )
            )
        _PARTS[kind] = tuple(parts)
    return _PARTS[kind]


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without ``Annotated``, and what it was annotated with."""
    return (get_args(hint)[0], hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())


def _hidden(notes: Iterable[Any]) -> frozenset[str]:
    return frozenset(name for note in notes if isinstance(note, Without) for name in note.names)


def is_options(hint: Any) -> bool:
    """Whether a type is a class with options."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint) and bool(options_of(hint))


def options_of(kind: Any) -> Mapping[str, OptionField]:
    """The options of a class by name, in order, those of nested classes included."""
    if kind not in _OPTIONS:
        options: dict[str, OptionField] = {}
        for part in _parts(kind):
            if part.option is not None:
                options[part.name] = OptionField(
                    name=part.name,
                    option=part.option,
                    type=part.type,
                    annotation=part.annotation,
                    owner=kind,
                    default=part.default,
                )
            for name, field in part.nested.items():
                options.setdefault(name, replace(field, default=value_of(part.default, name)))
        _OPTIONS[kind] = options
    return _OPTIONS[kind]


def value_of(options: Any, name: str) -> Any:
    """An option's value in an options object, or in one nested in it."""
    for part in _parts(type(options)):
        if part.name == name and part.option is not None:
            return getattr(options, name)
        if name in part.nested:
            return value_of(getattr(options, part.name), name)
    raise AttributeError(name)


def offers(hint: Any) -> tuple[type, Mapping[str, OptionField]] | None:
    """The class of options that a parameter of this type takes, and those that it offers; None where it takes none."""
    bare, notes = _unwrapped(hint)
    kind = next((member for member in alternatives(bare) if is_options(member)), None)
    if kind is None:
        return None
    return kind, {name: field for name, field in options_of(kind).items() if name not in _hidden(notes)}


def build(kind: type[T], values: Mapping[str, object], defaults: T | None = None) -> T:
    """The options object from what a person gave, checked for its kind; the rest is ``defaults`` or the class's own."""
    arguments: dict[str, Any] = {}
    for part in _parts(kind):
        if part.name in values and part.option is not None:
            arguments[part.name] = _value(options_of(kind)[part.name], values[part.name])
        inner = {name: values[name] for name in part.nested if name in values}
        if inner:
            arguments[part.name] = build(part.type, inner, getattr(defaults, part.name, part.default))
    return kind(**arguments) if defaults is None else replace(defaults, **arguments)  # type: ignore[type-var]  # a dataclass


def _value(field: OptionField, value: Any) -> Any:
    parse = field.option.parse
    if parse is None or value is None:
        return fitting(field.written, value, field.type)
    return parse(value)


def check(options: Any) -> None:
    """Refuse a choice that is not on offer and a number out of range; for ``__post_init__``."""
    for name, field in options_of(type(options)).items():
        value = getattr(options, name, None) if field.owner is type(options) else None
        if value is not None:
            _check_value(field, value)


def _check_value(field: OptionField, value: Any) -> None:
    choices = choices_of(field.type)
    if choices and value not in choices:
        raise InputError(f"{field.written} = '{value}' is unknown.", suggestion(str(value), choices, "Choices"))
    low, high = field.option.low, field.option.high
    if (low is not None and value < low) or (high is not None and value > high):
        limits = [f"at least {low:g}"] if low is not None else []
        limits += [f"at most {high:g}"] if high is not None else []
        raise InputError(
            f"{field.written} must be {' and '.join(limits)}, not {value:g}.",
            f"Give a number for {field.written} in that range.",
        )


def written(options: Any, name: str) -> str:
    """An option as the person who reads a message would write it: ``--per-rater`` or ``per_rater``."""
    return options_of(type(options))[name].written


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The members of a union; a type alone."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def choices_of(hint: Any) -> tuple[str, ...]:
    """The texts of a ``Literal``, where a type has one."""
    return tuple(text for kind in alternatives(hint) if get_origin(kind) is Literal for text in get_args(kind))


def fitting(name: str, value: Any, hint: Any) -> Any:
    """``value`` as ``hint`` wants it: one value where several are expected counts as one of them, and a text may be a path."""
    kinds = alternatives(hint)
    if (value is None and NoneType in kinds) or type(value) in kinds:
        return value
    for kind in kinds:
        if kind is not NoneType:
            fitted = _fit(value, kind)
            if fitted is not REQUIRED:
                return fitted
    words = " or ".join(dict.fromkeys(_words(kind) for kind in kinds if kind is not NoneType))
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= 60 else f"{shown[:59]}…"
    raise InputError(f"{name}={shown} is not {words}.", f"Give {words} for {name}.")


def _fit(value: Any, kind: Any) -> Any:
    """The value as a member of a kind; ``REQUIRED`` where it is none."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return value
    if origin is Literal:
        return value if isinstance(value, str) else REQUIRED
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _fit_mapping(value, parts[1]) if isinstance(value, Mapping) else REQUIRED
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _fit_several(value, parts)
    return _fit_single(value, kind)


def _fit_single(value: Any, kind: Any) -> Any:
    if isinstance(value, bool):
        return value if kind is bool else REQUIRED
    if kind is Path:
        return Path(value) if isinstance(value, str | os.PathLike) and value != "" else REQUIRED
    accepted = {int: Integral, float: Real}.get(kind, kind)
    return value if isinstance(accepted, type) and isinstance(value, accepted) else REQUIRED


def _fit_mapping(value: Mapping[Any, Any], kind: Any) -> Any:
    if kind is str:
        return {str(key): str(item) for key, item in value.items()}
    fitted = {str(key): _fit(item, kind) for key, item in value.items()}
    return REQUIRED if REQUIRED in fitted.values() else fitted


def _fit_several(value: Any, parts: tuple[Any, ...]) -> Any:
    """A tuple of one kind, of which a single value is one, or of as many kinds as there are parts."""
    of_one_kind = len(parts) == 1 or parts[-1] is Ellipsis
    if of_one_kind:
        single = _fit(value, parts[0])
        if single is not REQUIRED:
            return (single,)
    if isinstance(value, str) or not isinstance(value, Iterable):
        return REQUIRED
    if of_one_kind and isinstance(value, bytes | Mapping):
        return REQUIRED
    items = tuple(value)
    kinds = parts[:1] * len(items) if of_one_kind else parts
    if len(items) != len(kinds):
        return REQUIRED
    fitted = tuple(map(_fit, items, kinds))
    return REQUIRED if any(item is REQUIRED for item in fitted) else fitted


def _words(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return "text"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list of {_words(parts[0]) if len(alternatives(parts[0])) == 1 else 'paths'}"
    return _WORDS.get(kind, f"a {getattr(kind, '__name__', 'value')}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How somebody's data are read, for every stage that reads some."""

    format: Annotated[
        str | None, Option(help="The source's format; detected if left out.", flags=("--format", "-f"))
    ] = None
    map: Annotated[
        Mapping[str, object],
        Option(help="An option of the format.", flags=("--map", "-m"), metavar="OPTION=VALUE", example="rater=user_id"),
    ] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenedSourceOptions(SourceOptions):
    """How somebody's data are read, and which raters are retained."""

    policy: Annotated[
        str, Option(help="How flagged raters are treated before anything else: see docs/screening.md.")
    ] = "flag-only"
