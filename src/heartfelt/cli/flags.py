"""Flags from options: a command's parameter that is an options object becomes one flag for each of its options.

The names, types, defaults and help are those of the options class; what is typed becomes an object of it before the command runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer

from heartfelt.errors import InputError
from heartfelt.options import REQUIRED, OptionField, alternatives, build, choices_of, offers

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = (str, Path, int, float, bool)
_METAVARS = {int: "N,N", float: "X,X", str: "A,B"}


class Defaults:
    """Marks a parameter whose command starts from other defaults: ``Annotated[RunOptions, Defaults(cache=True)]``."""

    def __init__(self, **values: Any) -> None:
        self.values = values


class App(typer.Typer):
    """A group of commands whose parameters may be options objects."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        """Register a command, with its options objects as flags."""
        register = super().command(name, **settings)

        def decorate(function: F) -> F:
            register(with_flags(function))
            return function

        return decorate


def with_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the flags of its options objects as parameters."""
    hints = get_type_hints(function, include_extras=True)
    classes = {name: pair for name, hint in hints.items() if (pair := offers(hint)) is not None}
    if not classes:
        return function
    defaults = {name: _defaults(hints[name]) for name in classes}
    fields: dict[str, OptionField] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in classes:
            parameters.append(_keyword(parameter.name, hints[parameter.name], parameter.default))
            continue
        # Two options objects may share an option: the flag is there once, and both get its value.
        for name, field in classes[parameter.name][1].items():
            if name not in fields:
                fields[name] = field
                parameters.append(_flag(field, defaults[parameter.name].get(name, field.default)))

    shown = {parameter.name: parameter.default for parameter in parameters}

    @wraps(function)
    def call(**typed: Any) -> Any:
        chosen: dict[str, Any] = {}
        for name, field in fields.items():
            text = typed.pop(name)
            # What was not typed is the default itself, not its text read again.
            if text not in (None, []) and text != shown[name]:
                chosen[name] = _value(field, text)
        for name, (kind, options) in classes.items():
            values = {key: value for key, value in {**defaults[name], **chosen}.items() if key in options}
            typed[name] = build(kind, values)
        return function(**typed)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _defaults(hint: Any) -> Mapping[str, Any]:
    """The defaults that a command has in place of the class's."""
    notes = getattr(hint, "__metadata__", ())
    return {key: value for note in notes if isinstance(note, Defaults) for key, value in note.values.items()}


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _flag(field: OptionField, default: Any) -> inspect.Parameter:
    """The option as Typer wants it."""
    option = field.option
    kind, shown = _typed(field, default)
    metavar = option.metavar
    if metavar is None and (choices := choices_of(field.type)):
        metavar = "|".join(choices)
    if metavar is None and option.separator:
        metavar = _METAVARS.get(_element(field.type))
    several = any(get_origin(member) is list for member in alternatives(kind))
    repeated = " May be repeated." if several and not option.separator else ""
    is_integer = kind is int or int in alternatives(kind)
    low, high = (int(limit) if is_integer and limit is not None else limit for limit in (option.low, option.high))
    flag = typer.Option(
        *field.flags,
        help=f"{option.help}{repeated}",
        metavar=metavar,
        min=low,
        max=high,
        rich_help_panel=option.panel,
        show_default=shown not in ("", None),
    )
    empty = inspect.Parameter.empty
    return _keyword(field.name, Annotated[kind, flag], empty if default is REQUIRED else shown)


def _typed(field: OptionField, default: Any) -> tuple[Any, Any]:
    """The type that Typer reads an option as, and the default it shows."""
    kinds = alternatives(field.type)
    if any("/" in flag for flag in field.flags):
        return (bool, default) if default is not None else (bool | None, None)
    if field.option.separator and _element(field.type) is str:
        return list[str] | None, None
    if field.option.parse is not None or field.option.separator:
        text = default if isinstance(default, str) else _joined(field, default)
        return (str, text) if text else (str | None, None)
    if str not in kinds and any(get_origin(kind) is tuple for kind in kinds):
        return list[_element(field.type)] | None, None  # type: ignore[misc]  # a type made while the program runs
    if str not in kinds and any(map(_is_mapping, kinds)):
        return list[str] | None, None
    kind = str if choices_of(field.type) else next((member for member in _TYPES if member in kinds), str)
    return (kind, default) if default is not None else (kind | None, None)


def _element(hint: Any) -> type:
    """The type of one of several values: text or a path, a whole number or a number."""
    inner = next((get_args(kind)[0] for kind in alternatives(hint) if get_origin(kind) is tuple), str)
    return next((member for member in (Path, str, int, float) if member in alternatives(inner)), str)


def _joined(field: OptionField, default: Any) -> str:
    if default is None or default is REQUIRED:
        return ""
    if isinstance(default, Sequence):
        return field.option.separator.join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in default
        )
    return f"{default:g}" if isinstance(default, float) else str(default)


def _value(field: OptionField, typed: Any) -> Any:
    """What was typed, as the option takes it."""
    kinds = alternatives(field.type)
    if field.option.parse is not None or str in kinds:
        return typed
    if field.option.separator:
        return _separated(field, typed)
    mapping = next((kind for kind in kinds if _is_mapping(kind)), None)
    return typed if mapping is None else _mapping(field, typed, get_args(mapping)[1])


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _separated(field: OptionField, typed: str | list[str]) -> tuple[Any, ...]:
    kind, flag = _element(field.type), field.flags[0]
    text = typed if isinstance(typed, str) else field.option.separator.join(typed)
    parts = [part.strip() for part in text.split(field.option.separator) if part.strip()]
    try:
        return tuple(kind(part) for part in parts)
    except ValueError as error:
        numbers = "whole numbers" if kind is int else "numbers"
        example = field.option.example or ("20,40,80" if kind is int else "25,50,100")
        raise InputError(
            f"{flag} {text}: not {numbers} with commas.", f"Write for example {flag} {example}."
        ) from error


def _mapping(field: OptionField, pairs: Sequence[str], kind: Any) -> dict[str, Any]:
    form, example = field.option.metavar or "KEY=VALUE", f"{field.flags[0]} {field.option.example}"
    texts = parse_map(pairs, example, form, blank=field.option.blank)
    if kind is not float:
        return dict(texts)
    numbers = {}
    for name, text in texts.items():
        try:
            numbers[name] = float(text)
        except ValueError as error:
            problem = f"{field.flags[0]} {name}={text}: '{text}' is not a number."
            raise InputError(problem, f"Write for example {example}.") from error
    return numbers


def parse_map(
    pairs: Sequence[str] | None,
    example: str = "--map rater=user_id",
    form: str = "OPTION=VALUE",
    *,
    blank: bool = False,
) -> dict[str, str]:
    """``["rater=user", "value=valence,arousal"]`` as a mapping."""
    options: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not name or not (equals if blank else value):
            raise InputError(f"'{pair}' is not of the form {form}.", f"Write for example {example}.")
        if name in options and not blank:
            raise InputError(f"The option '{name}' is given twice.", "Give it once; several columns go with commas.")
        options[name] = value
    return options
