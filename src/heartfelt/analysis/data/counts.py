"""What there is (stimuli, raters, ratings, ratings per item), and what can make all other figures misleading.

A *rating* is counted as published studies count it: one rater's answers to one stimulus at one presentation, however
many questions were asked together; where the study lists which question is asked of which stimulus, and neither order
nor time is known, each answer is one; where stimuli were judged together, one rater's answers to a set are one. A rater is
*constant* who gave one and the same answer to at least five stimuli under a question and varied under none; they are
counted among the raters with five or more answers to a question. Whether the number of ratings of an item depends on
its answers is tested per question (``stats.inference.count_dependence``), with Holm's correction over all tests at 1%:
in at most one honest study of a hundred is any of them significant.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import AnalysisCounts, Checks, CorrectedCountTest, CountTests
from heartfelt.failures import Failed, attempt
from heartfelt.screening.rules.ratings.repetition import LEAST_ANSWERS
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import has_sets
from heartfelt.snapshot.snapshot import probe_counts
from heartfelt.stats.inference import CountDependence, count_dependence, holm
from heartfelt.tables import answered

CONFIDENCE = 0.99


def counts(material: AnalysisData, everything: Snapshot) -> AnalysisCounts:
    """Counts of the whole snapshot and of what was kept; probes are counted by themselves."""
    probes = probe_counts(everything)
    everything = everything.without_probes
    all_counts = everything.counts
    trials, per_trial = _trials(everything)
    raters = len(everything.survey.raters)
    if everything.survey.blank:
        raters = answered(everything.scan_ratings()).select(pl.col("rater").drop_nulls().n_unique()).collect().item()
    # How many items have how many first ratings; stimuli, where all questions are asked together.
    first = everything.scan_ratings().filter(pl.col("value").is_not_null())
    if "repeat" in first.collect_schema():
        first = first.filter(pl.col("repeat").fill_null(0) == 0)
    if per_trial:
        first = first.filter(pl.col("question") == next(iter(everything.survey.questions), ""))
    sizes = first.group_by("stimulus", "question").len("n").group_by("n").len("items").sort("n").collect()
    return AnalysisCounts(
        stimuli=all_counts["stimuli"],
        rated=all_counts["rated"],
        unrated=all_counts["unrated"],
        raters=raters,
        raters_kept=len(material.snapshot.survey.raters),
        raters_without_ratings=all_counts["raters"] - raters,
        ratings=trials,
        ratings_kept=_trials(material.snapshot)[0],
        answers=all_counts["ratings"],
        answers_kept=material.snapshot.counts["ratings"],
        answers_of_unknown_raters=everything.survey.unknown_raters,
        probe_stimuli=probes.height,
        answers_to_probes=int(probes["ratings"].sum()),
        means=all_counts["means"],
        questions=all_counts["questions"],
        systems=len(distinct_names(everything.stimuli, "system")),
        intents=all_counts["intents"],
        labels=material.labels.table["value"].count(),
        items_without_label=material.labels.ledger.filter(pl.col("what") == "item").height,
        ratings_by_question={name: facts.ratings for name, facts in everything.survey.questions.items()},
        ratings_per_item={str(n): int(items) for n, items in sizes.iter_rows()},
        blank_answers=everything.survey.blank or None,
    )


def distinct_names(stimuli: pl.DataFrame, column: str) -> list[str]:
    """The systems or intents that the stimuli name, in alphabetical order; none where there is no such column."""
    return stimuli[column].drop_nulls().unique().sort().to_list() if column in stimuli.columns else []


def _trials(snapshot: Snapshot) -> tuple[int, bool]:
    """How many presentations were answered, and whether each was answered under every question."""
    table = answered(snapshot.scan_ratings())
    have = table.collect_schema().names()
    answers = snapshot.survey.ratings
    if has_sets(table):
        sets = table.with_columns(pl.coalesce("trial", "stimulus").alias("trial"))
        key = ["rater", "trial", *(["repeat"] if "repeat" in have else [])]
        return int(sets.select(pl.struct(key).n_unique()).collect().item()), len(snapshot.survey.questions) == 1
    marked = [name for name in ("position", "at") if name in have][:1]
    unmarked_items = not marked and snapshot.table("items").height > 0
    if snapshot.survey.unknown_raters == answers or unmarked_items:
        return answers, len(snapshot.survey.questions) == 1
    key = ["rater", "stimulus", *(["repeat"] if "repeat" in have else []), *marked]
    named = table.filter(pl.col("rater").is_not_null())
    trials = int(named.select(pl.struct(key).n_unique()).collect().item()) + snapshot.survey.unknown_raters
    return trials, trials * len(snapshot.survey.questions) == answers


def checks(material: AnalysisData) -> Checks:
    """Look for what can mislead."""
    rated = [question for question in material.questions if question.ratings.height]
    schema = {"rater": pl.String, "n": pl.UInt32, "answers": pl.UInt32}
    used = [pl.len().alias("n"), pl.col("value").n_unique().alias("answers")]
    parts = [question.ratings.filter("known").group_by("rater").agg(used) for question in rated]
    every = pl.concat([pl.DataFrame(schema=schema), *parts])
    judged = every.group_by("rater").agg(pl.max("n", "answers")).filter(pl.col("n") >= LEAST_ANSWERS)
    constant = judged.filter(pl.col("answers") == 1)["rater"].sort().to_list()
    flat = [q.id for q in rated if q.ratings.height > 1 and q.ratings["value"].n_unique() == 1]
    return Checks(tuple(constant), judged.height, tuple(flat), _count_tests(material))


def _count_tests(material: AnalysisData) -> dict[str, CountTests]:
    """Both tests of every question, with Holm's correction over all of them."""
    columns = ("stimulus", "system", "intent")
    facts = pl.concat(
        [pl.DataFrame(schema=dict.fromkeys(columns, pl.String))]
        + [question.items.select(columns) for question in material.questions]
    ).unique("stimulus")
    names, tests = [], []
    for question in material.questions:
        of_question = material.answers.filter(pl.col("question") == question.id)
        if of_question.height:
            dependence = attempt(_tested, question, of_question, facts)
            names.append(question.id)
            if isinstance(dependence, Failed):
                tests += [
                    CorrectedCountTest(p=None, p_corrected=None, significant=False, why_missing=dependence.reason)
                ] * 2
            else:
                tests += [
                    CorrectedCountTest(
                        p=test.p, p_corrected=None, significant=False, change=test.change, category=test.category
                    )
                    for test in (dependence.answers, dependence.disagreement)
                ]
    corrected = holm([test.p for test in tests], confidence=CONFIDENCE)
    tests = [
        replace(test, p_corrected=p, significant=bool(significant))
        for test, p, significant in zip(tests, corrected.adjusted, corrected.significant, strict=True)
    ]
    return {name: CountTests(*tests[2 * at : 2 * at + 2]) for at, name in enumerate(names)}


def _tested(question: QuestionData, answers: pl.DataFrame, facts: pl.DataFrame) -> CountDependence:
    joined = answers.join(facts, on="stimulus", how="left", maintain_order="left")
    cell = joined.select(
        pl.concat_str(pl.col("system").fill_null(""), pl.col("intent").fill_null(""), separator="\x1f")
    ).to_series()
    rater = joined["rater"] if joined["known"].all() else None
    nominal = not question.numbers
    return count_dependence(rater, joined["stimulus"], joined["value"], cell=cell, nominal=nominal)
