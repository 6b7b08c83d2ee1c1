"""Drafts that people verified: what became of them, what they did to answers, and who accepted planted ones."""

from __future__ import annotations

from collections.abc import Callable

from heartfelt.analysis import Analysis
from heartfelt.analysis.consistency.verification import ALL
from heartfelt.analysis.findings.verification import DraftedField, DraftVerification
from heartfelt.report.charts import Absent, Axis, Chart, IntervalPanels, Item, Line, first_of
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.palette import BASE_COLOUR, COLOURS, FLAGGED
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import plural, spaced

NO_DRAFTS = "nobody verified a draft of a machine"
MOST_RATERS = 40
MOST_FIELDS = 24


def _items(
    drafts: DraftVerification, of: Callable[[DraftedField], Estimate], colour: str, note: Callable[[DraftedField], str]
) -> list[Item]:
    return [
        Item(
            label=field_name(field.field),
            estimate=of(field),
            colour=colour,
            cells={"field": field.field},
            note=note(field),
        )
        for field in drafts.fields[:MOST_FIELDS]
    ]


def _shares(label: str) -> Axis:
    return Axis(label=label, low=-0.03, high=1.03, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))


def field_name(name: str) -> str:
    """A field in words."""
    return "all fields" if name == ALL else spaced(name)


@figure("draft-verdicts")
def draft_verdicts(analysis: Analysis) -> Chart | Absent:
    """One row per field."""
    drafts = analysis.summary.verification
    if drafts is None:
        return Absent(NO_DRAFTS)
    panels = IntervalPanels("share")
    panels.add(
        "Drafts accepted as they were",
        _shares("share of verifications"),
        _items(
            drafts,
            lambda field: field.verdicts.accepted,
            BASE_COLOUR,
            lambda field: plural(field.verdicts.verified, "verification"),
        ),
    )
    panels.add(
        "Planted errors accepted",
        _shares("share of planted drafts"),
        _items(drafts, lambda field: field.missed, COLOURS[1], lambda field: plural(field.planted, "planted draft")),
    )
    panels.add(
        "Accuracy of drafts",
        _shares("similarity to own answers"),
        _items(drafts, lambda field: field.accuracy, COLOURS[2], lambda field: plural(field.hidden, "answer")),
    )
    return panels.chart(
        *chart_texts("draft-verdicts", first_of(min(MOST_FIELDS, len(drafts.fields)), len(drafts.fields), "fields"))
    )


@figure("draft-effects")
def draft_effects(analysis: Analysis) -> Chart | Absent:
    """One row per field: with a draft against without."""
    drafts = analysis.summary.verification
    if drafts is None:
        return Absent(NO_DRAFTS)
    panels = IntervalPanels("difference")
    none = (Line(0.0, "no difference"),)

    def hidden(field: DraftedField) -> str:
        return f"{plural(field.hidden, 'answer')} without a draft"

    panels.add(
        "Anchoring",
        "gain in similarity to the draft",
        _items(drafts, lambda field: field.anchoring.difference, BASE_COLOUR, hidden),
        lines=none,
    )
    panels.add(
        "Time",
        "times as long as without",
        _items(drafts, lambda field: field.seconds.difference, COLOURS[2], hidden),
        lines=(Line(1.0, "same time"),),
        include=(0.0,),
    )
    panels.add(
        "Keystrokes",
        "more keys than without",
        _items(drafts, lambda field: field.keystrokes.difference, COLOURS[3], hidden),
        lines=none,
    )
    return panels.chart(*chart_texts("draft-effects"))


@figure("planted-errors")
def planted_errors(analysis: Analysis) -> Chart | Absent:
    """One row per rater who met a planted draft, the largest share first."""
    drafts = analysis.summary.verification
    if drafts is None:
        return Absent(NO_DRAFTS)
    met = [rater for rater in drafts.raters if rater.planted]
    if not met:
        return Absent("no rater met a planted draft")
    met.sort(key=lambda rater: (-rater.planted_accepted / rater.planted, rater.rater))
    stamps = stampers(analysis)
    items = [
        Item(
            label=rater.rater,
            estimate=rater.missed,
            colour=FLAGGED if rater.rater in stamps else BASE_COLOUR,
            cells={"rater": rater.rater, "planted": rater.planted, "accepted": rater.planted_accepted},
            note=f"{rater.planted_accepted} of {plural(rater.planted, 'planted draft')} accepted"
            + ("\nflagged by rubber-stamping" if rater.rater in stamps else ""),
            after={"flagged": rater.rater in stamps},
        )
        for rater in met
    ]
    panels = IntervalPanels("share", letters=False)
    panels.add("", _shares("share of planted drafts accepted"), items[:MOST_RATERS])
    panels.add("", "share", items[MOST_RATERS:], visible=False)
    return panels.chart(*chart_texts("planted-errors", first_of(min(MOST_RATERS, len(met)), len(met), "raters")))


def stampers(analysis: Analysis) -> set[str]:
    """The raters whom the rule rubber-stamping flags."""
    flags = analysis.panel.flags
    return set(flags.filter((flags["rule"] == "rubber-stamping") & flags["flagged"])["rater"].drop_nulls().to_list())
