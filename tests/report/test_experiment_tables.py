"""The tables of an experiment: the standard deviation over seeds in every file, a transfer as a matrix, safe LaTeX."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.report.pages.experiment_tables import experiment_grids, matrix_table, score_table
from heartfelt.report.pages.experiments import write_experiment
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.repeated import Repeats
from heartfelt.training.experiments import KINDS
from heartfelt.training.experiments.design import _over_seeds
from heartfelt.training.experiments.results import MEAN, SHUFFLED, Experiment, ScoreRow, SourceFacts
from tests.facts import mentions
from tests.publishing.papers.markup_checks import check_latex, tables_in

PARTS = ("A_1 & co", "50% \\alpha", "third")


def estimate(value: float) -> Estimate:
    return Estimate(value=value, low=value - 0.05, high=value + 0.05, method="pearson")


def row(trained: str, tested: str, value: float, seeds: int, *, condition: str = "") -> ScoreRow:
    spread = (
        Estimate(value=value / 10, counts={"seeds": seeds})
        if seeds > 1
        else Estimate.missing("one seed", counts={"seeds": 1})
    )
    baseline = trained == SHUFFLED or condition == MEAN
    return ScoreRow(
        condition=condition or f"{trained} → {tested}",
        question="mood_1",
        trained_on=trained,
        tested_on=tested,
        level=10.0,
        training_stimuli=20.0,
        n=30,
        pearson=Estimate.missing("a constant has no correlation") if condition == MEAN else estimate(value),
        over_seeds=Estimate.missing("a constant has no correlation") if condition == MEAN else spread,
        rmse=estimate(1.0),
        difference=Estimate.missing("this is what others are compared with"),
        reference="",
        ceiling=estimate(0.9),
        baseline=baseline,
    )


def experiment(kind: str = "transfer", seeds: int = 3) -> Experiment:
    trained = (*PARTS, "all others", SHUFFLED)
    rows = [
        row(name, part, 0.05 + 0.1 * place + 0.01 * column, seeds)
        for place, name in enumerate(trained)
        for column, part in enumerate(PARTS)
    ]
    rows += [row(part, part, 0.0, seeds, condition=MEAN) for part in PARTS]
    sources = tuple(
        SourceFacts(
            name=name, stimuli=30, groups=30, raters=8, raters_used=8, ratings=240, snapshot="0" * 64, folds="folds"
        )
        for name in PARTS
    )
    return Experiment(
        kind=kind,
        recipe="va-audio",
        about="About.",
        heartfelt="0",
        sources=sources,
        questions=("mood_1",),
        seeds=tuple(range(seeds)),
        folds=5,
        cells=10,
        variants=5,
        raters="screened",
        axis="",
        rows=tuple(rows),
    )


def latex_tables(text: str) -> list[str]:
    return [f"% \\usepackage{part}" for part in text.split("% \\usepackage")[1:]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [1, 3])
def test_every_table_has_the_deviation_over_seeds_or_why_there_is_none(kind: str, seeds: int) -> None:
    made = experiment(kind, seeds)
    table = score_table(made)
    scored = table.filter(pl.col("condition") != MEAN)
    assert (scored["seeds"] == seeds).all()
    assert scored["sd_over_seeds"].null_count() == (0 if seeds > 1 else scored.height)
    assert set(scored["why_no_sd"]) == ({None} if seeds > 1 else {"one seed"})
    grid = experiment_grids(made)[-1]
    cells = [line[grid.columns.index("SD over seeds")] for line in grid.rows[: scored.height]]
    assert cells[0] == ("± .005" if seeds > 1 else "– (one seed)")
    assert len(set(cells)) == (1 if seeds == 1 else scored.height)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 3])
def test_a_transfer_is_a_matrix_in_every_file(tmp_path: Path, seeds: int) -> None:
    made = experiment(seeds=seeds)
    write_experiment(made, tmp_path)
    matrix, scores = tables_in((tmp_path / "table.md").read_text(encoding="utf-8"))
    assert matrix[0] == ["trained on", *(f"tested on {part}" for part in PARTS)]
    assert [line[0] for line in matrix[1:]] == [*PARTS, "all others", SHUFFLED, "ceiling"]
    deviation = " ± .016" if seeds > 1 else ""
    assert matrix[2][2] == f".16{deviation} [.11, .21]"
    assert matrix[-1][1] == ".90 [.85, .95]"
    assert len(scores) == len(made.rows) + 1
    table = pl.read_csv(tmp_path / "matrix.csv")
    assert table["trained_on"].to_list() == [*PARTS, "all others", SHUFFLED, "ceiling"]
    assert table.row(-1, named=True)[f"tested on {PARTS[2]}, high"] == pytest.approx(0.95)
    second = table.row(1, named=True)
    assert second[f"tested on {PARTS[1]}"] == pytest.approx(0.16)
    assert second[f"tested on {PARTS[1]}, low"] == pytest.approx(0.11)
    assert second[f"tested on {PARTS[1]}, sd_over_seeds"] == (pytest.approx(0.016) if seeds > 1 else None)
    assert matrix_table(made).height == 6


def test_rows_of_the_same_condition_say_where_they_were_tested() -> None:
    grid = experiment_grids(experiment())[-1]
    names = [str(line[grid.columns.index("condition")]) for line in grid.rows]
    assert names[-3:] == [f"{MEAN}: {part}" for part in PARTS]
    assert len(set(names)) == len(names)


def test_the_caption_of_a_matrix_names_the_metric_of_its_question() -> None:
    made = experiment()
    moods = [
        replace(row, question="mood_2", accuracy=row.pearson, macro_f1=row.rmse)
        for row in made.rows
        if row.condition != MEAN
    ]
    both = replace(made, questions=("mood_1", "mood_2"), rows=(*made.rows, *moods))
    captions = [grid.caption for grid in experiment_grids(both)]
    assert mentions(captions[0], "Transfer", "mood_1")
    assert mentions(captions[1], "mood_2", "accuracy")


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_matrix_says_why_a_cell_or_its_deviation_is_missing(seeds: int) -> None:
    made = experiment(seeds=seeds)
    first = replace(made.rows[0], pearson=Estimate.missing("a fit failed"))
    table = matrix_table(replace(made, rows=(first, *made.rows[1:])))
    row, name = table.row(0, named=True), f"tested on {PARTS[0]}"
    assert (row[name], row[f"{name}, why_missing"]) == (None, "a fit failed")
    assert row[f"tested on {PARTS[1]}, why_no_sd"] == (None if seeds > 1 else "one seed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [1, 3])
def test_latex_is_balanced_escaped_and_says_what_plus_minus_means(tmp_path: Path, kind: str, seeds: int) -> None:
    made = experiment(kind, seeds)
    write_experiment(made, tmp_path)
    text = (tmp_path / "table.tex").read_text(encoding="utf-8")
    grids = experiment_grids(made)
    tables = latex_tables(text)
    assert len(tables) == len(grids) == (2 if kind == "transfer" else 1)
    for grid, table in zip(grids, tables, strict=True):
        assert check_latex(table, len(grid.columns)) == len(grid.rows)
        assert "\\toprule" in table
        assert "A\\_1 \\& co" in table
        says = "$\\pm$ is the standard deviation of the score over 3 seeds" if seeds > 1 else "One seed, so there is no"
        assert says in table
    labels = re.findall(r"\\label\{([^}]*)\}", text)
    assert len(set(labels)) == len(tables)
    assert all(ord(letter) < 128 for letter in text), "pdfLaTeX knows no other letters without further packages"
    assert (tmp_path / "matrix.csv").is_file() == (kind == "transfer")


def test_the_deviation_over_seeds_is_that_of_the_scores_of_the_seeds() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    columns = [truth + rng.normal(size=40) for _ in range(4)]
    spread = _over_seeds(Repeats("pearson", truth, columns))
    assert spread.value == pytest.approx(np.std([np.corrcoef(truth, c)[0, 1] for c in columns], ddof=1))
    assert dict(spread.counts) == {"seeds": 4}
    alone = _over_seeds(Repeats("pearson", truth, columns[:1]))
    assert (alone.value, alone.why_missing) == (None, "one seed")
