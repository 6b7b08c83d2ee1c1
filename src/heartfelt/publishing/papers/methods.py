"""METHODS.md: a methods section ready to paste, with what the authors state about recruiting, pay and ethics."""

from __future__ import annotations

from heartfelt.analysis.text.methods_section import Paragraph, methods_section, references
from heartfelt.publishing.papers.citation import citation_line
from heartfelt.publishing.papers.facts import NOT_STATED, rater_facts, size_words, steps_words, title_of
from heartfelt.publishing.papers.rendering import render
from heartfelt.publishing.release.release import Release

NO_ANALYSIS = "The published ratings were not analysed."


def methods_paragraphs(release: Release) -> tuple[Paragraph, ...]:
    """The section's paragraphs: of the study, of the authors, and of publishing."""
    paragraphs = [] if release.analysis is None else list(methods_section(release.analysis))
    if not paragraphs:
        paragraphs = [Paragraph("Participants and ratings", f"The dataset held {size_words(release)}. {NO_ANALYSIS}")]
    details = release.details
    stated = (
        ("Recruiting", details.recruitment),
        ("Payment", details.pay),
        ("Period", details.collected),
        ("Ethics", details.ethics),
    )
    authors = [Paragraph(title, text or NOT_STATED) for title, text in stated]
    more = [Paragraph("Anonymisation", f"{_privacy(release)} {steps_words(release)}".strip())]
    more.append(Paragraph("Data availability", f"The data are available as: {citation_line(release)}"))
    return (paragraphs[0], *authors, *paragraphs[1:], *more)


def _privacy(release: Release) -> str:
    if not rater_facts(release):
        return "Before publication, identifiers of raters were replaced by keyed pseudonyms."
    return (
        f"Before publication, facts about raters were generalised until every combination of them was shared by at least"
        f" {release.record.k} raters (k-anonymity; Sweeney, 2002), with at least {release.record.l} values of every sensitive"
        " column among them (l-diversity; Machanavajjhala et al., 2007)."
    )


PRIVACY_REFERENCES = (
    "Machanavajjhala, A., Kifer, D., Gehrke, J., & Venkitasubramaniam, M. (2007). l-diversity: Privacy beyond k-anonymity."
    " ACM Transactions on Knowledge Discovery from Data, 1(1), 3.",
    "Sweeney, L. (2002). k-anonymity: A model for protecting privacy. International Journal of Uncertainty, Fuzziness and"
    " Knowledge-Based Systems, 10(5), 557-570.",
)


def methods_file(release: Release) -> str:
    paragraphs = methods_paragraphs(release)
    privacy = PRIVACY_REFERENCES if rater_facts(release) else ()
    return render(
        "methods.md.j2",
        title=title_of(release),
        paragraphs=paragraphs,
        results="" if release.analysis is None else release.analysis.summary.results,
        sources=sorted((*references(paragraphs, release.snapshot.study), *privacy)),
    )
