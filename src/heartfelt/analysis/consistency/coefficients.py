"""Agreement on categories: kappas, accuracies, and each vote against the majority of the others; labels by facts about the items.

Where the study says what each item was chosen to show (``intended``, ``intended_present`` among the items), that machine prior is
also compared with the majority and added to the raters as one more. Ordered categories whose lowest says that something is not
there are also looked at as present or absent: anything above the lowest is present.

The breakdown gives, for every fact about the items that takes few values (task type, polarity, dimension …), how many
items there are, how many got a label, how many are unanimous, how often the label is what the item was chosen to
show, and, for questions that ask whether something is present, how often the label is above the lowest category.
Shares have Wilson intervals over items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from heartfelt.analysis.consistency.reliability import for_future_raters
from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import Agreement, BreakdownRow, IntentConfusion, PriorAgreement, Reliability
from heartfelt.analysis.systems.quadrants import chance_of_hits, confusion
from heartfelt.stats._bounds import wilson
from heartfelt.stats.aggregate.central import TIED
from heartfelt.stats.agreement import (
    alpha,
    cohen_kappa,
    exact_agreement,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    leave_one_out,
    pairwise_accuracy,
    pairwise_balanced_accuracy,
    prior_against_majority,
)
from heartfelt.stats.estimate import Estimate, FutureRaters

MOST_VALUES = 60
HIT = "share of stimuli whose most frequent answer is the intent"
_NOT_FACTS = {"stimulus", "question", "flags", "flagged", "intended", "intended_present"}

Prior = Mapping[str, float]


def agreement(
    material: AnalysisData,
    reliability: Mapping[str, Reliability],
    whom: FutureRaters = "alike",
    *,
    pooled: bool = False,
) -> dict[str, Agreement] | None:
    """Agreement on every question answered with categories, or on every pool of such; None where there are none.

    ``reliability`` has the ordinal alpha that leads where categories have an order; ``whom`` intervals are for.
    """
    categorical = [q for q in (material.pools if pooled else material.questions) if q.categorical]
    return {q.id: _question_agreement(q, material, reliability.get(q.id), whom) for q in categorical} or None


def _question_agreement(
    question: QuestionData, material: AnalysisData, trust: Reliability | None, whom: FutureRaters
) -> Agreement:
    """Agreement on a question or a pool, with how many of its items are tied."""
    figures = _brief(question) if material.many and not question.members else _full(question, material)
    labels = material.labels.table.filter(pl.col("question").is_in(list(question.members) or [question.id]))
    in_order = question.level == "ordinal" and len(question.categories) > 2
    ordinal = trust.alpha_ordinal if trust is not None and in_order else None
    return replace(
        for_future_raters(figures, whom),
        leading="fleiss_kappa" if ordinal is None else "alpha_ordinal",
        alpha_ordinal=ordinal,
        n_questions=len(question.members) or None,
        n_items=labels.height,
        n_tied=labels.filter(pl.col("why_missing") == TIED).height,
    )


def _brief(question: QuestionData) -> Agreement:
    """The first three coefficients, for each of very many questions."""
    if not question.ratings.height:
        gone = Estimate.missing(question.why_no_raters or question.why_empty)
        return Agreement(fleiss_kappa=gone, exact_agreement=gone, leave_one_out=gone)
    triples = question.triples_if_known
    return Agreement(
        fleiss_kappa=fleiss_kappa(*triples),
        exact_agreement=exact_agreement(*triples).unanimous,
        leave_one_out=leave_one_out(*triples).accuracy,
    )


def _full(question: QuestionData, material: AnalysisData) -> Agreement:
    priors = _priors(question, material)
    codes, prior = sorted(question.categories), priors.get("all")
    ordinal = question.level == "ordinal"
    suite = _suite(question, question.ratings, codes, ordered=ordinal, prior=prior)
    if ordinal and len(codes) > 2 and (question.asks_presence or "present" in priors):
        least = codes[0]
        present = question.ratings.with_columns((pl.col("value") > least).cast(pl.Float64).alias("value"))
        of_presence = priors.get("present")
        if of_presence is None and prior is not None:
            of_presence = {item: float(code > least) for item, code in prior.items()}
        suite = replace(suite, binary=_suite(question, present, [0.0, 1.0], prior=of_presence))
    return suite


def _suite(
    question: QuestionData,
    ratings: pl.DataFrame,
    categories: list[float],
    *,
    ordered: bool = False,
    prior: Prior | None = None,
) -> Agreement:
    """All coefficients; with a prior also those with the prior as one more rater."""
    if not ratings.height:
        gone = Estimate.missing(question.why_no_raters or question.why_empty)
        return Agreement(
            fleiss_kappa=gone,
            exact_agreement=gone,
            leave_one_out=gone,
            alpha_nominal=gone,
            gwet_ac1=gone,
            gwet_ac2=gone,
            cohen_kappa=gone,
            pairwise_accuracy=gone,
            pairwise_balanced_accuracy=gone,
        )
    coefficients = _coefficients(question, ratings, categories, ordered, None)
    if not prior:
        return coefficients
    rater = ratings["rater"] if question.why_no_raters is None else None
    against = prior_against_majority(rater, ratings["item"], ratings["value"], prior)
    return replace(
        coefficients,
        with_prior=_coefficients(question, ratings, categories, False, prior),
        prior_against_majority=PriorAgreement(against.accuracy, against.balanced_accuracy, against.ties),
    )


def _coefficients(
    question: QuestionData, ratings: pl.DataFrame, categories: list[float], ordered: bool, prior: Prior | None
) -> Agreement:
    item, value = ratings["item"], ratings["value"]
    rater = ratings["rater"] if question.why_no_raters is None else None
    exact = exact_agreement(rater, item, value, prior=prior)
    left_one_out = leave_one_out(rater, item, value, prior=prior)
    coefficients = Agreement(
        fleiss_kappa=fleiss_kappa(rater, item, value, prior=prior),
        exact_agreement=exact.unanimous,
        leave_one_out=left_one_out.accuracy,
        leave_one_out_balanced=left_one_out.balanced_accuracy,
        leave_one_out_ties=left_one_out.ties,
        exact_agreement_of_pairs=exact.pairwise,
        alpha_nominal=alpha(rater, item, value, "nominal", prior=prior),
        gwet_ac1=gwet_ac1(rater, item, value, categories=categories, prior=prior),
        gwet_ac2=gwet_ac2(rater, item, value, categories=categories, prior=prior) if ordered else None,
    )
    if rater is None:
        reason = question.why_no_raters or ""
        return replace(
            coefficients,
            cohen_kappa=Estimate.missing(reason, "cohen_kappa"),
            pairwise_accuracy=Estimate.missing(reason, "pairwise_accuracy"),
            pairwise_balanced_accuracy=Estimate.missing(reason, "pairwise_balanced_accuracy"),
        )
    none = Estimate.missing("no pooled figure")
    kappa = cohen_kappa(rater, item, value, categories=categories, prior=prior)
    pairwise = pairwise_accuracy(rater, item, value, prior=prior)
    balanced = pairwise_balanced_accuracy(rater, item, value, prior=prior)
    coefficients = replace(
        coefficients,
        cohen_kappa=kappa.mean,
        cohen_kappa_weighted_by_items=kappa.weighted,
        pairwise_accuracy=pairwise.mean,
        pairwise_accuracy_pooled=pairwise.pooled or none,
        pairwise_balanced_accuracy=balanced.mean,
        pairwise_balanced_accuracy_pooled=balanced.pooled or none,
    )
    if not ordered:
        return coefficients
    linear, quadratic = (
        cohen_kappa(rater, item, value, weights, categories=categories, prior=prior).mean
        for weights in ("linear", "quadratic")
    )
    return replace(coefficients, cohen_kappa_linear=linear, cohen_kappa_quadratic=quadratic)


def _priors(question: QuestionData, material: AnalysisData) -> dict[str, Prior]:
    """What the items were chosen to show: the code of a category, or present and absent."""
    items = _items_of(question, material.snapshot.table("items"))
    present = {item: float(bool(value)) for item, value in _intentions(items, pl.col("intended_present"))}
    priors = {"all": _intended_codes(question, items, present), "present": present}
    return {name: prior for name, prior in priors.items() if prior}


def _intended_codes(question: QuestionData, items: pl.DataFrame, present: Prior) -> Prior:
    """The code of the category each item was chosen to show; of two categories, present is the higher."""
    codes = {word: code for code, word in question.categories.items()}
    if present and len(codes) == 2 and "intended" not in items.columns:
        low, high = sorted(question.categories)
        return {item: high if value else low for item, value in present.items()}
    return {item: codes[word] for item, word in _intentions(items, pl.col("intended").cast(pl.String)) if word in codes}


def _intentions(items: pl.DataFrame, column: pl.Expr) -> list[tuple[str, Any]]:
    """Each item with what a column says it was chosen to show; nothing without the column."""
    return items.select("item", column).drop_nulls().rows() if column.meta.output_name() in items.columns else []


def _known_intentions(items: pl.DataFrame, column: str) -> Iterable[tuple[str, Any]]:
    """Each item with what a column says it was chosen to show; nothing without the column."""
    if column not in items.columns:
        return ()
    return items.select("item", pl.col(column).cast(pl.String) if column == "intended" else column).drop_nulls().rows()


def _items_of(question: QuestionData, items: pl.DataFrame) -> pl.DataFrame:
    """The rows about the items of a question, or of the questions of a pool; no rows where nothing was intended."""
    if not {"intended", "intended_present"} & set(items.columns) or not items.height:
        return pl.DataFrame(schema={"item": pl.String})
    if question.members:
        items = items.with_columns(pl.concat_str("stimulus", "question", separator="\x1f").alias("item"))
    else:
        items = items.filter(pl.col("question") == question.id).with_columns(pl.col("stimulus").alias("item"))
    return items.join(question.items.select("item"), on="item", how="semi", maintain_order="left")


def breakdown(material: AnalysisData) -> dict[str, tuple[BreakdownRow, ...]] | None:
    """One table per fact about the items, for questions answered with categories."""
    items = _items(material)
    if items is None or not items.height:
        return None
    out: dict[str, tuple[BreakdownRow, ...]] = {}
    for fact in [name for name in items.columns if name.startswith("fact ")]:
        values = items[fact].drop_nulls().unique().sort().to_list()
        if 1 <= len(values) <= MOST_VALUES:
            out[fact.removeprefix("fact ")] = tuple(
                _breakdown_row(value, items.filter(pl.col(fact) == value)) for value in values
            )
    return out | {"all": (_breakdown_row("all", items),)}


def _items(material: AnalysisData) -> pl.DataFrame | None:
    """One row per item with a category: its label, whether all agreed, what it was meant to be, and its facts."""
    by_id = {q.id: q for q in material.questions if q.categorical and q.items.height}
    if not by_id:
        return None
    listed = material.snapshot.table("items")
    by_item = "intended_present" in listed.columns
    lowest = {name: min(q.categories) for name, q in by_id.items() if q.asks_presence or by_item}
    table = material.labels.table.filter(pl.col("question").is_in(list(by_id)))
    least = pl.col("question").replace_strict(lowest, default=None, return_dtype=pl.Float64)
    table = table.with_columns((pl.col("value") > least).alias("present"), (pl.col("share") == 1.0).alias("unanimous"))
    if listed.height:
        keys = ["stimulus", "question"]
        table = table.join(listed, on=keys, how="left", maintain_order="left", suffix="_item")
    about = {question.id: question.about for question in material.study.asked if question.id in by_id}
    further = [name for name in listed.columns if name in table.columns]
    return table.with_columns(_matches_intended(table.columns).alias("matches"), *_fact_columns(about, further))


def _matches_intended(columns: Collection[str]) -> pl.Expr:
    """Whether the label is what the item was chosen to show; null where nobody says what that was."""
    if "intended" in columns:
        return pl.col("answer") == pl.col("intended").cast(pl.String)
    if "intended_present" in columns:
        return pl.col("present") == pl.col("intended_present")
    return pl.lit(None, pl.Boolean)


def _fact_columns(about: Mapping[str, Mapping[str, str]], further: list[str]) -> list[pl.Expr]:
    """The facts about each item: those of its question, ``further`` columns, and the question itself where there are several."""
    names = sorted({name for facts in about.values() for name in facts})
    columns = [
        pl.col("question")
        .replace_strict({q: f.get(name) for q, f in about.items()}, default=None, return_dtype=pl.String)
        .alias(f"fact {name}")
        for name in names
    ]
    extra = [name for name in further if name not in _NOT_FACTS and name not in names]
    columns += [pl.col(name).cast(pl.String).alias(f"fact {name}") for name in extra]
    return [*columns, pl.col("question").alias("fact question")] if len(about) > 1 else columns


def _breakdown_row(value: str, items: pl.DataFrame) -> BreakdownRow:
    shared = items.filter(pl.col("n") >= 2)
    labelled = items["value"].count()
    none = "nothing can be present or absent in these answers"
    return BreakdownRow(
        value=value,
        n_items=items.height,
        n_ratings=int(items["n"].sum()),
        n_labels=labelled,
        n_ties=items.height - labelled,
        n_single=items.filter(pl.col("n") == 1).height,
        present=share_of(items["present"], "share of labels above the lowest category", none),
        unanimous=share_of(shared["unanimous"], "share of items with two or more ratings that all agree"),
        matches_intended=share_of(items["matches"], "share of labels that are what the item was chosen to show"),
    )


def share_of(column: pl.Series, method: str, reason: str = "no item says so") -> Estimate:
    """The share of true values among the known ones, with Wilson's interval."""
    non_null = column.drop_nulls()
    counts = {"items": non_null.len()}
    if not non_null.len():
        return Estimate.missing(reason, method, counts)
    hits = int(non_null.sum())
    share = Estimate(value=hits / non_null.len(), method=method, counts=counts)
    return share.with_interval(*wilson(hits, non_null.len(), 0.95), "Wilson over items")


def intent_confusion(material: AnalysisData, seed: int) -> tuple[IntentConfusion, ...] | None:
    """Intended against answered categories, where intents are among the categories of a question."""
    out = []
    for question in material.questions:
        names = set(question.categories.values())
        intents = question.items["intent"].drop_nulls().unique().sort().to_list()
        if question.level == "nominal" and len(names) >= 3 and names & set(intents):
            out.append(_confusion(question, [name for name in intents if name in names], seed))
    return tuple(out) or None


def _confusion(question: QuestionData, intents: list[str], seed: int) -> IntentConfusion:
    codes = dict(question.categories)
    answer = pl.col("value").replace_strict(codes, default="tied", return_dtype=pl.String).alias("answer")
    labelled = question.items.filter(pl.col("intent").is_in(intents)).with_columns(answer)
    facts: dict[str, list[Any]] = {n: labelled[n].to_list() for n in ("intent", "answer", "system")}
    hit = labelled.select((pl.col("answer") == pl.col("intent")).alias("hit"), "system")
    return IntentConfusion(
        question=question.id,
        confusion=confusion(
            intents, [*codes.values(), "tied"], list(zip(facts["intent"], facts["answer"], strict=True))
        ),
        hit_rate=share_of(hit["hit"], HIT),
        hit_rate_by_chance=chance_of_hits(facts["intent"], facts["answer"], facts["system"], seed),
        hit_rate_by_system={
            name: share_of(hit.filter(pl.col("system") == name)["hit"], HIT) for name in question.systems
        },
    )
