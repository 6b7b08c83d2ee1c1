"""Predictors by text: ``NAME``, ``NAME:ARG``, ``NAME[option=value,…]:ARG``, or ``module:function`` for a function of your own.

``LABEL=`` before any of them is the name its predictions carry in tables and figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.extras import require_extra
from heartfelt.predictors.interface.predictor import PREDICTORS, Predictor

_SPEC = re.compile(r"(?P<name>[^:\[\]]+)(?:\[(?P<options>[^\]]*)\])?(?::(?P<argument>.*))?", re.DOTALL)
_OPTIONS_LAST = re.compile(r"(?P<argument>.+)\[(?P<options>\s*[A-Za-z_]\w*\s*=[^\[\]]*)\]", re.DOTALL)
_LABEL = re.compile(r"(?P<label>[^:\[\]=]+)=(?P<spec>.+)", re.DOTALL)
_FILE = re.compile(
    r"(?P<argument>[^\[\]]+\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|pq|eval)(?:\.(?:gz|bz2|xz|zst|zip))?)(?:\[(?P<options>[^\]]*)\])?",
    re.IGNORECASE,
)
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


PredictorLike: TypeAlias = str | Path | Predictor | Callable[..., Any]
"""A predictor by its text or by the folder of a trained model, a predictor, or a Python function."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A predictor as it is requested."""

    name: str
    argument: str = ""
    label: str = ""
    """The name its predictions are to carry."""
    options: Mapping[str, str] = field(default_factory=dict)


def parse_spec(text: str) -> Spec:
    """Read ``NAME[option=value,…]:ARG``; what is no known name is a trained model's folder, or ``module:function``.

    The path of a file of predictions may stand for ``file:PATH``. Options may also come last: ``versa.jsonl[metrics=utmos]``.
    """
    label, spec = _labelled(text.strip())
    spec = _file_named(spec) or spec
    parts = _SPEC.fullmatch(spec)
    if parts is None:
        raise InputError(f"'{text}' does not name a predictor.", "Write NAME, NAME:ARG or module:function.")
    written = parts.groupdict("")
    name, argument = written["name"].strip(), written["argument"].strip()
    if name not in PREDICTORS and (implied := _implied_kind(name, spec)):
        return Spec(implied, spec, label)
    listed = written["options"].split(",")
    last = _OPTIONS_LAST.fullmatch(argument)
    if last is not None and not Path(argument).exists():
        argument = last["argument"].strip()
        listed += last["options"].split(",")
    return Spec(name, argument, label, _options_in([part for part in listed if part.strip()], text))


def _implied_kind(name: str, spec: str) -> str:
    """The predictor that a text without a predictor's name stands for; empty if it is none."""
    if Path(spec).is_dir():
        return "trained"
    if _FUNCTION.fullmatch(spec):
        return "call"
    if "/" in name or "\\" in name:
        raise InputError(
            f"There is no folder or file '{spec}'.",
            "Give the folder of a trained model, a file of predictions, or a predictor's name.",
        )
    return ""


def _options_in(listed: Iterable[str], text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in listed:
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"'{part}' in '{text}' is not an option.", "Write options as name[option=value]:ARG.")
        options[key.strip()] = value.strip()
    return options


def _file_named(spec: str) -> str | None:
    """``file[options]:PATH`` for the path of a file with a usual ending; None for anything else."""
    parts = _FILE.fullmatch(spec)
    if parts is None or re.split(r"[:\[]", spec, maxsplit=1)[0].strip() in PREDICTORS:
        return None
    options = f"[{parts['options']}]" if parts["options"] else ""
    return f"file{options}:{parts['argument'].strip()}"


def _labelled(text: str) -> tuple[str, str]:
    """The label and the rest of ``LABEL=NAME:ARG``; no label where ``=`` is inside options or an argument."""
    parts = _LABEL.fullmatch(text)
    return (parts["label"].strip(), parts["spec"].strip()) if parts else ("", text)


def predictor_from(spec: PredictorLike, options: Mapping[str, str] | None = None) -> Predictor:
    """Make the predictor a text requests; ``options`` take precedence over those in the text.

    A Python function becomes a predictor too, and a predictor is returned as it is.
    """
    if isinstance(spec, Predictor):
        spec.spec = spec.spec or spec.name
        return spec
    if isinstance(spec, Path):
        spec = f"trained:{spec}"
    if not isinstance(spec, str):
        return _from_object(spec, options)
    parsed = parse_spec(spec)
    kind = PREDICTORS[parsed.name]
    merged = {**parsed.options, **(options or {})}
    _check_request(kind, parsed, merged)
    unlabelled = _labelled(spec.strip())[1]
    unlabelled = _file_named(unlabelled) or unlabelled
    try:
        predictor = kind.kind_for(parsed.argument).make(parsed.argument, merged)
    except UnknownNameError as error:
        if unlabelled.startswith("call") or not error.problem.startswith("No module"):
            raise
        return _explained(spec.partition(":")[0], error)
    predictor.spec, predictor.label = unlabelled, parsed.label
    return predictor


def _explained(name: str, error: UnknownNameError) -> Predictor:
    """Asked for by itself, a name may say why it cannot be had; else the error is that no predictor and no module has it."""
    if PREDICTORS.explains(name):
        return predictor_from(name)
    names = suggestion(name, PREDICTORS, "Known predictors")
    raise UnknownNameError(
        f"No predictor is called '{name}', and n{error.problem[1:]}",
        f"For a function: {error.fix} For a predictor: {names}",
    ) from error


def _check_request(kind: type[Predictor], parsed: Spec, options: Mapping[str, str]) -> None:
    """Raise where the extra, an option or the argument of a request does not fit the predictor."""
    if kind.extra:
        require_extra(kind.extra)
    for option in options:
        if option not in kind.options:
            raise InputError(
                f"The predictor '{kind.name}' has no option '{option}'.", suggestion(option, kind.options, "Options")
            )
    if parsed.argument and not kind.argument:
        raise InputError(
            f"The predictor '{parsed.name}' takes no argument, but was given '{parsed.argument}'.",
            f"Ask for '{parsed.name}'.",
        )


def _from_object(candidate: object, options: Mapping[str, str] | None) -> Predictor:
    if isinstance(candidate, type) and issubclass(candidate, Predictor):
        return predictor_from(candidate.make("", options))
    if not callable(candidate):
        raise InputError(
            f"{shortened_repr(candidate)} is not a predictor.",
            "Give a name such as 'intent' (NAME or NAME:ARG), a Python function, or a Predictor.",
        )
    from heartfelt.predictors.interface.function import Function

    return Function.of(candidate, options or {})


def shortened_repr(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def check_extras(specs: Iterable[str]) -> None:
    """Raise, with the command that installs it, where a predictor needs an extra that is not there; nothing is loaded."""
    for spec in specs:
        kind = PREDICTORS[parse_spec(spec).name]
        if kind.extra:
            require_extra(kind.extra)


def number_option(
    options: Mapping[str, str], name: str, usual: float, low: float, high: float = math.inf, *, above: bool = False
) -> float:
    """A number given as an option, from ``low`` to ``high``; with ``above`` it must be larger than ``low``."""
    text = options.get(name, str(usual))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and low <= value <= high) or (above and value == low):
        least = f"above {low:g}" if above else f"from {low:g}"
        most = "" if high == math.inf else f" to {high:g}"
        raise InputError(f"'{text}' is not a valid {name}.", f"Give a number {least}{most}.")
    return value
