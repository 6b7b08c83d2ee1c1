"""What the verdict says about stimuli that were judged together, and about traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heartfelt.analysis.comparison_results import (
    AbxPair,
    ChoiceAgreement,
    ComparisonQuestion,
    MushraResult,
    TraceQuestion,
)
from heartfelt.analysis.highlights import differs, highest, rating_tests
from heartfelt.analysis.results import ALL
from heartfelt.analysis.summary import Summary
from heartfelt.wording import interval, listed, number, p_value, percent, percent_interval, plural, probability, share

NOUNS = {
    "choice": "comparison",
    "preference": "graded comparison",
    "rank": "ranking",
    "best-worst": "best-worst answer",
    "abx": "ABX answer",
    "mushra": "MUSHRA trial",
    "reference": "rating",
}
MOST_NAMED = 5
LEAST_COURSE = 0.5
"""Below this concordance with the mean trace, at best, raters hardly share the course over time."""


def noun(summary: Summary) -> str:
    """What one trial of the study is called: a rating, or what raters did with a set."""
    kinds = {NOUNS[comparison.scale] for comparison in summary.comparisons or () if comparison.trials}
    return "rating" if not kinds else kinds.pop() if len(kinds) == 1 else "trial"


def clauses(summary: Summary) -> list[str]:
    """For the bottom line: one clause per question."""
    comparisons = summary.comparisons or ()
    named = {name for name, test in rating_tests(summary).items() if differs(test) and highest(test)}
    written = [
        _clause(comparison, len(comparisons) > 1)
        for comparison in comparisons
        if comparison.mushra is None or comparison.question not in named
    ]
    return [clause for clause in written if clause] + _trace_clauses(summary.traces or ())


def only_means_usable(summary: Summary) -> bool:
    """Whether every trace question is one whose course over time raters hardly share."""
    return bool(summary.traces) and all(_hardly_shared(trace_question) for trace_question in summary.traces or ())


def _hardly_shared(question: TraceQuestion) -> bool:
    ceiling = question.ceiling.value
    return ceiling is not None and ceiling < LEAST_COURSE


def sentences(summary: Summary) -> Iterator[str]:
    """All sentences on comparisons and traces."""
    for comparison in summary.comparisons or ():
        if comparison.why_missing:
            yield f"There is no result for {comparison.question}: {comparison.why_missing}."
        elif comparison.abx:
            yield from _abx(comparison)
        elif comparison.mushra is not None:
            yield from _mushra(comparison.question, comparison.mushra)
        elif comparison.reference:
            yield from _reference(comparison)
        else:
            parts = (_strengths, _single_pairs) if comparison.ranked else (_single_pairs, _strengths)
            for part in parts:
                yield from part(comparison)
    for traced in summary.traces or ():
        yield from _traces(traced)


def _things(comparison: ComparisonQuestion) -> str:
    return "systems" if comparison.of == "system" else "stimuli"


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
        if comparison.why_no_strengths and not comparison.ranked and not _majority_clause(comparison):
            return (
                f"Collect comparisons that link the {_things(comparison)}: strengths in {comparison.question} need wins and"
                " losses that connect them."
            )
    return ""


def _clause(comparison: ComparisonQuestion, several: bool) -> str:
    if comparison.why_missing:
        return f"there is no result for {comparison.question} ({comparison.why_missing})"
    if comparison.abx:
        return _abx_words(comparison.abx[0], f"the {_things(comparison)}")
    if comparison.mushra is not None:
        best = next((c for c in comparison.mushra.conditions if c.role == "member"), None)
        return (
            ""
            if best is None
            else f"listeners grade {best.name} highest in {comparison.question} ({number(best.mean.value, 1)})"
        )
    if comparison.reference:
        return ""
    ranked = comparison.ranked
    if not ranked:
        reason = comparison.why_no_strengths or "no strengths"
        return _majority_clause(comparison) or f"the answers to {comparison.question} give no common order ({reason})"
    n_significant = sum(pair.significant for pair in comparison.pairs)
    if comparison.pairs and not n_significant:
        return f"no difference between {_things(comparison)} is shown in {comparison.question}"
    first = ranked[0]
    sure = "" if first.best is None else f" (in first place with probability {probability(first.best)})"
    return f"{first.name} is preferred most often{f' in {comparison.question}' if several else ''}{sure}"


def _strengths(comparison: ComparisonQuestion) -> Iterator[str]:
    ranked = comparison.ranked
    basis = f"{plural(comparison.trials, NOUNS[comparison.scale])}{_by(comparison.raters)}"
    if not ranked:
        reason = comparison.why_no_strengths or "the comparisons give no strengths"
        yield f"{basis} on {comparison.question} give no strengths: {reason}."
        yield from _order(comparison)
        return
    order = [f"{c.name} {interval(c.strength, 2)}" for c in ranked]
    yield (f"Strengths in {comparison.question} ({comparison.model}, {basis}; average 0): {listed(order, MOST_NAMED)}.")
    tested = [pair for pair in comparison.pairs if pair.p is not None]
    if tested:
        differ = sum(pair.significant for pair in tested)
        yield f"{differ} of {plural(len(tested), 'pair')} of {_things(comparison)} differ in {comparison.question} (Holm)."
    missing = [c for c in comparison.contestants if c.strength.is_missing]
    for lost in missing[:MOST_NAMED]:
        yield f"{lost.name} has no strength in {comparison.question}: {lost.strength.why_missing}."
    yield from _order(comparison)
    yield from comparison.notes
    line = comparison.transitivity
    if line is not None and line.p_value is not None and line.p_value < 0.05:
        yield (
            f"One order does not describe all pairs in {comparison.question} (deviance {number(line.deviance, 1)} on {line.df} df,"
            f" {p_value(line.p_value)}): read the pairs one by one."
        )


def _order(comparison: ComparisonQuestion) -> Iterator[str]:
    """Whether what was presented first was chosen more often."""
    order = comparison.order
    if order is None or order.first_share.is_missing:
        return
    share_of_first = percent_interval(order.first_share)
    if order.p is None:
        yield f"The first presented got {share_of_first} of the decided answers."
        return
    more = float(order.first_share) > 0.5 if order.effect.is_missing else float(order.effect) > 0
    shown = f"The first presented is chosen {'more' if more else 'less'} often"
    text = shown if order.p < 0.05 else "No effect of the order of presentation is shown"
    allowance = "" if order.effect.is_missing else "; the strengths allow for it"
    yield f"{text} ({share_of_first} of decided answers, {p_value(order.p)}){allowance}."


def _by(raters: int) -> str:
    """`` by 21 raters``; nothing where raters are not known."""
    return f" by {plural(raters, 'rater')}" if raters else ""


def _majorities(agreement: ChoiceAgreement) -> str:
    """How many pairs have a majority for one of the two stimuli, for a tie, and none."""
    for_one, none = (agreement.with_majority - agreement.majority_tie, agreement.judged_twice - agreement.with_majority)
    text = f"{for_one:,} of {plural(agreement.judged_twice, 'pair')} of stimuli have a majority for one of the two"
    other_pairs = [f"{agreement.majority_tie:,} for a tie"] if agreement.majority_tie else []
    other_pairs += [f"{none:,} none"] if none else []
    return f"{text} ({', '.join(other_pairs)})" if other_pairs else text


def _majority_clause(comparison: ComparisonQuestion) -> str:
    """What single pairs show where there is no common order: majorities, and the best a predictor can expect."""
    agreement = comparison.agreement
    if agreement is None or not agreement.judged_twice:
        return ""
    best = [
        f"{percent(figure.value)} of {of_answers}"
        for name, of_answers in (("accuracy", "single answers"), ("majority_accuracy", "majorities"))
        if (figure := comparison.ceilings.get(name)) is not None and not figure.is_missing
    ]
    top = f"; the best possible prediction is right for {listed(best)}" if best else ""
    decided = percent((agreement.with_majority - agreement.majority_tie) / agreement.judged_twice)
    pairs = plural(agreement.judged_twice, "pair")
    return f"in {comparison.question}, {decided} of {pairs} of stimuli have a majority for one of the two{top}"


def _single_pairs(comparison: ComparisonQuestion) -> Iterator[str]:
    """What is known of single pairs of stimuli and of rankings: majorities, agreement, what a predictor can expect."""
    agreement = comparison.agreement
    alike = comparison.concordance
    if alike is not None and not alike.correlation.is_missing:
        yield (
            f"Two raters' rankings in {comparison.question} correlate {interval(alike.correlation, 2)} on average (Kendall's W"
            f" {number(alike.w.value, 2)}; at random: {p_value(alike.p_value)})."
        )
    if agreement is not None and agreement.judged_twice:
        text = f"{_majorities(agreement)} in {comparison.question}"
        if not agreement.two_answers.is_missing:
            which = "two raters' first answers to a pair" if agreement.further else "two answers"
            text += f"; {which} agree {percent_interval(agreement.two_answers)} of the time"
        yield f"{text}."
    best = comparison.ceilings.get("accuracy")
    if best is not None and not best.is_missing:
        text = f"Ceiling for {comparison.question}: accuracy {percent_interval(best)} on one rater's choice"
        most = comparison.ceilings.get("majority_accuracy")
        if most is not None and not most.is_missing:
            text += f", {percent_interval(most)} on the majority's"
        yield f"{text}."


def _abx_words(pair: AbxPair, compared: str) -> str:
    right = f"{percent(pair.share.value)} correct"
    if pair.p_corrected is not None and pair.p_corrected < 0.05:
        return f"people can tell {compared} apart ({right})"
    if pair.equivalence_p is not None and pair.equivalence_p < 0.05:
        return f"people cannot tell {compared} apart ({right}; less than {percent(0.5 + pair.margin)} is shown)"
    return f"whether people can tell {compared} apart is not shown ({right})"


def _abx(comparison: ComparisonQuestion) -> Iterator[str]:
    for pair in comparison.abx:
        compared = "the stimuli" if pair.a == ALL else f"{pair.a} and {pair.b}"
        text = _abx_words(pair, compared)
        answers = plural(pair.share.counts.get("answers", 0), "answer")
        yield (
            f"{text[0].upper()}{text[1:]}: {percent_interval(pair.share)} of {answers},"
            f" {p_value(pair.p_corrected)} (exact{'' if pair.a == ALL else ', Holm'}), d' {interval(pair.d_prime, 2)}."
        )


def _mushra(question: str, mushra: MushraResult) -> Iterator[str]:
    left_out = mushra.excluded
    rule = "Post-screening by ITU-R BS.1534 (hidden reference below 90 in more than 15% of the items)"
    if left_out:
        yield (
            f"{rule} excludes {plural(len(left_out), 'listener')} of {len(mushra.listeners)} from {question}:"
            f" {listed(list(left_out), MOST_NAMED)}."
        )
    else:
        yield f"{rule} excludes none of {plural(len(mushra.listeners), 'listener')} from {question}."
    order = [f"{c.name} {interval(c.mean, 1)}" for c in mushra.conditions]
    yield f"Mean grades of {question}: {listed(order, 6)}."
    if mushra.reference_below_anchor:
        yield (
            f"In {plural(mushra.reference_below_anchor, 'trial')} the hidden reference was graded below an anchor: check these"
            " listeners and the playback."
        )
    if mushra.without_reference:
        yield f"{plural(len(mushra.without_reference), 'item')} lack a grade of the hidden reference by some listener."


def _reference(comparison: ComparisonQuestion) -> Iterator[str]:
    order = sorted(comparison.reference, key=lambda row: -(row.mean.value or 0.0))
    text = listed([f"{row.system} {interval(row.mean, 2)}" for row in order], MOST_NAMED)
    yield f"Next to the reference, mean {comparison.question}: {text}."


def _trace_clauses(traces: Sequence[TraceQuestion]) -> list[str]:
    """How far raters share the course over time, questions alike in one clause, and the questions without an answer."""
    usable = [trace_question for trace_question in traces if not trace_question.pairwise.is_missing]
    hardly, shared = (
        [trace_question for trace_question in usable if _hardly_shared(trace_question) == low] for low in (True, False)
    )
    clauses = []
    for group, words in (
        (hardly, "raters hardly share the course over time"),
        (shared, "raters share the course over time"),
    ):
        if group:
            figures = listed(
                [f"{trace_question.question} {share(trace_question.pairwise.value)}" for trace_question in group]
            )
            clauses.append(f"{words} (concordance of two raters: {figures})")
    return clauses + [
        f"whether the traces of {trace_question.question} agree is not known ({trace_question.pairwise.why_missing})"
        for trace_question in traces
        if trace_question.pairwise.is_missing
    ]


def _traces(question: TraceQuestion) -> Iterator[str]:
    text = f"{plural(question.traces, 'trace')} of {question.question}{_by(question.raters)}"
    if question.pairwise.is_missing:
        yield f"{text}: {question.pairwise.why_missing}."
        return
    yield (
        f"{text}: concordance (CCC) of two raters {interval(question.pairwise, bare=True)}, of a rater and the mean of the others"
        f" {interval(question.leave_one_out, bare=True)}."
    )
    if not question.ceiling.is_missing:
        yield (
            f"Ceiling for the trace of {question.question}: CCC {interval(question.ceiling, bare=True)} with the"
            f" mean of the raters, {interval(question.one_rater, bare=True)} with a single rater."
        )
    odd = [
        f"{count:,} {words}"
        for count, words in (
            (question.constant, "constant"),
            (question.overlong, "longer than the others of their stimulus"),
            (question.duplicate, "equal to another rater's"),
        )
        if count
    ]
    if odd:
        yield f"Traces of {question.question} to look at: {listed(odd)}."
