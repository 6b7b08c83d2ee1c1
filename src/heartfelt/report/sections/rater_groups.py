"""Groups of raters (``--by``): how reliably each rates, its means, and how groups differ on the same stimuli."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.blocks import absent, figure_block, folded, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, inside, system_names, why
from heartfelt.report.tables import Chance, table
from heartfelt.report.words import number, plain, plural

LEAD = (
    "Intervals and tests take both stimuli and the raters of a group as samples. Differences are over the stimuli that both"
    " groups rated, with Holm's correction over all comparisons of a question."
)


def rater_groups(analysis: Analysis, charts: Mapping[str, Chart | Absent]) -> Section | None:
    """The section, where a column of the raters was named."""
    reason = why(analysis, "by", "")
    found = inside(analysis, "by")
    title = "Groups of raters"
    if not isinstance(found, Mapping):
        if not reason or "--by" in reason:
            return None
        return Section("rater-groups", title, html=absent(f"No groups: {reason}."), short="Groups")
    counted = ", ".join(f"{one['group']} ({plural(one['raters'], 'rater')})" for one in found["groups"])
    words = f"By {plain(str(found['column']))}: {counted}."
    if found.get("not_stated"):
        words += f" {plural(found['not_stated'], 'rater')} did not state it."
    if found.get("cut_at"):
        words += (
            f" Numbers were cut at their tertiles ({', '.join(number(cut, 1) for cut in found['cut_at'])})."
        )
    html = joined(
        Markup("<p>{}</p>").format(words),
        figure_block("rater-groups", charts),
        _groups(found),
        _differences(analysis, found),
    )
    return Section("rater-groups", title, LEAD, html=html, short="Groups")


def _groups(found: Mapping[str, Any]) -> Markup:
    lines = [
        [
            plain(str(row["question"])),
            str(row["group"]),
            row["n_raters"],
            row["n_ratings"],
            row["mean"],
            row["alpha"],
            row["icc2"],
            row["icc2k"],
        ]
        for row in found["rows"]
    ]
    columns = ["question", "group", "raters", "ratings", "mean", "alpha", "ICC(2,1), one rater", "ICC(2,k)"]
    return table("Each group by itself, with 95% intervals", columns, lines, more="all are in summary.json")


def _differences(analysis: Analysis, found: Mapping[str, Any]) -> Markup:
    names = system_names(analysis) | {"all": "all systems"}

    def lines(rows: list[Mapping[str, Any]]) -> list[list[Any]]:
        return [
            [
                plain(str(row["question"])),
                names.get(str(row["system"]), str(row["system"])),
                str(row["a"]),
                str(row["b"]),
                row["difference"],
                None if row["p"] is None else Chance(row["p"]),
                bool(row["significant"]) if row["p"] is not None else None,
            ]
            for row in rows
        ]

    columns = ["question", "stimuli", "a", "b", "a less b", "p (Holm)", "significant"]
    every = [row for row in found["differences"] if row["system"] == "all"]
    inner = [row for row in found["differences"] if row["system"] != "all"]
    parts = [table("Differences between groups on the same stimuli", columns, lines(every))] if every else []
    if inner:
        content = table("Differences by system", columns, lines(inner), more="all are in summary.json")
        parts.append(folded("Differences between groups, system by system", content))
    return Markup("\n").join(parts)
