"""Every stimulus with its labels, to find, sort and play."""

from __future__ import annotations

from typing import Any

import polars as pl
from markupsafe import Markup

from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, questions, system_names

MOST_ROWS = 4000
MOST_WIDE = 3


def stimuli() -> Section:
    """The list; the script fills it."""
    html = Markup(
        '<div id="stimuli-list"><noscript><p>The list is made by the page\'s own script;'
        ' <a href="labels.csv">labels.csv</a> has it too.</p></noscript></div>\n'
        '<p class="files">File: <a href="labels.csv" download>labels.csv</a></p>'
    )
    return Section(
        "stimuli",
        "Stimuli and their labels",
        "Find, sort and play the stimuli. A label is the panel's estimate.",
        html=html,
        short="Stimuli",
    )


def stimuli_data(analysis: Analysis) -> dict[str, Any]:
    """The list as plain data: one row per stimulus, or per item where there are many questions."""
    labels = analysis.labels
    facts = [
        name
        for name in ("system", "intent")
        if name in labels.columns and labels[name].null_count() < labels.height
    ]
    names = system_names(analysis) if "system" in facts else {}
    columns: list[dict[str, Any]] = [
        {"label": "stimulus", "kind": "text"},
        *({"label": f, "kind": "text", "names": f == "system"} for f in facts),
    ]
    asked = questions(analysis)
    numbers = labels.schema["value"].is_numeric() if "value" in labels.columns else False
    if len(asked) <= MOST_WIDE and numbers:
        table = labels.select("stimulus", *facts).unique("stimulus").sort("stimulus")
        for question in asked:
            own = labels.filter(pl.col("question") == question).select(
                "stimulus",
                pl.col("value").round(3).alias(question),
                *(pl.col(c).round(3).alias(f"{c} {question}") for c in ("sd",) if c in labels.columns),
                pl.col("n").alias(f"n {question}"),
            )
            table = table.join(own, on="stimulus", how="left", maintain_order="left")
            columns += [{"label": question, "kind": "number"}]
            columns += [{"label": "sd", "kind": "number"}] if "sd" in labels.columns else []
            columns += [{"label": "raters", "kind": "number", "places": 0}]
    else:
        value = pl.col("value").round(3) if numbers else pl.col("value").cast(pl.String)
        table = labels.select("stimulus", *facts, "question", value, "n").sort("stimulus", "question")
        columns += [
            {"label": "question", "kind": "text"},
            {"label": "label", "kind": "number" if numbers else "text"},
            {"label": "raters", "kind": "number", "places": 0},
        ]
    hint = (
        "such as " + " ".join(str(table[0, f]) for f in facts if table.height and table[0, f] is not None)
        if facts and table.height
        else ""
    )
    return {
        "columns": columns,
        "rows": [list(row) for row in table.head(MOST_ROWS).iter_rows()],
        "total": table.height,
        "names": names,
        "hint": hint,
    }
