"""``arena``: logs of battles between systems, one row per battle with ``model_a``, ``model_b`` and ``winner``.

The stimulus of a battle is what a system made for a prompt; where the log names no prompt, it is the system itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.columns import Sheet, ids, need
from heartfelt.formats.delimited import collected, csv_text, header_of
from heartfelt.formats.described import COMMON_OPTIONS, build
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.json_files import JSON, has_keys
from heartfelt.formats.set_rows import (
    BOTH_BAD,
    NO_ANSWER,
    REPEATED_ROW,
    SELF_PAIR,
    chosen,
    pair_ratings,
    plain_word,
    repeated_rows,
    stated_words,
    table_sets,
    usable,
    with_trials,
)
from heartfelt.formats.source_table import SYNONYMS, TABLES, SourceTable, locate, open_table
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import pairs, set_questions
from heartfelt.study.set_scale import Choice
from heartfelt.tables import RATINGS, number_types

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
ONE_QUESTION = "preference"
BOTH_BAD_TEXT = "tie (bothbad)"
MOST_QUESTIONS = 60
LONGEST_ID = 64
"""Prompts longer than this are texts, and get ids."""


class Arena(Format):
    """Battles of two systems with a winner or a tie."""

    name: ClassVar[str] = "arena"
    example_data: ClassVar[str] = "example/battles.jsonl"
    about: ClassVar[str] = "arena logs: one battle per row with model_a, model_b and winner"
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
        **COMMON_OPTIONS,
    }

    def recognises(self, source: Path) -> bool:
        """A table or JSON Lines file with exactly these columns, or a folder this format wrote."""
        path = source / "battles.csv" if source.is_dir() else source
        if not path.is_file() or path.suffix.lower() not in TABLES:
            return False
        if path.suffix.lower() in {".csv", ".tsv", ".txt"}:
            return header_of(path) >= set(NEEDED)
        if path.suffix.lower() in JSON and not has_keys(path, NEEDED):
            return False
        try:
            return set(open_table(path, {}, records=True).columns) >= set(NEEDED)
        except InputError:
            return False

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the battles; those that cannot be used are in the ledger."""
        path = locate(source, ("battles.csv", "battles.jsonl"))
        table = open_table(path, options, records=True)
        roles, notes = _roles(table), list[str]()
        rows, dropped = _plain_columns(table, roles)
        if (
            "question" in roles
            and "question" not in options
            and rows[roles["question"]].n_unique() > MOST_QUESTIONS
        ):
            roles.setdefault("prompt", roles.pop("question"))  # what the systems were asked, not the judges
        if dropped:
            listed = ", ".join(f"'{name}'" for name in dropped[:6]) + (" …" if len(dropped) > 6 else "")
            notes.append(f"Columns with lists, such as conversations, were left out: {listed}.")
        battles = _battles(rows, roles, options.get("question"))
        words = stated_words(options)
        sides = [("model_a", "model_b"), ("first", "second")]
        battles = battles.with_columns(chosen("winner", words, sides).alias("value"))
        empty = pl.col("winner").is_null() | (pl.col("winner").str.strip_chars() == "")
        faults = {
            "a system has no name": pl.col("first").is_null() | pl.col("second").is_null(),
            SELF_PAIR: pl.col("first") == pl.col("second"),
            NO_ANSWER: empty,
            "the winner is neither system nor a tie": pl.col("value").is_null(),
        }
        if {"at", "prompt", "trial"} & set(roles):
            faults[REPEATED_ROW] = repeated_rows(battles)
        good, ledger = usable(
            battles, faults, table.where, {"rater": "rater", "stimulus": "first", "question": "question"}
        )
        good = with_trials(good)
        bad = plain_word("winner").is_in(list(BOTH_BAD))
        if good.select(bad.any()).item():
            good = good.with_columns(pl.when(bad).then(pl.lit(BOTH_BAD_TEXT)).alias("answer"))
        about = ["model_a", "model_b", "winner", *(["prompt"] if "prompt" in roles else [])]
        scale = Choice(type="choice", ties=bool((good["value"] == 0.5).any()))
        ratings = pair_ratings(good.drop(about), scale)
        return build(
            self.name,
            table,
            source,
            progress,
            stimuli=_stimuli(good),
            scales=dict.fromkeys(good["question"].unique(maintain_order=True), scale),
            notes=notes,
            sets=table_sets("pair"),
            ratings=ratings,
            ledger=ledger,
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``battles.csv``: a row per trial with two stimuli."""
        parts = [_battle_rows(snapshot, question) for question in set_questions(snapshot.study)]
        parts = [part for part in parts if part.height]
        if not parts:
            raise InputError(
                "The snapshot has no trials with two stimuli.",
                "Export it as long; arena logs hold pairs only.",
            )
        write_text(target / "battles.csv", csv_text(pl.concat(parts, how="diagonal")))


def _roles(table: SourceTable) -> dict[str, str]:
    """The column of each role that has one."""
    columns, options = table.columns, table.options
    folded = {column.strip().casefold(): column for column in reversed(columns)}
    out: dict[str, str] = {}
    for role, usual in NAMES.items():
        named = options.get(role)
        if named == "none" and "none" not in columns:
            continue
        if role == "question" and named is not None and named not in columns:
            continue
        if named is not None:
            need(columns, [named], table.where)
            out[role] = named
        else:
            names = (*usual, *SYNONYMS["rater"][:-1]) if role == "judge" else usual
            known = [folded[name] for name in names if name in folded and folded[name] not in out.values()]
            if known:
                out[role] = known[0]
    for role in NEEDED:
        if role not in out:
            raise InputError(
                f"{table.where}: no column is unmistakably {role}.",
                f"Name it with --map {role}=COLUMN. The columns are: {', '.join(columns[:40])}.",
            )
    return out


def _plain_columns(table: SourceTable, roles: Mapping[str, str]) -> tuple[pl.DataFrame, list[str]]:
    """The rows without columns of lists, and the names of those."""
    schema = table.rows.collect_schema()
    nested = [name for name, dtype in schema.items() if dtype.is_nested() and name not in roles.values()]
    frame = collected(table.rows.drop(nested), table.path)
    if not frame.height:
        raise InputError(f"{table.path} has no rows.", "Point to a log with one battle per row.")
    return frame, nested


def _battles(frame: pl.DataFrame, roles: Mapping[str, str], question: str | None) -> pl.DataFrame:
    """The battles with ``rater, question, first, second, model_a, model_b, winner`` and what else is known."""
    sheet = Sheet(frame, "the log")
    taken = set(roles.values())
    extras = [name for name in frame.columns if name not in taken]
    free = {name: f"source_{name}" for name in extras if name in {*RATINGS.names, *NAMES, "first", "second"}}
    out = number_types(frame.select(extras).rename(free))
    text = {role: ids(frame[column]) for role, column in roles.items() if role not in {"at", "seconds"}}
    columns = [text[role].alias(role) for role in (*NEEDED, "trial", "set") if role in text]
    columns.append(
        text["judge"].alias("rater")
        if "judge" in text
        else pl.repeat(None, frame.height, dtype=pl.String, eager=True).alias("rater")
    )
    asked = question if question is not None and "question" not in roles else ONE_QUESTION
    columns.append(
        text["question"].alias("question")
        if "question" in text
        else pl.repeat(asked, frame.height, eager=True).alias("question")
    )
    if "at" in roles:
        columns.append(sheet.moments(roles["at"]).alias("at"))
    columns += [sheet.whole_numbers(roles[r]).alias(r) for r in ("position", "repeat") if r in roles]
    if "seconds" in roles:
        columns.append(sheet.numbers(roles["seconds"]).alias("seconds"))
    if "prompt" in text:
        columns.append(text["prompt"].alias("prompt"))
    out = pl.DataFrame([*columns, *out.get_columns()])
    if {"stimulus_a", "stimulus_b"} <= set(text):
        return out.with_columns(text["stimulus_a"].alias("first"), text["stimulus_b"].alias("second"))
    if "prompt" not in text:
        return out.with_columns(pl.col("model_a").alias("first"), pl.col("model_b").alias("second"))
    prompt = pl.col("prompt")
    if (text["prompt"].str.len_chars() > LONGEST_ID).any():
        prompt = pl.format("prompt-{}", prompt.rank("dense"))
    return out.with_columns(
        pl.concat_str(prompt, model, separator="/").alias(side)
        for side, model in (("first", "model_a"), ("second", "model_b"))
    )


def _stimuli(battles: pl.DataFrame) -> pl.DataFrame:
    about = ["prompt"] if "prompt" in battles.columns else []
    sides = (
        battles.select(pl.col(side).alias("stimulus"), pl.col(model).alias("system"), *about)
        for side, model in (("first", "model_a"), ("second", "model_b"))
    )
    return pl.concat(sides).unique("stimulus", keep="first", maintain_order=True)


def _battle_rows(snapshot: Snapshot, question: str) -> pl.DataFrame:
    """The battles of one question."""
    ratings, stimuli = snapshot.ratings, snapshot.stimuli
    table = pairs(ratings, question)
    if not table.height or not isinstance(snapshot.study.scale_of(question), Choice):
        return table.clear()
    known = stimuli.select(
        "stimulus",
        pl.col("system").fill_null(pl.col("stimulus")) if "system" in stimuli.columns else pl.col("stimulus").alias("system"),
        *(["prompt"] if "prompt" in stimuli.columns else []),
    )  # fmt: skip
    first = known.rename({"stimulus": "first", "system": "model_a"})
    second = known.select(pl.col("stimulus").alias("second"), pl.col("system").alias("model_b"))
    table = table.join(first, on="first", how="left", maintain_order="left")
    table = table.join(second, on="second", how="left", maintain_order="left")
    extras = [name for name in ratings.columns if name not in RATINGS.names or name == "answer"]
    if extras:
        own = ratings.filter((pl.col("question") == question) & (pl.col("place") == 1))
        own = own.select("rater", "trial", *extras).unique(["rater", "trial"], keep="first")
        table = table.join(own, on=["rater", "trial"], how="left", nulls_equal=True, maintain_order="left")
    winner = (
        pl.when(pl.col("value") > 0.5).then(pl.lit("model_a"))
        .when(pl.col("value") < 0.5).then(pl.lit("model_b"))
        .otherwise(pl.lit("tie"))
    )  # fmt: skip
    if "answer" in table.columns:
        winner = pl.coalesce("answer", winner)
    if "at" in table.columns:
        table = table.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"))
    named = {"rater": "judge", "first": "stimulus_a", "second": "stimulus_b"}
    table = (
        table.with_columns(winner=winner, question=pl.lit(question))
        .rename(named)
        .drop("value", "answer", strict=False)
    )
    order = [
        "model_a",
        "model_b",
        "winner",
        "judge",
        "question",
        "stimulus_a",
        "stimulus_b",
        "prompt",
        "trial",
        "set",
    ]
    listed = [name for name in order if name in table.columns]
    return table.select(*listed, pl.exclude(listed))


FORMATS.add(Arena.name, Arena())
