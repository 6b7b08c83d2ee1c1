"""The instruments that come with heartfelt, those in a study's folder, and how a ``study.yaml`` uses them.

``- instrument: tipi`` in a questionnaire stands for a question per item. The questions, their scales and the definition
are written out before the study is validated, so that a stored study says by itself what was asked and how it is scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from heartfelt.errors import InputError, StudyError, UnknownNameError, suggestion
from heartfelt.files import inside, read_text
from heartfelt.study.consistency.pages import MOST_COLUMNS
from heartfelt.study.model import Place
from heartfelt.study.parts.instrument import FORMS, Instrument, InstrumentUse, question_id
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Categories, Ordered, Points, YesNo
from heartfelt.study.yaml_lines import Document, read_yaml

_SUFFIXES = (".yaml", ".yml")
_USE = "instrument"
M = TypeVar("M", bound=BaseModel)


def instrument_names() -> list[str]:
    """The instruments that come with heartfelt, in alphabetical order."""
    names = (path.name for path in files("heartfelt.study.instruments").iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


@cache
def shipped_instrument(name: str) -> Instrument:
    if name not in instrument_names():
        fix = suggestion(name, instrument_names(), "Instruments")
        raise UnknownNameError(
            f"No instrument called '{name}' comes with heartfelt.",
            f"{fix} Or name a YAML file in the study folder, such as instruments/{name}.yaml.",
        )
    text = files("heartfelt.study.instruments").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return parse_instrument(text, f"instrument {name}")


def parse_instrument(text: str, where: str) -> Instrument:
    return _validated(Instrument, read_yaml(text, where).data, where)


def _validated(model: type[M], data: Any, where: str) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise StudyError(
            f"{where}{f', {key}' if key else ''}: {problem}.", "docs/instruments.md describes an instrument's file."
        ) from error


def expanded(document: Document, where: str, folder: Path | None) -> Document:
    """The document of a ``study.yaml`` with every use of an instrument written out; line numbers stay those of the file."""
    paths = list(_questionnaires(document.data))
    if not any(_uses(entry) for list_path in paths for entry in _at(document.data, list_path)):
        return document
    uses = _Uses(document.data, folder)
    data, lines = document.data, document.lines
    for path in paths:
        entries: list[Any] = []
        origin: list[int] = []
        for number, entry in enumerate(_at(document.data, path)):
            position = f"{where}, line {document.line((*path, number))}"
            questions = uses.questions(entry, position) if _uses(entry) else [entry]
            entries += questions
            origin += [number] * len(questions)
        data = _with(data, path, entries)
        lines = _moved(lines, path, origin)
    return Document({**data, "scales": uses.scales, "instruments": uses.instruments}, lines)


def _questionnaires(data: Mapping[str, Any]) -> Iterator[Place]:
    """Where lists of questions about the rater stand."""
    for form in FORMS:
        if isinstance(data.get(form), list):
            yield (form,)
    between = data.get("between")
    for number, page in enumerate(between if isinstance(between, list) else ()):
        if isinstance(page, dict) and isinstance(page.get("questions"), list):
            yield "between", number, "questions"


def _uses(entry: Any) -> bool:
    return isinstance(entry, dict) and _USE in entry


def _at(data: Any, path: Place) -> Any:
    for part in path:
        data = data[part]
    return data


def _with(data: Any, path: Place, value: Any) -> Any:
    """A copy of plain data with another value at a place."""
    if not path:
        return value
    if isinstance(data, list):
        copy = list(data)
        copy[int(path[0])] = _with(data[int(path[0])], path[1:], value)
        return copy
    return {**data, path[0]: _with(data[path[0]], path[1:], value)}


def _moved(lines: Mapping[Place, int], path: Place, origin: list[int]) -> dict[Place, int]:
    """The lines after entries of the list at ``place`` were written out; ``origin`` is the entry each one came from."""
    depth = len(path)
    out = {key: line for key, line in lines.items() if key[:depth] != path or len(key) <= depth}
    of_entry: dict[Any, list[tuple[Place, int]]] = {}
    for key, line in lines.items():
        if key[:depth] == path and len(key) > depth:
            of_entry.setdefault(key[depth], []).append((key[depth + 1 :], line))
    for number, entry in enumerate(origin):
        for inner_path, line in of_entry.get(entry, ()):
            out[(*path, number, *inner_path)] = line
    return out


class _Uses:
    """The instruments of one study, as its uses are written out one after another."""

    def __init__(self, data: Mapping[str, Any], folder: Path | None) -> None:
        self._inline = dict(data.get("instruments") or {})
        self._folder = folder
        self._taken: set[str] = set()
        self._definitions: dict[str, object] = {}
        self.scales = dict(data.get("scales") or {})

    @property
    def instruments(self) -> dict[str, object]:
        """The definitions by the ids they are used under; those in the study itself that no use names stay."""
        remaining = {name: part for name, part in self._inline.items() if name not in self._taken}
        return remaining | self._definitions

    def questions(self, entry: object, where: str) -> list[dict[str, object]]:
        """The questions that a use stands for; its scales and its definition join those of the study."""
        use = _validated(InstrumentUse, entry, where)
        instrument = self._find(use.instrument, where)
        unknown = [name for name in use.subscales if name not in instrument.subscales]
        if unknown:
            raise StudyError(
                f"{where}: '{use.instrument}' has no subscale '{unknown[0]}'.",
                suggestion(unknown[0], instrument.subscales, "Subscales"),
            )
        if use.subscales:
            instrument = instrument.only(use.subscales)
        name = use.instrument if use.instrument in self._inline else instrument.id
        key = use.id or name.replace("-", "_")
        names = self._add(instrument, key, where)
        return [
            {
                "id": question_id(key, item.id),
                "text": {instrument.languages[0]: item.text} if isinstance(item.text, str) else item.text,
                "scale": names[instrument.scale_of(item)],
                **({} if use.required else {"required": False}),
                **_layout(instrument, key, number),
            }
            for number, item in enumerate(instrument.items)
        ]

    def _add(self, instrument: Instrument, key: str, where: str) -> dict[str, str]:
        """Add an instrument under a key; returns the names that its scales have in the study."""
        if key in self._definitions:
            raise StudyError(
                f"{where}: the instrument '{key}' is used twice.",
                "Give one of the two another 'id', such as mood_after.",
            )
        names = {name: f"{key}_{name}" for name in instrument.scales}
        if clashes := [name for name in names.values() if name in self.scales]:
            raise StudyError(
                f"{where}: a scale of the study is called '{clashes[0]}', as one of the instrument would be.",
                "Give the instrument another 'id', or the scale another name.",
            )
        self.scales |= {names[name]: _plain(scale) for name, scale in instrument.scales.items()}
        self._definitions[key] = _plain(instrument)
        return names

    def _find(self, name: str, where: str) -> Instrument:
        """The definition a use names: in the study itself, in a file of its folder, or one that comes with heartfelt."""
        if name in self._inline:
            self._taken.add(name)
            return _validated(Instrument, self._inline[name], f"{where}, instruments.{name}")
        if not name.endswith(_SUFFIXES):
            try:
                return shipped_instrument(name)
            except UnknownNameError as error:
                raise StudyError(f"{where}: {error.problem}", error.fix) from error
        if self._folder is None:
            raise StudyError(f"{where}: '{name}' is a file of a study folder.", "Read the study from its folder.")
        try:
            path = inside(self._folder, name, "the instrument")
        except InputError as error:
            raise StudyError(f"{where}: {error.problem}", error.fix) from error
        fix = "Put the instrument's YAML file into the study folder; docs/instruments.md says how to write one."
        return parse_instrument(read_text(path, fix, StudyError), str(path))


def _layout(instrument: Instrument, key: str, number: int) -> dict[str, object]:
    """Page and grid of an item: pages of equal length, with a grid for neighbours that share a scale with few columns."""
    scales, length = [instrument.scale_of(item) for item in instrument.items], instrument.per_page
    page, name = number // length, scales[number]
    out: dict[str, object] = {"page": f"{key} {page + 1}"}
    run = number
    while run % length and scales[run - 1] == name:
        run -= 1
    has_neighbour = run < number or scales[number + 1 : (page + 1) * length][:1] == [name]
    if has_neighbour and _fits_grid(instrument.scales[name]):
        out["grid"] = f"{key} {run + 1}"
    if instrument.instructions is not None and (run == number if "grid" in out else not number):
        out["help"] = instrument.instructions
    return out


def _fits_grid(scale: Scale) -> bool:
    columns = scale.points if isinstance(scale, Points) else len(scale.codes())
    return isinstance(scale, Points | Ordered | Categories | YesNo) and columns <= MOST_COLUMNS


def _plain(part: BaseModel) -> dict[str, object]:
    return part.model_dump(mode="json", exclude_defaults=True)
