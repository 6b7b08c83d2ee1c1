"""The section of a bench page on pairs of models: for other clips of these systems, and for other systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.bench.told import Told
from heartfelt.report.blocks import absent, joined
from heartfelt.report.page import Section
from heartfelt.report.reading import value_of
from heartfelt.report.tables import Chance, Verdict, table
from heartfelt.report.words import plain


def comparisons(told: Told) -> Section | None:
    """Every pair of models."""
    if not told.said["comparisons"]:
        return None
    parts = []
    for task in told.tasks:
        pairs = told.comparisons(task["task"])
        if not pairs:
            continue
        title = told.named(task["headline"])
        rows = [
            [
                f"{pair['first']} − {pair['second']}", pair["difference"], _p(pair["p"]),
                None if pair["p_adjusted"] is None else Chance(pair["p_adjusted"]), pair.get("difference_adjusted"),
                Verdict(pair["apart"]), _whole(pair["more_stimuli"]),
            ]
            for pair in pairs
        ]  # fmt: skip
        columns = (
            "pair",
            f"difference in {title} (95%, this pair alone)",
            "p (this pair alone)",
            f"p (Holm over {len(pairs)})",
            "difference at the confidence Holm leaves it",
            "told apart (Holm)",
            "more stimuli needed",
        )
        parts.append(table(f"{plain(task['task'])}: for other clips like these", columns, rows))
        parts.append(_over_systems(task, title, pairs))
    lead = (
        "Pairs are compared on the items both were asked about, failures counted; interval and p come from one method and"
        " agree. The first table speaks of other clips of the same systems, the second of other systems: errors that clips of"
        " a system share count there. The last column of the first plans: how many more stimuli would show the difference"
        " four times in five, if it is as large as it looks."
    )
    return Section("comparison", "Which differences are real", lead, html=joined(*parts), short="Comparison")


def _over_systems(task: Mapping[str, Any], title: str, pairs: list[dict[str, Any]]) -> Markup:
    """The same pairs over systems, and by the means of systems; a sentence where there are too few."""
    known = [
        pair
        for pair in pairs
        if (pair.get("over_systems") or {}).get("difference", {}).get("value") is not None
    ]
    if not known:
        why = next(
            (pair["over_systems"]["p"].get("why_missing") for pair in pairs if pair.get("over_systems")), None
        )
        if why in (None, "no systems"):
            return Markup("")
        return absent(f"{plain(task['task'])}: no comparison over systems: {why}.")
    rows = []
    for pair in known:
        row: list[Any] = [f"{pair['first']} − {pair['second']}"]
        for key in ("over_systems", "system_means"):
            part = pair[key]
            holm = part["p_adjusted"]
            row += [
                part["difference"],
                _p(part["p"]),
                None if holm is None else Chance(holm),
                Verdict(part["apart"]),
            ]
        rows.append(row if task["kind"] == "numbers" else row[:5])
    columns = [
        "pair", f"difference in {title} (95%, this pair alone, over systems)", "p (this pair alone)",
        f"p (Holm over {len(known)})", "told apart (Holm)",
    ]  # fmt: skip
    if task["kind"] == "numbers":
        columns += [
            "difference on system means (95%)",
            "p",
            f"p (Holm over {len(known)}) ",
            "told apart on system means",
        ]
    return table(f"{plain(task['task'])}: for other systems", columns, rows)


def _p(estimate: Mapping[str, Any]) -> Any:
    value = value_of(estimate)
    return None if value is None else Chance(value)


def _whole(estimate: Mapping[str, Any]) -> Any:
    value = value_of(estimate)
    return estimate if value is None else int(value)
