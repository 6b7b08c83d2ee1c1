"""``heartfelt draft``, and what ``new`` and ``check`` say of drafts."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.datasets.aigiemo import starter
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.predictors.answers.draft_values import draft_value, plain_words
from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.drafts.studies import STUDY, chat_server, chat_spec, write_study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return write_study(tmp_path / "study")


@pytest.mark.server
def test_dry_run_then_run_then_nothing_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(folder) as served:
        asked = ["draft", str(folder), "--with", chat_spec(served, "input_price=1,output_price=2"), "--no-cache"]
        assert main([*asked, "--dry-run"]) == 0
        shown = capsys.readouterr().out
        assert "seer: caption, atmosphere, clutter, things, light" in shown
        assert mentions(shown, "4 of 4 stimuli", "20 drafts")
        assert "4 requests, about" in shown
        assert not served.requests
        assert main([*asked, "--budget", "2500tokens", "--json"]) == 1
        result = json.loads(capsys.readouterr().out)
        assert [field["drafted"] for field in result["fields"]] == [2] * 5
        assert result["drafters"][0]["input_tokens"] == 2_000
        assert main([*asked, "--budget", "5"]) == 0
        shown = capsys.readouterr().out
        assert "4 of 4" in shown
        assert mentions(shown, "2 requests", "2,000 input", "200 output", "0.0024")
        assert mentions(shown, "drafts", "cost", "0.0048")
        assert main([*asked, "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["drafters"][0]["items"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--budget", "much"], "'much' is not a budget."),
        (["--budget", "-3"], "'-3' is not a budget."),
        (["--workers", "2"], "--workers is an option of the engine 'ray'."),
        (["--field", "mood"], "The question 'mood' is answered by people alone."),
        (["--field", "light", "--with", "chatt:m@http://h/v1"], "No predictor is called 'chatt'"),
        ([], "No machine is named for 'caption'."),
    ],
)
def test_mistakes_are_two_lines(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    assert main(["draft", str(folder), "--no-cache", *arguments]) == 2
    shown = capsys.readouterr().err
    assert problem in shown.replace("\n", " ")
    assert "Traceback" not in shown


@pytest.mark.slow
def test_an_example_study_has_drafts_and_check_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(starter, "SIZE", 32)
    folder = tmp_path / "study"
    assert main(["new", "aigiemo", str(folder)]) == 0
    assert "drafts.parquet" in capsys.readouterr().out
    drafts = open_study(folder).drafts
    assert dict(drafts.group_by("question").len().iter_rows()) == dict.fromkeys(
        ("style", "scene", "objects", "colour", "brightness"), 32
    )
    assert drafts.filter(pl.col("question") == "scene")["value"].n_unique() > 3
    assert main(["check", "--no-pages", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert mentions(shown, "stimuli", "style, scene, objects, colour, brightness")
    assert mentions(shown, "human_action", "0 of 32 stimuli")
    path = folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("    none: {en: Nobody", "    draft: objets\n    none: {en: Nobody"), encoding="utf-8")
    assert main(["check", "--no-pages", str(folder)]) == 2
    assert mentions(capsys.readouterr().err.replace("\n", " "), "'objets'", "'objects'")


@pytest.mark.slow
def test_check_of_a_study_whose_drafts_are_partial(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "light.csv"
    table.write_text("stimulus,light\np0,0.5\n")
    assert main(["draft", str(folder), "--field", "light", "--with", f"file:{table}", "--no-cache"]) == 1
    capsys.readouterr()
    assert main(["check", "--no-pages", str(folder)]) == 0
    assert mentions(capsys.readouterr().out, "light", "1 of 4 stimuli")


def test_images_of_five_systems_and_photographs(shared_data: Path, tmp_path: Path) -> None:
    """A third of the AVT images through the command: every one is measured, and none is a copy of another."""
    media = shared_data / "avt_ai_images" / "images"
    if not media.is_dir():
        pytest.skip(f"{media} is not there")
    names = sorted(path.relative_to(media).as_posix() for path in media.rglob("*.*"))[::3]
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "media").symlink_to(media.resolve())
    own = STUDY.replace("id: light", "id: brightness").replace("id: things", "id: colour")
    (folder / "study.yaml").write_text(own, encoding="utf-8")
    pl.DataFrame({"stimulus": names, "path": names}).write_csv(folder / "stimuli.csv")
    assert main(["draft", str(folder), "--no-cache", "--field", "brightness", "--field", "colour"]) == 0
    drafts = open_study(folder).drafts
    assert drafts.height == 2 * len(names) > 80
    light = drafts.filter(pl.col("question") == "brightness")["value"].cast(pl.Float64)
    assert light.is_between(0.02, 0.98).all()
    assert light.n_unique() > 20
    assert not (folder / "drafts_duplicates.csv").exists()
    assert not (folder / "drafts_ledger.csv").exists()


NINE = Points(type="points", points=9)
HALVES = Numeric(type="numeric", low=0, high=1.2, step=0.5)
MOOD = Categories(type="categories", categories=["calm", "tense"])
LEVEL = Ordered(type="ordered", categories=["none", "some", "much"])


@check_all(
    ("scale", "prediction", "value"),
    [
        (NINE, Prediction(value=6.5), "7"),
        (NINE, Prediction(answer="3"), "3"),
        (HALVES, Prediction(value=1.19), "1"),
        (HALVES, Prediction(value=1.2), "1"),
        (Numeric(type="numeric"), Prediction(value=-3.25), "-3.25"),
        (MOOD, Prediction(value=1.0), "tense"),
        (MOOD, Prediction(answer="**Tense**"), "tense"),
        (LEVEL, Prediction(answer="none"), "none"),
        (YesNo(type="yes-no"), Prediction(value=1.0), "yes"),
        (YesNo(type="yes-no"), Prediction(answer="No."), "no"),
        (Tags(type="tags", tags=["Sky", "sea"], open=False), Prediction(answer="sky; SEA ;sky"), "Sky;sea"),
        (FreeText(type="text"), Prediction(answer=" a\u202e\x00b\n c "), "ab c"),
    ],
)
def test_answers_on_every_scale(scale: Points, prediction: Prediction, value: str) -> None:
    assert draft_value(prediction, Ask(question="field", scale=scale, text="")).value == value


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A cat", "A cat"),
        ("<p>A <em>cat</em></p>", "A cat"),
        ("&lt;img src=x onerror=alert(1)&gt;cat", "cat"),
        ("# A cat\n- sits", "A cat sits"),
        ("`cat` and __dog__ and *fox*", "cat and dog and fox"),
        ("snake_case_name 3 * 4 * 5", "snake_case_name 3 * 4 * 5"),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("![cat](http://x.y/z.png) sits", "cat sits"),
        ("<style>b{}</style>cat<script>x", "cat"),
    ],
)
def test_markup(text: str, plain: str) -> None:
    assert plain_words(text) == (plain, plain != " ".join(text.split()))


def test_hashes_of_studies_without_the_key_stay() -> None:
    from heartfelt.study import parse_study

    plain = parse_study(STUDY, "study")
    named = parse_study(STUDY.replace("scale: light,", "scale: light, draft: pixels:brightness,"), "study")
    assert "draft" not in json.dumps(plain.model_dump(mode="json"))
    assert "pixels:brightness" in json.dumps(named.model_dump(mode="json"))
