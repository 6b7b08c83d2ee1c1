"""Sending a release: what arrives, what is not sent again, what is never sent, and what each refusal means."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heartfelt.cli import main
from heartfelt.errors import DamagedError, HeartfeltError, InputError, UnknownNameError
from heartfelt.publishing.deposits import DepositOptions, send
from heartfelt.publishing.deposits import hub as hub_module
from heartfelt.publishing.deposits.citation import cited_details
from heartfelt.publishing.deposits.files import release_files
from heartfelt.publishing.deposits.problems import DepositError
from heartfelt.publishing.deposits.zenodo import metadata
from heartfelt.publishing.release.checksums import published_files, write_checksums
from heartfelt.publishing.statements.details import Author, Details
from tests.facts import mentions
from tests.publishing.releases import small_snapshot
from tests.publishing.services import Fault, HubHandler, Service, ZenodoHandler, serving

pytestmark = [
    pytest.mark.server,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # in the client of the hub
]
DETAILS = Details(
    title="Moods & more", authors=(Author("Doe, Jo", "A University", "0000-0002-1825-0097"),), licence="CC-BY-4.0"
)
SEND = DepositOptions(details=DETAILS)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "moods"
    for name, content in {
        "README.md": b"# Moods\n",
        "publication.json": b"{}\n",
        "data/ratings/train-00000-of-00001.parquet": b"PAR1" * 500,
        "data/stimuli/train-00000-of-00001.parquet": b"PAR2" * 700,
        "csv/ratings.csv": "rater,answer\nr1,gr\u00fcn\n".encode(),
        "media/a b#1.wav": b"RIFF" * 300,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    write_checksums(folder)
    private = tmp_path / "moods-private"
    private.mkdir(mode=0o700)
    (private / "key").write_text("ab" * 32)
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    from huggingface_hub import constants

    # The storage that the hub's own servers prefer has no contract to speak here; the client falls back to LFS.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serving(HubHandler) as service:
        monkeypatch.setenv("HF_ENDPOINT", service.url)
        monkeypatch.setenv("HF_TOKEN", service.token)
        yield service


@pytest.fixture
def zenodo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with serving(ZenodoHandler) as service:
        monkeypatch.setenv("ZENODO_ENDPOINT", service.url)
        monkeypatch.setenv("ZENODO_TOKEN", service.token)
        yield service


def contents(folder: Path) -> dict[str, bytes]:
    paths = [*published_files(folder), folder / "CHECKSUMS.sha256"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_dry_run_lists_files_and_contacts_nobody(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_do_not_show")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("ZENODO_TOKEN", "zen_do_not_show")
    monkeypatch.setenv("ZENODO_ENDPOINT", "http://127.0.0.1:1")
    dry = DepositOptions(dry_run=True, details=DETAILS)
    lines = send(release, "hub:me/moods", dry).sentences
    assert "data/stimuli/train-00000-of-00001.parquet  2.8 kB" in lines
    assert mentions(re.sub(r"6\.\d", "6.8", "\n".join(lines)), "7 files", "6.8", "hub:me/moods")
    zipped = send(release, "zenodo:sandbox", dry)
    assert set(zipped.sent) == {"CHECKSUMS.sha256", "README.md", "publication.json", "csv.zip", "data.zip", "media.zip"}
    assert "do_not_show" not in "\n".join([*lines, *zipped.sentences])


def test_the_hub_gets_every_file_once_and_an_interrupted_push_goes_on(release: Path, hub: Service) -> None:
    hub.faults = [Fault("POST", "/commit/")]
    with pytest.raises(DepositError, match=r"connection.*Hugging Face") as failed:
        send(release, "hub:me/moods")
    assert "not sent again" in failed.value.fix
    assert hub.is_private()
    uploads = len(hub.uploads())
    assert uploads == 3
    deposit = send(release, "hub:me/moods")
    assert "private until" in deposit.sentences[-1]
    assert len(hub.uploads()) == uploads, "large files that arrived are not sent again"
    assert hub.files == contents(release)
    assert deposit.address == f"{hub.url}/datasets/me/moods"
    assert set(deposit.sent) == set(hub.files)
    again = send(release, "hub:me/moods", DepositOptions(make_public=True))
    assert again.sent == ()
    assert len(again.present) == 7
    assert not hub.is_private()
    # A new release: what changed is sent, what an earlier one left in its folders is removed, other files stay.
    hub.files |= {"data/old/train-00000-of-00009.parquet": b"old", ".gitattributes": b"x", "NOTES.md": b"mine"}
    (release / "README.md").write_text("# Moods 2\n")
    write_checksums(release)
    third = send(release, "hub:me/moods")
    assert set(third.sent) == {"README.md", "CHECKSUMS.sha256"}
    assert third.public
    assert third.removed == ("data/old/train-00000-of-00009.parquet",)
    assert hub.files == {**contents(release), ".gitattributes": b"x", "NOTES.md": b"mine"}


def test_the_card_comes_last_and_commits_that_arrived_count(
    release: Path, hub: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "COMMIT_FILES", 3)
    hub.faults = [Fault("POST", "/commit/", 503, after=1)]
    with pytest.raises(DepositError, match="answered 503"):
        send(release, "hub:me/moods")
    assert len(hub.files) == 3
    assert "README.md" not in hub.files
    deposit = send(release, "hub:me/moods")
    assert (len(deposit.sent), len(deposit.present)) == (4, 3)
    assert hub.files == contents(release)


def test_zenodo_gets_a_draft_and_an_interrupted_deposit_goes_on(release: Path, zenodo: Service) -> None:
    zenodo.faults = [Fault("PUT", "/data.zip")]
    with pytest.raises(DepositError, match=r"Zenodo.*data\.zip"):
        send(release, "zenodo:sandbox", SEND)
    before = set(zenodo.files)
    zenodo.requests.clear()
    deposit = send(release, "zenodo:sandbox", SEND)
    assert set(deposit.present) == before
    assert not [path for path in zenodo.uploads() if path.rpartition("/")[2] in before]
    assert ("POST", "/api/deposit/depositions") not in zenodo.requests, "the same draft is continued"
    assert not zenodo.is_public()
    assert "draft" in deposit.sentences[-1]
    assert zenodo.files["README.md"] == b"# Moods\n"
    with zipfile.ZipFile(io.BytesIO(zenodo.files["media.zip"])) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {"media/a b#1.wav": b"RIFF" * 300}
    assert zenodo.metadata["creators"] == [
        {"name": "Doe, Jo", "affiliation": "A University", "orcid": "0000-0002-1825-0097"}
    ]
    assert zenodo.metadata["license"] == "cc-by-4.0"
    assert zenodo.metadata["description"] == "<p>Moods &amp; more</p>"
    public = send(release, "zenodo:sandbox", DepositOptions(make_public=True, details=DETAILS))
    assert public.sent == ()
    assert zenodo.is_public()
    with pytest.raises(DepositError, match="public already"):
        send(release, "zenodo:sandbox", SEND)


STATUSES = [
    (401, {}, "did not accept the token in {}", "Set {}"),
    (403, {}, "does not allow this", "permission to write"),
    (404, {}, "does not know this", "Check the name"),
    (413, {}, "too large", "fewer layouts"),
    (429, {"Retry-After": "17"}, "asks to wait", "after 17 seconds"),
    (500, {}, "answered 500", "try later"),
    (302, {"Location": "http://127.0.0.1:1/x"}, "answered 302", "not sent there"),
]


@pytest.mark.parametrize(("status", "headers", "problem", "fix"), STATUSES)
def test_each_refusal_says_what_to_do(
    release: Path, hub: Service, zenodo: Service, status: int, headers: dict[str, str], problem: str, fix: str
) -> None:
    body = f'{{"message": "token {hub.token} \\u0007 refused", "error": "token {hub.token} refused"}}'.encode()
    cases = [(zenodo, "PUT", "/README.md", "zenodo", "ZENODO_TOKEN")]
    if status != 302:  # the client follows redirects of its own server
        cases.append((hub, "POST", "/commit/", "hub:me/moods", "HF_TOKEN"))
    for service, method, path, target, variable in cases:
        service.faults = [Fault(method, path, status, headers, body)]
        with pytest.raises(DepositError) as failed:
            send(release, target, SEND)
        assert problem.format(variable) in failed.value.problem
        assert fix.format(variable) in failed.value.fix
        assert service.token not in str(failed.value)
        assert "\x07" not in str(failed.value)
        assert failed.value.__cause__ is None


def test_damage_and_unusable_answers_are_noticed(
    release: Path, hub: Service, zenodo: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, target in (("HF_TOKEN", "hub:me/moods"), ("ZENODO_TOKEN", "zenodo")):
        with (
            monkeypatch.context() as patch,
            pytest.raises(DepositError, match=f"did not accept the token in {variable}"),
        ):
            patch.setenv(variable, "expired")
            send(release, target, SEND)
    for service, target in ((hub, "hub:me/moods"), (zenodo, "zenodo")):
        service.spoil = True
        with pytest.raises(DepositError, match="another checksum"):
            send(release, target, SEND)
        service.spoil = False
        assert send(release, target, SEND).sent, "files that differ are sent again"
    for body in (b"<html>", b"[1]", b'{"id": "x"}', b'{"id": 3, "links": []}'):
        zenodo.faults = [Fault("GET", "/depositions/7", 200, {}, body)]
        with pytest.raises(DepositError, match="cannot be used"):
            send(release, "zenodo", SEND)
    zenodo.bucket = "http://example.org/api/files/bucket"
    with pytest.raises(DepositError, match=r"another host, example\.org"):
        send(release, "zenodo", SEND)
    hub.files.clear()
    hub.faults = [Fault("POST", "/commit/", 200, {}, b"{}")]
    with pytest.raises(DepositError, match="cannot be used"):
        send(release, "hub:me/moods")
    hub.faults = [Fault("GET", "/tree/", 200, {}, b"<html>")]
    with pytest.raises(DepositError, match="cannot be used"):
        send(release, "hub:me/moods")


def test_nothing_private_and_nothing_changed_is_sent(
    release: Path, zenodo: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(folder: Path, message: str, kind: type[HeartfeltError] = InputError) -> None:
        with pytest.raises(kind, match=message):
            send(folder, "zenodo", SEND)
        assert not zenodo.requests

    refuses(release.with_name("moods-private"), "is a private folder")
    refuses(release / "data", "not a published folder")
    (release / "data" / "link").symlink_to(release.with_name("moods-private"))
    refuses(release, "is a link")
    (release / "data" / "link").unlink()
    (release / "stray.csv").write_text("rater,name\n")
    refuses(release, "not as it was published", DamagedError)
    (release / "stray.csv").unlink()
    (release / "notes.txt").write_text("ab" * 32)
    write_checksums(release)
    refuses(release, "is a copy of .*key, which is private")
    (release / "notes.txt").unlink()
    write_checksums(release)
    with pytest.raises(InputError, match="title and at least one author"):
        send(release, "zenodo", DepositOptions(details=Details()))
    unlicensed = Details(title="Moods", authors=DETAILS.authors)
    with pytest.raises(InputError, match="No licence is stated"):
        send(release, "zenodo", DepositOptions(make_public=True, details=unlicensed))
    with pytest.raises(InputError, match="no Zenodo called 'sandboxx'"):
        send(release, "zenodo:sandboxx", SEND)
    for name in ("hub:moods", "hub:", "hub:a/b/c", "hub:me/mo ods"):
        with pytest.raises(InputError, match="not the name of a dataset"):
            send(release, name)
    with pytest.raises(UnknownNameError, match="figshare"):
        send(release, "figshare:1")
    for text, message in (("", "needs a token"), ("two words", "does not hold a token")):
        monkeypatch.setenv("ZENODO_TOKEN", text)
        with pytest.raises(InputError, match=message):
            send(release, "zenodo", SEND)


def test_odd_file_names_are_found_in_the_checksums(release: Path) -> None:
    odd = "media/back\\slash and\nline.wav"
    (release / odd).write_bytes(b"odd")
    write_checksums(release)
    files = {file.name: file.sha256 for file in release_files(release)}
    assert files[odd] == hashlib.sha256(b"odd").hexdigest()
    assert len(files) == 8


def test_details_are_read_from_the_citation_file(tmp_path: Path) -> None:
    (tmp_path / "CITATION.cff").write_text(
        "cff-version: 1.2.0\ntitle: Moods\nlicense: CC0-1.0\ndate-released: 2026-11-16\n"
        "authors:\n  - {family-names: Doe, given-names: Jo, orcid: 'https://orcid.org/0000-0002-1825-0097'}\n"
        "  - {name: A Group}\n"
    )
    details = cited_details(tmp_path)
    assert details.authors == (Author("Doe, Jo", None, "0000-0002-1825-0097"), Author("A Group"))
    described = metadata(details)
    assert (described["license"], described["publication_date"]) == ("cc-zero", "2026-11-16")


@pytest.mark.slow
def test_the_commands_refuse_early_list_and_send(
    tmp_path: Path, release: Path, zenodo: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    publishing = ["publish", str(small_snapshot().write(tmp_path / "snapshot")), str(tmp_path / "out")]
    for wrong, message in (
        (["--push", "hub:moods", "--dry-run"], "hub:OWNER/NAME"),
        (["--deposit", "zenodo:sandbox"], "a title and at least one author"),
        (["--layout", "parquet"], "No release layout is called 'parquet'"),
        (["--split", "by=nothing"], "no column 'nothing'"),
        (["--split", "by"], "--split by=prompt"),
    ):
        assert main([*publishing, *wrong]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    details = tmp_path / "publication.yaml"
    details.write_text("title: Moods\nauthors: ['Doe, Jo']\n")
    sending = ["deposit", str(release), "zenodo:sandbox", "--details", str(details)]
    assert main([*sending, "--dry-run"]) == 0
    assert "would be sent to zenodo:sandbox. Nothing was sent." in capsys.readouterr().out
    assert not zenodo.requests
    assert main(sending) == 0
    assert "6 files" in capsys.readouterr().out
    assert set(zenodo.files) >= {"csv.zip", "README.md", "CHECKSUMS.sha256"}
    zenodo.faults = [Fault("GET", "/depositions/7", 503)]
    assert main(sending) == 1
    assert "Zenodo answered 503" in capsys.readouterr().err
    monkeypatch.delenv("ZENODO_TOKEN")
    assert main(["deposit", str(release), "zenodo"]) == 2
    assert "ZENODO_TOKEN" in capsys.readouterr().err
