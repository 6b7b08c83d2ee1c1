"""Any Python function as a predictor: ``module:function``.

The function is called with what its parameters name. With ``case`` or ``asks``, or with parameters that belong to the
stimulus only (``path``, ``content``, ``stimulus``, ``system``, ``intent``, ``prompt``, ``facts``), it is called once a
stimulus; with one that belongs to the question (``ask``, ``question``, ``text``, ``words``, ``scale``) once a question. It
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
from typing import Any, ClassVar

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor

OF_STIMULUS = ("case", "asks", "path", "content", "stimulus", "system", "intent", "prompt", "facts")
OF_QUESTION = ("ask", "question", "text", "words", "scale")
_FIELDS = frozenset(one.name for one in fields(Prediction) if one.name not in {"again", "call"})


class Call(Predictor):
    """A function of one's own."""

    name: ClassVar[str] = "call"
    about: ClassVar[str] = "any Python function"
    argument: ClassVar[str] = "module:function"
    options: ClassVar[Mapping[str, str]] = {
        "at_once": "how many calls may run at the same time, in threads; 1 if left out"
    }
    lasting = False

    def __init__(self, place: str, at_once: int = 1) -> None:
        self._place = place
        self.at_once = at_once
        self._function: Callable[..., Any] | None = None
        self._names = _parameters(self.function, place)
        self.needs_media = bool({"path", "content"} & set(self._names))

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Call:
        """From ``module:function``; the working folder is looked in too."""
        given = (options or {}).get("at_once", "1")
        if not given.isdecimal() or int(given) < 1:
            raise InputError(f"'{given}' calls at once cannot be.", "Give a whole number from 1.")
        return cls(argument, int(given))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_function": None}

    @property
    def function(self) -> Callable[..., Any]:
        """The function, found again in every process."""
        if self._function is None:
            self._function = _found(self._place)
        return self._function

    @property
    def identity(self) -> str:
        """The function's place and its source, where that can be had."""
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            source = ""
        return f"call {self._place} {hashlib.sha256(source.encode()).hexdigest()[:16]}"

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """Call the function for every case, or for every question of it."""
        by_question = any(name in OF_QUESTION for name in self._names)
        out = []
        for case in cases:
            if by_question:
                out.append([_read(self._called(case, ask)) for ask in case.asks])
            else:
                out.append(_spread(self._called(case, None), case))
        return out

    def _called(self, case: Case, ask: Ask | None) -> Any:
        given: dict[str, Any] = {}
        for name in self._names:
            if name == "case":
                given[name] = case
            elif name == "ask":
                given[name] = ask
            elif name == "path":
                given[name] = case.media.path if case.media else None
            elif name == "content":
                given[name] = case.media.content if case.media else None
            else:
                given[name] = getattr(ask if name in OF_QUESTION else case, name)
        return self.function(**given)

    @classmethod
    def example(cls, folder: Path) -> str:
        """A module with a function that says 1 to everything."""
        name = f"heartfelt_example_{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
        (folder / f"{name}.py").write_text("def one(question):\n    return 1\n", encoding="utf-8")
        sys.path.insert(0, str(folder))
        return f"{name}:one"


def _found(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f"'{place}' names no function.", "Write module:function, such as my_model:predict.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        home = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InputError(
                f"The module '{module}' needs '{error.name}', which is not installed.",
                "Install it, and try again.",
            ) from error
        raise UnknownNameError(
            f"There is no module '{module}'.", "Give a module that can be imported from the working folder."
        ) from error
    except Exception as error:  # somebody else's module may raise anything while it loads
        raise InputError(
            f"The module '{module}' does not load: {type(error).__name__}: {error}.",
            "Correct it, and try again.",
        ) from error
    found = getattr(home, name, None)
    if not callable(found):
        known = [one for one, thing in vars(home).items() if callable(thing) and not one.startswith("_")]
        raise UnknownNameError(
            f"The module '{module}' has no function '{name}'.", suggestion(name, known, "Its functions")
        )
    made: Callable[..., Any] = found
    return made


def _parameters(function: Callable[..., Any], place: str) -> tuple[str, ...]:
    names = []
    for one in inspect.signature(function).parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or one.default is not one.empty:
            continue
        if one.name not in OF_STIMULUS + OF_QUESTION:
            raise InputError(
                f"The function {place} has a parameter '{one.name}', which nothing is known of.",
                suggestion(one.name, OF_STIMULUS + OF_QUESTION, "Parameters it may have"),
            )
        names.append(one.name)
    return tuple(names)


def _spread(said: Any, case: Case) -> list[Prediction]:
    """What was said of a whole case, by question."""
    questions = [ask.question for ask in case.asks]
    if isinstance(said, Mapping) and not set(said) <= _FIELDS:
        strangers = sorted(str(name) for name in set(said) - set(questions))
        if strangers and not set(said) & set(questions):
            return [Prediction.failed(f"the function answered '{strangers[0]}', which was not asked")] * len(
                questions
            )
        missing = Prediction.failed("the function left this question out")
        return [_read(said[name]) if name in said else missing for name in questions]
    if isinstance(said, Sequence) and not isinstance(said, str | bytes):
        return [_read(one) for one in said]
    if len(questions) > 1:
        wrong = f"the function gave one answer to {len(questions)} questions"
        return [Prediction.failed(wrong)] * len(questions)
    return [_read(said)]


def _read(said: Any) -> Prediction:
    if isinstance(said, Prediction):
        return said
    if said is None:
        return Prediction.failed("the function gave no answer")
    if isinstance(said, str):
        return Prediction(answer=said)
    if isinstance(said, Mapping):
        strangers = sorted(str(name) for name in set(said) - _FIELDS)
        if strangers:
            return Prediction.failed(
                f"the function's answer has a part '{strangers[0]}', which a prediction has not"
            )
        return Prediction(**said)
    try:
        return Prediction(value=float(said))
    except (TypeError, ValueError):
        return Prediction.failed(f"the function gave {type(said).__name__}, which is no prediction")


PREDICTORS.add(Call.name, Call)
