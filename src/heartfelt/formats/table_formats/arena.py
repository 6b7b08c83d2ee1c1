"""``arena``: logs of battles between systems, one row per battle with ``model_a``, ``model_b`` and ``winner``.

The stimulus of a battle is what a system made for a prompt; where the log names no prompt, it is the system itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.ratings.described import COMMON_OPTIONS
from heartfelt.formats.ratings.pair_tables import PairColumns, read_pairs
from heartfelt.formats.ratings.set_rows import BOTH_BAD, free_names, plain_word, write_beside
from heartfelt.formats.tables.columns import need
from heartfelt.formats.tables.delimited import csv_text, header_of
from heartfelt.formats.tables.json_files import JSON, has_keys
from heartfelt.formats.tables.source_table import SYNONYMS, TABLES, SourceTable, locate, open_table
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import pairs, set_questions
from heartfelt.study.scales.set_scale import Choice
from heartfelt.tables import RATINGS

NAMES: Mapping[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "model_a": "model_a model_1 model1 system_a left_model model_left a_metadata.system_key.system_tag",
        "model_b": "model_b model_2 model2 system_b right_model model_right b_metadata.system_key.system_tag",
        "winner": "winner vote_type vote preference vote.preference choice outcome",
        "judge": "judge judge_id judge_hash user user_id voter rater annotator evaluation_session_id session.uuid",
        "prompt": "question_id prompt_id prompt uuid",
        "stimulus_a": "stimulus_a",
        "stimulus_b": "stimulus_b",
        "question": "question criterion dimension",
        "at": "at tstamp timestamp time",
        "trial": "trial battle_id",
        "set": "set",
        "position": "position",
        "seconds": "seconds",
        "repeat": "repeat",
    }.items()
}
"""Usual names of the column that plays each role, in the order they are tried."""
NEEDED = ("model_a", "model_b", "winner")
ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
"""Logs that say who won in three columns of 0 and 1."""
AS_PAIR = {
    "model_a": "first_system", "model_b": "second_system", "judge": "rater", "stimulus_a": "first", "stimulus_b": "second",
}  # fmt: skip
"""What a table of pairs calls these roles."""
MOST_QUESTIONS = 60
_COLUMNS = (
    "model_a", "model_b", "winner", "judge", "question", "stimulus_a", "stimulus_b", "prompt", "trial", "set",
)  # fmt: skip
"""The first columns of a file, as far as there are such."""


class Arena(Format):
    """Battles of two systems with a winner or a tie."""

    name = "arena"
    example_data = "example/battles.jsonl"
    writes_comparisons = True
    about = "arena logs: one battle per row with model_a, model_b and winner"
    options: ClassVar[Mapping[str, str]] = {
        "model_a": "column of the system shown first",
        "model_b": "column of the system shown second",
        "winner": "column that says who won; winner.WORD=first, second or tie explains a word in it",
        "judge": "column of the rater id; none if the log does not say who judged",
        "prompt": "column of the prompt or its id; none if every system counts as one stimulus",
        "stimulus_a": "column of the first stimulus, where a system made several for a prompt",
        "stimulus_b": "column of the second stimulus",
        "question": "column that names the question, or the name of the only one",
        "at": "column of the moment of the answer",
        "trial": "column of the battle's id",
        "order": "unknown if the log does not say which of two was shown first",
        **COMMON_OPTIONS,
    }

    def recognises(self, source: Path) -> bool:
        path = source / "battles.csv" if source.is_dir() else source
        if not path.is_file() or path.suffix.lower() not in TABLES:
            return False
        if path.suffix.lower() in {".csv", ".tsv", ".txt"}:
            return _is_log(header_of(path))
        if path.suffix.lower() in JSON and not has_keys(path, NEEDED[:2]):
            return False
        try:
            return _is_log(open_table(path, {}, records=True).columns)
        except InputError:
            return False

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        table = open_table(locate(source, ("battles.csv", "battles.jsonl")), options, records=True)
        votes = ONE_HOT if set(ONE_HOT) <= set(table.columns) and "winner" not in options else ()
        return read_pairs(self.name, table, source, progress, PairColumns(_roles(table, votes), votes, ordered=True))

    def write(self, snapshot: Snapshot, target: Path) -> None:
        parts = [_battle_rows(snapshot, question) for question in set_questions(snapshot.study)]
        parts = [part for part in parts if part.height]
        if not parts:
            raise InputError(
                "The snapshot has no trials with two stimuli.", "Export it as long; arena logs hold pairs only."
            )
        write_text(target / "battles.csv", csv_text(pl.concat(parts, how="diagonal")))
        write_beside(snapshot, target)


def _is_log(columns: Iterable[str]) -> bool:
    have = set(columns)
    return have >= set(NEEDED) or have >= {*NEEDED[:2], *ONE_HOT}


def _roles(table: SourceTable, votes: tuple[str, ...]) -> dict[str, str]:
    out: dict[str, str] = {}
    for role in NAMES:
        column = _column(role, table, out.values())
        if column is not None:
            out[role] = column
    if votes:
        out.pop("winner", None)
    for role in NEEDED[:2] if votes else NEEDED:
        if role not in out:
            raise InputError(
                f"{table.where}: no column is unmistakably {role}.",
                f"Name it with {as_option(role, 'COLUMN')}. The columns are: {', '.join(table.columns[:40])}.",
            )
    if "question" in out and "question" not in table.options and _holds_prompts(table, out["question"]):
        out.setdefault("prompt", out.pop("question"))
    return {AS_PAIR.get(role, role): column for role, column in out.items()}


def _column(role: str, table: SourceTable, used_columns: Collection[str]) -> str | None:
    """The column of a role: the one the options name, else the first free one with a usual name."""
    stated = table.options.get(role)
    if stated is None:
        folded = {column.strip().casefold(): column for column in reversed(table.columns)}
        candidates = map(folded.get, (*NAMES[role], *(SYNONYMS["rater"][:-1] if role == "judge" else ())))
        return next((name for name in candidates if name not in {None, *used_columns}), None)
    # The option may also say that no column plays the role, or name the only question.
    if stated not in table.columns and (stated == "none" or role == "question"):
        return None
    need(table.columns, [stated], table.where)
    return stated


def _holds_prompts(table: SourceTable, question: str) -> bool:
    """Whether a column called question holds what the systems were asked, not the judges."""
    count: int = table.rows.select(pl.col(question).n_unique()).collect().item()
    return count > MOST_QUESTIONS


def _battle_rows(snapshot: Snapshot, question: str) -> pl.DataFrame:
    ratings = snapshot.ratings
    table = pairs(ratings, question).drop("ordered")
    if not table.height or not isinstance(snapshot.study.scale_of(question), Choice):
        return table.clear()
    table = _with_systems(table, snapshot.stimuli)
    extras = _trial_extras(ratings.filter(pl.col("question") == question))
    table = table.join(extras, on=["rater", "trial"], how="left", nulls_equal=True, maintain_order="left")
    winner = (
        pl.when(pl.col("value") > 0.5).then(pl.lit("model_a"))
        .when(pl.col("value") < 0.5).then(pl.lit("model_b"))
        .otherwise(pl.lit("tie"))
    )  # fmt: skip
    if "answer" in table.columns:
        both_bad = pl.when(plain_word("answer").is_in(list(BOTH_BAD))).then("answer")
        winner = pl.coalesce(both_bad, winner)
    if "at" in table.columns:
        table = table.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"))
    named = {"rater": "judge", "first": "stimulus_a", "second": "stimulus_b"}
    table = (
        table.with_columns(winner=winner, question=pl.lit(question)).rename(named).drop("value", "answer", strict=False)
    )
    listed = [name for name in _COLUMNS if name in table.columns]
    return table.select(*listed, pl.exclude(listed))


def _trial_extras(ratings: pl.DataFrame) -> pl.DataFrame:
    """What is known of each trial besides its answer as a number."""
    extras = [name for name in ratings.columns if name not in RATINGS.names or name == "answer"]
    once = ratings.select("rater", "trial", *extras).unique(["rater", "trial"], keep="first")
    return once.rename(free_names([name for name in extras if name != "answer"], *NAMES))


def _with_systems(table: pl.DataFrame, stimuli: pl.DataFrame) -> pl.DataFrame:
    """The battles with the systems of both sides and the prompt; a stimulus of no system counts as one of its own."""
    system = pl.coalesce("system", "stimulus") if "system" in stimuli.columns else pl.col("stimulus")
    prompt = ["prompt"] if "prompt" in stimuli.columns else []
    first = stimuli.select(pl.col("stimulus").alias("first"), system.alias("model_a"), *prompt)
    second = stimuli.select(pl.col("stimulus").alias("second"), system.alias("model_b"))
    table = table.join(first, on="first", how="left", maintain_order="left")
    return table.join(second, on="second", how="left", maintain_order="left")


FORMATS.add(Arena.name, Arena())
