"""What the verdict says about stimuli that were judged together, and about traces."""

from __future__ import annotations

from collections.abc import Iterator

from heartfelt.analysis.findings.comparisons import ComparisonQuestion, TraceQuestion
from heartfelt.analysis.summary import Summary
from heartfelt.analysis.text.highlights import differs, highest, rating_tests
from heartfelt.analysis.text.sentences import template_lines

TEMPLATE = "analysis/verdict_comparisons"
LEAST_COURSE = 0.5
"""Below this concordance with the mean trace, at best, raters hardly share the course over time."""


def noun(summary: Summary) -> str:
    """What one trial of the study is called: a rating, or what raters did with a set."""
    kinds = {comparison.noun for comparison in summary.comparisons or () if comparison.trials}
    return "rating" if not kinds else kinds.pop() if len(kinds) == 1 else "trial"


def clauses(summary: Summary) -> list[str]:
    """For the bottom line: one clause per question."""
    traces_by_use: dict[str, list[TraceQuestion]] = {"hardly_shared": [], "shared": [], "unknown": []}
    for traced in summary.traces or ():
        traces_by_use[_trace_use(traced)].append(traced)
    return [*_comparison_clauses(summary), *template_lines(TEMPLATE, "trace_clauses", **traces_by_use)]


def _comparison_clauses(summary: Summary) -> Iterator[str]:
    """A clause per comparison, except for grades of sets whose best system the model of the ratings already names."""
    comparisons = summary.comparisons or ()
    named = {name for name, test in rating_tests(summary).items() if differs(test) and highest(test)}
    several = len(comparisons) > 1
    for comparison in comparisons:
        if comparison.mushra is None or comparison.question not in named:
            yield from template_lines(TEMPLATE, "clause", comparison=comparison, several=several)


def _trace_use(question: TraceQuestion) -> str:
    """Whether raters share the course over time."""
    if question.pairwise.is_missing:
        return "unknown"
    return "hardly_shared" if _hardly_shared(question) else "shared"


def only_means_usable(summary: Summary) -> bool:
    """Whether every trace question is one whose course over time raters hardly share."""
    return bool(summary.traces) and all(map(_hardly_shared, summary.traces or ()))


def _hardly_shared(question: TraceQuestion) -> bool:
    ceiling = question.ceiling.value
    return ceiling is not None and ceiling < LEAST_COURSE


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on comparisons and traces."""
    for comparison in summary.comparisons or ():
        yield from template_lines(TEMPLATE, "sentences", comparison=comparison)
    for traced in summary.traces or ():
        yield from template_lines(TEMPLATE, "traced", row=traced)


def undecided(summary: Summary) -> str:
    """What to do about the first two of a question whose order is not settled; nothing where every first place is."""
    for comparison in summary.comparisons or ():
        first = comparison.ranked[:2]
        names = {contestant.name for contestant in first}
        pairs = [pair for pair in comparison.pairs if {pair.a, pair.b} == names]
        if len(first) == 2 and pairs and not pairs[0].significant:
            return f"Compare {first[0].name} and {first[1].name} more often: which of them is first is not settled."
    return ""


def unlinked(summary: Summary) -> str:
    """What to do where comparisons give neither strengths nor majorities; nothing where one of them is known."""
    for comparison in summary.comparisons or ():
        if comparison.why_no_strengths and not comparison.ranked and not _has_majorities(comparison):
            return (
                f"Collect comparisons that link the {comparison.compared}: strengths in {comparison.question} need wins and"
                " losses that connect them."
            )
    return ""


def _has_majorities(comparison: ComparisonQuestion) -> bool:
    return comparison.agreement is not None and comparison.agreement.judged_twice > 0
