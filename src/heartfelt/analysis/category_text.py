"""What the figures of categories say, in words."""

from __future__ import annotations

from collections.abc import Iterable

from heartfelt.analysis.category_results import AttributeTable, CategoryQuestion, CoOccurrence, RaterConfusion
from heartfelt.wording import interval, listed, number, p_value, percent, percent_interval, plural, spaced

STRONGEST = 3


def sentences(result: CategoryQuestion, *, reasons: bool = True) -> list[str]:
    """What the figures say, in words; with ``reasons`` also why some are missing."""
    balance, name = result.balance, spaced(result.question)
    rows = sorted(balance.rows, key=lambda row: -row.n_stimuli)
    ties = f" ({plural(balance.n_ties, 'stimulus', 'stimuli')} tied)" if balance.n_ties else ""
    first, last = rows[0], rows[-1]
    extremes = "every category equally often"
    if first.n_stimuli > last.n_stimuli:
        most, least = (f"{spaced(row.category)} ({percent(row.share.value)})" for row in (first, last))
        extremes = f"most often {most}, least often {least}"
    size = plural(balance.n_stimuli, "stimulus", "stimuli")
    out = [f"Balance of {name}: {size}{ties}, {extremes}; evenness {interval(balance.evenness, bare=True)}."]
    test = balance.intended
    if test is not None and test.n and not test.df:
        out.append("Every stimulus with a label has its intended category.")
    elif test is not None and test.p is not None and test.statistic is not None:
        differ = "differ" if test.p < 0.05 else "are not shown to differ"
        out.append(
            f"Perceived and intended totals {differ} (Stuart-Maxwell test, χ²({test.df}) = {number(test.statistic, 2)},"
            f" {p_value(test.p)})."
        )
    parts = [
        f"{interval(row.eta_squared, bare=True)} in {spaced(row.question)}"
        for row in result.explained
        if row.eta_squared.value is not None
    ]
    if parts:
        out.append(f"The category explains this share of the variance between stimuli (eta squared): {listed(parts)}.")
    if result.polarity is not None and result.polarity.share.value is not None:
        fit = result.polarity
        neutral = f" ({plural(fit.n_neutral, 'answer')} on the midpoint not counted)" if fit.n_neutral else ""
        out.append(
            f"{percent_interval(fit.share)} of answers have a {spaced(fit.question)} on the side of the rater's own"
            f" category{neutral}."
        )
    if result.recovered is not None and result.recovered.accuracy.value is not None:
        got = result.recovered
        out.append(
            f"From {' and '.join(map(spaced, got.axes))} alone, {percent_interval(got.accuracy)} of the categories are recovered"
            f" (macro F1 {interval(got.macro_f1, bare=True)}); always the most frequent one would be right in"
            f" {percent(got.baseline)}."
        )
    pair = most_confused(result.raters) if result.raters is not None else None
    if pair is not None:
        out.append(
            f"Most confused: where one rater answers {spaced(pair[0])}, {percent(pair[2])} of the others answer {spaced(pair[1])}."
        )
    strong = outstanding(result.attributes)
    if strong:
        named = [
            f"{cell.attribute} with {spaced(cell.category)} ({number(cell.lift, 1)} times)"
            for _, cell in strong[:STRONGEST]
        ]
        out.append(
            f"{plural(len(strong), 'pair')} of attribute and category {'stands' if len(strong) == 1 else 'stand'} out after"
            f" correction, most of all {listed(named)}."
        )
    if reasons:
        out += [f"No figure for {spaced(part)}: {reason}." for part, reason in result.why_missing.items()]
    return out


def outstanding(rows: Iterable[AttributeTable]) -> list[tuple[AttributeTable, CoOccurrence]]:
    """The cells that stand out after correction, the strongest first."""
    cells = [(table, cell) for table in rows for cell in table.cells if cell.significant]
    return sorted(cells, key=lambda pair: -abs(pair[1].residual or 0.0))


def most_confused(result: RaterConfusion) -> tuple[str, str, float] | None:
    """The two different categories that other raters of the same stimulus give most often, and how often."""
    table = result.confusion
    cells = [
        (share, a, b)
        for a, line in zip(table.rows, table.proportions, strict=True)
        for b, share in zip(table.columns, line, strict=True)
        if a != b and share
    ]
    if not cells:
        return None
    share, a, b = max(cells)
    return a, b, share
