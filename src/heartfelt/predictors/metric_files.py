"""Files with several metrics of each stimulus, such as VERSA's results: which columns are metrics, and which way they point.

A line is a JSON object, or the text of a Python dictionary as earlier versions of VERSA wrote it. Infinity and NaN are accepted:
they become the problem of their prediction. The files of several ranks or jobs in a folder are read as one. What is known of a
metric (whether lower is better, and the ends of its scale) is in ``metric_directions.csv``.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.columns import MISSING
from heartfelt.formats.json_files import numbered_lines
from heartfelt.formats.source_table import SYNONYMS, folded
from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.study.answer import read_number

LOWER = " (lower is better)"
"""What stands after the name of such a metric."""
LOWER_IS_BETTER = (
    "Lower is better of {}: a good one correlates negatively with ratings of quality. Of pairs, the lower is predicted to be "
    "chosen. The option negate=lower reverses their signs."
)
LINES = {".jsonl", ".ndjson"}
_WHOLE = {"shares", "members", "orders", "samples", "boxes"}
"""Columns whose cells are objects or lists."""
_ABOUT = {
    *(name for role, names in SYNONYMS.items() if role not in {"value", "question"} for name in names),
    *("question", "model", "set", "split", "index", "", "unnamed:_0", "column_1", "trial", "epoch"),
}
"""Names of columns that describe a stimulus and are no metric."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What is known of a metric by its name."""

    name: str
    lower_is_better: bool = False
    low: float | None = None
    high: float | None = None
    """The ends of its scale; None where it has none that questions could be compared with."""

    @classmethod
    def named(cls, name: str) -> Metric:
        """The metric of that name; one that is not in the table has no direction and no ends."""
        bare = name.removeprefix("universa_")
        for pattern, better, low, high in _known_metrics():
            if fnmatchcase(bare, pattern):
                return cls(name, better == "lower", low, high)
        return cls(name)

    def prediction(self, number: float, ask: Ask, *, negate: bool = False) -> Prediction:
        """A number as an answer: a value where metric and question have ends, else a score off the scale.

        Where a lower number is better, a question that compares stimuli gets it with its sign reversed.
        """
        if not math.isfinite(number):
            return Prediction.failed(f"the file's {self.name} is {number}")
        if negate or (ask.compared and self.lower_is_better):
            return Prediction(score=-number, note=f"{self.name} with its sign reversed: lower is better")
        bounds = None if ask.compared or ask.scale.labels() else ask.scale.bounds()
        if bounds is None or self.low is None or self.high is None:
            return Prediction(score=number, note="lower is better" if self.lower_is_better else None)
        value = bounds[0] + (number - self.low) / (self.high - self.low) * (bounds[1] - bounds[0])
        held = min(max(value, bounds[0]), bounds[1])
        notes = []
        if bounds != (self.low, self.high):
            notes.append(
                f"moved linearly from {self.low:g} to {self.high:g} onto {bounds[0]:g} to {bounds[1]:g}"
            )
        if held != value:
            notes.append(f"held at the end of the scale ({self.name} is {number:.3f})")
        return Prediction(value=held, note="; ".join(notes) or None)


@cache
def _known_metrics() -> tuple[tuple[str, str, float | None, float | None], ...]:
    text = (files(__package__) / "metric_directions.csv").read_bytes()
    table = pl.read_csv(text, schema_overrides={"low": pl.Float64, "high": pl.Float64})
    return tuple(table.iter_rows())


def is_lines(path: Path) -> bool:
    """Whether a file has an object on each line: by its ending, or because its text begins with an object."""
    if path.suffix.lower() in LINES:
        return True
    if path.suffix.lower() not in {".json", ".txt", ".log", ""} or not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(1 << 20).removeprefix(b"\xef\xbb\xbf").strip()
    whole = path.suffix.lower() != ".json" or first.endswith(b"}")  # else one object over several lines
    return first.startswith(b"{") and whole and len(first) > 2


def result_files(folder: Path) -> list[Path]:
    """The files of a folder that have an object on each line."""
    paths = [path for path in sorted(folder.iterdir()) if path.is_file() and is_lines(path)]
    if not paths:
        raise InputError(
            f"{folder} has no file of predictions with one object per line.",
            "Name a file, or the folder of VERSA's results (result.1.txt, result.2.txt …).",
        )
    return paths


def read_lines(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The objects of one or more files; what several files say of one stimulus (the same ``key``) becomes one row."""
    rows: list[dict[str, Any]] = []
    by_key: dict[str, dict[str, Any]] = {}
    for path in paths:
        lines = list(numbered_lines(path))
        for number, line in lines:
            row = _flat(_record(line, f"{path}, line {number}", last=number == lines[-1][0]))
            key = row.get("key")
            before = by_key.setdefault(str(key), row) if len(paths) > 1 and key is not None else row
            if before is row:
                rows.append(row)
                continue
            differing = next((n for n in row if n in before and not _same(row[n], before[n])), None)
            if differing is not None:
                raise InputError(
                    f"{path}, line {number}: '{key}' has another {differing} in an earlier file.",
                    "Keep the results of one run in a folder.",
                )
            before.update(row)
    return rows


def _same(earlier: Any, later: Any) -> bool:
    return bool(earlier == later) or str(earlier) == str(later)


def _record(line: str, where: str, *, last: bool) -> dict[str, Any]:
    try:
        return _parsed(line, where, last=last)
    except _RepeatedNameError as error:
        raise InputError(
            f"{where}: the name '{error}' is there twice.", "Give each value a name of its own."
        ) from error


class _RepeatedNameError(Exception):
    """An object has two values of one name."""


def _parsed(line: str, where: str, *, last: bool) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        record = _python_dict(line)
        if record is None:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            cut = " It is the last line: the file seems to be cut off." if last else ""
            raise InputError(
                f"{where}: this is not valid JSON ({reason}).{cut}",
                "Get a complete copy of the file." if last else "Write one complete object on each line.",
            ) from error
    if not isinstance(record, dict):
        raise InputError(
            f"{where}: this is no object.", "Write one object per line, with a name for each value."
        )
    return record


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in pairs:
        if name in record:
            raise _RepeatedNameError(name)
        record[name] = value
    return record


def _python_dict(line: str) -> dict[str, Any] | None:
    """The dictionary that a line of Python text holds; nothing in it is run. None where it holds no dictionary."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # about text that is no dictionary after all
            tree = ast.parse(line.strip(), mode="eval").body
        return _literal(tree, line) if isinstance(tree, ast.Dict) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _literal(node: ast.expr, line: str) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _literal(operand, line)
            return -number if isinstance(number, int | float) else None
        case ast.Name(id="nan" | "inf" as name):
            return float(name)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_literal(part, line) for part in parts]
        case ast.Dict(keys=keys, values=values):
            names = [str(_literal(key, line)) for key in keys if key is not None]
            return _distinct(zip(names, [_literal(value, line) for value in values], strict=True))
        case ast.Call(args=[only], keywords=_):
            return _literal(only, line)  # np.float64(3.2), tensor(3.2), array([1, 2])
    return ast.get_source_segment(line, node)


def _flat(record: Mapping[str, Any], within: str = "", depth: int = 5) -> dict[str, Any]:
    """The record with the parts of objects as ``name.part``, down to some depth."""
    out: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and name not in _WHOLE and value and depth:
            out |= _flat(value, f"{within}{name}.", depth - 1)
        else:
            out[f"{within}{name}"] = value
    return out


def metrics_in(
    rows: Sequence[Mapping[str, Any]], header: Sequence[str], without: Iterable[str]
) -> tuple[list[str], dict[str, str]]:
    """The columns that hold numbers, and of the others why they are no metric. ``without`` are columns with another role."""
    taken, metrics, others = set(without), [], dict[str, str]()
    for name in header:
        if name in taken or folded(name) in _ABOUT:
            continue
        cells = [row.get(name) for row in rows]
        filled = [c for c in cells if c is not None and str(c).strip() not in MISSING]
        numbers = sum(as_number(cell) is not None for cell in filled)
        if filled and 2 * numbers > len(filled):
            metrics.append(name)
        elif not filled and any(isinstance(cell, float) for cell in cells):
            others[name] = "has no number"
        else:
            lists = any(isinstance(cell, list | dict) for cell in filled)
            others[name] = "holds lists" if lists else "holds text" if filled else "is empty"
    return metrics, others


def as_number(cell: object) -> float | None:
    """A cell as a number, infinity included; None where it is not one, or empty. True and false are no numbers."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    return read_number(cell) if not isinstance(cell, float) else None if math.isnan(cell) else cell


def named_metrics(wanted: str, metrics: Sequence[str], path: Path) -> list[str]:
    """The metrics of ``utmos+pesq``, in the order named."""
    names = [name.strip() for name in wanted.split("+") if name.strip()]
    for name in names:
        if name not in metrics:
            raise InputError(f"{path} has no metric '{name}'.", suggestion(name, metrics, "Metrics"))
    return list(dict.fromkeys(names))
