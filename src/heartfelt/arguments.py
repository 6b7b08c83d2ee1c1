"""Public functions: what takes options objects inside heartfelt takes plain keywords outside.

:func:`keyword_function` makes ``analyze(source, *, seed=0, …)`` of ``analyze(source, options: AnalyzeOptions)``: signature,
docstring and checks come from the options class. Arguments that are no options are checked against their annotations. A missing
package is answered with the command that installs it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from textwrap import fill, indent
from types import NoneType
from typing import Any, get_args, get_origin

from heartfelt.extras import names_the_extra
from heartfelt.options import REQUIRED, OptionField, alternatives, build, choices_of, evaluated, fitting, offers

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_RESULTS = "\n\nReturns\n-------"
_PROGRESS = "progress : callable, optional\n    Called with what is being done, the steps done and the steps in all."
_PARAMETERS = "\n\nParameters\n----------\n"


Offered = Mapping[str, tuple[type, Mapping[str, OptionField]]]


def option_classes(function: Callable[..., Any]) -> Offered:
    """The parameters of a function that take options objects, with their classes and the options they offer."""
    parameters = inspect.signature(function).parameters.values()
    pairs = {parameter.name: offers(evaluated(parameter.annotation, function.__module__)) for parameter in parameters}
    return {name: pair for name, pair in pairs.items() if pair is not None}


def keyword_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the options of its options objects as keywords."""
    classes = option_classes(function)
    inner = inspect.signature(function)
    signature = _signature(inner, classes)
    hints = {
        name: evaluated(parameter.annotation, function.__module__)
        for name, parameter in inner.parameters.items()
        if name not in classes
    }

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        arguments = {name: fitting(name, bound[name], hint) for name, hint in hints.items() if name in bound}
        for name, (kind, options) in classes.items():
            arguments[name] = build(kind, {key: bound[key] for key in options if key in bound})
        return function(**arguments)

    call.__signature__ = signature  # type: ignore[attr-defined]  # what inspect and IPython read
    call.__doc__ = _docstring(function, classes)
    return names_the_extra(call)


def _signature(inner: inspect.Signature, classes: Offered) -> inspect.Signature:
    """The parameters of the function, with options in the place of options objects."""
    fixed = [parameter for name, parameter in inner.parameters.items() if name not in classes]
    options: dict[str, OptionField] = {}
    for _, offered in classes.values():
        options |= {name: field for name, field in offered.items() if name not in options}
    parameters = [parameter for parameter in fixed if parameter.kind is _POSITIONAL]
    parameters += [_parameter(field) for field in options.values() if field.option.positional]
    parameters += [_parameter(field) for field in options.values() if not field.option.positional]
    parameters += [parameter for parameter in fixed if parameter.kind is _KEYWORD]
    return inner.replace(parameters=parameters)


def _parameter(field: OptionField) -> inspect.Parameter:
    kind = _POSITIONAL if field.option.positional else _KEYWORD
    default = inspect.Parameter.empty if field.default is REQUIRED else field.default
    return inspect.Parameter(field.name, kind, default=default, annotation=python_type(field))


def python_type(field: OptionField) -> str:
    """The type of an option as a function takes it, for a signature: any sequence for a tuple, a text for a path."""
    if field.option.parse is not None:
        first, *_ = inspect.signature(field.option.parse).parameters.values()
        optional = " | None" if NoneType in alternatives(field.type) and "None" not in first.annotation else ""
        return f"{first.annotation}{optional}"
    return _accepted(_written(field))


def _written(field: OptionField) -> str:
    """The type as its class spells it; that of a shared ``Annotated`` alias, and a choice, as they are evaluated."""
    tree = ast.parse(field.annotation, mode="eval").body
    if not choices_of(field.type) and isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Tuple):
        return ast.unparse(tree.slice.elts[0])
    kinds = (
        getattr(kind, "__name__", "") if get_origin(kind) is None else str(kind) for kind in alternatives(field.type)
    )
    text = " | ".join(kinds).replace("NoneType", "None")
    return text.replace("collections.abc.", "").replace("typing.", "")


def _accepted(text: str) -> str:
    """What a function takes for a type: any sequence for a tuple, and a text for a path."""
    text = re.sub(r"tuple\[(\w+), \.\.\.\]", r"Sequence[\1]", text)
    text = re.sub(r"\bPath\b", "Path | str", text)
    return re.sub(r"\bstr \| (.*\b)?Path \| str\b", r"str | \1Path", text).replace("str | Path | str", "Path | str")


def _docstring(function: Callable[..., Any], classes: Offered) -> str:
    """The function's docstring with an entry for every option."""
    text = inspect.getdoc(function) or ""
    entries = [_entry(field) for _, options in classes.values() for field in options.values()]
    if "progress" in inspect.signature(function).parameters:
        entries.append(_PROGRESS)
    if not entries:
        return text
    head, results, tail = text.partition(_RESULTS)
    head += "" if _PARAMETERS in head else _PARAMETERS.rstrip("\n")
    listed = "\n".join(dict.fromkeys(entries))
    return f"{head}\n{listed}{results}{tail}"


def _entry(field: OptionField) -> str:
    return f"{field.name} : {described_type(field)}\n{indent(fill(field.option.help, 116), '    ')}"


def described_type(field: OptionField) -> str:
    """The type of an option in words, for a docstring."""
    kinds = [kind for kind in alternatives(field.type) if kind is not NoneType]
    words = " or ".join(dict.fromkeys(_words(kind) for kind in kinds))
    if choices := choices_of(field.type):
        words = "{" + ", ".join(repr(text) for text in choices) + "}"
    return f"{words}, optional" if field.default is None else words


def _words(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return f"sequence of {_words(arguments[0])}"
    if origin is not None and len(arguments) == 2:
        return f"mapping of {_words(arguments[0])} to {_words(arguments[1])}"
    return "path" if getattr(kind, "__name__", "") == "Path" else getattr(kind, "__name__", str(kind))
