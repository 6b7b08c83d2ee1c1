"""Hashes in a release: none confirms a guess about anything private, all are listed, and the owner can check the keyed ones."""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.errors import HeartfeltError
from heartfelt.files import sha256_of
from heartfelt.labels import Benchmark, freeze, load_benchmark
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import KEYED, keyed_hash, secret_key
from heartfelt.publishing.anonymity.media import content_digest
from heartfelt.publishing.digests import (
    DIGESTS,
    SOURCE,
    SOURCE_COLUMN,
    Digest,
    _accounted,
    _digests,
    with_keyed_hashes,
    write_digests,
)
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import PublishedStudy, publish
from heartfelt.publishing.release.release import PublishedMedium
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import load_study, study_text
from tests.publishing.attacks import digests_of, label_only, labels, texts_of
from tests.publishing.releases import sound

QUICK = PublishOptions(hold_out="test", analysis=False, figures=False, layouts=("csv",))
SECRET = hashlib.sha256(b"what was asked").hexdigest()


def hashes_of(thing: Snapshot | Benchmark) -> set[str]:
    return {thing.hash, *thing.table_hashes.values()}


@pytest.mark.slow
def test_no_hash_of_a_release_confirms_a_guess_of_the_labels(tmp_path: Path) -> None:
    moods = labels()
    publish(label_only(moods), tmp_path / "out", QUICK)
    snapshot = tmp_path / "out" / "snapshot"
    study, stimuli = load_study(snapshot / "study.yaml"), pl.read_parquet(snapshot / "stimuli.parquet")
    known = pl.read_parquet(snapshot / "ratings.parquet")
    assert known.height == 30
    public = set().union(*digests_of(tmp_path / "out").values())
    assert len(public) > 20
    hidden = stimuli.filter(split="test")["stimulus"].to_list()
    right, nothing = 0, Snapshot.build(study, stimuli=stimuli, ratings=known)
    without = hashes_of(nothing) | hashes_of(freeze(nothing))  # what does not depend on a hidden label
    for first, second in itertools.product(range(4), repeat=2):  # of the ten labels eight are known already
        guess = [*moods[30:38], first, second]
        rows = known.clear().vstack(
            pl.DataFrame(
                {"rater": None, "stimulus": hidden, "question": "mood", "value": [float(mood) for mood in guess]},
                schema=known.schema,
            )
        )
        guessed = Snapshot.build(study, stimuli=stimuli, ratings=pl.concat([known, rows]))
        possible = hashes_of(guessed) | hashes_of(freeze(guessed))
        right += guessed.hash == label_only(moods).hash
        assert not (possible - without) & public
    assert right == 1, "the truth was among the guesses"


@pytest.mark.slow
def test_scores_on_hidden_labels_name_a_hash_that_confirms_no_guess(tmp_path: Path) -> None:
    """Whoever guesses every label right cannot tell by what their owner publishes of scores, reports and models."""
    moods = labels()
    hashes = []
    for name in ("one", "two", "again"):
        chosen = replace(QUICK, key=tmp_path / "one-private" / "key" if name == "again" else None)
        publish(label_only(moods), tmp_path / name, chosen)
        private = load_benchmark(tmp_path / f"{name}-private" / "benchmark")
        guessed = replace(private, salt="")
        assert private.salt
        assert guessed.hash != private.hash
        assert private.snapshot_hash.startswith(KEYED)
        assert load_benchmark(tmp_path / name / "benchmark").salt == ""
        written = tmp_path / name / "scores"
        predictions = private.items.select("stimulus", "question", pl.col("label").alias("value"))
        predictions.write_csv(tmp_path / "predictions.csv")
        benchmark = str(tmp_path / f"{name}-private" / "benchmark")
        words = ["score", benchmark, str(tmp_path / "predictions.csv"), "--part", "test", "--out", str(written)]
        assert main(words) == 0
        public = "".join(path.read_text(encoding="utf-8") for path in written.rglob("*.json"))
        assert private.hash[:12] in public
        assert not [value for value in hashes_of(guessed) if value[:12] in public]
        hashes.append(private.hash)
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Snapshot, Path, PublishedStudy]]:
    """Media that are published, linked, and neither; hashes of a prompt, a consent document, originals and versions."""
    folder = tmp_path_factory.mktemp("digests")
    media = folder / "media"
    media.mkdir()
    for at in range(40):
        chunk = b"LIST\x12\x00\x00\x00INFOINAM\x06\x00\x00\x00label\x00"  # metadata that is not published
        content = bytearray(sound(at) + chunk)
        content[4:8] = (len(content) - 8).to_bytes(4, "little")
        (media / f"c{at:02}.wav").write_bytes(content)
    moods, names = labels(), [f"c{at:02}" for at in range(40)]
    original = [hashlib.sha256(name.encode()).hexdigest() for name in names]
    columns: dict[str, Sequence[object]] = {
        "path": [f"{name}.wav" for name in names],
        "licence": ["CC0-1.0"] * 20 + ["All rights reserved"] * 20,
        "link": [None] * 30 + [f"https://example.org/{name}" for name in names[30:]],
        "original_sha256": original,
        "sha256": [sha256_of(media / f"{name}.wav") for name in names],
        "clip_md5": [hashlib.md5(name.encode(), usedforsecurity=False).hexdigest() for name in names],
        "revision": ["0123456789abcdef0123456789abcdef01234567"] * 40,
    }
    source = label_only(moods, columns=columns, source=Source(format="tables", name="x", media_root=media))
    raters = pl.DataFrame({"rater": [f"r{at}" for at in range(9)], "consent_document": [SECRET] * 9})
    fields = pl.DataFrame({"stimulus": names, "field": "f", "machine": "m", "prompt_hash": [SECRET] * 40})
    ratings = source.ratings.with_columns(
        rater=pl.Series([f"r{at % 9}" for at in range(40)]), study_version=pl.lit(SECRET)
    )
    source = Snapshot.build(
        source.study, stimuli=source.stimuli, ratings=ratings, raters=raters, fields=fields, source=source.source
    )
    options = PublishOptions(
        hold_out="test", analysis=False, figures=False, layouts=("csv", "webdataset", "huggingface-linked"), k=2
    )
    yield source, folder, publish(source, folder / "out", options)
    shutil.rmtree(folder)


@pytest.mark.slow
def test_every_hash_is_listed_and_none_is_over_anything_private(
    released: tuple[Snapshot, Path, PublishedStudy],
) -> None:
    source, folder, published = released
    public = digests_of(published.folder)
    table = pl.read_csv(published.folder / DIGESTS)
    counts: dict[str, int] = {}
    for row in table.iter_rows(named=True):
        name = row["file"].partition(".tar")[0]
        counts[name] = counts.get(name, 0) + row["count"]
    for file, values in public.items():
        assert len(values) <= counts.get(file, 0), file
    private_benchmark = load_benchmark(published.private / "benchmark")
    secret = {SECRET, *source.stimuli["original_sha256"], *source.stimuli["clip_md5"]}
    secret |= {source.hash, source.table_hashes["ratings"], source.table_hashes["stimuli"]}
    secret |= {private_benchmark.hash, private_benchmark.table_hashes["items"]}
    files = [*published.private.rglob("*"), *(folder / "media").iterdir()]
    clean = {sha256_of(path) for path in published.folder.rglob("*") if path.is_file()}
    secret |= {sha256_of(path) for path in files if path.is_file()} - clean
    linked = {str(content_digest(folder / "media" / f"c{at}.wav")) for at in range(30, 40)}
    every = set().union(*public.values())
    assert not every & (secret - linked)
    words = " ".join(text for _, text in texts_of(published.folder))
    assert not [each for each in secret - linked if each[:16] in words], "nor the beginning of one"


@pytest.mark.slow
def test_the_list_says_what_each_hash_is_over(released: tuple[Snapshot, Path, PublishedStudy]) -> None:
    source, _, published = released
    table = pl.read_csv(published.folder / DIGESTS)
    said = {(row["file"], row["field"]): (row["keyed"], row["over"]) for row in table.iter_rows(named=True)}
    assert said["publication.json", "source_hash"] == (True, "source snapshot")
    assert said["publication.json", "published_hash"] == (False, "published snapshot")
    assert said["csv/raters.csv", "consent_document"] == (True, "consent document")
    assert said["csv/fields.csv", "prompt_hash"] == (True, "what a model was asked")
    assert said["csv/ratings.csv", "study_version"] == (True, "version of the study")
    assert said["csv/stimuli.csv", "original_sha256"] == (True, "media file before preparing")
    assert said["csv/stimuli.csv", "clip_md5"][0]
    assert said["csv/stimuli.csv", "revision"] == (False, SOURCE_COLUMN)
    assert said["csv/ratings.csv", "rater"] == (True, "id of a person")
    assert said["CHECKSUMS.sha256", "its text"] == (False, "published file")
    media = table.filter(file="media.csv", field="sha256")
    assert dict(media.select("over", "count").iter_rows()) == {
        "published media file": 20,
        "linked media file without metadata": 10,
        "media file": 10,
    }
    # The owner can check each.
    key = secret_key(published.folder, published.private, None)
    assert published.record.source_hash == keyed_hash(key, SOURCE, source.hash)
    raters = pl.read_csv(published.folder / "csv" / "raters.csv")
    assert set(raters["consent_document"]) == {keyed_hash(key, "consent document", SECRET)}


def test_a_keyed_hash_depends_on_key_kind_and_content() -> None:
    key = bytes(range(32))
    made = keyed_hash(key, "one", "abc")
    assert made.startswith(KEYED)
    assert len(made) == len(KEYED) + 64
    others = {keyed_hash(bytes(32), "one", "abc"), keyed_hash(key, "two", "abc"), keyed_hash(key, "one", "abd")}
    assert len(others | {made}) == 4
    assert made == "hmac-sha256:" + made.removeprefix(KEYED)
    assert hashlib.sha256(b"abc").hexdigest() not in others | {made}


@pytest.mark.slow
def test_a_hash_that_nobody_can_account_for_stops_the_release(
    released: tuple[Snapshot, Path, PublishedStudy], tmp_path: Path
) -> None:
    _, _, published = released
    copy = tmp_path / "copy"
    shutil.copytree(published.folder, copy)
    write_digests(published.release, copy)
    (copy / "NOTICE").write_text(f"made from {SECRET}\n", encoding="utf-8")
    with pytest.raises(HeartfeltError, match="nobody knows what it is over"):
        write_digests(published.release, copy)


def test_what_looks_like_a_hash() -> None:
    plain, keyed = "0f" * 32, keyed_hash(bytes(32), "x", "y")
    assert _digests(f"a {plain} b") == [plain]
    assert _digests(f"hash: {keyed[:40]}… and {keyed}") == [keyed[:40], keyed]
    assert _digests("p_abcdefghijklmnop t_abcdefgh234567aa q_abcdefghijklmnop") == [
        "p_abcdefghijklmnop",
        "t_abcdefgh234567aa",
    ]
    assert not _digests("3.3333333333333335 1234567890123456789")
    assert not _digests(f"x{plain} 0123456789abcde")
    assert _digests("0123456789abcdef") == ["0123456789abcdef"]


def test_what_a_hash_is_over() -> None:
    plain = "0f" * 32
    known = {plain[:16]: Digest(algorithm="SHA-256", keyed=False, over="published file")}
    made = keyed_hash(bytes(32), "x", "y")
    assert _accounted(made, known, "", "source_hash") == Digest(algorithm="HMAC-SHA256", keyed=True, over=SOURCE)
    over = {field: _accounted(made, known, "", field) for field in ("sha256", "source_sha256", "clip_md5", "its text")}
    assert [each.over for each in over.values() if each] == ["media file", "media file", "clip_md5", SOURCE]
    for kind, start in (("person", "p_"), ("trial", "t_"), ("set", "s_")):
        digest = _accounted(f"{start}abcdefghijklmnop", known, "", "rater")
        assert digest is not None
        assert (digest.keyed, digest.over) == (True, f"id of a {kind}")
    assert _accounted(plain, known, "", "x") == _accounted(plain[:20], known, "", "x") == known[plain[:16]]
    stated = _accounted("ab" * 20, known, f"see {'ab' * 20}", "its text")
    assert stated is not None
    assert stated.over == "what the authors state"
    assert _accounted("ab" * 20, known, "", "its text") is None


def test_hashes_of_what_is_not_published_are_keyed_in_every_table() -> None:
    key, public = bytes(range(32)), "ab" * 32
    names = [f"c{at:02}" for at in range(40)]
    columns: dict[str, Sequence[object]] = {
        "sha256": [public] * 20 + [SECRET] * 20, "Checksum": ["md5:" + "cd" * 16] * 40, "hash_note": ["none"] * 40,
        "revision": ["ef" * 20] * 40, "hashes": list(range(40)),
    }  # fmt: skip
    fields = pl.DataFrame({"stimulus": names, "field": "f", "machine": "m", "prompt_hash": [SECRET] * 39 + [None]})
    source = label_only(labels(), columns=columns, fields=fields)
    text = study_text(source.study)
    versions = {source.study.hash: text, "12" * 32: text}
    draft = replace(Draft.of(source), source=replace(source.source, versions=versions))
    made = with_keyed_hashes(draft, {"c00": PublishedMedium(stimulus="c00", sha256=public, bytes=1)}, key)
    stimuli = made.tables["stimuli"]
    assert stimuli["sha256"].to_list() == [public] * 20 + [keyed_hash(key, "media file", SECRET)] * 20
    assert set(stimuli["Checksum"]) == {keyed_hash(key, "Checksum", "md5:" + "cd" * 16)}
    assert stimuli.select("hash_note", "revision", "hashes").equals(
        source.stimuli.select("hash_note", "revision", "hashes")
    )
    asked = keyed_hash(key, "what a model was asked", SECRET)
    assert made.tables["fields"]["prompt_hash"].to_list() == [asked] * 39 + [None]
    assert set(made.source.versions) == {source.study.hash, keyed_hash(key, "version of the study", "12" * 32)}
    assert {(step.kind, step.table, step.column, step.rows) for step in made.steps} == {
        ("hashes", "stimuli", "sha256", 40), ("hashes", "stimuli", "Checksum", 40), ("hashes", "fields", "prompt_hash", 40)
    }  # fmt: skip
