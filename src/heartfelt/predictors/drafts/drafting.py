"""Drafting a study: every field by its drafter, nothing twice, nothing lost, and every failure with its reason.

Written into the study's folder: ``drafts.parquet`` (what raters verify), ``drafts_ledger.csv`` (what was not drafted, and what was
changed to fit a scale), ``drafts_duplicates.csv`` (near-duplicates among the images), and below ``drafts/`` a folder for each
drafter with its journal: every answer and request as it came. A run that was stopped, by a budget or by force, continues there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt import clock
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.study_folder.manifest import OpenStudy, open_study
from heartfelt.journal import lock
from heartfelt.predictors.answers.draft_values import draft_value
from heartfelt.predictors.drafts.cases import draft_ask, draft_cases, pending_items
from heartfelt.predictors.drafts.choosing import Assignment, assign, by_id
from heartfelt.predictors.drafts.options import DraftOptions
from heartfelt.predictors.drafts.result import DrafterRun, Drafting
from heartfelt.predictors.drafts.writing import DraftFiles, summary
from heartfelt.predictors.execution.budgets import applies_to, calls_in, runs_below, with_other_runs
from heartfelt.predictors.interface.calls import usage_of
from heartfelt.predictors.interface.predictor import Ask, Case, Prediction, Predictor
from heartfelt.predictors.interface.spec import check_extras, parse_spec, predictor_from
from heartfelt.predictors.options import RunOptions
from heartfelt.predictors.running import Run, run
from heartfelt.progress import Progress
from heartfelt.study import load_study
from heartfelt.tables import DRAFTS

RUNS = "drafts"
_NOT_SURE = {"clip", "clap", "endpoint", "pixels"}
"""Predictors whose score is a similarity or a part of the image, which says nothing of how sure they are."""


def draft(folder: Path | str, options: DraftOptions | None = None, progress: Progress | None = None) -> Drafting:
    """Draft the ``machine_first`` questions of a study; what has a draft is left as it is, unless it is to be replaced."""
    options = options or DraftOptions()
    assigned, without = assign(load_study(folder), options.fields, options.drafters)
    if (
        options.fields or options.drafters
    ):  # where nothing is named, what this install cannot draft is left out with a word
        check_extras(assignment.spec for assignment in assigned)
    home = Path(folder).parent if Path(folder).is_file() else Path(folder)
    with _only_run(home / RUNS):
        opened = open_study(folder, progress)
        files = DraftFiles(opened)
        runs = [_drafted(opened, assignment, files, options, progress) for assignment in assigned]
        if runs and all(drafter_run.problem is not None for drafter_run in runs):
            raise InputError(f"Nothing was drafted: {runs[0].problem}", "Or name another drafter with --with.")
        if options.duplicates and opened.study.media == "image":
            files.write_duplicates(progress)
        return summary(files, assigned, runs, without, _spent(opened.folder / RUNS))


def _spent(runs: Path) -> float | None:
    """What all drafters of a study ever cost; None where no request had a price."""
    calls = (call for home in runs_below(runs) for _, call in calls_in(home))
    costs = [call.cost for call in calls if call.cost is not None]
    return sum(costs) if costs else None


def draft_from_pixels(folder: Path | str, progress: Progress | None = None) -> Drafting | None:
    """Draft what the pixels alone say of a study's images; None where nothing asks for that."""
    study = load_study(folder)
    fields = tuple(
        question.id for question in study.asked if question.machine_first and by_id(study, question) == "pixels"
    )
    if not fields:
        return None
    return draft(folder, DraftOptions(fields=fields, duplicates=False), progress)


def drafter_of(assigned: Assignment, language: str) -> Predictor:
    """The predictor that is to draft, made to draft where it can do something else too.

    A study may be somebody else's: what its ``study.yaml`` names runs no code of its own and is sent no key.
    """
    spec = parse_spec(assigned.spec)
    defaults = {"task": "draft", "language": language} if spec.name == "chat" else {}
    if assigned.named and (spec.name in {"call", "tagger", "endpoint"} or "key_from" in spec.options):
        raise InputError(
            f"The drafter '{assigned.spec}' is named in study.yaml, which may not run functions or use keys of yours.",
            f"If you trust it, name it in the command: --with {assigned.fields[0].id}={assigned.spec}.",
        )
    if assigned.named and spec.name == "chat":
        defaults["key_from"] = "none"
    wanted = {name: value for name, value in defaults.items() if name not in spec.options}
    return predictor_from(assigned.spec, wanted)


def _drafted(
    opened: OpenStudy, assigned: Assignment, files: DraftFiles, options: DraftOptions, progress: Progress | None
) -> DrafterRun:
    names = tuple(question.id for question in assigned.fields)
    language = language_of(opened, options.language)
    asks = {question.id: draft_ask(opened.study, question, language) for question in assigned.fields}
    pending = pending_items(opened, names, again=options.replace)
    done = DrafterRun(drafter=assigned.spec, source=assigned.spec, version=None, fields=names, stimuli=0, seconds=0.0)
    try:
        drafter = drafter_of(assigned, language)
    except HeartfeltError as error:
        problem = f"{error.problem} {error.fix}"
        files.fail(pending, f"not asked: {problem}")
        return replace(done, problem=problem)
    with drafter:
        source, version = provenance(drafter)
        cases = draft_cases(opened, asks, pending)
        done = replace(done, source=source, version=version, stimuli=len(cases), limits=drafter.limits)
        if not cases:
            return done
        home = run_folder(opened.folder / RUNS, drafter, fresh=options.fresh)
        before = {call.id for _, call in calls_in(home)}
        result = run(drafter, cases, home, _asking(options, drafter, home), progress)
        checks = "" if drafter.reach == "here" else language
        rows, problems, changed = _read(result, cases, drafter, checks)
        files.add(rows, problems, changed)
        calls = [call for _, call in calls_in(home) if call.id not in before]
    usage = usage_of(calls)
    return replace(
        done,
        seconds=result.seconds,
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        without_counts=usage.without_counts,
        cost=usage.cost,
    )


def _asking(options: DraftOptions, drafter: Predictor, home: Path) -> RunOptions:
    """How a drafter is asked: within what other runs left of the budget, and past the cache where all is to be new."""
    budget = options.budget
    if budget is not None:
        budget = with_other_runs(budget, home.parent, home, drafter) if applies_to(budget, drafter) else None
    asking = replace(options.asking, budget=budget)
    return replace(asking, cache=None) if options.fresh else asking


def language_of(opened: OpenStudy, wanted: str | None) -> str:
    return wanted or (opened.study.languages or ["en"])[0]


def provenance(drafter: Predictor) -> tuple[str, str | None]:
    """The name a drafter has in the drafts, and its version: its own, or the start of its hash."""
    info = drafter.info
    return info.display_name, info.version or (info.hash[:12] if info.hash else None)


def run_folder(runs: Path, drafter: Predictor, *, fresh: bool = False) -> Path:
    digest = hashlib.sha256(drafter.identity.encode()).hexdigest()[:8]
    stem, number = f"{drafter.name}-{digest}", 1
    while (runs / f"{stem}-{number + 1}").is_dir():
        number += 1
    if fresh and (runs / f"{stem}-{number}").is_dir():
        number += 1
    return runs / f"{stem}-{number}"


@contextmanager
def _only_run(runs: Path) -> Iterator[None]:
    try:
        runs.mkdir(exist_ok=True)
        file = (runs / "lock").open("ab")
    except OSError as error:
        raise InputError(f"Cannot write to {runs}: {error.strerror}.", "Make the folder writable.") from error
    with file:
        lock(file, runs)
        yield


def _read(
    result: Run, cases: Sequence[Case], drafter: Predictor, language: str
) -> tuple[pl.DataFrame, list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """The drafts of a run; the failures and the changes as (stimulus, question, reason)."""
    now = clock.now()
    asks: dict[tuple[str, str], tuple[Case, Ask]] = {
        (case.stimulus, ask.question): (case, ask) for case in cases for ask in case.asks
    }
    sent = _sent(result)
    rows: list[Mapping[str, object]] = []
    problems, changed = [], []
    for row in result.table.iter_rows(named=True):
        stimulus, question = row["stimulus"], row["question"]
        case, ask = asks[stimulus, question]
        if not row["ok"]:
            problems.append((stimulus, question, str(row["problem"])))
            continue
        try:
            drafted = draft_value(Prediction(value=row["value"], answer=row["answer"]), ask, language)
        except InputError as error:
            problems.append((stimulus, question, f"{error.problem} {error.fix}".strip()))
            continue
        if change := drafted.changed or _change(row["note"]):
            changed.append((stimulus, question, change))
        at, model = sent.get(row.get("call") or "", (now, None))
        rows.append(_draft_row(row, drafted.value, drafter, (case, ask), at, model))
    schema = {column.name: column.dtype for column in DRAFTS.columns}
    return pl.DataFrame(rows, schema=schema), problems, changed


def _sent(result: Run) -> dict[str, tuple[datetime, str | None]]:
    """When each request was sent, by its id, and which model answered it."""
    if result.calls is None:
        return {}
    sent = result.calls.select("id", "at", "model").iter_rows()
    return {name: (datetime.fromisoformat(at), model) for name, at, model in sent}


def _draft_row(
    row: Mapping[str, Any], value: str, drafter: Predictor, item: tuple[Case, Ask], at: datetime, model: str | None
) -> Mapping[str, object]:
    source, version = provenance(drafter)
    return {
        "stimulus": row["stimulus"],
        "question": row["question"],
        "value": value,
        "source": source,
        "version": version or (model if model != source else None),
        "prompt_hash": drafter.request_digest(*item)[:16] or None,
        "at": at,
        "confidence": _confidence(row, value, drafter),
        "boxes": row.get("boxes"),
        "limits": drafter.limits or None,
    }


def _change(note: str | None) -> str:
    """What a reader of answers says it changed; other notes are about how the model was asked."""
    parts = [part for part in (note or "").split("; ") if "removed" in part or "merged" in part]
    return "; ".join(parts)


def _confidence(row: Mapping[str, Any], value: str, drafter: Predictor) -> float | None:
    """How sure the machine says it is: the probability of its answer, or its score where that is one."""
    if drafter.name in _NOT_SURE:
        return None
    shares: dict[str, float] = json.loads(row["shares"]) if row["shares"] else {}
    score = shares.get(value, row["score"])
    return score if score is not None and 0.0 <= score <= 1.0 else None
