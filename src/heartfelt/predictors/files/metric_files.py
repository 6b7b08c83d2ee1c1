"""Files with several metrics of each stimulus, such as VERSA's results: which columns are metrics, and which way they point.

A line is a JSON object, or the text of a Python dictionary as earlier versions of VERSA wrote it. Infinity and NaN are accepted:
they become the problem of their prediction. The files of several ranks or jobs in a folder are read as one. What is known of a
metric (whether lower is better, and the ends of its scale) is in ``metric_directions.csv``.
"""

from __future__ import annotations

import ast
import json
import math
import re
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
from heartfelt.formats.tables.columns import MISSING
from heartfelt.formats.tables.json_files import RepeatedNameError, distinct_names, numbered_lines
from heartfelt.formats.tables.source_table import SYNONYMS, folded
from heartfelt.predictors.answers.scales import moved_linearly
from heartfelt.predictors.files.inspect_logs import is_log
from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.study.scales.answer import read_number
from heartfelt.wording import listed

LOWER = " (lower is better)"
"""What stands after the name of such a metric."""
LOWER_IS_BETTER = (
    "Lower is better of {}: a good one correlates negatively with ratings of quality. Of pairs, the lower is predicted to be "
    "chosen. The option negate=lower reverses their signs."
)
LINES = {".jsonl", ".ndjson", ".jl"}
_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zX", b"\x28\xb5\x2f\xfd")
"""What compressed files begin with."""
STIMULUS = (*SYNONYMS["stimulus"], *SYNONYMS["path"])
"""Usual names of the column of stimuli."""
_SEVERAL = (*SYNONYMS["question"], "model", "epoch", "set", "first", "second", "time", "sample")
"""Columns that tell apart rows about one stimulus."""
_KEPT_AS_OBJECTS = {"shares", "members", "orders", "samples", "boxes"}
"""Columns whose cells are objects or lists."""
_ABOUT = {
    *(name for role, names in SYNONYMS.items() if role not in {"value", "question"} for name in names),
    *("question", "model", "set", "split", "index", "", "unnamed:_0", "column_1", "trial", "epoch"),
}
"""Names of columns that describe a stimulus and are no metric."""
_OF_THE_RUN = (
    *("status", "provenance", "metadata", "model_id", "model_revision", "protocol_id", "protocol_version"),
    *("protocol_digest", "bank_schema_version", "prompt_mode", "seed", "candidate_order"),
)
"""What VERSA's rows say of how they were made (its ``result_summary.py``); as do names that begin with an underscore."""
_TEXT = re.compile(r"(?:^|.*[_. ])(?:texts?|hyp|hypothes[ie]s|transcripts?|transcriptions?|captions?)", re.IGNORECASE)
"""Names of columns of text, whose cells may look like numbers ("7") where somebody said a number."""


@dataclass(frozen=True, slots=True)
class ColumnMetric:
    """What is known of a metric by its name."""

    name: str
    lower_is_better: bool = False
    low: float | None = None
    high: float | None = None
    """The ends of its scale; None where it has none that questions could be compared with."""

    @classmethod
    def named(cls, name: str) -> ColumnMetric:
        """The metric of that name; one that is not in the table has no direction and no ends."""
        bare = (
            name.strip().casefold().removeprefix("universa_").removeprefix("arecho_")
        )  # networks that predict other metrics
        for pattern, better, low, high in _known_metrics():
            if fnmatchcase(bare, pattern.casefold()):
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
        return moved_linearly(number, (self.low, self.high), bounds, f"{self.name} is")


@cache
def _known_metrics() -> tuple[tuple[str, str, float | None, float | None], ...]:
    text = (files(__package__) / "metric_directions.csv").read_bytes()
    table = pl.read_csv(text, schema_overrides={"low": pl.Float64, "high": pl.Float64})
    return tuple(table.iter_rows())


def is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6).startswith(_COMPRESSED)


def is_lines(path: Path) -> bool:
    """Whether a file has an object on each line: by its ending, or because its text begins with an object."""
    if path.suffix.lower() in LINES:
        return True
    if path.suffix.lower() not in {".json", ".txt", ".log", ""} or not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(1 << 20).removeprefix(b"\xef\xbb\xbf").strip()
    one_per_line = path.suffix.lower() != ".json" or first.endswith(b"}")  # else one object over several lines
    return first.startswith(b"{") and one_per_line and len(first) > 2


def result_files(folder: Path) -> tuple[list[Path], dict[str, str]]:
    """The files below a folder that have an object on each line, and of all others why they are not read."""
    paths, unused = [], dict[str, str]()
    for path in sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()):
        name = path.relative_to(folder)
        reason = _why_not_read(path, hidden=any(part.startswith(".") for part in name.parts))
        if reason is None:
            paths.append(path)
        else:
            unused[name.as_posix()] = reason
    if not paths:
        contents = listed([f"'{name}' {reason}" for name, reason in unused.items()], 3) if unused else "it is empty"
        raise InputError(
            f"{folder} has no file of predictions with one object per line: {contents}.",
            "Name a file, or the folder of VERSA's results (result.1.txt, result.2.txt …).",
        )
    return paths, unused


def _why_not_read(path: Path, *, hidden: bool) -> str | None:
    """Why a file in a folder of results is not read; None for one with an object on each line."""
    if hidden:
        return "is hidden"
    if not path.is_file():
        return "is a link to a folder" if path.is_dir() else "is no file"
    if is_log(path):
        return "is a log of inspect_ai"
    if path.suffix.lower() == ".log":  # VERSA's begin with its settings, as Python text
        return "is a log"
    try:
        if is_compressed(path):
            return "is compressed"
        with path.open("rb") as file:
            is_blank = not any(map(bytes.strip, file))
    except OSError:
        return "cannot be read"
    if is_blank:
        return "is empty"
    return None if is_lines(path) else "does not have one object per line"


def read_lines(paths: Sequence[Path]) -> list[dict[str, object]]:
    """The objects of one or more files; what several files say of one stimulus becomes one row."""
    rows: list[dict[str, object]] = []
    by_key: dict[tuple[str, ...], dict[str, object]] = {}
    for path in paths:
        lines = list(numbered_lines(path))
        added: dict[tuple[str, ...], dict[str, object]] = {}
        for number, line in lines:
            row = _record(line, f"{path}, line {number}", last=number == lines[-1][0])
            key = _identity(row)
            before = by_key.get(key)
            if before is None:
                rows.append(row)
                if key:
                    added.setdefault(key, row)
                continue
            differing = next((n for n in row if n in before and not _same(row[n], before[n])), None)
            if differing is not None:
                raise InputError(
                    f"{path}, line {number}: '{key[0]}' has another {differing} in an earlier file.",
                    "Keep the results of one run in a folder.",
                )
            before.update(row)
        by_key |= added
    return rows


def _identity(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The stimulus of a row, with the question and the model if it names them; empty where no stimulus is named."""
    by_name = {folded(name): cell for name, cell in row.items() if cell is not None}
    stimulus = next((by_name[name] for name in STIMULUS if name in by_name), None)
    if stimulus is None:
        return ()
    return tuple(str(cell) for cell in (stimulus, *(by_name.get(name, "") for name in _SEVERAL)))


def _same(earlier: Any, later: Any) -> bool:
    return bool(earlier == later) or str(earlier) == str(later)


def _record(line: str, where: str, *, last: bool) -> dict[str, object]:
    try:
        return _flat(_parsed(line, where, last=last))
    except RepeatedNameError as error:
        raise InputError(
            f"{where}: the name '{error}' is there twice.", "Give each value a name of its own."
        ) from error


def _parsed(line: str, where: str, *, last: bool) -> dict[str, object]:
    try:
        record = json.loads(line, object_pairs_hook=distinct_names)
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
        raise InputError(f"{where}: this is no object.", "Write one object per line, with a name for each value.")
    return record


def _python_dict(line: str) -> dict[str, object] | None:
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
        case ast.Name(id="nan" | "inf" | "NaN" | "Infinity" as name):
            return float(name)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return _literals(parts, line)
        case ast.Dict(keys=keys, values=values):
            names = map(str, _literals(filter(None, keys), line))
            return distinct_names(zip(names, _literals(values, line), strict=True))
        case ast.Call(args=[only], keywords=_):
            return _literal(only, line)  # np.float64(3.2), tensor(3.2), array([1, 2])
    return ast.get_source_segment(line, node)


def _literals(nodes: Iterable[ast.expr], line: str) -> list[Any]:
    return [_literal(node, line) for node in nodes]


def _flat(record: Mapping[str, Any], within: str = "", depth: int = 5) -> dict[str, object]:
    """The record with the parts of objects as ``name.part``, down to some depth."""
    out: dict[str, object] = {}
    for name, value in record.items():
        if isinstance(value, dict) and name not in _KEPT_AS_OBJECTS and value and depth:
            parts = _flat(value, f"{within}{name}.", depth - 1)
        else:
            parts = {f"{within}{name}": value}
        for part in parts:
            if part in out:
                raise RepeatedNameError(part)
        out |= parts
    return out


def metrics_in(
    rows: Sequence[Mapping[str, Any]], header: Sequence[str], without: Iterable[str], chosen: Iterable[str]
) -> tuple[list[str], dict[str, str]]:
    """The columns that hold numbers, and of the others why they are no metric. ``without`` are columns with another role.

    Text that looks like a number is one only in tables without types, such as CSV, and in columns that are not called like
    text or that were ``chosen``.
    """
    excluded, requested, metrics, unused = set(without), set(chosen), [], dict[str, str]()
    typed = any(_is_typed_number(cell) for row in rows for cell in row.values())
    for name in header:
        if name in excluded or folded(name) in _ABOUT:
            continue
        reason = _why_no_metric([row.get(name) for row in rows], name, typed=typed, requested=name in requested)
        if reason is None:
            metrics.append(name)
        else:
            unused[name] = reason
    return metrics, unused


def _why_no_metric(cells: Sequence[object], name: str, *, typed: bool, requested: bool) -> str | None:
    """Why a column is no metric; None for one that is. ``typed``: whether the file tells numbers from text."""
    if not requested and _is_of_the_run(name):
        return "says how the results were made"
    filled = [cell for cell in cells if not is_empty(cell)]
    if not filled:
        return "has no number" if any(isinstance(cell, float) for cell in cells) else "is empty"
    numbers = sum(as_number(cell) is not None for cell in filled)
    return _why_text(filled, name, typed=typed, requested=requested) if 2 * numbers > len(filled) else _content(filled)


def _is_of_the_run(name: str) -> bool:
    return name.startswith("_") or name.split(".")[0] in _OF_THE_RUN


def is_empty(cell: object) -> bool:
    return cell is None or str(cell).strip() in MISSING


def _why_text(cells: Sequence[object], name: str, *, typed: bool, requested: bool) -> str | None:
    """Why cells that look like numbers are text; None where they are numbers, or wanted as such."""
    if requested or any(map(_is_typed_number, cells)):
        return None
    return "holds text that looks like numbers" if typed or _TEXT.fullmatch(name) else None


def _content(cells: Sequence[object]) -> str:
    """What a column holds that has few numbers."""
    if any(isinstance(cell, list | dict) for cell in cells):
        return "holds lists"
    return "holds true and false" if all(isinstance(cell, bool) for cell in cells) else "holds text"


def _is_typed_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def as_number(cell: object) -> float | None:
    """A cell as a number, infinity included; None where it is not one, or empty. True and false are no numbers."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    return read_number(cell) if not isinstance(cell, float) else None if math.isnan(cell) else cell


def named_metrics(wanted: str, metrics: Sequence[str], path: Path) -> list[str]:
    names = [name.strip() for name in wanted.split("+") if name.strip()]
    for name in names:
        if name not in metrics:
            raise InputError(f"{path} has no metric '{name}'.", suggestion(name, metrics, "Metrics"))
    return list(dict.fromkeys(names))
