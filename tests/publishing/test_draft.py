"""The tables on their way to being published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, STAGE, Draft
from heartfelt.publishing.release.release import ReleaseStep
from heartfelt.snapshot.snapshot import Source
from heartfelt.tables import CONTRACTS
from tests.publishing.test_publish import small


def test_a_draft_holds_every_table_and_becomes_the_snapshot_again() -> None:
    source = small()
    draft = Draft.of(source)
    assert set(draft.tables) == {contract.name for contract in CONTRACTS}
    assert draft.snapshot().hash == source.hash
    assert draft.having("ratings", "rater", "nothing", "value") == ("rater", "value")
    assert draft.having("ratings", "nothing") == ()
    for table, column in PERSON_COLUMNS:
        known = {contract.name: contract.names for contract in CONTRACTS}
        assert column in known[table]


def test_changes_are_added_to_what_there_is() -> None:
    draft = Draft.of(small())
    first, second = (
        ReleaseStep(kind="check", table="ratings", column=None, about="one"),
        ReleaseStep(kind="check", table="raters", column=None, about="two"),
    )
    changed = draft.changed(first, ratings=draft.tables["ratings"].head(1)).changed(second)
    assert changed.steps == (first, second)
    assert changed.tables["ratings"].height == 1
    assert changed.tables["raters"].height == 12
    assert draft.tables["ratings"].height == 72
    assert draft.steps == ()


def test_what_publishing_left_out_is_a_row_of_the_ledger() -> None:
    draft = Draft.of(small())
    once = draft.ledger_with(pl.DataFrame({"what": ["answer"], "reason": ["asked"]}))
    assert once.select("stage", "what", "reason").rows() == [(STAGE, "answer", "asked")]
    twice = draft.changed(ledger=once).ledger_with(pl.DataFrame({"what": ["text"], "reason": ["held back"]}))
    assert twice["what"].to_list() == ["answer", "text"]
    assert twice["stage"].to_list() == ["publish", "publish"]


def test_the_source_of_a_draft_is_that_of_its_snapshot() -> None:
    read = Source(format="folder", name="somewhere", media_root=Path("clips"), notes=("read as Latin-1",))
    draft = replace(Draft.of(small()), source=read)
    assert draft.snapshot().source == read
    assert (
        Draft.of(draft.snapshot()).changed(ReleaseStep(kind="check", table="raters", column=None, about="x")).source
        == read
    )


def test_rows_are_added_to_a_ledger_with_columns_of_its_own() -> None:
    draft = Draft.of(small())
    screened = pl.DataFrame({"stage": ["screen"], "what": ["rater"], "reason": ["fast"], "rule": ["seconds"]})
    longer = draft.changed(ledger=screened).ledger_with(
        pl.DataFrame({"what": ["rating"], "reason": ["asked"], "stimulus": ["s0"]})
    )
    assert longer.select("stage", "what", "reason", "rule", "stimulus").rows() == [
        ("screen", "rater", "fast", "seconds", None), ("publish", "rating", "asked", None, "s0")
    ]  # fmt: skip
