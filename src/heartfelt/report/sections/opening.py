"""The first screen of an analysis: bottom line, answers used, its figure, three facts; and the main fact of each section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.comparisons import ChoiceAgreement
from heartfelt.analysis.findings.parts import Reliability
from heartfelt.analysis.summary import Summary
from heartfelt.analysis.text.highlights import called, fitness, main_questions, mean_rating, single_rating
from heartfelt.analysis.text.sentences import capitalized, template_lines
from heartfelt.analysis.text.verdict_raters import flag_findings, flagging_rules, judged_words
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.layout.page import Section, opening_figure
from heartfelt.report.layout.templates import part
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, listed, number, percent_interval, share, spaced

MOST_LINES = 3
PANELS = 2
MAP = (
    "Small dots: stimuli as perceived. Crosses: what was intended. Large dots: where an intent is perceived on average."
)
FIGURES: Mapping[str, str] = {
    "perceived-maps": MAP,
    "strengths": "Strength of each contestant with its 95% interval.",
    "mushra": "Mean grade of each condition with its 95% interval.",
    "abx": "Share of correct answers with its 95% interval.",
    "against-reference": "Mean rating next to the reference, with 95% intervals.",
    "traces": "What the raters of a clip share (thick) and single raters (thin).",
    "system-ranking": "Mean of each system with its 95% interval.",
    "category-map": "Where each category lies.",
    "agreement": "Agreement of the raters on each question, with 95% intervals.",
    "category-balance": "How often each category is given.",
    "answers": "How often each answer was given.",
    "comparison-raters": "How consistent each rater is.",
    "ratings-per-item": "How many ratings the items have.",
}
"""The figures that can open a report, the best first, each with its caption there."""
SECTIONS_WITH_FACTS = {
    "maps", "systems", "intents", "trust", "agreement", "raters", "comparisons", "mushra", "traces", "categories", "fields",
    "drafts", "answers", "adjudication", "rater-groups", "preregistration", "published", "stimuli", "paper",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One of the facts of the first screen: values with what each is of, what they mean, and where there is more."""

    title: str
    values: tuple[tuple[str, str], ...] = ()
    meaning: str = ""
    link: str = ""
    more: str = ""


def opening(analysis: Analysis, charts: Charts, sections: set[str]) -> Markup:
    """The first screen; ``sections`` are the ids that facts may link to."""
    summary = analysis.summary
    groups = summary.verdict_groups
    name = next((name for name in FIGURES if isinstance(charts.get(name), Chart)), "")
    facts = (reliability_fact(summary), raters_fact(summary), Fact(title="Next step", meaning=groups.next_step))
    shown = opening_figure(name, charts, FIGURES[name], panels=1 if name == "mushra" else PANELS) if name else ""
    return part(
        "sections/opening",
        groups=groups,
        answers=summary.answers_used,
        means=summary.counts.means,
        shown=shown,
        facts=facts,
        sections=sections,
        with_code=_code,
    )


def _code(words: str) -> Markup:
    """Words in which what stands between backticks is code."""
    parts = re.split(r"`([^`]+)`", words)
    return Markup("").join(
        Markup("<code>{}</code>").format(words) if index % 2 else Markup.escape(words)
        for index, words in enumerate(parts)
    )


def with_fact(section: Section, analysis: Analysis) -> Section:
    """The section with the main fact that stands next to its title while it is folded, where one is known."""
    if section.fact or section.id not in SECTIONS_WITH_FACTS:
        return section
    summary = analysis.summary
    if section.id == "trust":
        values = reliability_fact(summary).values
        fact = f"Reliability {listed([' '.join(filter(None, (of, value))) for value, of in values])}" if values else ""
    elif section.id == "raters":
        (value, _), *_ = raters_fact(summary).values or (("", ""),)
        excluded = len(summary.screening.dropped_by_default) or "nobody"
        fact = f"{value} flagged; the default policy excludes {excluded}" if value else ""
    else:
        fact = "; ".join(template_lines("report/sections/facts", section.id.replace("-", "_"), summary=summary))
    return replace(section, fact=fact)


def reliability_fact(summary: Summary) -> Fact:
    """How reliable the labels are; of comparisons how often two answers agree, of traces the concordance of two raters."""
    traces = {traced.question: traced.pairwise for traced in summary.traces or () if not traced.pairwise.is_missing}
    if traces:
        return _reliability(traces, "concordance of two raters", "1 means identical traces.", "traces")
    every = {called(name, trust): trust for name, trust in main_questions(summary).items()}
    means = {name: mean_rating(trust) for name, trust in every.items() if not mean_rating(trust).is_missing}
    if means:
        return _mean_ratings(means)
    agreement = _choice_agreement(summary)
    return _single_ratings(every) if agreement is None else _choices(agreement)


def _mean_ratings(means: Mapping[str, Estimate]) -> Fact:
    uses = list(dict.fromkeys(map(fitness, means.values())))
    meaning = f"{capitalized(uses[0])}." if len(uses) == 1 else f"Between {listed([*reversed(uses)])}."
    return _reliability(means, "of the mean rating", meaning, "trust")


def _choice_agreement(summary: Summary) -> ChoiceAgreement | None:
    """That of the first comparison in which pairs were answered more than once."""
    agreements = (row.agreement for row in summary.comparisons or () if row.agreement is not None)
    return next((agreement for agreement in agreements if not agreement.two_answers.is_missing), None)


def _choices(agreement: ChoiceAgreement) -> Fact:
    """How often two answers to a pair agree."""
    beyond = agreement.alpha.low is not None and agreement.alpha.low > 0
    meaning = "Raters agree beyond chance." if beyond else "No agreement beyond chance is shown."
    value = (percent_interval(agreement.two_answers), "two answers to a pair agree")
    return Fact(title="Reliability", values=(value,), meaning=meaning, link="comparisons", more="Agreement")


def _single_ratings(every: Mapping[str, Reliability]) -> Fact:
    """Agreement of single answers, where they cannot be averaged; else why nothing is known."""
    single = {name: single_rating(trust) for name, trust in every.items()}
    estimates = {name: estimate for name, (_, estimate) in single.items() if not estimate.is_missing}
    if estimates:
        shown = sum(estimate.low is not None and estimate.low > 0 for estimate in estimates.values())
        meaning = "Raters agree beyond chance."
        if shown < len(estimates):
            meaning = f"Agreement beyond chance on {shown} of {len(estimates)}."
        return _reliability(estimates, next(iter(single.values()))[0], meaning, "agreement")
    reason = next((estimate.why_missing for _, estimate in single.values()), None)
    meaning = f"Not known: {reason or 'no question has ratings to compare'}."
    return Fact(title="Reliability", meaning=meaning, link="trust", more="Details")


def _reliability(estimates: Mapping[str, Estimate], of: str, meaning: str, link: str) -> Fact:
    """Up to three questions one by one, more of them as a range."""
    lines = tuple((interval(estimate, bare=True), spaced(name)) for name, estimate in estimates.items())
    if len(lines) > MOST_LINES:
        values = [float(estimate) for estimate in estimates.values()]
        lines = ((f"{share(min(values))} to {share(max(values))}", f"{len(values)} questions"),)
    return Fact(
        title=f"Reliability {of}" if of.startswith("of") else f"Reliability: {of}",
        values=lines,
        meaning=meaning,
        link=link,
        more="Details",
    )


def raters_fact(summary: Summary) -> Fact:
    """How many raters are flagged, and by what."""
    raters, screening = summary.counts.raters, summary.screening
    if not raters:
        return Fact(title="Raters flagged", meaning="The source does not say who answered.")
    if screening.why_missing:
        return Fact(
            title="Raters flagged", meaning=f"Not screened: {screening.why_missing}.", link="raters", more="Raters"
        )
    flagged = len(screening.flagged)
    if flagged:
        findings = flag_findings(summary)
        text = f"{listed(findings)}." if findings else f"By {listed(flagging_rules(summary))}."
    else:
        text = f"{capitalized(judged_words(summary))}."
    if screening.dropped:
        text = f"{len(screening.dropped)} excluded by the policy. {text}"
    more = "Who and why" if flagged else "How they were screened"
    value = (f"{number(flagged)} of {number(raters)}", "")
    return Fact(title="Raters flagged", values=(value,), meaning=text, link="raters", more=more)
