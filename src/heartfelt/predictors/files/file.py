"""Predictions that were made elsewhere, from a CSV, TSV, JSON Lines or Parquet file.

Files with several metrics, such as VERSA's results, are several models (:mod:`heartfelt.predictors.files.metric_files`); logs of
inspect_ai are read too (:mod:`heartfelt.predictors.files.inspect_logs`).

Long: a row for every item, with the stimulus, the question (needed where more than one is asked) and ``value``, ``score``,
``answer`` or ``shares``. Wide: a row for every stimulus, with a column for every question. MusicEval's answer file
(``wavid,overall,textual`` without a header), EmoLia's ``predictions.csv`` and heartfelt's own are known. A stimulus may be named
without its extension or its folder, where that is unambiguous. Pairs and traces have rows of their own
(:mod:`heartfelt.predictors.files.sets`). Items the file does not hold are predictions with a problem;
rows that belong to no stimulus are in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.format import FORMATS
from heartfelt.formats.tables.source_table import SYNONYMS, folded
from heartfelt.predictors.answers.texts import StimulusNames
from heartfelt.predictors.files.inspect_answers import log_entries, together
from heartfelt.predictors.files.inspect_logs import is_log
from heartfelt.predictors.files.metric_files import (
    LOWER,
    STIMULUS,
    ColumnMetric,
    as_number,
    is_empty,
    metrics_in,
    named_metrics,
)
from heartfelt.predictors.files.rows import no_predictions, number_in, read_predictions, row_prediction
from heartfelt.predictors.files.sets import OF_SETS, UNUSED, is_about_sets, is_about_traces, set_entries, trace_entries
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.study.scales.scale import YesNo
from heartfelt.tables import LEDGER

Row: TypeAlias = Mapping[str, Any]
"""The parts of a prediction as the file holds them."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "stimulus": STIMULUS,
    "question": SYNONYMS["question"],
    "value": ("value", "prediction", "predicted", "pred", "rating"),
    "score": ("score", "similarity", "logit", "probability", "confidence"),
    "answer": ("answer", "category", "label", "caption", "text"),
}
_PREDICTION_COLUMNS = {*(field.name for field in fields(Prediction)), *OF_SETS, "seconds", "attempts", "ok", "error"}
"""Columns of predictions as heartfelt writes them."""
_FURTHER = ("shares", "low", "high", "reason", "note", "against", "ok", "problem", "error")


@PREDICTORS.register("file")
class File(Predictor):
    """Predictions from a file."""

    name = "file"
    about = "predictions from a CSV, JSON Lines or Parquet file, VERSA's results or a log of inspect_ai"
    argument = "the file"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "the column that names the stimulus",
        "question": "the column that names the question",
        "value": "the column of values on the question's scale",
        "score": "the column of scores that are not on the scale",
        "answer": "the column of categories or texts",
        "first": "of pairs, the column that names the first stimulus",
        "second": "of pairs, the column that names the second stimulus",
        "probability": "of pairs, the column of probabilities that the first is chosen",
        "tie": "of pairs, the column of probabilities of a tie",
        "winner": "of pairs, the column that names the stimulus chosen",
        "rate": "of traces, samples per second",
        "model": "of a file with several models, the one to use",
        "metrics": "of a file with several metrics, those to use, with + between them; each is a model",
        "negate": "metrics to use with their sign reversed, with + between them; 'lower' for all of which lower is better",
        "scorer": "of a log of inspect_ai with several scorers, the one to use",
    }
    needs_media = False
    batch = 256

    def __init__(self, path: str, options: Mapping[str, str]) -> None:
        if not path:
            raise InputError("The predictor 'file' has no file.", "Write file:predictions.csv.")
        self._path = Path(path).expanduser()
        self._named = dict(options)
        self._is_log = is_log(self._path)
        content = read_predictions(self._path, self._named.get("model"))
        self._rows, self._content = content.rows, content.hash
        self._header = list(dict.fromkeys(name for row in self._rows for name in row))
        self._unused = list(content.unused)
        self._metric: ColumnMetric | None = None
        self._is_one_model = False
        self._answers: dict[tuple[str, str], Row] | None = None
        self._ledger = LEDGER.empty()
        self.compares = content.compares or "members" in self._header or is_about_sets(self._header, self._named)

    @property
    def identity(self) -> str:
        named = " ".join(f"{name}={column}" for name, column in sorted(self._named.items()))
        return f"file {self._content} {named}"

    @property
    def info(self) -> PredictorInfo:
        info, direction = super().info, LOWER if self.lower_is_better else ""
        return replace(info, display_name=f"{info.display_name}{direction}")

    def describe(self) -> PredictorInfo:
        shown = self._named.get("model") or (self._metric.name if self._metric else self._path.stem)
        path = str(self._path)
        info = super().describe()
        return replace(info, spec=self.spec or path, display_name=shown, model=path, hash=self._content)

    @property
    def lower_is_better(self) -> bool:
        """Whether the predictions are a metric of which a lower number is known to be better, as the file holds it."""
        return self._metric is not None and self._metric.lower_is_better and not self._negated

    @property
    def _negated(self) -> bool:
        metric, names = self._metric, self._named.get("negate", "").split("+")
        return metric is not None and (metric.name in names or (metric.lower_is_better and "lower" in names))

    def separate(self, asks: Sequence[Ask]) -> Sequence[Predictor]:
        """A predictor for each metric, named after it; itself where the file holds the predictions of one model."""
        self._is_one_model = not self._holds_metrics(asks)
        if self._is_one_model:
            return [self]
        metrics, unused = self._metrics(asks)
        self._unused += [
            ("column", f"{self._path.name}: '{name}' {reason}, so it is no metric") for name, reason in unused.items()
        ]
        named = {name: text for name, text in self._named.items() if name not in {"metrics", "negate"}}
        parts: list[Predictor] = []
        for name in metrics:
            part = copy(self)
            part._metric = ColumnMetric.named(name)  # a copy of itself
            if parts:
                part._unused = []  # the first part says it
            negate = {"negate": name} if part._negated else {}
            part._named = {**named, "metrics": name, **negate}
            options = ",".join(f"{option}={text}" for option, text in part._named.items())
            part.spec, part.label = f"file[{options}]:{self._path}", f"{self.label} {name}".strip()
            parts.append(part)
        return parts

    def _holds_metrics(self, asks: Sequence[Ask]) -> bool:
        """Whether the columns of numbers are metrics: no column is called as predictions or as a question are."""
        if "metrics" in self._named or "negate" in self._named:
            return True
        if self._column("stimulus") is None and "system" not in self._header:
            return False  # that nothing names the stimuli is said first
        if self._has_predictions(asks):
            return False
        answer = self._column("answer")
        if answer is None:
            return True
        numbers = any(as_number(row.get(answer)) is not None for row in self._rows)
        return not numbers and all(_takes_numbers(ask) for ask in asks)

    def _has_predictions(self, asks: Sequence[Ask]) -> bool:
        """Whether something in the file is known to be a prediction, rather than a metric."""
        if self._is_log or self.compares or self._column("question") or is_about_traces(self._header, asks):
            return True
        if {"value", "score", "answer"} & set(self._named) or {"shares", *OF_SETS} & set(self._header):
            return True
        has_column = self._column("value") or self._column("score")
        return bool(has_column or self._own_keys() or self._wide(_names(asks)))

    def _metrics(self, asks: Sequence[Ask]) -> tuple[list[str], Mapping[str, str]]:
        """The metrics to use, and why other columns are none."""
        if not any(_takes_numbers(ask) for ask in asks):
            raise InputError(
                f"{self._path} holds metrics, and no question is answered with numbers.",
                "Name the column that answers a question as the question, or 'answer'.",
            )
        used_columns = [column for part in ("stimulus", "question") if (column := self._column(part))]
        wanted = self._named.get("metrics", "")
        metrics, unused = metrics_in(
            self._rows, self._header, used_columns, [part.strip() for part in wanted.split("+")]
        )
        if not metrics:
            raise no_predictions(self._path, self._header, unused)
        chosen = named_metrics(wanted, metrics, self._path)
        named_metrics(self._named.get("negate", ""), [*metrics, "lower"], self._path)
        return chosen or metrics, {} if chosen else unused

    def expect(self, cases: Sequence[Case]) -> None:
        unmatched = self._match(cases)
        ledger = [
            *unmatched,
            *self._unread_columns({ask.question: ask for case in cases for ask in case.asks}),
            *({"what": subject, "reason": reason} for subject, reason in self._unused),
        ]
        table = pl.DataFrame(ledger, schema={column.name: column.dtype for column in LEDGER.columns})
        stage = table.with_columns(pl.col("what").fill_null("prediction"), stage=pl.lit("predict"))
        self._ledger = LEDGER.check(stage, str(self._path))

    def _match(self, cases: Sequence[Case]) -> list[Row]:
        """Find what the file answers of what is asked; return what answers nothing, for the ledger."""
        asked_keys = {(case.stimulus, name) for case in cases for name in _names(case.asks)}
        names = StimulusNames(case.stimulus for case in cases)
        answers: dict[tuple[str, str], Row] = {}
        unmatched = _Unmatched(self._path.name, names)
        for row_number, name, question, row in self._entries(cases):
            stimulus = names.find(name) if name else None
            key = (stimulus or name, question)
            if key in answers:
                raise InputError(
                    f"{self._path}, row {row_number}: the stimulus '{key[0]}' has two predictions for '{question}'.",
                    "Keep one row per stimulus and question.",
                )
            if key in asked_keys:
                answers[key] = row
            elif stimulus is None or not self._answers_every_question():
                unmatched.add(row_number, row, name, question, is_known=stimulus is not None)
        self._answers = answers
        return unmatched.rows

    def _answers_every_question(self) -> bool:
        """Whether a row is a metric of its stimulus, whichever questions are asked of it."""
        return self._metric is not None and self._column("question") is None

    def _unread_columns(self, asks: Mapping[str, Ask]) -> list[Row]:
        """Of a file with the predictions of one model, the columns of numbers that are no part of them."""
        if self._metric or self._is_log or self.compares or self._own_keys():
            return []
        if is_about_traces(self._header, asks.values()):
            return []
        columns = {column for part in _NAMES if (column := self._column(part))}
        wide = self._wide(_names(asks.values()))
        numbers, _ = metrics_in(self._rows, self._header, {*columns, *wide, *_PREDICTION_COLUMNS}, ())
        return [
            {"what": "column", "reason": f"{self._path.name}: '{name}' is no question that is asked"}
            for name in numbers
        ]

    def ledger(self) -> pl.DataFrame:
        return self._ledger

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        if self._answers is None:
            self.expect(cases)
        return super().predict(cases)

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        for name in ask.names:
            row = (self._answers or {}).get((case.stimulus, name))
            if row is not None:
                prediction = self._predicted(row, ask)
                if prediction.samples is not None and prediction.rate is None:
                    prediction = replace(prediction, rate=number_in(self._named.get("rate")))
                named = f"from the file's '{name}'"
                return prediction if name == ask.question else replace(prediction, note=prediction.note or named)
        if self._metric is not None and not _takes_numbers(ask):
            return Prediction.failed(f"{self._metric.name} is a number, and this question has other answers")
        return Prediction.failed("the file holds no prediction for this item")

    def _predicted(self, row: Row, ask: Ask) -> Prediction:
        """A row as a prediction; one that repeats what the file holds for the question."""
        if "said" in row:
            return together(row["said"], ask)
        if self._metric is None or "metric" not in row:
            return row_prediction(row, ask)
        number = as_number(row["metric"])
        if number is not None:
            return self._metric.prediction(number, ask, negate=self._negated)
        cell = row["metric"]
        problem = "cell for this item is empty" if is_empty(cell) else f"'{str(cell)[:60]}' is not a number"
        return Prediction.failed(f"the file's {problem}")

    def _own_keys(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        for format in FORMATS.values():
            stimuli, keys = format.prediction_keys or ((), ())
            if stimuli and {*stimuli, *keys} <= set(self._header):
                return stimuli, keys
        return None

    def _wide(self, questions: Sequence[str]) -> dict[str, str]:
        """The columns named like a question, or as a dataset's own lists name it, each with its question."""
        answer_columns = {column: to for format in FORMATS.values() for column, to in format.answer_columns.items()}
        return {name: name for name in self._header if name in questions} or {
            name: answer_columns[name] for name in self._header if answer_columns.get(name) in questions
        }

    def _stimulus(self, cases: Sequence[Case]) -> str | None:
        """The column of stimuli: of several with a usual name, the one that names most of what is asked about."""
        if "stimulus" in self._named:
            return self._column("stimulus")
        by_name: dict[str, str] = {folded(name): name for name in reversed(self._header)}
        usual = [by_name[name] for name in _NAMES["stimulus"] if name in by_name]
        if len(usual) < 2:
            return next(iter(usual), None)
        names = StimulusNames(case.stimulus for case in cases)
        return max(usual, key=lambda name: sum(names.find(str(row.get(name))) is not None for row in self._rows))

    def _column(self, part: str) -> str | None:
        """The column of a part: the one the user named, or the first that is called so."""
        named = self._named.get(part)
        if named is not None:
            if named not in self._header:
                raise InputError(f"{self._path} has no column '{named}'.", suggestion(named, self._header, "It has"))
            return named
        by_name = {folded(name): name for name in reversed(self._header)}
        return next((by_name[name] for name in _NAMES[part] if name in by_name), None)

    def _entries(self, cases: Sequence[Case]) -> Iterator[tuple[int, str, str, Row]]:
        """Row number, stimulus, question and prediction of everything in the file."""
        asks = {ask.question: ask for case in cases for ask in case.asks}
        questions = _names(asks.values())
        if any(case.members for case in cases) and is_about_sets(self._header, self._named):
            return set_entries(self._rows, self._header, self._named, cases, self._path)
        if self._is_log:
            return log_entries(self._rows, questions, self._named.get("scorer"), self._path)
        if (keys := self._own_keys()) is not None:
            return self._long(*keys)
        stimulus, question = self._stimulus(cases), self._column("question")
        if stimulus is None:
            return self._of_systems(cases, question, questions)
        return self._of_stimuli(stimulus, question, asks, questions)

    def _of_stimuli(
        self, stimulus: str, question: str | None, asks: Mapping[str, Ask], questions: Sequence[str]
    ) -> Iterator[tuple[int, str, str, Row]]:
        """Traces, metrics or predictions, in rows that each name a stimulus."""
        if is_about_traces(self._header, asks.values()):
            return trace_entries(self._rows, self._named, (stimulus, question), asks, self._path)
        if not self._is_one_model and (self._metric or self._holds_metrics(list(asks.values()))):
            return self._of_metric(stimulus, question, list(asks.values()))
        return self._of_columns(stimulus, question, questions, one_asked=len(asks) <= 1)

    def _of_columns(
        self, stimulus: str, question: str | None, questions: Sequence[str], *, one_asked: bool
    ) -> Iterator[tuple[int, str, str, Row]]:
        """Predictions in long form, in wide form, or of the only question."""
        if question is not None:
            return self._long([stimulus], [question])
        if wide := self._wide(questions):
            return (
                (row_number, _name_in(row, [stimulus]), name, {"value": row.get(column)})
                for row_number, row in enumerate(self._rows, 1)
                for column, name in wide.items()
            )
        if not one_asked:
            raise InputError(
                f"{self._path} does not say which question a prediction answers: it has no column 'question' and none"
                f" called {' or '.join(questions[:3])}.",
                "Add a column 'question', or one column for every question.",
            )
        return self._long([stimulus], [], questions[0])

    def _of_metric(
        self, stimulus: str, question: str | None, asks: Sequence[Ask]
    ) -> Iterator[tuple[int, str, str, Row]]:
        if self._metric is None:
            metrics, _ = self._metrics(asks)
            if len(metrics) > 1:
                raise InputError(
                    f"{self._path} holds {len(metrics)} metrics: {', '.join(metrics[:8])}{' …' if metrics[8:] else ''}.",
                    f"Say which: file[metrics={metrics[0]}]:{self._path}.",
                )
            self._metric = ColumnMetric.named(metrics[0])
        fitting = [ask.question for ask in asks if _takes_numbers(ask)]
        for row_number, row in enumerate(self._rows, 1):
            for about in fitting if question is None else [_name_in(row, [question])]:
                yield row_number, _name_in(row, [stimulus]), about, {"metric": row.get(self._metric.name)}

    def _of_systems(
        self, cases: Sequence[Case], question: str | None, questions: Sequence[str]
    ) -> Iterator[tuple[int, str, str, Row]]:
        """The values of systems as those of all their stimuli."""
        if "system" not in self._header:
            raise InputError(
                f"{self._path} has no column that names the stimulus.",
                suggestion("stimulus", self._header, "Say which it is with file[stimulus=COLUMN]:FILE. It has"),
            )
        about_columns = [] if question is None else [question]
        for row_number, system, about, row in self._long(["system"], about_columns, questions[0] if questions else ""):
            stimuli = [case.stimulus for case in cases if case.system == system]
            for stimulus in stimuli:
                yield row_number, stimulus, about, {"note": f"the value of {system}", **row}
            if not stimuli:
                yield row_number, "", about, {UNUSED: f"no stimulus is of the system '{system}'"}

    def _long(
        self, stimulus: Sequence[str], question: Sequence[str], fixed: str = ""
    ) -> Iterator[tuple[int, str, str, Row]]:
        used = self._prediction_columns({*stimulus, *question})
        for row_number, row in enumerate(self._rows, 1):
            name = _name_in(row, stimulus)
            about = _name_in(row, question) if question else fixed
            yield row_number, name, about, {part: row.get(column) for part, column in used.items()}

    def _prediction_columns(self, keys: set[str]) -> dict[str, str]:
        """The column of each part of a prediction that the file holds; columns of ``keys`` say what it is about."""
        columns = {part: self._column(part) for part in ("value", "score", "answer")}
        used = {part: name for part, name in columns.items() if name and name not in keys}
        if not used and not {"shares", *OF_SETS} & set(self._header):
            raise no_predictions(self._path, self._header)
        return used | {name: name for name in (*_FURTHER, *OF_SETS) if name in self._header}


class _Unmatched:
    """The rows that answer nothing that is asked."""

    def __init__(self, file: str, names: StimulusNames) -> None:
        self.rows: list[Row] = []
        self._file, self._names = file, names
        self._reasons: set[tuple[int, str]] = set()

    def add(self, row_number: int, row: Row, name: str, question: str, *, is_known: bool) -> None:
        reason = row.get(UNUSED) or self._reason(row_number, name, question, is_known=is_known)
        # A row about an unknown stimulus is listed once, whatever it answers.
        if is_known or (row_number, reason) not in self._reasons:
            about = {"what": row.get("what"), "stimulus": name or None, "question": question or None}
            self.rows.append({**about, "reason": f"{self._file}: {reason}"})
        self._reasons.add((row_number, reason))

    def _reason(self, row_number: int, name: str, question: str, *, is_known: bool) -> str:
        if not name or not question:
            return f"row {row_number} names no {'question' if name else 'stimulus'}"
        if is_known:
            return "this question is not asked of this stimulus"
        if self._names.is_ambiguous(name):
            return "several stimuli that are asked about have this name"
        return "no stimulus that is asked about has this name"


def _names(asks: Iterable[Ask]) -> list[str]:
    return list(dict.fromkeys(name for ask in asks for name in ask.names))


def _name_in(row: Row, columns: Sequence[str]) -> str:
    """A name that stands in one or several columns; empty where one of them is."""
    cells = [str(cell) for name in columns if (cell := row.get(name)) is not None and str(cell).strip()]
    return "/".join(cells) if len(cells) == len(columns) else ""


def _takes_numbers(ask: Ask) -> bool:
    """Whether a number is an answer: on scales of numbers and ordered categories, yes and no, and where stimuli are compared."""
    return ask.scale.level in {"ordinal", "interval", "comparison"} or isinstance(ask.scale, YesNo)
