"""Files of predictions about pairs, sets and traces.

Pairs: a row for every pair, with ``first`` and ``second`` and one of ``probability`` (that the first is chosen; with ``tie`` for
that of a tie), ``winner`` (a stimulus, ``first``, ``second`` or ``tie``) or ``value`` (a difference or grade in favour of the
first). Sets: a row for every stimulus of a ``set``, with a ``value`` for each. Traces: a row for every moment, with ``time`` in
seconds or ``sample`` as a number from 0 and a ``value``; or a row for every stimulus with a list of ``samples``.

A pair may be given in either order. Given in both, winners count as the two verdicts of a judge, whose position bias is then
known; probabilities and differences must not contradict each other.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import InputError
from heartfelt.formats.tables.json_files import RepeatedNameError, distinct_names, text_of
from heartfelt.predictors.answers.sets import FIRST, SECOND, set_name
from heartfelt.predictors.answers.texts import StimulusNames
from heartfelt.predictors.interface.predictor import Ask, Case
from heartfelt.study.scales.answer import read_number
from heartfelt.study.scales.set_scale import TIE, Trace

Row: TypeAlias = Mapping[str, Any]
Entry: TypeAlias = tuple[int, str, str, Row]
_PairRow: TypeAlias = "tuple[int, tuple[str, str], Row]"
"""The number of a row, the stimuli in the order it has them, and its parts by their usual names."""
UNUSED = "unused"
"""In an entry that belongs to nothing that can be asked: why."""
OF_SETS = ("members", "orders", "samples", "rate", "start")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "first": ("first", "stimulus_a"),
    "second": ("second", "stimulus_b"),
    "probability": ("probability", "p", "p_first", "prob"),
    "tie": ("tie", "p_tie"),
    "winner": ("winner", "choice", "preferred"),
    "value": ("value", "difference", "grade", "score"),
    "question": ("question",),
    "set": ("set",),
    "time": ("time", "seconds", "sample"),
    "stimulus": ("stimulus",),
}
_SAME = 1e-6


def read_records(path: Path) -> list[dict[str, object]]:
    try:
        records = json.loads(text_of(path), object_pairs_hook=distinct_names)
    except RepeatedNameError as error:
        raise InputError(
            f"{path}: the name '{error}' is there twice in an object.", "Give each value a name of its own."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}.", "Write a list of objects.") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise InputError(f"{path} is not a list of objects.", "Write one object per prediction.")
    return records


def is_about_sets(header: Sequence[str], named: Mapping[str, str]) -> bool:
    pair = all(_column(header, named, part) for part in ("first", "second"))
    return pair or all(_column(header, named, part) for part in ("set", "stimulus", "value"))


def holds_pairs(rows: Iterable[Row]) -> bool:
    """Whether rows are heartfelt's own about pairs or sets: with values of members, or probabilities of the pair's stimuli."""
    for row in rows:
        if row.get("members") is not None:
            return True
        shares = row.get("shares")
        try:
            names = json.loads(shares) if isinstance(shares, str) else shares
        except ValueError:
            continue
        if isinstance(names, Mapping) and set_name([name for name in names if name != TIE]) == row.get("stimulus"):
            return len(names) > 1
    return False


def is_about_traces(header: Sequence[str], asks: Iterable[Ask]) -> bool:
    if "samples" in header:
        return False  # a row for every trace
    traced = any(isinstance(ask.scale, Trace) for ask in asks)
    return traced and all(_column(header, {}, part) for part in ("time", "value"))


def _column(header: Sequence[str], named: Mapping[str, str], part: str) -> str | None:
    """The column of a part: the one the user named, or the first that is called so."""
    if part in named and named[part] in header:
        return named[part]
    by_case = {name.strip().casefold(): name for name in reversed(header)}
    return next((by_case[name] for name in _NAMES[part] if name in by_case), None)


# --- pairs and sets ---------------------------------------------------------------------------------------------------


def set_entries(
    rows: Sequence[Row], header: Sequence[str], named: Mapping[str, str], cases: Sequence[Case], path: Path
) -> Iterator[Entry]:
    """Row number, set, question and prediction of every pair or set in a file."""
    columns = {part: column for part in _NAMES if (column := _column(header, named, part))}
    questions = dict.fromkeys(ask.question for case in cases if case.members for ask in case.asks)
    if "question" not in columns:
        _check_one_question(questions, "a prediction", path)
    about = next(iter(questions), "")
    if {"first", "second"} <= set(columns):
        return _pairs(rows, columns, StimulusNames(part.stimulus for case in cases for part in case.parts), about, path)
    return _sets(rows, columns, cases, about, path)


def _check_one_question(questions: Collection[str], subject: str, path: Path) -> None:
    """Raise where a file without a column of questions could answer several."""
    if len(questions) > 1:
        raise InputError(
            f"{path} does not say which question {subject} answers, and {len(questions)} are asked.",
            "Add a column 'question'.",
        )


def _question_in(row: Row, columns: Mapping[str, str], only: str) -> str:
    """The question that a row names, or the ``only`` one that is asked."""
    return str(row.get(columns["question"])) if "question" in columns else only


def _pairs(
    rows: Sequence[Row], columns: Mapping[str, str], names: StimulusNames, about: str, path: Path
) -> Iterator[Entry]:
    if not {"probability", "winner", "value"} & set(columns):
        raise InputError(
            f"{path} has no column of predictions about its pairs.",
            "Name one 'probability' (that the first is chosen), 'winner' or 'value'.",
        )
    by_pair: dict[tuple[str, str], list[_PairRow]] = {}
    for row_number, row in enumerate(rows, 1):
        first, second = (str(row.get(columns[part])) for part in ("first", "second"))
        pair = names.find(first) or first, names.find(second) or second
        if pair[0] == pair[1]:
            raise InputError(
                f"{path}, row {row_number}: the stimulus '{pair[0]}' is paired with itself.", "Remove the row."
            )
        question = _question_in(row, columns, about)
        part = {name: row.get(column) for name, column in columns.items()}
        by_pair.setdefault((set_name(pair), question), []).append((row_number, pair, part))
    for (name, question), entries in by_pair.items():
        yield entries[-1][0], name, question, _judged_in_orders(entries, question, path)


def _judged_in_orders(entries: Sequence[_PairRow], question: str, path: Path) -> Row:
    """The prediction for a pair, which a file may hold once, or once in each order."""
    judgements = [_judged(row, pair) for _, pair, row in entries]
    if len(entries) == 1:
        return judgements[0]
    if len(entries) > 2 or entries[0][1] == entries[1][1]:
        row_number, pair, _ = entries[-1]
        raise InputError(
            f"{path}, row {row_number}: the pair '{pair[0]}', '{pair[1]}' has two predictions for '{question}'.",
            "Keep one row per pair and question, or one in each order.",
        )
    return _both_orders(judgements, entries[0][1], f"{path}, row {entries[1][0]}")


def _judged(row: Row, pair: tuple[str, str]) -> Row:
    first, second = pair
    chance, value, winner = read_number(row.get("probability")), read_number(row.get("value")), row.get("winner")
    if chance is not None:
        return _shares_of(chance, row.get("tie"), pair)
    if winner is not None and str(winner).strip():
        named = str(winner).strip()
        for chosen, words in ((1.0, (FIRST, first, "a")), (0.0, (SECOND, second, "b")), (0.5, (TIE, "equal"))):
            if named in words:
                return {"members": {first: chosen, second: 1.0 - chosen}}
        return {"problem": f"the file's winner '{named}' is none of '{first}', '{second}' and tie"}
    if value is not None:
        return {"members": {first: value / 2, second: -value / 2}}
    return {"problem": "the file's cell for this pair is empty or not a number"}


def _shares_of(chance: float, tie_cell: object, pair: tuple[str, str]) -> Row:
    """Probabilities of a pair, from that of the first and, where the file has it, that of a tie."""
    tie = read_number(tie_cell) or 0.0
    if min(chance, tie, 1.0 - chance - tie) < -_SAME:
        shown = f"{chance:g}" + (f" with a tie of {tie:g}" if tie else "")
        return {"problem": f"the file's probability {shown} does not lie between 0 and 1"}
    shares = {pair[0]: chance, pair[1]: max(1.0 - chance - tie, 0.0)}
    return {"shares": shares if tie_cell is None else {**shares, TIE: tie}}


def _both_orders(judgements: Sequence[Row], pair: tuple[str, str], where: str) -> Row:
    """One prediction for a pair from those of its two orders, the ``pair`` as the first of them names it."""
    for judgement in judgements:
        if "problem" in judgement:
            return judgement
    kind = "shares" if "shares" in judgements[0] else "members"
    if kind not in judgements[1]:
        raise InputError(
            f"{where}: the two orders of a pair have different kinds of predictions.",
            "Give both as probability, as winner or as value.",
        )
    ahead, behind = judgements[0][kind], judgements[1][kind]
    first, second = pair
    verdicts = kind == "members" and {*ahead.values(), *behind.values()} <= {0.0, 0.5, 1.0}
    if verdicts:
        return {
            "members": {name: (ahead[name] + behind[name]) / 2 for name in pair},
            "orders": [ahead[first], behind[second]],
        }
    if any(abs(ahead.get(name, 0.0) - behind.get(name, 0.0)) > _SAME for name in (first, second, TIE)):
        raise InputError(
            f"{where}: the predictions for '{first}' and '{second}' contradict each other in the two orders.",
            "Keep one row per pair, such as the mean of both orders; a judge's verdicts in both orders go into 'winner'.",
        )
    return judgements[0]


def _sets(
    rows: Sequence[Row], columns: Mapping[str, str], cases: Sequence[Case], about: str, path: Path
) -> Iterator[Entry]:
    """The members' values of every set, which a file may call by the study's own name or by its members."""
    called = {name: case for case in cases if case.members for name in (case.stimulus, case.facts.get("set", ""))}
    by_set: dict[tuple[str, str], tuple[int, dict[str, float | None]]] = {}
    for row_number, row in enumerate(rows, 1):
        key = str(row.get(columns["set"])), _question_in(row, columns, about)
        values = by_set.setdefault(key, (row_number, {}))[1]
        name = str(row.get(columns["stimulus"]))
        if name in values:
            raise InputError(
                f"{path}, row {row_number}: the set '{key[0]}' holds '{name}' twice.",
                "Keep one row per set and stimulus.",
            )
        values[name] = read_number(row.get(columns["value"]))
    for (name, question), (row_number, values) in by_set.items():
        case = called.get(name)
        if case is None:
            yield row_number, name, question, {}
            continue
        for stimulus, entry in _of_set(case, values):
            yield row_number, stimulus, question, entry


def _of_set(case: Case, values: Mapping[str, float | None]) -> Iterator[tuple[str, Row]]:
    """The values of a set as its prediction, after each name in it that belongs to none of its stimuli."""
    names = StimulusNames(member.stimulus for member in case.members)
    member_values: dict[str, float | None] = {}
    for name, value in values.items():
        member = names.find(name)
        if member is None:
            yield name, {UNUSED: f"the set '{case.stimulus}' has no stimulus of this name"}
        else:
            member_values[member] = value
    lacking = [member.stimulus for member in case.members if member_values.get(member.stimulus) is None]
    problem = f"the file has no value for '{lacking[0]}' in this set" if lacking else None
    yield case.stimulus, {"problem": problem} if problem else {"members": member_values}


# --- traces -----------------------------------------------------------------------------------------------------------


def trace_entries(
    rows: Sequence[Row], named: Mapping[str, str], keys: tuple[str, str | None], asks: Mapping[str, Ask], path: Path
) -> Iterator[Entry]:
    """Row number, stimulus, question and trace of everything in a file with a row for every moment."""
    header = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    time, value = _column(header, named, "time"), _column(header, named, "value")
    assert time is not None
    assert value is not None
    counted = time.strip().casefold() == "sample"
    traced = [name for name, ask in asks.items() if isinstance(ask.scale, Trace)]
    stimulus, question = keys
    if question is None:
        _check_one_question(traced, "a trace", path)
    by_trace: dict[tuple[str, str], list[tuple[int, float, float | None]]] = {}
    for row_number, row in enumerate(rows, 1):
        moment = _moment(row.get(time), f"{path}, row {row_number}", counted=counted)
        about = traced[0] if question is None else str(row.get(question))
        by_trace.setdefault((str(row.get(stimulus)), about), []).append(
            (row_number, moment, read_number(row.get(value)))
        )
    rate = read_number(named.get("rate"))
    for (name, about), moments in by_trace.items():
        moments.sort(key=lambda entry: entry[1])
        yield moments[0][0], name, about, _trace(name, moments, rate, counted, path)


def _moment(cell: object, where: str, *, counted: bool) -> float:
    moment = read_number(cell)
    if moment is None:
        raise InputError(
            f"{where}: '{cell}' is not a {'sample number' if counted else 'time'}.",
            "Give every row of a trace its moment.",
        )
    return moment


def _trace(
    name: str, moments: Sequence[tuple[int, float, float | None]], rate: float | None, counted: bool, path: Path
) -> Row:
    """Samples at even steps; a sample number that is left out is a gap."""
    times = [moment for _, moment, _ in moments]
    step = _even_step(name, moments, counted, path)
    samples: list[float | None] = [None] * (round((times[-1] - times[0]) / step) + 1)
    for _, moment, value in moments:
        samples[round((moment - times[0]) / step)] = value if value is not None and math.isfinite(value) else None
    if not counted:
        return {"samples": samples, "rate": 1.0 / step, "start": times[0]}
    start = None if rate is None else times[0] / rate
    lead = [None] * round(times[0]) if rate is None else []
    return {"samples": [*lead, *samples], "rate": rate, "start": start}


def _even_step(name: str, moments: Sequence[tuple[int, float, float | None]], counted: bool, path: Path) -> float:
    """The step between the moments of a trace; an error where they are not at even steps, gaps apart."""
    gaps = [later[1] - earlier[1] for earlier, later in itertools.pairwise(moments)]
    for gap, (row_number, _, _) in zip(gaps, moments[1:], strict=True):
        if gap <= 0:
            raise InputError(
                f"{path}, row {row_number}: the trace of '{name}' has two values at one moment.",
                "Keep one row per moment.",
            )
    step = 1.0 if counted else min(gaps, default=0.0)
    if step <= 0 or any(abs(gap / step - round(gap / step)) > 0.01 for gap in gaps):
        raise InputError(
            f"{path}: the moments of the trace of '{name}' are not evenly spaced.",
            "Give values at even steps of time, or number the samples from 0 in a column 'sample'.",
        )
    return step
