"""Drafts that people verified: by field, model and rater, with what seeing a draft changes."""

from __future__ import annotations

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.verification import ALL
from heartfelt.analysis.verification_results import (
    DraftedField,
    DraftedModel,
    DraftVerification,
    VerifyingRater,
)
from heartfelt.report.charts import Charts
from heartfelt.report.figures.verification import field_name, stampers
from heartfelt.report.page import Section, figure_block, folded, joined, paragraph
from heartfelt.report.tables import Columns, PValue, table_of
from heartfelt.wording import plural

LEAD = (
    "People accepted, fixed or rejected a machine's drafts. Withheld drafts show what people answer by themselves; planted ones,"
    " which belong to other stimuli, show who looks."
)


def verification(analysis: Analysis, charts: Charts) -> Section | None:
    """Verdicts, planted errors, anchoring and time; nothing where nobody verified a draft."""
    drafts = analysis.summary.verification
    if drafts is None:
        return None
    html = joined(
        figure_block("draft-verdicts", charts),
        _verdicts(drafts),
        figure_block("draft-effects", charts),
        _effects(drafts),
        _models(drafts),
        figure_block("planted-errors", charts),
        _raters(analysis, drafts),
        _notes(drafts),
    )
    return Section(id="drafts", title="Drafts and verification", lead=LEAD, html=html, short="Drafts")


def _verdicts(drafts: DraftVerification) -> Markup:
    columns: Columns[DraftedField] = {
        "field": lambda row: field_name(row.field),
        "verified": lambda row: row.verdicts.verified,
        "accepted": lambda row: row.verdicts.accepted,
        "fixed": lambda row: row.verdicts.fixed,
        "rejected": lambda row: row.verdicts.rejected,
        "planted": lambda row: row.planted,
        "planted errors accepted": lambda row: row.missed,
        "withheld": lambda row: row.hidden,
        "accuracy": lambda row: row.accuracy,
    }
    return table_of(
        "Verdicts on drafts by field: shares of verifications, with 95% intervals", drafts.fields, columns
    )


def _effects(drafts: DraftVerification) -> Markup:
    columns: Columns[DraftedField] = {
        "field": lambda row: field_name(row.field),
        "similarity with the draft in sight": lambda row: row.anchoring.with_draft,
        "without": lambda row: row.anchoring.without_draft,
        "anchoring": lambda row: row.anchoring.difference,
        "p (Holm)": lambda row: PValue(row.anchoring.p if row.field == ALL else row.anchoring.p_holm),
        "seconds with a draft": lambda row: row.seconds.with_draft,
        "seconds without": lambda row: row.seconds.without_draft,
        "times as long": lambda row: row.seconds.difference,
        "keystrokes fewer or more": lambda row: row.keystrokes.difference,
    }
    caption = "What seeing the draft changes, with 95% intervals; seconds are geometric means"
    return table_of(caption, drafts.fields, columns)


def _models(drafts: DraftVerification) -> Markup:
    columns: Columns[DraftedModel] = {
        "model": lambda row: row.source,
        "version": lambda row: row.version,
        "fields": lambda row: ", ".join(map(field_name, row.fields)),
        "verified": lambda row: row.verdicts.verified,
        "accepted": lambda row: row.verdicts.accepted,
        "fixed": lambda row: row.verdicts.fixed,
        "rejected": lambda row: row.verdicts.rejected,
        "accuracy": lambda row: row.accuracy,
    }
    return table_of("Drafts by model and version, with 95% intervals", drafts.models, columns)


def _raters(analysis: Analysis, drafts: DraftVerification) -> Markup:
    stamps = stampers(analysis)
    columns: Columns[VerifyingRater] = {
        "rater": lambda row: row.rater,
        "verified": lambda row: row.verdicts.verified,
        "accepted": lambda row: row.verdicts.accepted,
        "fixed": lambda row: row.verdicts.fixed,
        "rejected": lambda row: row.verdicts.rejected,
        "planted": lambda row: row.planted,
        "planted accepted": lambda row: row.planted_accepted,
        "share": lambda row: row.missed,
        "median seconds": lambda row: row.seconds,
        "without a draft": lambda row: row.seconds_without,
        "flagged": lambda row: "yes" if row.rater in stamps else "no",
    }
    rows = sorted(drafts.raters, key=lambda row: (row.rater not in stamps, row.rater))
    content = table_of("Raters: verdicts, planted drafts and time for a field", rows, columns)
    return folded(f"All {plural(len(rows), 'rater')} who verified drafts", content)


def _notes(drafts: DraftVerification) -> Markup:
    words = (
        "Similarity runs from 0 (nothing in common) to 1 (the same): numbers by their distance as a share of the range, tags and"
        " words by the Jaccard index, categories equal or not. A planted draft may be right by chance."
    )
    alike = sum(field.planted_alike for field in drafts.fields if field.field != ALL)
    if alike:
        verb = "is" if alike == 1 else "are"
        words += f" {plural(alike, 'planted draft')} {verb} not counted: too much like the machine's own to be wrong."
    if drafts.left_out:
        words += f" {plural(drafts.left_out, 'verification')} by raters who were left out appear in the table of raters only."
    return paragraph(words)
