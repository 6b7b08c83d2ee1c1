"""Attacks on hidden labels with every file of a release in hand."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import PublishedStudy, publish
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.publishing.attacks import MOODS, STUDY, label_only, labels, said_about, tables_of

pytestmark = pytest.mark.slow
LAYOUTS = ("huggingface", "csv", "webdataset", "published")
KNOWN = {"stimulus", "split", "prompt", "system", "intent", "media", "why_absent", "question", "group"}
"""What may be said about a held-out stimulus."""


def released(source: Snapshot, out: Path, **options: object) -> PublishedStudy:
    settings = {"hold_out": "test", "analysis": False, "figures": False, "layouts": ("csv",), **options}
    return publish(source, out, PublishOptions(**settings))  # type: ignore[arg-type]  # options by name


def hidden(source: Snapshot) -> list[str]:
    return source.stimuli.filter(pl.col("split") == "test")["stimulus"].to_list()


def votes(moods: Sequence[int]) -> dict[str, list[int]]:
    rng = np.random.default_rng(2)
    return {
        f"votes_{name}": [5 * (mood == at) + int(rng.integers(0, 5)) for mood in moods] for at, name in enumerate(MOODS)
    }


def two_halves(moods: Sequence[int]) -> dict[str, list[float]]:
    first = np.random.default_rng(3).normal(0, 3, len(moods))
    return {"one": list(first), "two": [mood - part for mood, part in zip(moods, first, strict=True)]}


def exclusive(moods: Sequence[int]) -> dict[str, list[bool]]:
    first = np.random.default_rng(4).random(len(moods)) < 0.5
    return {
        "one": [bool(x) for x in first],
        "two": [bool(x) ^ (mood > 1) for x, mood in zip(first, moods, strict=True)],
    }


def coded(moods: Sequence[int]) -> dict[str, list[str]]:
    return {"note": [base64.b64encode(f"{at}:{MOODS[mood]}".encode()).decode() for at, mood in enumerate(moods)]}


def test_nothing_but_listed_columns_is_said_about_held_out_stimuli_in_any_file(tmp_path: Path) -> None:
    moods = labels()
    more: Mapping[str, Sequence[object]] = {
        **votes(moods), **two_halves(moods), **coded(moods),
        "system": [f"s{at % 3}" for at in range(40)], "checks": [MOODS[mood] for mood in moods], "link": [None] * 40,
        "duration": [mood + 0.5 for mood in moods], "sha256": [f"{mood:064x}" for mood in moods],
    }  # fmt: skip
    names = [f"c{at:02}" for at in range(40)]
    about = pl.DataFrame({"stimulus": names, "question": "mood", "secret": [MOODS[mood] for mood in moods]})
    ledger = pl.DataFrame({"what": "item", "stimulus": names, "reason": [MOODS[mood] for mood in moods], "stage": "x"})
    fields = pl.DataFrame({"stimulus": names, "field": "mood", "machine": [MOODS[mood] for mood in moods]})
    means = about.select("stimulus", "question", mean=pl.Series(moods, dtype=pl.Float64))
    source = label_only(moods, columns=more, items=about, ledger=ledger, fields=fields, means=means)
    published = released(source, tmp_path / "out", layouts=LAYOUTS, analysis=True, resamples=100)
    said = said_about(published.folder, hidden(source))
    assert len(said) > 8
    assert set().union(*said.values()) <= KNOWN, said
    stimuli = pl.read_parquet(published.folder / "snapshot" / "stimuli.parquet").filter(split="train")
    assert stimuli.null_count().row(0, named=True)["votes_joy"] == 0, "of the others everything is published"
    card = (published.folder / "README.md").read_text(encoding="utf-8")
    assert mentions(card, "columns", "published", "10 stimuli")
    assert mentions(card, "'test'", "stimulus, link, system and split")


def test_rows_are_not_in_the_order_of_the_labels(tmp_path: Path) -> None:
    order = np.argsort(labels(), kind="stable")
    moods = [labels()[at] for at in order]
    names = [f"c{at:02}" for at in np.random.default_rng(5).permutation(40)]
    source = label_only(moods, names=names)
    published = released(source, tmp_path / "out", layouts=LAYOUTS)
    for file, table in tables_of(published.folder):
        if "stimulus" in table.columns and table.height > 1 and "stimuli" in file + "media":
            own = table.filter(pl.col("stimulus").is_in(hidden(source)))["stimulus"]
            assert own.to_list() == sorted(own), file
    moments = {path.stat().st_mtime_ns for path in published.folder.rglob("*")}
    assert len(moments) == 1, "nor are the dates of files"


@pytest.mark.parametrize("leak", [votes, two_halves, exclusive, coded])
def test_named_columns_that_give_labels_away_are_refused_by_name(leak: object, tmp_path: Path) -> None:
    moods = labels(60, seed=9)
    moods = [mood % 2 * 3 for mood in moods] if leak is exclusive else moods
    telling = leak(moods)  # type: ignore[operator]  # a function of the labels
    columns = telling | {"tempo": list(np.random.default_rng(6).normal(100, 9, 60))}
    source = label_only(moods, hidden=16, columns=columns)
    with pytest.raises(InputError, match=r"held-out.*labels.*'mood'") as refused:
        released(source, tmp_path / "out", hold_out_columns=tuple(columns))
    guilty = [name for name in telling if f"'{name}'" in refused.value.problem]
    assert len(guilty) >= min(2, len(telling))
    assert f"--hold-out-anyway {guilty[0]}" in str(refused.value.fix)
    assert not (tmp_path / "out").exists()


def test_a_column_of_items_and_values_of_machines_are_tested_too(tmp_path: Path) -> None:
    moods = labels(48, seed=8)
    names = [f"c{at:02}" for at in range(48)]
    about = pl.DataFrame({"stimulus": names, "question": "mood", "secret": [MOODS[mood] for mood in moods]})
    fields = pl.DataFrame({"stimulus": names, "field": "mood", "machine": [MOODS[mood] for mood in moods]})
    source = label_only(moods, hidden=12, items=about, fields=fields)
    for name in ("secret", "items.secret", "machine"):
        with pytest.raises(InputError, match="give away"):
            released(source, tmp_path / "out", hold_out_columns=(name,))
    with pytest.raises(InputError, match=r"column.*'vedict'"):
        released(source, tmp_path / "out", hold_out_columns=("vedict",))


def test_names_that_carry_labels_are_refused(tmp_path: Path) -> None:
    moods = labels(48, seed=8)
    by_mood = [f"{MOODS[mood]}_{at:03}" for at, mood in enumerate(moods)]
    ranks = np.argsort(np.argsort(moods, kind="stable"))
    numbered = [f"clip{rank:03}" for rank in ranks]
    unique = [f"{MOODS[mood]}_{at / 50:.2f}" for at, mood in enumerate(moods)]
    for source, name in (
        (label_only(moods, hidden=12, names=by_mood), "stimulus"),
        (label_only(moods, hidden=12, names=numbered), "stimulus"),
        (label_only(moods, hidden=12, columns={"path": [f"{each}.wav" for each in by_mood]}), "path"),
        (label_only(moods, hidden=12, columns={"system": unique}), "system"),
        (label_only(moods, hidden=5, names=by_mood), "stimulus"),
    ):
        with pytest.raises(InputError, match=f"'{name}' would give away the held-out labels of 'mood'"):
            released(source, tmp_path / "out")
    meant = label_only(moods, hidden=12, names=by_mood, columns={"intent": [MOODS[mood] for mood in moods]})
    about = [step.about for step in released(meant, tmp_path / "out").record.steps]
    assert mentions(about, "Prompt, system and intent", "'mood'")


def test_few_items_are_refused_rather_than_skipped_and_the_author_may_insist(tmp_path: Path) -> None:
    moods = labels()
    appeal = [1.0 + at * 7 % 9 for at in range(40)]
    source = label_only(moods, hidden=5, columns={"mean_appeal": appeal}, appeal=appeal)
    published = released(source, tmp_path / "default")
    assert "mean_appeal" not in set().union(*said_about(published.folder, hidden(source)).values())
    with pytest.raises(InputError, match=r"5 held-out.*'appeal'") as refused:
        released(source, tmp_path / "named", hold_out_columns=("mean_appeal",))
    assert "--hold-out-anyway mean_appeal" in str(refused.value.fix)
    insisted = released(source, tmp_path / "anyway", hold_out_anyway=("mean_appeal",))
    assert "mean_appeal" in set().union(*said_about(insisted.folder, hidden(source)).values())
    limits = (insisted.folder / "README.md").read_text(encoding="utf-8").partition("## Limits")[2]
    assert "mean_appeal" in limits.partition("\n## ")[0]
    steps = json.loads((insisted.folder / "publication.json").read_text(encoding="utf-8"))["steps"]
    assert any("at their own risk" in step["about"] and "mean_appeal" in step["about"] for step in steps)


def test_a_column_known_for_too_few_labels_is_refused(tmp_path: Path) -> None:
    moods = labels(48, seed=8)
    tempo = [None] * 36 + [90.0 + at for at in range(12)]
    source = label_only(moods, hidden=12, columns={"tempo": tempo})
    with pytest.raises(InputError, match=r"12 items.*'mood'.*'tempo'"):
        released(source, tmp_path / "out", hold_out_columns=("tempo",))


def test_columns_that_say_nothing_of_the_labels_are_published_where_named(tmp_path: Path) -> None:
    moods = labels(60, seed=9)
    rng = np.random.default_rng(6)
    source = label_only(
        moods, hidden=16, columns={"tempo": list(rng.normal(100, 9, 60)), "key": list(rng.choice(list("CDEFGAB"), 60))}
    )
    published = released(source, tmp_path / "out", hold_out_columns=("tempo", "key"))
    assert {"tempo", "key"} <= said_about(published.folder, hidden(source))["csv/stimuli.csv"]


def test_what_a_generator_says_of_itself_is_emptied_where_it_predicts(tmp_path: Path) -> None:
    moods = labels(60, seed=9)
    columns = {"settings": [json.dumps({"mood": MOODS[mood]}) for mood in moods], "model": ["m1", "m2"] * 30}
    published = released(label_only(moods, hidden=16, columns=columns), tmp_path / "out", layouts=())
    stimuli = pl.read_parquet(published.folder / "snapshot" / "stimuli.parquet").filter(split="test")
    assert stimuli["settings"].null_count() == 16
    assert stimuli["model"].null_count() == 0


def test_the_ledger_says_nothing_that_held_out_answers_went_into(tmp_path: Path) -> None:
    moods = labels()
    source = label_only(moods)
    raters = pl.DataFrame({"rater": [f"r{at}" for at in range(12)], "c35": [float(mood) for mood in moods[:12]]})
    ledger = pl.DataFrame(
        {
            "what": ["rater", "item"], "rater": ["r1", None], "stimulus": [None, "c01"],
            "reason": ["Agrees .123 with the others (limit 0,2)", "2 of 6 votes"], "stage": "screen", "rule": "agreement",
            "value": [0.123, 2.0],
        },
        schema_overrides={"stimulus": pl.String},
    )  # fmt: skip
    source = Snapshot.build(STUDY, stimuli=source.stimuli, ratings=source.ratings, raters=raters, ledger=ledger)
    published = released(source, tmp_path / "out", layouts=(), open=("value",))
    rows = pl.read_parquet(published.folder / "snapshot" / "ledger.parquet")
    about = {row["what"]: row for row in rows.iter_rows(named=True)}
    assert mentions(about["rater"]["reason"], "Agrees", "others")
    assert about["rater"]["value"] is None
    assert about["item"]["reason"] == "2 of 6 votes"
    assert "c35" not in pl.read_parquet(published.folder / "snapshot" / "raters.parquet").columns


def test_columns_of_a_hold_out_need_one() -> None:
    for name in ("hold_out_columns", "hold_out_anyway"):
        with pytest.raises(InputError, match="no part is held out"):
            PublishOptions(**{name: ("tempo",)})  # type: ignore[arg-type]  # options by name


def test_the_command_lists_what_is_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moods = labels(60, seed=9)
    source = label_only(moods, hidden=16, columns={"tempo": [at * 37 % 60 for at in range(60)], "mean": moods})
    source.write(tmp_path / "source")
    quick = ["--hold-out", "test", "--no-analysis", "--layout", "csv"]
    where = ["publish", str(tmp_path / "source"), str(tmp_path / "out")]
    assert main([*where, *quick, "--hold-out-columns", "mean"]) != 0
    assert mentions(capsys.readouterr().err, "'mean'", "'mood'")
    assert main([*where, *quick, "--hold-out-columns", "tempo"]) == 0
    output = capsys.readouterr().out
    assert mentions(output, "16 stimuli", "'test'", "stimulus, split and tempo")
    assert "Not explained" not in output


def test_a_release_inside_its_source_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label_only(labels()).write(tmp_path / "source")
    assert main(["publish", str(tmp_path / "source"), str(tmp_path / "source" / "out")]) != 0
    assert "which is to be published" in capsys.readouterr().err
    assert not list((tmp_path).glob("source/out*"))
