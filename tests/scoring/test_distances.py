"""Set-level metrics of systems: from media files to distances, people's means, ceilings and a report."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, EmbeddingBlock, Features
from heartfelt.report.pages.distances import write_distances
from heartfelt.scoring.set_distances.closeness import Closeness
from heartfelt.scoring.set_distances.stimulus_sets import scaler
from heartfelt.scoring.set_distances.systems import SystemDistances
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.set_distance import frechet_distance, kernel_distance
from heartfelt.study import parse_study
from tests.facts import mentions
from tests.training.studies import Digits

WIDTH = Digits().size
STUDY = """
heartfelt: 1
name: sets
media: audio
systems: [{id: near}, {id: mid}, {id: far}, {id: farther}]
scales: {nine: {type: points, points: 9, anchors: {1: very bad, 9: very good}}}
questions: [{id: quality, text: "How good is it?", scale: nine}]
design: {ratings_per_item: 6, minimum_ratings: 3}
"""
SHIFTS = {"near": 0.5, "mid": 2.0, "far": 3.5, "farther": 5.0}


class OneBlock(Digits):
    """The same numbers in one block, which stay as they are."""

    name: ClassVar[str] = "digits-one"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (EmbeddingBlock("all", WIDTH),)

    def of(self, path: Path | str, text: str | None = None) -> Features:
        del text
        if Path(path).suffix == ".m4a":
            raise InputError(f"{path} cannot be read.", "Convert it.")
        rows = np.loadtxt(path, dtype=np.float32, ndmin=2)
        return Features(rows, np.arange(len(rows), dtype=np.float64), 1.0)


if "digits-one" not in EMBEDDINGS:
    EMBEDDINGS.add(OneBlock.name, OneBlock)


@pytest.fixture(autouse=True)
def features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))


def files(folder: Path, shift: float, count: int, seed: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    """Sound files that hold numbers, one distribution moved along its first column."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.random.default_rng(seed).normal(size=(count, WIDTH))
    rows[:, 0] += shift
    for place, row in enumerate(rows):
        np.savetxt(folder / f"{place:03}.wav", row[None], fmt="%.6f")
    return {f"{place:03}.wav": row for place, row in enumerate(rows)}


@pytest.fixture
def systems(tmp_path: Path) -> Path:
    for place, (system, shift) in enumerate(SHIFTS.items()):
        files(tmp_path / "systems" / system, shift, 30, place + 2)
    files(tmp_path / "reference", 0.0, 40, 99)
    return tmp_path / "systems"


def study(media: Path, prompts: bool = False) -> Snapshot:
    """People like systems near the reference better."""
    rng, stimuli, ratings = np.random.default_rng(4), [], []
    for path in sorted(media.rglob("*.wav")):
        name, system = path.relative_to(media).as_posix(), path.parent.name
        prompt = {"prompt": path.stem} if prompts else {}
        stimuli.append({"stimulus": name, "system": system, "path": name, **prompt})
        for rater in rng.choice(15, 6, replace=False):
            value = float(np.clip(round(8 - SHIFTS[system] + rng.normal(0, 1.2)), 1, 9))
            ratings.append({"rater": f"r{rater}", "stimulus": name, "question": "quality", "value": value})
    source = Source(format="tables", name="sets", media_root=media)
    tables = {"stimuli": pl.DataFrame(stimuli), "ratings": pl.DataFrame(ratings)}
    return Snapshot.build(parse_study(STUDY, "sets"), **tables, source=source)


def values(result: SystemDistances, metric: str) -> dict[str, float]:
    return {row.system: float(row.distance) for row in result.systems if row.metric == metric}


def pick(result: SystemDistances, metric: str, coefficient: str = "spearman") -> Closeness:
    (row,) = (row for row in result.closeness if (row.metric, row.coefficient) == (metric, coefficient))
    return row


def test_a_folder_of_systems_needs_no_ratings(systems: Path) -> None:
    result = heartfelt.distances(systems, "digits-one", reference=systems.parent / "reference")
    assert result.closeness == ()
    for metric in ("fad", "kad"):
        found = values(result, metric)
        assert sorted(found, key=lambda name: found[name]) == list(SHIFTS), metric
    x = np.array(list(files(systems / "far", SHIFTS["far"], 30, 4).values()))
    y = np.array(list(files(systems.parent / "reference", 0.0, 40, 99).values()))
    (far,) = (row for row in result.systems if (row.metric, row.system) == ("fad", "far"))
    expected = frechet_distance(x, y)
    assert far.distance.value == pytest.approx(expected.value, rel=1e-4)
    assert far.distance.low == pytest.approx(expected.low, rel=1e-3)
    assert far.uncorrected.value == pytest.approx(frechet_distance(x, y, correction="none").value, rel=1e-4)
    (kad,) = (row for row in result.systems if (row.metric, row.system) == ("kad", "far"))
    assert kad.distance.value == pytest.approx(kernel_distance(x, y).value, rel=1e-4)


@pytest.mark.slow
def test_closeness_goes_with_peoples_means_beside_a_ceiling(systems: Path, tmp_path: Path) -> None:
    reference = systems.parent / "reference"
    result = heartfelt.distances(study(systems), "digits-one", reference=reference, metrics=["fad", "kid"])
    for metric in ("fad", "kid"):
        row = pick(result, metric)
        assert float(row.correlation) == pytest.approx(1.0)
        assert float(row.p) == pytest.approx(2 / 24)
        assert 0.9 < float(row.ceiling) <= 1
        assert row.systems == 4
    assert any("4 systems" in note for note in result.notes)
    means = {row.system: float(row.mean) for row in result.means}
    assert sorted(means, key=lambda name: -means[name]) == list(SHIFTS)
    folder = write_distances(result, tmp_path / "out")
    stored = json.loads((folder / "distances.json").read_text())
    assert len(stored["systems"]) == 8
    assert len(stored["closeness"]) == 6
    assert pl.read_csv(folder / "distances.csv").height == 8
    assert pl.read_csv(folder / "correlations.csv")["coefficient"].n_unique() == 3
    page = (folder / "report.html").read_text()
    assert "Closeness is minus the distance" in page
    assert (folder / "figures" / "distances-and-means.png").stat().st_size > 5_000


def test_each_system_may_have_the_others_as_its_reference(systems: Path) -> None:
    result = heartfelt.distances(systems, "digits-one")
    assert {row.reference for row in result.systems} == {90}
    found = values(result, "kad")
    assert max(found["mid"], found["far"]) < min(found["near"], found["farther"]), "outer systems are far from the rest"


def test_a_system_may_be_the_reference(systems: Path) -> None:
    result = heartfelt.distances(study(systems), "digits-one", reference="system=near")
    assert {row.system for row in result.systems} == {"mid", "far", "farther"}
    assert pick(result, "fad").systems == 3


@pytest.mark.slow
def test_stimuli_of_one_prompt_are_left_out_together(systems: Path) -> None:
    snapshot = study(systems, prompts=True)
    grouped = heartfelt.distances(snapshot, "digits-one")
    assert "Stimuli of one prompt belong together and are left out together." in grouped.notes
    assert all(row.distance.counts["groups"] == 30 for row in grouped.systems)
    alone = heartfelt.distances(snapshot, "digits-one", group="none")
    assert all("groups" not in row.distance.counts for row in alone.systems)
    with pytest.raises(HeartfeltError, match="no column 'promt'"):
        heartfelt.distances(snapshot, "digits-one", group="promt")


def test_what_is_left_out_is_in_the_ledger(systems: Path) -> None:
    (systems / "near" / "broken.wav").write_text("no numbers")
    np.savetxt(systems / "near" / "nan.wav", np.full((1, WIDTH), np.nan))
    first = (systems / "near" / "000.wav").read_bytes()
    (systems / "near" / "copy.wav").write_bytes(first)
    (systems.parent / "reference" / "also.wav").write_bytes(first)
    snapshot = study(systems)
    (systems / "mid" / "000.wav").unlink()
    with pytest.raises(ValueError, match="could not convert"):
        heartfelt.distances(snapshot, "digits-one", reference=systems.parent / "reference")
    (systems / "near" / "broken.wav").unlink()
    result = heartfelt.distances(snapshot, "digits-one", reference=systems.parent / "reference")
    reasons = dict(result.ledger.select("stimulus", "reason").iter_rows())
    assert reasons["near/broken.wav"] == reasons["mid/000.wav"] == "its media file is not available"
    assert mentions(reasons["near/nan.wav"], "embedding", "finite")
    assert mentions(reasons["near/copy.wav"], "content", "near/000.wav")
    assert "left out of the reference set" in reasons["also.wav"]
    assert {(row.system, row.stimuli, row.reference) for row in result.systems if row.metric == "fad"} == {
        ("near", 30, 40), ("mid", 29, 40), ("far", 30, 40), ("farther", 30, 40),
    }  # fmt: skip


def test_links_to_nothing_in_a_folder_are_in_the_ledger(systems: Path) -> None:
    (systems / "near" / "moved.wav").symlink_to(systems / "gone.wav")
    (systems / "lost").mkdir()
    (systems / "lost" / "only.wav").symlink_to(systems / "gone.wav")
    result = heartfelt.distances(systems, "digits-one", metrics=["kad"])
    reasons = dict(result.ledger.select("stimulus", "reason").iter_rows())
    assert reasons["near/moved.wav"] == reasons["lost/only.wav"] == "its media file is not available"
    assert {row.system: row.stimuli for row in result.systems}["near"] == 30


def test_every_file_of_a_system_is_embedded_or_in_the_ledger(systems: Path, tmp_path: Path) -> None:
    """Linked folders, formats that cannot be read, names that are not UTF-8."""
    more = tmp_path / "more"
    more.mkdir()
    whole = heartfelt.distances(systems, "digits-one", metrics=("fad",))
    (systems / "near" / "000.wav").rename(more / "elsewhere.wav")
    (systems / "near" / "linked").symlink_to(more)
    (systems / "near" / "song.m4a").write_bytes(b"not read")
    bad = os.fsdecode(b"caf\xe9.wav")
    for folder in (systems / "near", systems):
        (folder / bad).write_bytes((systems / "near" / "001.wav").read_bytes())
    result = heartfelt.distances(systems, "digits-one", metrics=("fad",))
    assert set(result.ledger["stimulus"]) == {"near/song.m4a", "near/caf\\xe9.wav", "caf\\xe9.wav"}
    assert result.systems[-1].distance.value == pytest.approx(whole.systems[-1].distance.value, rel=1e-9)


def test_what_is_in_no_system_is_in_the_ledger(systems: Path) -> None:
    (systems / "planned").mkdir()
    (systems / "planned" / "notes.txt").write_text("later")
    (systems / "stray.wav").write_bytes((systems / "near" / "000.wav").read_bytes())
    result = heartfelt.distances(systems, "digits-one", metrics=("fad", "fad"))
    left_out = dict(result.ledger.select("stimulus", "reason").iter_rows())
    assert left_out["planned"] == "the folder has no sound files or images"
    assert left_out["stray.wav"] == "it is in no system's folder"
    assert result.notes[0].startswith("2 rows in the ledger")
    # A distance named twice is computed once.
    assert [row.system for row in result.systems] == sorted(SHIFTS)


def test_a_question_for_files_without_ratings_is_refused(systems: Path) -> None:
    with pytest.raises(InputError, match=r"ratings.*correlate"):
        heartfelt.distances(systems, "digits-one", questions=("quality",))


def test_sets_without_a_distance_do_not_count_as_the_smallest(systems: Path) -> None:
    files(systems / "tiny", 0.0, 2)
    for place in range(WIDTH - 1, 30):
        (systems / "mid" / f"{place:03}.wav").unlink()
    (note,) = (
        note for note in heartfelt.distances(systems, "digits-one", metrics=("fad",)).notes if "dimensions" in note
    )
    assert note.startswith(f"fad: {WIDTH - 1} stimuli in {WIDTH} dimensions")


def test_stimuli_without_a_system_are_in_the_ledger(systems: Path) -> None:
    snapshot = study(systems)
    nobody = pl.when(pl.col("stimulus") == "mid/003.wav").then(None).otherwise(pl.col("system"))
    tables = {"stimuli": snapshot.stimuli.with_columns(nobody.alias("system")), "ratings": snapshot.ratings}
    source = Source(format="tables", name="sets", media_root=systems)
    result = heartfelt.distances(Snapshot.build(snapshot.study, **tables, source=source), "digits-one", metrics=["kad"])
    assert result.ledger.select("stimulus", "reason").rows() == [("mid/003.wav", "it has no system")]
    assert {row.system: row.stimuli for row in result.systems}["mid"] == 29


def test_windows_of_a_file_are_one_stimulus(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    for name in ("A", "B", "long", "short"):
        (tmp_path / name).mkdir()
    for place in range(20):
        rows = rng.normal(size=(5, WIDTH))
        np.savetxt(tmp_path / "long" / f"{place}.wav", rows, fmt="%.8f")
        np.savetxt(tmp_path / "short" / f"{place}.wav", rows.mean(axis=0, keepdims=True), fmt="%.8f")
        np.savetxt(tmp_path / "A" / f"{place}.wav", rng.normal(size=(1, WIDTH)))
    found = heartfelt.distances(tmp_path, "digits-one", reference="system=A", metrics=["kad"])
    long, short = (row.distance for row in found.systems)
    assert long.counts["stimuli"] == 20
    assert float(long) == pytest.approx(float(short), rel=1e-4)
    assert long.low == pytest.approx(short.low, rel=1e-3)


def test_fewer_stimuli_than_dimensions_are_said_with_numbers(tmp_path: Path) -> None:
    for place, name in enumerate(("A", "B")):
        files(tmp_path / name, place, 11, place)
    result = heartfelt.distances(tmp_path, "digits-one", metrics=["fad"])
    assert mentions(result.notes, "11 stimuli", "12 dimensions")
    assert all(row.distance.low is None for row in result.systems)
    fewer = heartfelt.distances(tmp_path, "digits-one", metrics=["fad"], components=2)
    assert all(row.distance.low is not None for row in fewer.systems)
    assert fewer.dimensions == 2


def test_small_references_do_not_make_others_seem_far() -> None:
    rng = np.random.default_rng(5)
    found: dict[str, list[float]] = {"all": [], "reference": []}
    for _ in range(40):
        x, y = rng.normal(size=(30, WIDTH)), rng.normal(size=(11, WIDTH))
        for name, basis in (("all", np.vstack([x, y])), ("reference", y)):
            scale = scaler(Digits(), basis, None)
            estimate: Estimate = kernel_distance(scale(x), scale(y), bandwidth=5.0)
            found[name].append(float(estimate))
    assert abs(np.mean(found["all"])) < 3 * np.std(found["all"]) / 40**0.5
    more = np.array(found["reference"]) - np.array(found["all"])
    assert more.mean() > 3 * more.std() / 40**0.5


def test_blocks_of_different_units_count_alike() -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(50, WIDTH)) * np.where(np.arange(WIDTH) < 4, 1000.0, 0.001)
    rows[:, 5] = 3.0
    scaled = scaler(Digits(), rows, None)(rows)
    variance = scaled.var(axis=0)
    assert variance[:4].sum() == pytest.approx(WIDTH / 2)
    assert variance[5] == 0
    assert variance[4:].sum() == pytest.approx(WIDTH / 2 * 7 / 8)
    assert np.array_equal(scaler(OneBlock(), rows, None)(rows), rows)


def test_what_cannot_be_is_refused_in_words(systems: Path, tmp_path: Path) -> None:
    (tmp_path / "pictures" / "A").mkdir(parents=True)
    (tmp_path / "pictures" / "A" / "a.png").write_bytes(b"")
    (tmp_path / "one" / "A").mkdir(parents=True)
    (tmp_path / "one" / "A" / "a.wav").write_text("1")
    (tmp_path / "empty").mkdir()
    refusals: list[tuple[Path, dict[str, Any], str]] = [
        (tmp_path / "pictures", {"reference": systems.parent / "reference"}, "for audio files; the source has .png"),
        (tmp_path / "one", {}, "one system, A"),
        (tmp_path / "empty", {}, "no subfolders"),
        (tmp_path / "nowhere", {}, "no file or folder"),
        (systems, {"reference": tmp_path / "empty"}, "no media files"),
        (systems, {"reference": tmp_path / "nowhere"}, "no file or folder"),
        (systems, {"reference": "system=neer"}, "no system 'neer'"),
        (systems, {"reference": systems}, "Every file of the reference set"),
        (systems, {"metrics": ["fda"]}, "no distance 'fda'"),
        (systems, {"correction": "jacknife"}, "jacknife"),
        (systems, {"components": 500}, "500 components"),
    ]
    for source, options, words in refusals:
        with pytest.raises(HeartfeltError, match=words):
            heartfelt.distances(source, "digits-one", **options)
    for embedding, words in (
        ("digit-one", "digit-one"),
        ("music-words", "text"),
        ("digits-one:x", "takes no argument"),
    ):
        with pytest.raises(HeartfeltError, match=words):
            heartfelt.distances(systems, embedding)
    with pytest.raises(InputError, match="No question 'qualty'"):
        heartfelt.distances(study(systems), "digits-one", questions=["qualty"])


def test_unknown_raters_leave_the_ceiling_out_with_a_reason(systems: Path) -> None:
    snapshot = study(systems)
    anonymous = snapshot.ratings.with_columns(pl.lit(None, pl.String).alias("rater"))
    tables = {"stimuli": snapshot.stimuli, "ratings": anonymous}
    source = Source(format="tables", name="sets", media_root=systems)
    result = heartfelt.distances(
        Snapshot.build(snapshot.study, **tables, source=source), "digits-one", reference=systems.parent / "reference"
    )
    row = pick(result, "fad")
    assert "raters unknown" in (row.ceiling.why_missing or "")
    assert row.correlation.value is not None


def test_embeddings_are_registered_by_the_abstract_class() -> None:
    assert issubclass(EMBEDDINGS["digits-one"], Embedding)
