"""Word statistics of several sets of texts side by side: one table as CSV, Markdown and HTML, one figure, and the JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.report.charts import Absent, Chart, IntervalPanels, Item
from heartfelt.report.layout.page import ReportPage, Section, bullets, figure_block, joined, render
from heartfelt.report.layout.tables import table
from heartfelt.report.palette import colour
from heartfelt.scoring.tasks.captions import NAMES, CaptionScores
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.texts.diversity import MEASURES, Diversity
from heartfelt.wording import interval, number, percent, plural

FIGURE = "words"
CHART_MEASURES = ("words_per_text", "vocabulary_at", "entropy", "type_token_ratio", "mattr", "mtld", "hdd")

COUNTS = {MEASURES[name] for name in ("words", "vocabulary", "vocabulary_at")}


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """The figures of each set of texts by name; where references were given, how close the first set is to them."""

    corpora: Mapping[str, Diversity]
    references: str = ""
    closeness: CaptionScores | None = None

    def estimates(self) -> list[tuple[str, str, Estimate]]:
        """Every number: the set of texts, the measure and the estimate."""
        out = [
            (name, words, getattr(corpus, measure))
            for name, corpus in self.corpora.items()
            for measure, words in MEASURES.items()
        ]
        first = next(iter(self.corpora), "")
        if self.closeness is not None:
            out += [(first, words, getattr(self.closeness, metric)) for metric, words in NAMES.items()]
        return out

    def notes(self) -> list[str]:
        """What a reader must know to compare the sets."""
        lines = []
        sizes = {corpus.size for corpus in self.corpora.values()}
        if len(self.corpora) > 1:
            lines.append(
                "Vocabulary, entropy and type-token ratio depend on how much was written. Compare the vocabulary at equal"
                f" size ({max(sizes):,} words), MATTR, MTLD and HD-D."
            )
        for name, corpus in self.corpora.items():
            if corpus.characters > 0:
                lines.append(
                    f"{name}: {percent(corpus.characters)} of the counted units are characters of a script without spaces, not"
                    " words; do not compare them with words."
                )
            if corpus.without_words:
                lines.append(f"{name}: {plural(corpus.without_words, 'text')} without words, counted as texts.")
        return lines


def statistics_table(result: WordStatistics) -> pl.DataFrame:
    """Every number with its interval, method and reasons, one per row."""
    rows = [
        {
            "texts": name,
            "measure": words,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "interval": estimate.interval or None,
            "reason": estimate.why_missing or (estimate.why_no_interval if estimate.low is None else None),
            "n_texts": estimate.counts.get("texts", estimate.counts.get("items")),
            "n_words": estimate.counts.get("words"),
        }
        for name, words, estimate in result.estimates()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def markdown(result: WordStatistics) -> str:
    """The table of the sets, a row each, and of the comparison with references."""
    columns, rows = _grid(result)
    # Counts have no decimals.
    decimals = [0 if column in COUNTS else None for column in columns]
    lines = _markdown_table(columns, [list(map(_text, row, decimals)) for row in rows])
    if result.closeness is not None:
        close = [[name, _text(getattr(result.closeness, key))] for key, name in NAMES.items()]
        lines += [
            "",
            *_markdown_table(
                [f"against {result.references}, {plural(result.closeness.items, 'text')}", "value"], close
            ),
        ]
    return "\n".join([*lines, "", *(f"- {note}" for note in result.notes())]).rstrip() + "\n"


def words_chart(result: WordStatistics) -> Chart | Absent:
    """A panel per measure, a row per set of texts."""
    builder = IntervalPanels()
    for measure in CHART_MEASURES:
        items = [
            Item(
                label=name,
                estimate=getattr(corpus, measure),
                colour=colour(index),
                cells={"measure": MEASURES[measure], "texts": name},
            )
            for index, (name, corpus) in enumerate(result.corpora.items())
        ]
        builder.add(MEASURES[measure], MEASURES[measure], items)
    caption = (
        "Words per text and how varied the words are. Intervals over texts at 95%; none where a set has few texts."
    )
    return builder.chart("Words", caption, "there are no words")


def write_words(result: WordStatistics, folder: Path) -> Path:
    """Write words.csv, words.md, words.json, report.html and figures/ into a new ``folder``."""
    from heartfelt.report.drawing.processes import drawing

    charts = {FIGURE: words_chart(result)}
    columns, rows = _grid(result)
    shown = joined(figure_block(FIGURE, charts), table("Texts", columns, rows), bullets(result.notes()))
    sections = [Section(id="words", title="How many words, and how varied", lead="", html=shown)]
    if result.closeness is not None:
        close = [[name, getattr(result.closeness, key)] for key, name in NAMES.items()]
        first = next(iter(result.corpora))
        title = f"How close {first} is to {result.references}"
        sections.append(
            Section(id="references", title=title, lead="", html=table("Metrics", ["metric", "value"], close))
        )
    with whole_folder(folder) as staging, drawing(charts, staging / "figures"):
        write_text(staging / "words.csv", csv_text(statistics_table(result)))
        write_text(staging / "words.md", markdown(result))
        write_json(staging / "words.json", result)
        write_text(
            staging / "report.html",
            render(ReportPage(title="Words", subtitle=", ".join(result.corpora), sections=sections, charts=charts)),
        )
    return folder


def _grid(result: WordStatistics) -> tuple[list[str], list[list[str | int | Estimate]]]:
    rows: list[list[str | int | Estimate]] = [
        [name, corpus.unit, corpus.texts, *(getattr(corpus, measure) for measure in MEASURES)]
        for name, corpus in result.corpora.items()
    ]
    return ["texts", "unit", "n", *MEASURES.values()], rows


def _text(cell: str | int | Estimate, decimals: int | None = None) -> str:
    if isinstance(cell, Estimate):
        return interval(cell, decimals)
    return number(cell) if isinstance(cell, int) else cell


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
