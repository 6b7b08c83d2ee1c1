"""The functions of a notebook: the fifteen lines of docs/notebook.md and every docstring's example run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt import api
from heartfelt.errors import HeartfeltError
from heartfelt.simulate import INTENTS, SYSTEMS, DesignOptions, stimuli, study_ratings
from heartfelt.snapshot.shortcuts import Shortcuts

PAGE = Path(__file__).parents[1] / "docs" / "notebook.md"
FUNCTIONS = ("plan", "screen", "label", "analyze", "bench", "distances", "predict", "train", "publish", "plot")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    media = stimuli(SYSTEMS[:4], dict(list(INTENTS.items())[:4]), per_cell=2)
    simulated = study_ratings(media, 12, design=DesignOptions(per_rater=32), seed=3)
    return simulated.ratings.join(media.select("stimulus", "system", "intent"), on="stimulus")


@pytest.fixture
def folder(table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    table.write_csv(tmp_path / "ratings.csv")
    monkeypatch.chdir(tmp_path)
    import matplotlib
    import matplotlib.pyplot as plt

    backend = matplotlib.get_backend()
    matplotlib.use("agg")
    yield tmp_path
    plt.close("all")
    matplotlib.use(backend)


@pytest.mark.slow
def test_the_notebook_of_fifteen_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    assert len(code[1].strip().splitlines()) <= 15
    exec(compile(code[1], str(PAGE), "exec"), {})
    shown = capsys.readouterr().out
    assert re.search(r"ceiling 0\.\d\d \[0\.\d\d, [01]\.\d\d\]", shown), shown
    assert re.search(r"intent against system-mean|system-mean against intent", shown)
    assert (folder / "map.png").stat().st_size > 5_000


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_takes_and_returns(name: str) -> None:
    function = getattr(heartfelt, name)
    text = inspect.getdoc(function) or ""
    assert "Parameters\n----------" in text
    assert "Returns\n-------" in text
    described = text.split("Parameters\n----------")[1].split("Returns\n-------")[0]
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* : ", described, re.MULTILINE), parameter


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("train", "distances")])
def test_the_examples_of_docstrings_run(name: str, folder: Path) -> None:
    function = inspect.unwrap(getattr(api, name))
    names = {"heartfelt": heartfelt, "ratings": heartfelt.read(folder / "ratings.csv", scale="1-9")}
    tests = doctest.DocTestFinder().find(function, name, globs=names)
    assert tests
    assert tests[0].examples
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tests[0])
    assert result.failed == 0


def test_snapshots_have_the_functions_as_methods() -> None:
    methods = {name for name in vars(Shortcuts) if not name.startswith("_")}
    assert methods == set(FUNCTIONS) - {"plan", "plot"}
    assert methods <= set(dir(heartfelt.Snapshot))


def test_tab_completes_the_public_names() -> None:
    assert {*FUNCTIONS, "read", "load", "export", "stats", "Snapshot"} <= set(dir(heartfelt))
    with pytest.raises(AttributeError, match="attribute analyse"):
        getattr(heartfelt, "analy" + "se")


@pytest.mark.slow
def test_results_show_themselves_short(folder: Path) -> None:
    ratings = heartfelt.read(folder / "ratings.csv", scale="1-9")
    for result in (ratings, ratings.screen(), ratings.label(), ratings.bench(["constant"])):
        assert len(repr(result)) < 600
        html = result._repr_html_()
        assert html.startswith("<")
        assert len(html) < 20_000


def test_pandas_in_and_out(table: pl.DataFrame) -> None:
    pandas = pytest.importorskip("pandas")
    ratings = heartfelt.read(table.to_pandas(), scale="1-9")
    assert ratings.counts["ratings"] == table.height
    assert isinstance(ratings.label().table.to_pandas(), pandas.DataFrame)


class Wrong:
    """Nothing that any function of heartfelt takes."""

    def __repr__(self) -> str:
        return "<something else>"


WRONG: tuple[object, ...] = (
    None,
    5,
    2.5,
    True,
    b"x",
    "nowhere.csv",
    Path("nowhere"),
    [],
    [1],
    {},
    {1},
    dict,
    len,
    Wrong(),
    pl.Series([1]),
)
CALLS: dict[str, Callable[[Any, Any], object]] = {
    "read": lambda _, it: heartfelt.read(it),
    "plan": lambda _, it: heartfelt.plan(it),
    "screen": lambda _, it: heartfelt.screen(it),
    "label": lambda _, it: heartfelt.label(it),
    "analyze": lambda _, it: heartfelt.analyze(it),
    "train": lambda _, it: heartfelt.train(it),
    "plot": lambda _, it: heartfelt.plot(it),
    "bench": lambda _, it: heartfelt.bench(it, ["constant"]),
    "publish": lambda _, it: heartfelt.publish(it, "published"),
    "bench(models)": lambda ratings, it: heartfelt.bench(ratings, it),
    "bench([model])": lambda ratings, it: heartfelt.bench(ratings, [it]),
    "bench(questions)": lambda ratings, it: heartfelt.bench(ratings, ["constant"], questions=[it]),
    "predict(model)": lambda ratings, it: heartfelt.predict(ratings, it),
    "predict(files)": lambda _, it: heartfelt.predict([it]),
    "predict(files, model)": lambda _, it: heartfelt.predict(["x.wav"], it),
    "screen(policy)": lambda ratings, it: heartfelt.screen(ratings, it),
    "label(method)": lambda ratings, it: heartfelt.label(ratings, method=it),
    "train(recipe)": lambda ratings, it: heartfelt.train(ratings, it),
    "plan(seed)": lambda _, it: heartfelt.plan("study", seed=it),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_kind_of_object_is_explained(call: str, folder: Path) -> None:
    """Every function, given what it does not take, says what it takes; a few of these are fine for a few functions."""
    ratings = heartfelt.read("ratings.csv")
    errors = [error for it in WRONG if (error := _error(lambda it=it: CALLS[call](ratings, it)))]  # type: ignore[misc]  # bound here
    assert all(error.fix for error in errors)
    assert len(errors) >= len(WRONG) - 2


def _error(call: Callable[[], object]) -> HeartfeltError | None:
    try:
        call()
    except HeartfeltError as error:
        return error
    return None


@pytest.mark.slow
def test_a_function_is_a_model(folder: Path) -> None:
    ratings = heartfelt.read("ratings.csv")

    def guess(stimulus: str, question: str) -> float:
        return float(len(stimulus + question))

    assert heartfelt.bench(ratings, [guess]).scores.models == ("guess",)
    assert heartfelt.predict(ratings, guess)["ok"].all()
    first = heartfelt.bench(ratings, guess, folder="bench")
    named = heartfelt.bench(
        ratings, {"a": lambda question: len(question), "b": lambda question: 6 + 0 * len(question)}, folder="bench"
    )
    assert named.scores.models == ("guess", "a", "b")
    assert set(named.predictions.filter(pl.col("model") == "b")["value"]) == {6.0}
    kept = named.predictions.filter(pl.col("model") == "guess").drop("seconds")
    assert kept.equals(first.predictions.drop("seconds"))
    assert (folder / "bench" / "report.html").is_file()
    with pytest.raises(HeartfeltError, match="Two models are called '<lambda>'"):
        heartfelt.bench(ratings, [lambda question: len(question), lambda question: -len(question)])


@pytest.mark.slow
def test_one_text_where_several_are_expected_is_one(folder: Path) -> None:
    ratings = heartfelt.read("ratings.csv")
    scores = heartfelt.bench(ratings, "constant", questions="valence").scores
    assert [task.id for task in scores.tasks] == ["valence"]


@pytest.mark.slow
def test_ratings_are_plotted_as_they_are(folder: Path) -> None:
    ratings = heartfelt.read("ratings.csv")
    drawn = heartfelt.plot(ratings, "ceiling").get_axes()[0].get_xlabel()
    assert drawn == heartfelt.plot(heartfelt.analyze(ratings), "ceiling").get_axes()[0].get_xlabel()
