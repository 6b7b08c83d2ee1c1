"""Where stimuli come from, in rows and words, as far as their table says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl

from heartfelt.publishing.papers.provenance import file_licences, origin_sentences, provenance_grid


def release(**columns: Any) -> Any:
    return SimpleNamespace(snapshot=SimpleNamespace(stimuli=pl.DataFrame(columns)))


STATED = release(
    stimulus=["a", "b", "c", "d"],
    system=["Suno", "Suno", "Udio", None],
    model=["chirp", "chirp", None, None],
    revision=["v4", "v5", None, None],
    licence=["Pro", "Pro", "Pro", None],
    licence_url=["https://example.org", "https://example.org", None, None],
    generated_on=pl.Series([None] * 4, dtype=pl.String),
    seed=[1, 2, 3, 4],
)


def test_every_combination_is_a_row_with_its_count() -> None:
    grid = provenance_grid(STATED)
    assert grid.columns == ("system", "model", "revision", "licence", "licence url", "stimuli")
    rows: tuple[tuple[object, ...], ...] = grid.rows
    assert rows == (
        ("Suno", "chirp", "v4", "Pro", "https://example.org", 1),
        ("Suno", "chirp", "v5", "Pro", "https://example.org", 1),
        ("Udio", "not stated", "not stated", "Pro", "not stated", 1),
        ("not stated", "not stated", "not stated", "not stated", "not stated", 1),
    )
    assert origin_sentences(STATED) == (
        "Suno: model chirp, revision v4, licence Pro, licence url https://example.org (1 stimulus)",
        "Suno: model chirp, revision v5, licence Pro, licence url https://example.org (1 stimulus)",
        "Udio: licence Pro (1 stimulus)",
        "unnamed: nothing is stated (1 stimulus)",
    )
    assert file_licences(STATED) == (
        "Pro, https://example.org: 2 stimuli",
        "Pro: 1 stimulus",
        "no licence stated: 1 stimulus",
    )


def test_nothing_is_said_where_nothing_is_stated() -> None:
    for bare in (
        release(stimulus=["a"], system=["Suno"]),
        release(stimulus=["a"], model=pl.Series([None], dtype=pl.String), licence=pl.Series([None], dtype=pl.String)),
    ):
        assert provenance_grid(bare).rows == ()
        assert origin_sentences(bare) == ()
        assert file_licences(bare) == ()
    only = release(stimulus=["a", "b"], licence=["MIT", "MIT"])
    assert file_licences(only) == ("MIT: 2 stimuli",)
    assert origin_sentences(only) == ("unnamed: licence MIT (2 stimuli)",)
