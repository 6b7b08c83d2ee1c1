"""Studies of drafts that people verify, with who looks and how well known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.study import Study, parse_study

WORDS = tuple(f"word{place}" for place in range(12))


@dataclass(frozen=True)
class Panel:
    """How many raters verify how many images of so many fields, and what is shown to them."""

    raters: int = 24
    images: int = 40
    fields: int = 7
    planted: float = 0.05
    hidden: float = 0.1
    stampers: int = 1
    """The first raters accept everything; the others miss as much as ``miss`` says."""
    miss: tuple[float, float] = (0.0, 0.2)
    """The least and the largest share of errors that careful raters miss."""
    hard: float = 0.0
    """A share of errors in the first field that nobody who looks would notice."""
    image_sd: float = 0.0
    """How much more is missed in some images than in others, in log-odds."""
    answers: bool = False
    """Whether the answers are ratings too, as in a collection; screening of drafts does not need them."""


def drafted_study(fields: int) -> Study:
    questions = "\n".join(
        f"  - {{id: field{place}, text: Field, scale: words, machine_first: true}}" for place in range(fields)
    )
    return parse_study(
        "heartfelt: 1\nname: drafted\ntitle: Drafted\nmedia: image\nstimuli: {manifest: stimuli.csv}\n"
        f"scales:\n  words: {{type: categories, categories: [{', '.join(WORDS)}]}}\nquestions:\n{questions}\n"
    )


def verified_panel(panel: Panel, seed: int) -> Snapshot:
    """Every rater verifies every image. Drafts are right; hidden ones are answered rightly nine times in ten."""
    rng = np.random.default_rng(seed)
    shape = (panel.raters, panel.images, panel.fields)
    rater, image, field = (part.ravel() for part in np.indices(shape))
    draft = rng.integers(len(WORDS), size=shape[1:])[image, field]
    draw = rng.random(rater.size)
    shown = np.where(draw < panel.hidden, "hidden", np.where(draw < panel.hidden + panel.planted, "planted", "true"))
    other = (draft + rng.integers(1, len(WORDS), size=draft.size)) % len(WORDS)
    miss = rng.uniform(*panel.miss, panel.raters)
    odds = np.log(np.clip(miss, 1e-9, 1 - 1e-9) / (1 - np.clip(miss, 1e-9, 1 - 1e-9)))
    odds = odds[rater] + panel.image_sd * rng.standard_normal(panel.images)[image]
    chance = 1 / (1 + np.exp(-odds))
    chance = np.where(field == 0, panel.hard + (1 - panel.hard) * chance, chance)
    chance = np.where(rater < panel.stampers, 1.0, chance)
    missed = rng.random(rater.size) < chance
    machine = np.where(shown == "planted", other, draft)
    alone = np.where(rng.random(rater.size) < 0.9, draft, other)
    final = np.where(shown == "hidden", alone, np.where((shown == "true") | missed, machine, draft))
    verdict = np.where(shown == "hidden", None, np.where(final == machine, "accepted", "fixed"))  # type: ignore[call-overload]  # None
    words = np.array(WORDS)
    pace = np.exp(0.3 * rng.standard_normal(panel.raters))
    pace[: panel.stampers] = 0.05
    seconds = 2.0 * pace[rater] * np.exp(0.4 * rng.standard_normal(rater.size))
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    order = (image * panel.fields + field) * 5.0
    table = pl.DataFrame(
        {
            "stimulus": [f"image{number:03d}" for number in image],
            "field": [f"field{number}" for number in field],
            "machine": words[machine],
            "source": np.where(shown == "planted", "planted", "tagger"),
            "verdict": pl.Series(verdict.tolist(), dtype=pl.String),
            "final": words[final],
            "verified_by": [f"r{number:03d}" for number in rater],
            "at": [start + timedelta(seconds=float(moment)) for moment in order],
            "shown": shown,
            "seconds": seconds * np.where(shown == "hidden", 2.0, 1.0),
            "keystrokes": np.where(shown == "hidden", 6, 1),
            "version": "1",
        }
    )
    names = sorted(set(table["stimulus"].to_list()))
    ratings = pl.DataFrame(
        schema={"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    )
    if panel.answers:
        code = pl.col("final").str.slice(4).cast(pl.Float64).alias("value")
        ratings = table.filter(pl.col("shown") != "planted").select(
            pl.col("verified_by").alias("rater"),
            "stimulus",
            pl.col("field").alias("question"),
            code,
            pl.col("final").alias("answer"),
        )
    return Snapshot.build(
        drafted_study(panel.fields), stimuli=pl.DataFrame({"stimulus": names}), ratings=ratings, fields=table
    )
