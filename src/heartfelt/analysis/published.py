"""The figures AImoclips published, beside the same figures computed from its ratings.

The comparison is made where the data are those of AImoclips: read in its format, with its six systems and the reference
coordinates of its twelve intents. It always uses every rater, as the paper does, whatever policy the analysis follows. A
figure agrees when it rounds to the printed digits. The paper's pairs come from a one-way layout, without the intents its F
tests hold constant; the pairs of the verdict are those of the model itself.

Source: Go, Han, Choi, Choi, Nam and Park (2025), AImoclips: A Benchmark for Evaluating Emotion Conveyance in
Text-to-Music Generation.
"""

from __future__ import annotations

from typing import Any

from heartfelt.analysis.pairwise import ONE_WAY
from heartfelt.snapshot import Snapshot
from heartfelt.study.recipes import recipe_study

COUNTS = (("clips rated", "rated", 991), ("ratings", "ratings", 6162), ("raters", "raters", 111))
PER_CLIP = {"4": 67, "5": 205, "6": 315, "7": 270, "8": 117, "9": 17}
EFFECTS = (
    ("valence", "signed", "system + intent", "system", (5, 974), "150.53", ".123"),
    ("arousal", "signed", "system + intent", "system", (5, 974), "39.44", ".0836"),
    ("valence", "absolute", "quadrant + system", "quadrant", (3, 982), "29.27", ".0814"),
    ("arousal", "absolute", "quadrant + system", "quadrant", (3, 982), "14.62", ".0421"),
)
PAIRS = (("valence", 8), ("arousal", 8))


def is_aimoclips(snapshot: Snapshot) -> bool:
    """Whether these are the data of the paper, not others in its format."""
    if snapshot.source.format != "aimoclips":
        return False
    base = recipe_study("aimoclips")
    intents = {intent.id: dict(intent.reference) for intent in snapshot.study.intents}
    known = {intent.id: dict(intent.reference) for intent in base.intents}
    systems = {system.id for system in snapshot.study.systems}
    return intents == known and systems == {system.id for system in base.systems}


def published(
    counts: dict[str, Any], anova: list[dict[str, Any]], pairwise: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Published figures with recomputed ones, from parts computed with all raters."""
    rows = [_same(what, printed, counts[key]) for what, key, printed in COUNTS]
    for n, clips in PER_CLIP.items():
        rows.append(_same(f"clips with {n} ratings", clips, counts["ratings_per_item"].get(n, 0)))
    for question, deviation, model, effect, df, f, eta in EFFECTS:
        key = (question, deviation, model, effect)
        found: dict[str, Any] = next(
            (row for row in anova if (row["outcome"], row["deviation"], row["model"], row["effect"]) == key),
            {"df": None, "F": None, "eta_squared": None},
        )
        name = f"{deviation} {question} deviation by {effect}"
        rows.append(_same(f"degrees of freedom, {name}", list(df), found["df"]))
        rows.append(_printed(f"F, {name}", f, found["F"]))
        rows.append(_printed(f"eta squared, {name}", eta, found["eta_squared"]))
    for question, printed in PAIRS:
        differ = sum(
            bool(row["significant"])
            for row in pairwise
            if (row["outcome"], row["deviation"], row["factor"], row["method"])
            == (question, "signed", "system", ONE_WAY)
        )
        what = f"pairs of systems that differ in signed {question} deviation (one-way Tukey-Kramer, as published)"
        rows.append(_same(what, printed, differ))
    return rows


def _same(what: str, printed: Any, recomputed: Any) -> dict[str, Any]:
    return {"what": what, "published": printed, "recomputed": recomputed, "agrees": printed == recomputed}


def _printed(what: str, printed: str, recomputed: float | None) -> dict[str, Any]:
    """Compare to the digits that were printed."""
    places = len(printed.partition(".")[2])
    agrees = recomputed is not None and f"{recomputed:.{places}f}" == f"{float(printed):.{places}f}"
    return {
        "what": what,
        "published": float(printed),
        "printed": printed,
        "recomputed": recomputed,
        "agrees": agrees,
    }
