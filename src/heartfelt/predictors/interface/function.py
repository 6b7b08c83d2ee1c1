"""Any Python function as a predictor: ``module:function``.

The function is called with what its parameters name. With ``case`` or ``asks``, or with parameters that belong to the
stimulus only (``path``, ``content``, ``stimulus``, ``system``, ``intent``, ``prompt``, ``facts``, ``repeat``), it is called once
per stimulus; with one that belongs to the question (``ask``, ``question``, ``text``, ``words``, ``scale``) once per question. It
returns a number (the value), a text (the category or caption), a :class:`Prediction`, or a dict of a prediction's fields; for a
whole stimulus also a dict by question or a list in the order of the questions. What it raises is the problem of that case.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, Predictor

OF_STIMULUS = ("case", "asks", "path", "content", "stimulus", "system", "intent", "prompt", "facts", "repeat")
OF_QUESTION = ("ask", "question", "text", "words", "scale")
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_FIELDS = frozenset(
    field.name
    for field in fields(Prediction)
    if field.name
    not in {"retry_after", "call", "second_call", "lost_calls", "errors", "boxes", "repeats", "spread", "agreement"}
)


@PREDICTORS.register("call")
class Function(Predictor):
    """A Python function."""

    name = "call"
    about = "any Python function"
    argument = "module:function"
    options: ClassVar[Mapping[str, str]] = {
        "at_once": "how many calls may run at the same time, in threads; by default 1"
    }
    cacheable = False

    def __init__(self, address: str, options: Mapping[str, str], function: Callable[..., Any] | None = None) -> None:
        at_once = options.get("at_once", "1")
        if not at_once.isdecimal() or int(at_once) < 1:
            raise InputError(f"at_once must be a whole number from 1, not '{at_once}'.", "Give a whole number from 1.")
        self._place = address
        self.at_once = int(at_once)
        self._given = function
        """The function itself, where it was not named as ``module:function``."""
        self._function = function
        self._names = _parameters(self.function, address)
        self.needs_media = bool({"path", "content"} & set(self._names))

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_function": self._given}

    @classmethod
    def of(cls, function: Callable[..., Any], options: Mapping[str, str]) -> Self:
        """The predictor of a function that is at hand; it is called by the function's name."""
        name = getattr(function, "__name__", None) or type(function).__name__
        predictor = cls(name, options, function)
        predictor.spec = name
        return predictor

    @property
    def function(self) -> Callable[..., Any]:
        if self._function is None:
            self._function = imported(self._place)
        return self._function

    @property
    def identity(self) -> str:
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            # Of a function that is at hand and has no source, nothing tells whether it is still the same.
            source = "" if self._given is None else repr(self._given)
        if self._given is not None:
            cells = getattr(self._given, "__closure__", None) or ()
            source += repr([_content(cell) for cell in cells])
            source += repr([getattr(self._given, name, None) for name in ("__defaults__", "__kwdefaults__")])
        return f"call {self._place} {hashlib.sha256(source.encode()).hexdigest()[:16]}"

    def file_asks(self) -> Sequence[Ask]:
        if any(name in OF_QUESTION for name in self._names):
            return ()
        return [Ask.number(self._place.rpartition(":")[2])]

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        if any(name in OF_QUESTION for name in self._names):
            return super().predict_case(case)
        return _by_question(self._called(case, None), case)

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        return _read(self._called(case, ask))

    def _called(self, case: Case, ask: Ask | None) -> Any:
        arguments: dict[str, object] = {"case": case, "ask": ask}
        for name in self._names:
            if name in ("path", "content"):
                arguments[name] = getattr(case.media, name) if case.media else None
            elif name not in arguments:
                arguments[name] = getattr(ask if name in OF_QUESTION else case, name)
        return self.function(**{name: arguments[name] for name in self._names})


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def imported(address: str) -> Callable[..., Any]:
    """The function or class at ``module:name``; the working folder is searched too."""
    module, _, name = address.partition(":")
    if not module or not name:
        raise InputError(f"'{address}' does not name a function.", "Write module:function, such as my_model:predict.")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        home = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InputError(
                f"The module '{module}' needs '{error.name}', which is not installed.", "Install it, and try again."
            ) from error
        raise UnknownNameError(
            f"No module is called '{module}'.", "Give a module that can be imported from the working folder."
        ) from error
    except Exception as error:  # somebody else's module may raise anything while it loads
        raise InputError(
            f"The module '{module}' does not load: {type(error).__name__}: {error}.", "Correct it, and try again."
        ) from error
    function = getattr(home, name, None)
    if not callable(function):
        functions = [name for name, member in vars(home).items() if callable(member) and not name.startswith("_")]
        raise UnknownNameError(
            f"The module '{module}' has no function '{name}'.", suggestion(name, functions, "Its functions")
        )
    return cast("Callable[..., Any]", function)


def _parameters(function: Callable[..., Any], address: str) -> tuple[str, ...]:
    names = []
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The parameters of {address} are not known.", "Give a Python function, such as one that calls it."
        ) from error
    for parameter in signature.parameters.values():
        if parameter.kind in _VARIADIC or parameter.default is not parameter.empty:
            continue
        if parameter.name not in OF_STIMULUS + OF_QUESTION:
            raise InputError(
                f"The function {address} has an unknown parameter '{parameter.name}'.",
                suggestion(parameter.name, OF_STIMULUS + OF_QUESTION, "Parameters it may have"),
            )
        names.append(parameter.name)
    return tuple(names)


def _by_question(result: Any, case: Case) -> list[Prediction]:
    questions = [ask.question for ask in case.asks]
    if isinstance(result, Mapping) and not set(result) <= _FIELDS:
        unknown = sorted(str(name) for name in set(result) - set(questions))
        if unknown and not set(result) & set(questions):
            problem = f"the function answered '{unknown[0]}', which was not asked"
            return [Prediction.failed(problem)] * len(questions)
        missing = Prediction.failed("the function left this question out")
        return [_read(result[name]) if name in result else missing for name in questions]
    if isinstance(result, Sequence) and not isinstance(result, str | bytes):
        return [_read(answer) for answer in result]
    if len(questions) > 1:
        wrong = f"the function gave one answer to {len(questions)} questions"
        return [Prediction.failed(wrong)] * len(questions)
    return [_read(result)]


def _read(result: Any) -> Prediction:
    if isinstance(result, Prediction):
        return result
    if result is None:
        return Prediction.failed("the function gave no answer")
    if isinstance(result, str):
        return Prediction(answer=result)
    if isinstance(result, Mapping):
        unknown = sorted(str(name) for name in set(result) - _FIELDS)
        if unknown:
            return Prediction.failed(f"the function's answer has an unknown part '{unknown[0]}'")
        return Prediction(**result)
    try:
        return Prediction(value=float(result))
    except OverflowError:
        return Prediction.failed("the function's number is out of range")
    except (TypeError, ValueError):
        return Prediction.failed(f"the function gave {type(result).__name__}, which is not a prediction")
