"""The papers of a whole release, read by the programs that will read them: Hub cards, Croissant, CFF, checksums."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
import yaml

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.cli import main
from heartfelt.clock import fixed_clock
from heartfelt.collect.reading import freeze, tables
from heartfelt.errors import DamagedError
from heartfelt.publishing.anonymity.media import media_table
from heartfelt.publishing.layouts import LAYOUTS
from heartfelt.publishing.papers.card import card
from heartfelt.publishing.papers.citation import citation_file
from heartfelt.publishing.papers.croissant import croissant
from heartfelt.publishing.papers.datasheet import datasheet_file
from heartfelt.publishing.papers.facts import NOT_STATED
from heartfelt.publishing.papers.methods import methods_file
from heartfelt.publishing.papers.tables import grids
from heartfelt.publishing.papers.write import Papers, write_papers
from heartfelt.publishing.release.checksums import CHECKSUMS, check_checksums, write_checksums
from heartfelt.publishing.release.release import Release, ReleaseRecord, ReleaseStep
from heartfelt.publishing.statements.columns import UNDESCRIBED, about_column
from heartfelt.publishing.statements.details import DETAILS_FILE, Author, Details
from heartfelt.report.analysis import charts_of
from heartfelt.report.charts import Chart
from heartfelt.serialization import dumps
from heartfelt.stimuli.generation.manifest import PROVENANCE
from heartfelt.stimuli.preparation.prepared import PreparedStimulus
from heartfelt.study import Study, parse_study
from heartfelt.wording import interval
from tests.facts import mentions
from tests.publishing.papers.markup_checks import HOSTILE, check_latex, check_page, tables_in
from tests.publishing.releases import release_of, small_snapshot

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")]
DETAILS = Details(
    title="Tones | and `moods`",
    authors=(Author("Family, Given", "A university", "0000-0002-1825-0097"), Author("The tone group")),
    version="1.2.0",
    released="2026-11-16",
    licence="CC-BY-4.0",
    pay="Raters got 3 euros for 20 minutes.",
    columns={"raters.age": "age in years, in ranges", "stimuli.audio": "a number of the source"},
)
STEPS = (
    ReleaseStep(kind="pseudonyms", table="raters", column="rater", about="Ids of people are pseudonyms.", rows=5),
    ReleaseStep(
        kind="demographics",
        table="raters",
        column="age",
        about="Ages are given in ranges of ten years.",
        rows=4,
        lost=0.25,
    ),
)


def silent(_doing: str, _done: int, _total: int) -> None:
    """No progress."""


@dataclass(frozen=True)
class Written:
    """A release with its papers."""

    folder: Path
    release: Release
    papers: Papers

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("release")
    snapshot = small_snapshot()
    made = release_of(snapshot, folder)
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    record = ReleaseRecord(
        source_hash="a" * 64, published_hash=snapshot.hash, version=heartfelt.__version__, k=5, l=2, steps=STEPS
    )
    release = replace(made, analysis=analysis, panel=analysis.panel, record=record, details=DETAILS)
    assert release.benchmark is not None
    release.benchmark.write(folder / "benchmark")
    media_table(release.media).write_csv(folder / "media.csv")
    for name in ("snapshot", "huggingface", "csv"):
        release = replace(release, files=(*release.files, *LAYOUTS[name].write(release, folder, silent)))
    papers = write_papers(release, folder, figures=False)
    write_checksums(folder)
    return Written(folder, release, papers)


def test_the_card_is_one_that_the_hub_reads(written: Written) -> None:
    from huggingface_hub import DatasetCard

    data = DatasetCard.load(written.folder / "README.md").data.to_dict()
    assert data["license"] == "cc-by-4.0"
    assert data["pretty_name"] == DETAILS.title
    assert data["size_categories"] == ["n<1K"]
    files = {file.path for file in written.release.files}
    for config in data["configs"]:
        for part in config["data_files"]:
            pattern = re.escape(part["path"]).replace(r"\*", r"[\d-]+of-\d+")
            assert any(re.fullmatch(pattern, path) for path in files), part
    assert {config["config_name"] for config in data["configs"]} >= {"stimuli", "labels", "ratings", "raters"}


def test_every_page_is_plain_markdown(written: Written) -> None:
    for name in ("README.md", "DATASHEET.md", "METHODS.md", "CODEBOOK.md", "tables/reliability.md"):
        text = written.text(name)
        check_page(text)
        assert "nan" not in re.findall(r"\w+", text.lower())
        for table in tables_in(text):
            assert len({len(row) for row in table}) == 1


def test_numbers_are_those_of_the_analysis_with_intervals_counts_and_methods(written: Written) -> None:
    analysis, text = written.release.analysis, written.text("README.md")
    assert analysis is not None
    trust = (analysis.summary.reliability or {})["arousal"]
    row = next(line for line in text.splitlines() if line.startswith("| arousal | ICC(1,k)"))
    assert interval(trust.icc1k) in row
    assert "60 ratings, 12 items, 5 raters" in row
    assert "one-way analysis of variance" in row
    assert interval(trust.ceiling.correlation) in text
    assert f"{written.release.snapshot.survey.ratings:,} answers by 5 raters" in text
    assert mentions(text, "3 euros", "20 minutes")
    assert "25.0%" in text
    assert f"`{written.release.snapshot.hash}`" in text
    assert written.release.benchmark is not None
    assert written.release.benchmark.hash in text
    assert text.count(NOT_STATED) >= 5
    for title in ("Raters", "Pay", "Screening", "Reliability", "Limits", "Licence", "Citation", "Credit"):
        assert re.search(rf"^#+ {title}$", text, re.MULTILINE)


def test_the_datasheet_answers_or_says_that_nobody_did(written: Written) -> None:
    text = written.text("DATASHEET.md")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        *("Motivation", "Composition", "Collection", "Processing", "Uses", "Distribution", "Maintenance"),
        "Not stated",
    ]
    answers = re.findall(r"^\*\*(.+)\*\*\n\n(.+)$", text, re.MULTILINE)
    assert len(answers) == text.count("\n**") == 39
    missing = [question for question, answer in answers if answer == NOT_STATED]
    assert text.count(f"\n{NOT_STATED}\n") == len(missing) > 5
    for question in missing:
        assert f"- {question}" in text


def test_the_codebook_describes_every_column_of_every_table(written: Written) -> None:
    rows = list(csv.DictReader(io.StringIO(written.text("codebook.csv"))))
    described = {(row["table"], row["column"]) for row in rows}
    names = {"items": "benchmark items"}
    for path in [*written.folder.glob("*/*.parquet"), *written.folder.glob("data/*/*.parquet")]:
        table = path.parent.name if path.parts[-3] == "data" else path.stem
        table = names.get(table, table) if path.parent.name == "benchmark" else table
        assert {(table, name) for name in pl.scan_parquet(path).collect_schema()} <= described, path
    for path in (*written.folder.glob("csv/*.csv"), written.folder / "media.csv"):
        assert {(path.stem, name) for name in pl.scan_csv(path).collect_schema()} <= described, path
    assert all(row["meaning"] and row["meaning"] != UNDESCRIBED for row in rows)
    assert written.papers.undescribed == ()
    by_name = {(row["table"], row["column"]): row for row in rows}
    gender = by_name["raters", "gender"]
    assert gender["meaning"] == "the rater's answer to: Your gender?"
    assert gender["values"] == "(coarsened) (1); man (1); woman (2)"
    assert (gender["rows"], gender["filled"], gender["distinct"]) == ("5", "4", "3")
    assert "removed so that nobody can be identified" in gender["empty_means"]
    assert by_name["ratings", "seconds"]["unit"] == "seconds"
    assert by_name["ratings", "value"]["lowest"] == "0"
    assert by_name["raters", "age"]["meaning"] == "age in years, in ranges"
    assert "0 = joy (Joyful); 1 = sorrow (Sorrowful)" in written.text("CODEBOOK.md")


def test_columns_of_collected_studies_are_described() -> None:
    study = parse_study("name: s\nscales: {v: {type: yes-no}}\nquestions: [{id: q, text: Q, scale: v}]\n")
    ratings = [*freeze._COLUMNS, *freeze._OPTIONAL, "batch", "trial", "set", "place", "role"]
    raters = [column.split()[0] for column in tables._RATERS.split(",")]
    raters = [name for name in raters if name not in {"step", "of", "trials", "state"}]
    for table, names in (("ratings", ratings), ("raters", [*raters, "ended", "attention_asked", "attention_right"])):
        for name in names:
            assert about_column(table, name, study) != UNDESCRIBED, f"{table}.{name}"
    for name in (*PROVENANCE, *(each.name for each in fields(PreparedStimulus))):
        assert about_column("stimuli", name, study) != UNDESCRIBED, name
    assert mentions(about_column("stimuli", "source_sha256", study), "media", "file")
    assert about_column("stimuli", "source_theme", study) == UNDESCRIBED


def test_croissant_is_valid_and_its_records_can_be_read_offline(written: Written) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    text = written.text("croissant.json")
    data = json.loads(text, parse_constant=lambda word: pytest.fail(f"not JSON: {word}"))
    for key in (
        "dataCollection",
        "annotatorDemographics",
        "personalSensitiveInformation",
        "dataLimitations",
        "dataBiases",
    ):
        assert data[f"rai:{key}"]
    assert data["datePublished"] == "2026-11-16"
    unstated = replace(written.release, details=replace(DETAILS, released=None))
    with fixed_clock(datetime(2027, 3, 1, 23, 30, tzinfo=UTC)):
        assert croissant(unstated, written.folder)["datePublished"] == "2027-03-01"
    dataset = mlcroissant.Dataset(jsonld=str(written.folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert dataset.metadata.data_annotation_protocol
    have = {"huggingface-ratings", "csv-ratings", "snapshot-ratings", "benchmark-items", "media"}
    assert have <= {each.id for each in dataset.metadata.record_sets}
    for name in have - {"media", "benchmark-items"}:
        records = list(dataset.records(name))
        assert len(records) == written.release.snapshot.survey.rows
        assert {record[f"{name}/question"] for record in records} == {b"arousal", b"mood", b"energy", b"why"}
        values = sorted(record[f"{name}/value"] for record in records if record[f"{name}/question"] == b"arousal")
        assert values == sorted(written.release.snapshot.ratings.filter(question="arousal")["value"])


def test_the_citation_file_has_what_version_1_2_asks_for(written: Written) -> None:
    data = yaml.safe_load(written.text("CITATION.cff"))
    assert data["cff-version"] == "1.2.0"
    assert data["type"] == "dataset"
    assert data["title"] == DETAILS.title
    assert data["date-released"] == "2026-11-16"
    assert data["license"] == "CC-BY-4.0"
    assert data["authors"][0] == {
        "family-names": "Family",
        "given-names": "Given",
        "affiliation": "A university",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
    }
    assert data["authors"][1] == {"name": "The tone group"}
    bare = yaml.safe_load(citation_file(replace(written.release, details=Details())))
    assert bare["authors"]
    assert bare["title"] == "Moods"
    assert "license" not in bare


def test_tables_in_markdown_and_latex(written: Written) -> None:
    for grid in grids(written.release):
        source = written.text(f"tables/{grid.name}.tex")
        assert check_latex(source, len(grid.columns)) == max(1, len(grid.rows))
        shown = tables_in(written.text(f"tables/{grid.name}.md"))
        assert [len(table) for table in shown] == ([len(grid.rows) + 1] if grid.rows else [])


def test_checksums(written: Written, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(written.folder, copy)
    result = subprocess.run(["sha256sum", "-c", "--strict", "--quiet", CHECKSUMS], cwd=copy, check=False)
    assert result.returncode == 0
    listed = len((copy / CHECKSUMS).read_text(encoding="utf-8").splitlines())
    assert listed == sum(path.is_file() for path in copy.rglob("*")) - 1
    check_checksums(copy)
    (copy / "README.md").write_text("changed", encoding="utf-8")
    with pytest.raises(DamagedError, match=r"README\.md"):
        check_checksums(copy)


def test_the_methods_section(written: Written) -> None:
    text = written.text("METHODS.md")
    for part in ("Participants and ratings", "Stimuli", "Measures", "Screening", "Labels", "Reliability", "Software"):
        assert f"**{part}.**" in text
    assert "5 raters gave" in text
    assert mentions(text, "9-point scale", "1", "9")
    assert mentions(text, "3 ordered", "Not", "Weakly", "Strongly")
    assert f"heartfelt {heartfelt.__version__}" in text
    assert "Krippendorff, K. (2019)" in text
    assert "Sweeney, L. (2002)" in text
    assert mentions(text, "raters.age", "25%")


def hostile_study() -> Study:
    """A study whose every text is hostile."""
    texts = list(HOSTILE)
    study = small_snapshot().study
    plain = study.model_dump(mode="json", exclude_defaults=True)
    plain |= {"title": texts[2], "description": texts[4], "credit": texts[5]}
    for place, question in enumerate(plain["questions"]):
        question["text"] = texts[place]
    plain["scales"]["moods"]["categories"] = [{"id": f"c{at}", "text": text} for at, text in enumerate(texts)]
    plain["systems"] = [{"id": name, "name": texts[at]} for at, name in enumerate(("alpha", "beta"))]
    plain["demographics"][0]["text"] = texts[7]
    return Study.model_validate(plain)


def test_hostile_texts_break_no_paper(written: Written, tmp_path: Path) -> None:
    study, texts = hostile_study(), list(HOSTILE)
    snapshot = heartfelt.Snapshot.build(
        study,
        stimuli=written.release.snapshot.stimuli,
        ratings=written.release.snapshot.ratings.filter(pl.col("question") != "mood"),
        raters=written.release.snapshot.raters.with_columns(pl.Series("age", texts[:5])),
    )
    steps = tuple(ReleaseStep(kind="columns", table="raters", column=text, about=text, rows=1) for text in texts)
    details = Details(
        title=texts[0],
        pay=texts[1],
        ethics=texts[2],
        limits=texts[3],
        purpose=texts[4],
        citation=texts[5],
        contact=texts[6],
        authors=tuple(Author(text, text) for text in texts),
        keywords=tuple(texts),
        columns={"raters.age": texts[0]},
    )
    record = ReleaseRecord(source_hash="a" * 64, published_hash=snapshot.hash, version="0", k=5, l=2, steps=steps)
    release = replace(release_of(snapshot, tmp_path), record=record, details=details)
    release = replace(release, files=LAYOUTS["csv"].write(release, tmp_path, silent))
    write_papers(release, tmp_path, figures=False)
    for path in tmp_path.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        body = text.split("\n---\n", 1)[1] if text.startswith("---\n") else text
        check_page(body)
        for table in tables_in(body):
            assert len({len(row) for row in table}) == 1, path
    for grid in grids(release):
        check_latex((tmp_path / "tables" / f"{grid.name}.tex").read_text(encoding="utf-8"), len(grid.columns))
    front = yaml.safe_load(card(release).split("---\n")[1])
    assert front["tags"]
    assert all(isinstance(tag, str) for tag in front["tags"])
    assert len(yaml.safe_load(citation_file(release))["authors"]) == len(texts)
    assert json.loads(dumps(croissant(release, tmp_path)))
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert len(list(dataset.records("csv-ratings"))) == snapshot.survey.rows


def test_a_release_without_analysis_labels_or_raters(tmp_path: Path) -> None:
    study = small_snapshot().study
    snapshot = heartfelt.Snapshot.build(study, stimuli=small_snapshot().stimuli)
    release = release_of(snapshot, tmp_path, absent=frozenset(snapshot.stimuli["stimulus"]))
    assert release.benchmark is None
    papers = write_papers(release, tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "No ratings about 12 clips" in text
    assert "None: the published ratings could not be analysed." in text
    assert f"None: {release.why_no_benchmark}" in text.replace("\\", "")
    assert "were not analysed" in methods_file(release)
    assert "No: " in datasheet_file(release)
    assert papers.not_stated


def test_the_card_shows_the_figures_that_are_drawn(written: Written) -> None:
    assert written.release.analysis is not None
    charts = charts_of(written.release.analysis)
    text = card(written.release, charts)
    shown = re.findall(r"!\[[^\]]+\]\(figures/([\w-]+)\.png\)", text)
    assert 1 <= len(shown) <= 3
    assert all(isinstance(charts[name], Chart) for name in shown)
    check_page(text.split("\n---\n", 1)[1])


def test_details_are_read_from_the_source_folder_and_by_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = Path(heartfelt.__file__).parent / "datasets" / "aimoclips" / "example" / "aimoclips"
    source = shutil.copytree(example, tmp_path / "source")
    assert main(["publish", str(source), "--details"]) == 0
    path = source / DETAILS_FILE
    empty = path.read_text(encoding="utf-8")
    assert main(["publish", "--details", str(source)]) == 2
    assert f"{path} is there already." in capsys.readouterr().err
    assert main(["publish", str(source), "--details", str(tmp_path / "mine.yaml"), "--k", "5"]) == 0
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == empty
    assert main(["publish", str(source)]) == 2
    assert "Missing argument 'OUT'." in capsys.readouterr().err
    path.write_text(path.read_text(encoding="utf-8").replace("pay:", "pay: Nothing."), encoding="utf-8")
    published = heartfelt.publish(source, tmp_path / "out", layouts=[], figures=False)
    assert "\nNothing.\n" in (published.folder / "README.md").read_text(encoding="utf-8")
    assert not any(line.startswith("pay:") for line in published.papers.not_stated)
    assert "stimuli.file_index" in published.papers.undescribed
    assert "The ratings were collected elsewhere" in (published.folder / "METHODS.md").read_text(encoding="utf-8")
    check_checksums(published.folder)
    path.write_text("lizenz: MIT", encoding="utf-8")
    assert main(["publish", str(source), str(tmp_path / "other"), "--details", str(path)]) == 2
    assert mentions(" ".join(capsys.readouterr().err.split()), "line 1", "'lizenz'")
    assert not (tmp_path / "other").exists()
