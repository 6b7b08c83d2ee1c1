"""The figures AImoclips published. They apply to data read in its format with its six systems and the reference
coordinates of its twelve intents. The paper's pairs come from a one-way layout, without the intents its F tests hold
constant; the pairs of the verdict are those of the model itself.

Source: Go, Han, Choi, Choi, Nam and Park (2025), AImoclips: A Benchmark for Evaluating Emotion Conveyance in
Text-to-Music Generation.
"""

from __future__ import annotations

from heartfelt.analysis.findings.parts import AnalysisCounts, AnovaEffect, PairDifference
from heartfelt.analysis.published import FIGURES, exact, rounded
from heartfelt.analysis.summary import PublishedFigure
from heartfelt.analysis.systems.effects import ONE_WAY
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


class AimoclipsFigures:
    """Counts, effects of system and quadrant, and the number of pairs of systems that differ."""

    def applies(self, snapshot: Snapshot) -> bool:
        """Whether these are the data of the paper, not others in its format."""
        if snapshot.source.format != "aimoclips":
            return False
        base = recipe_study("aimoclips")
        references = [{i.id: dict(i.reference) for i in study.intents} for study in (base, snapshot.study)]
        systems = [{system.id for system in study.systems} for study in (base, snapshot.study)]
        return references[0] == references[1] and systems[0] == systems[1]

    def compare(
        self, counts: AnalysisCounts, anova: tuple[AnovaEffect, ...], pairwise: tuple[PairDifference, ...]
    ) -> tuple[PublishedFigure, ...]:
        rows = [exact(description, printed, getattr(counts, key)) for description, key, printed in COUNTS]
        for n, clips in PER_CLIP.items():
            rows.append(exact(f"clips with {n} ratings", clips, counts.ratings_per_item.get(n, 0)))
        for question, deviation, model, effect, df, f, eta in EFFECTS:
            key = (question, deviation, model, effect)
            row = next((e for e in anova if (e.outcome, e.deviation, e.model, e.effect) == key), None)
            name = f"{deviation} {question} deviation by {effect}"
            rows.append(exact(f"degrees of freedom, {name}", df, None if row is None else row.df))
            rows.append(rounded(f"F, {name}", f, None if row is None else row.f))
            rows.append(rounded(f"eta squared, {name}", eta, None if row is None else row.eta_squared))
        for question, printed in PAIRS:
            family = (question, "signed", "system", ONE_WAY)
            differ = sum(
                bool(pair.significant)
                for pair in pairwise
                if (pair.outcome, pair.deviation, pair.factor, pair.method) == family
            )
            pairs_label = (
                f"pairs of systems that differ in signed {question} deviation (one-way Tukey-Kramer, as published)"
            )
            rows.append(exact(pairs_label, printed, differ))
        return tuple(rows)


FIGURES.add("aimoclips", AimoclipsFigures())
