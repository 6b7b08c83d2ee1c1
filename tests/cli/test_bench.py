"""``heartfelt bench``, and ``heartfelt site`` of what it wrote, as users meet them."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from heartfelt import __version__
from heartfelt.cli import main
from heartfelt.labels import freeze
from heartfelt.snapshot import Snapshot
from tests.datasets.emolia_data import dim, emo
from tests.facts import mentions
from tests.report import studies
from tests.scoring import made


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own, and a wide terminal."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    snapshot, _ = made.numbers(per_cell=2)
    return snapshot.write(tmp_path / "snapshot")


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    code = main([str(argument) for argument in arguments])
    answer = capsys.readouterr()
    return code, answer.out, answer.err.strip().splitlines()


@pytest.mark.slow
def test_several_models_give_a_table_and_a_report(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    models = ("constant", "system-mean", "intent", "human", "sham")
    arguments = [part for name in models for part in ("--model", name)]
    code, text, _ = run("bench", source, *arguments, "--out", out, "--resamples", 200, capsys=capsys)
    assert code == 0
    assert all(name in text for name in models)
    assert f"Report: {out / 'report.html'}" in text
    assert {path.name for path in (out / "runs").iterdir()} == set(models)
    answer = json.loads((out / "scores.json").read_text())
    assert answer["models"] == list(models)
    ranks = {rank["model"]: rank for rank in answer["ranks"]}
    assert ranks["human"]["place"] is None
    assert answer["ranks"][0]["model"] == "intent"
    # Two clips a cell are too few for it to beat chance, and a sham never does.
    for model in ("intent", "sham"):
        assert (ranks[model]["place"], ranks[model]["why_none"]) == (None, "it does not beat chance")
    assert "does not beat chance" in text
    assert answer["heartfelt_version"] == __version__
    assert answer["model_info"]["sham"]["identity"].startswith("sham ")


@pytest.mark.slow
def test_a_second_bench_asks_only_for_what_is_missing(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    first = ("bench", source, "-p", "intent", "--out", out, "--resamples", 200)
    assert run(*first, capsys=capsys)[0] == 0
    before = (out / "scores.json").read_bytes()
    assert run(*first, capsys=capsys)[0] == 0
    assert (out / "scores.json").read_bytes() == before
    message = json.loads((out / "runs" / "intent" / "run.json").read_text())
    assert message["counts"]["kept"] == message["counts"]["items"] == 48
    assert message["counts"]["asked"] == 0
    assert run(*first, "-p", "constant", capsys=capsys)[0] == 0
    assert json.loads((out / "scores.json").read_text())["models"] == ["intent", "constant"]
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_both_subsets_of_emolia(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emo(tmp_path / "in" / "annotations" / "emolia-emo")
    dim(tmp_path / "in" / "annotations" / "emolia-dim")
    out = tmp_path / "out"
    code, text, _ = run(
        "bench", tmp_path / "in", "-p", "sham", "--as", "emolia", "--out", out, "--resamples", 200, capsys=capsys
    )
    assert code == 0, text
    for subset in ("emolia-emo", "emolia-dim"):
        assert (out / subset / "report.html").is_file()
        assert (out / "benchmark_outputs" / subset / "predictions.csv").is_file()


@pytest.mark.slow
def test_a_frozen_benchmark_and_its_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot, _ = made.numbers(per_cell=3)
    frozen = freeze(snapshot)
    folder = frozen.write(tmp_path / "frozen")
    code, _, _ = run(
        "bench",
        folder,
        "-p",
        "constant:5",
        "--part",
        "test",
        "--out",
        tmp_path / "out",
        "--resamples",
        200,
        capsys=capsys,
    )
    assert code == 0
    answer = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert answer["coverage"]["constant:5"]["valence"]["items"] == frozen.part("test").height


@pytest.mark.slow
def test_a_policy_is_told(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    code, text, _ = run(
        "bench", source, "-p", "intent", "--policy", "default", "--out", out, "--resamples", 200, capsys=capsys
    )
    assert code == 0
    assert mentions(text, "screened", "'default'")


@pytest.mark.slow
def test_the_leaderboard_of_two_benches(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, model in (("one", "intent"), ("two", "system-mean")):
        assert run("bench", source, "-p", model, "-o", tmp_path / "b" / name, "--resamples", 200, capsys=capsys)[0] == 0
    for name, options, stimuli in (("site", [], True), ("leaderboard", ["--no-stimuli"], False)):
        site = tmp_path / "b" / name
        code, text, _ = run("site", tmp_path / "b", site, *options, capsys=capsys)
        assert code == 0
        assert str(site / "index.html") in text
        assert (site / "stimuli").is_dir() == stimuli
        (board,) = json.loads((site / "leaderboard.json").read_text())["boards"]
        assert {rank["model"] for rank in board["ranks"]} == {"intent", "system-mean"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-p", "nobody"], "nobody"),
        (["-p", "intent", "-p", "intent"], "twice"),
        (["-p", "intent", "--as", "musicval"], "musicval"),
        (["-p", "intent", "--as", "emolia"], "emolia"),
        (["-p", "intent", "--question", "arousal"], "arousal"),
        (["-p", "intent", "--slice", "colour"], "colour"),
        (["-p", "intent", "--exclude-flagged"], "flags"),
        (["-p", "intent", "--part", "test"], "no published split"),
        (["-p", "intent", "--gpus", "1"], "--gpus is an option of the engine 'ray'"),
        (["-p", "intent", "--workers", "2"], "--engine ray"),
        (["-p", "intent", "--send-media"], "--send-media is an option"),
        (["-p", "intent", "--ties", "highest"], "highest"),
        (["-p", "intent", "--engine", "cloud"], "cloud"),
        (["-p", "intent", "--limit", "0"], "limit"),
        (["-p", "file:nowhere.csv"], "nowhere.csv"),
        ([], "model"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_mistakes_are_two_lines(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    out = tmp_path / "out"
    code, _, answer = run("bench", source, *arguments, "--out", out, "--resamples", 200, capsys=capsys)
    assert code == 2
    assert len(answer) == 2, answer
    assert words in " ".join(answer)
    assert not (out / "report.html").exists()


@pytest.mark.slow
def test_a_folder_of_something_else_is_left_alone(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    code, _, answer = run("bench", source, "-p", "intent", "--out", mine, capsys=capsys)
    assert (code, len(answer)) == (2, 2)
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


@pytest.mark.slow
def test_nothing_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot, _ = made.numbers(per_cell=1)
    empty = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings.clear())
    code, _, answer = run(
        "bench", empty.write(tmp_path / "empty"), "-p", "intent", "--out", tmp_path / "out", capsys=capsys
    )
    assert (code, len(answer)) == (2, 2)
    assert "has a label" in answer[0]


@pytest.mark.slow
def test_a_limit_is_a_sample_of_every_question_system_and_intent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first rows would be of one system and one intent; another seed draws others."""
    snapshot, _ = made.numbers(per_cell=4)
    source = snapshot.write(tmp_path / "snapshot")
    facts = {row["stimulus"]: row for row in snapshot.stimuli.to_dicts()}
    drawn = []
    for seed in (0, 1):
        out = tmp_path / f"out{seed}"
        arguments = ("-p", "constant:5", "--limit", 12, "--seed", seed, "--resamples", 200, "--out", out)
        assert run("bench", source, *arguments, capsys=capsys)[0] == 0
        drawn.append(set(pl.read_parquet(out / "predictions.parquet")["stimulus"]))
    assert drawn[0] != drawn[1]
    for sample in drawn:
        assert len(sample) == 12
        for column in ("system", "intent"):
            counts = Counter(facts[name][column] for name in sample)
            assert set(counts) == set(snapshot.stimuli[column])
            assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.slow
def test_the_published_split_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot, _ = made.numbers(per_cell=4)
    parts = ["train", "dev", "test", "train"]
    split = pl.Series("split", [parts[at % 4] for at in range(snapshot.stimuli.height)])
    published = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli.with_columns(split), ratings=snapshot.ratings)
    source = published.write(tmp_path / "snapshot")
    dev = set(published.stimuli.filter(pl.col("split") == "dev")["stimulus"])
    arguments = ("-p", "constant:5", "--resamples", 200, "--out", tmp_path / "out")
    assert run("bench", source, *arguments, "--split", "dev", capsys=capsys)[0] == 0
    table = pl.read_parquet(tmp_path / "out" / "predictions.parquet")
    assert set(table["stimulus"]) == dev
    answer = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert answer["coverage"]["constant:5"]["valence"]["items"] == len(dev)
    code, _, words = run("bench", source, *arguments[:-1], tmp_path / "no", "--split", "tets", capsys=capsys)
    assert code == 2
    assert "no part 'tets'" in " ".join(words)
    assert "test" in words[1]


@pytest.mark.slow
def test_rays_resources_reach_the_engine(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from heartfelt.predictors.execution.engines import ENGINES, Local

    given: dict[str, str] = {}

    class Noting(Local):
        def __init__(self, options: Mapping[str, str]) -> None:
            given.update(options)

    _ = ENGINES["ray"]
    monkeypatch.setitem(ENGINES._things, "ray", Noting)
    ray = ("--engine", "ray", "--gpus", "0.5", "--cpus", 2, "--workers", 3, "--address", "auto", "--send-media")
    arguments = ("-p", "constant:5", "--resamples", 200, "--out", tmp_path / "out")
    assert run("bench", source, *arguments, *ray, capsys=capsys)[0] == 0
    assert given == {"gpus": "0.5", "cpus": "2", "workers": "3", "address": "auto", "media": "send"}


@pytest.mark.slow
def test_a_model_may_be_given_a_name(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("-p", "Always five=constant:5", "--resamples", 200, "--out", tmp_path / "out")
    code, text, _ = run("bench", source, *arguments, capsys=capsys)
    assert code == 0
    assert "Always five" in text


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waits between attempts."""
    monkeypatch.setattr("heartfelt.predictors.execution.work.Retry.wait", lambda *_, **__: 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("others", [(), ("constant",)])
def test_a_server_that_is_down_ends_in_an_error_after_the_rest_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], impatient: None, others: tuple[str, ...]
) -> None:
    source = studies.conveyance(tmp_path / "tones").write(tmp_path / "sounding")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    dead, out = f"dead=endpoint:http://127.0.0.1:{port}/", tmp_path / "out"
    models = [part for name in (*others, dead) for part in ("-p", name)]
    code, text, problem = run("bench", source, *models, "--out", out, "--resamples", 200, capsys=capsys)
    assert code == 1
    assert mentions(problem[0], "dead", "server")
    assert ("The scores of constant are complete." in problem[0]) == bool(others)
    assert "dead answered nothing" in text
    assert json.loads((out / "scores.json").read_text())["models"] == [*others, "dead"]
    assert "answered nothing" in (out / "report.html").read_text()
    # What answered nothing is not kept.
    assert run("bench", source, "-p", "sham", "--out", out, "--resamples", 200, capsys=capsys)[0] == 0
    assert json.loads((out / "scores.json").read_text())["models"] == [*others, "sham"]


@pytest.mark.slow
def test_another_bench_adds_models_and_keeps_the_others(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result is that of one bench of all models; other data or options are refused, and nothing is changed."""
    out, both = tmp_path / "out", tmp_path / "both"
    few = ("--resamples", 200)
    assert run("bench", source, "-p", "intent", "--out", out, *few, capsys=capsys)[0] == 0
    code, text, _ = run("bench", source, "-p", "my own=constant:5", "--out", out, *few, capsys=capsys)
    assert code == 0
    assert "intent" in text
    run("bench", source, "-p", "intent", "-p", "my own=constant:5", "--out", both, *few, capsys=capsys)
    for name in ("scores.json", "scores.csv", "ledger.csv", "report.html"):
        assert (out / name).read_bytes() == (both / name).read_bytes(), name
    before = (out / "scores.json").read_bytes()
    other, _ = made.numbers(per_cell=3)
    cases: list[tuple[Path, tuple[object, ...], str]] = [
        (other.write(tmp_path / "other"), few, "a bench of other data"),
        (source, ("--resamples", 300), "resamples was 200 and is now 300"),
        (source, (*few, "--limit", 12), "limit was not set and is now 12"),
        (source, (*few, "--threshold", 2), "threshold was 0.0 and is now 2.0"),
    ]
    for data, options, words in cases:
        code, _, problem = run("bench", data, "-p", "sham", "--out", out, *options, capsys=capsys)
        assert (code, len(problem)) == (2, 2)
        assert words in problem[0]
        assert "intent and my own" in problem[1]
    assert (out / "scores.json").read_bytes() == before
    assert not (out / "runs" / "sham").exists()
