"""Yes and no, categories, degrees and texts against scikit-learn and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

from heartfelt.labels import labels
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.results.details import CategoryDetails, TextDetails
from heartfelt.snapshot import Snapshot
from heartfelt.stats.texts.text import bleu, cider, rouge_l
from tests.facts import mentions
from tests.lazily import Lazily
from tests.scoring import made

metrics = Lazily("sklearn.metrics")

SOURCE = "sklearn.metrics, scipy.spatial.distance and scipy.stats on the same pairs"
FEW = ScoreOptions(resamples=300, ceilings=False)


def number(scores: Scores, task: str, metric: str, at: str | None = None, model: str = "m") -> float:
    result = scores.find(task, model, metric, at=at)
    assert result is not None
    return float(result.estimate)


NAMES = ("joy", "fear", "calm", "rage")


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return made.feelings()


@pytest.fixture(scope="module")
def told(snapshot: Snapshot) -> list[dict[str, Any]]:
    draw = np.random.default_rng(4)
    out = []
    held = labels(snapshot).table.filter(pl.col("value").is_not_null() & (pl.col("question") == "feeling"))
    for row in held.iter_rows(named=True):
        weights = draw.dirichlet(np.full(4, 0.7)) + np.eye(4)[int(row["value"])] * 0.4
        shares = dict(zip(NAMES, (weights / weights.sum()).tolist(), strict=True))
        best = max(shares, key=lambda name: shares[name])
        out.append(
            {
                "stimulus": row["stimulus"],
                "question": "feeling",
                "answer": best,
                "_shares": shares,
                "_label": row["answer"],
            }
        )
    return out


@pytest.fixture(scope="module")
def scores(snapshot: Snapshot, told: list[dict[str, Any]]) -> Scores:
    rows = [{**r, "shares": made.shares(r["_shares"])} for r in told]
    return score(snapshot, made.predictions("m", rows), FEW)


@pytest.mark.slow
def test_accuracy_and_f1(scores: Scores, told: list[dict[str, Any]]) -> None:
    y, p = [r["_label"] for r in told], [r["answer"] for r in told]
    assert number(scores, "feeling", "accuracy") == pytest.approx(metrics.accuracy_score(y, p))
    assert number(scores, "feeling", "macro_f1") == pytest.approx(metrics.f1_score(y, p, average="macro"))
    assert number(scores, "feeling", "balanced_accuracy") == pytest.approx(metrics.balanced_accuracy_score(y, p))
    details = scores.details["feeling"].models["m"]
    assert isinstance(details, CategoryDetails)
    table = details.confusion
    assert table.counts.tolist() == metrics.confusion_matrix(y, p, labels=list(table.categories)).tolist()


def test_top_k(scores: Scores, told: list[dict[str, Any]]) -> None:
    y = [NAMES.index(r["_label"]) for r in told]
    table = np.array([[r["_shares"][name] for name in NAMES] for r in told])
    for k in (2, 3):
        assert number(scores, "feeling", f"top_{k}") == pytest.approx(
            metrics.top_k_accuracy_score(y, table, k=k, labels=range(4))
        )


def test_divergence_from_the_votes(snapshot: Snapshot, scores: Scores, told: list[dict[str, Any]]) -> None:
    votes = snapshot.ratings.filter(pl.col("question") == "feeling")
    expected = []
    for row in told:
        own = votes.filter(pl.col("stimulus") == row["stimulus"])["answer"].to_list()
        expected.append(jensenshannon([own.count(n) for n in NAMES], [row["_shares"][n] for n in NAMES], base=2) ** 2)
    assert number(scores, "feeling", "divergence") == pytest.approx(float(np.mean(expected)))


def test_a_failed_category_is_a_wrong_one(snapshot: Snapshot, told: list[dict[str, Any]]) -> None:
    rows = [
        {
            "stimulus": r["stimulus"],
            "question": "feeling",
            **({"answer": r["answer"]} if k % 4 else {"problem": "gone"}),
        }
        for k, r in enumerate(told)
    ]
    result = score(snapshot, made.predictions("m", rows), FEW).find("feeling", "m")
    assert result is not None
    right = [r["_label"] == r["answer"] and k % 4 != 0 for k, r in enumerate(told)]
    assert result.with_failures.value == pytest.approx(float(np.mean(right)))


def test_without_shares_there_is_a_reason(snapshot: Snapshot, told: list[dict[str, Any]]) -> None:
    rows = [{"stimulus": r["stimulus"], "question": "feeling", "answer": r["answer"]} for r in told]
    result = score(snapshot, made.predictions("m", rows), FEW)
    for metric in ("top_2", "divergence"):
        gone = result.find("feeling", "m", metric)
        assert gone is not None
        assert mentions(gone.estimate.why_missing, "model", "category")
    assert "No model predicts 'caption'." in result.notes


@pytest.mark.slow
def test_degrees() -> None:
    snapshot, _ = made.presence(raters=5)
    held = labels(snapshot).table.filter(pl.col("value").is_not_null())
    answer = np.clip(held["value"].to_numpy() + np.random.default_rng(1).normal(0, 0.8, held.height), 0, 2)
    rows = held.select("stimulus", "question").with_columns(pl.Series("value", answer)).to_dicts()
    result = score(snapshot, made.predictions("m", rows), FEW)
    task = "presence (degree)"
    kappa = metrics.cohen_kappa_score(
        held["value"].to_numpy().astype(int), np.rint(answer).astype(int), weights="quadratic"
    )
    assert number(result, task, "quadratic_kappa") == pytest.approx(kappa)
    assert number(result, task, "spearman") == pytest.approx(spearmanr(held["value"], answer)[0])


@pytest.mark.slow
def test_texts() -> None:
    snapshot = made.feelings(stimuli=30)
    messages = {f"c{k}": ("" if k % 6 == 5 else f"a joy song with drums number {k}") for k in range(30)}
    rows = [
        {"stimulus": name, "question": "caption", **({"answer": text} if text else {"problem": "silent"})}
        for name, text in messages.items()
    ]
    result = score(snapshot, made.predictions("m", rows), FEW)
    written = snapshot.ratings.filter(pl.col("question") == "caption")
    references = [written.filter(pl.col("stimulus") == name)["answer"].to_list() for name in messages]
    retained = [k for k, text in enumerate(messages.values()) if text]
    own, theirs = [list(messages.values())[k] for k in retained], [references[k] for k in retained]
    assert number(result, "caption", "cider") == pytest.approx(float(cider(own, theirs).mean()))
    assert number(result, "caption", "rouge_l") == pytest.approx(float(rouge_l(own, theirs).mean()))
    assert number(result, "caption", "bleu_4") == pytest.approx(float(bleu(own, theirs)))
    full = result.find("caption", "m", "rouge_l")
    assert full is not None
    assert full.with_failures.value == pytest.approx(float(rouge_l(list(messages.values()), references).mean()))
    details = result.details["caption"].models["m"]
    assert isinstance(details, TextDetails)
    assert details.lexical.texts == len(retained)
