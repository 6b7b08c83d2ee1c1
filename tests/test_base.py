"""The base: errors, registry, named random streams, files."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import HeartfeltError, InputError, StudyError, UnknownNameError, nearest, suggestion
from heartfelt.files import inside, read_text, sha256_of, whole_folder, write_text
from heartfelt.registry import DuplicateNameError, Registry
from heartfelt.serialization import write_json
from heartfelt.streams import derived_seed, stream


def test_an_error_has_a_problem_and_a_fix_and_survives_pickling() -> None:
    error = InputError("It is wrong.", "Mend it.")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, InputError)
    assert (again.problem, again.fix, again.exit_code) == ("It is wrong.", "Mend it.", 2)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("valense", ["valence", "arousal"], "valence"),
        ("Valence", ["valence"], "valence"),
        ("xyz", ["valence"], None),
        ("a", [], None),
    ],
)
def test_nearest(name: str, known: list[str], expected: str | None) -> None:
    assert nearest(name, known) == expected


def test_suggestion_lists_everything_even_when_nothing_is_near() -> None:
    assert suggestion("zzz", ["b", "a"], "Scales") == "Scales: a, b."


class TestRegistry:
    def test_duplicates_raise(self) -> None:
        registry: Registry[int] = Registry("thing")
        registry.add("one", 1)
        with pytest.raises(DuplicateNameError, match="already a thing called 'one'"):
            registry.add("one", 2)
        assert registry["one"] == 1

    def test_homes_are_loaded_when_something_is_looked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loaded: list[str] = []
        monkeypatch.setattr("heartfelt.registry.import_module", loaded.append)
        registry: Registry[int] = Registry("thing", homes=["a.home"])
        registry.add("one", 1)
        assert registry["one"] == 1
        assert loaded == []
        assert "two" not in registry
        assert loaded == ["a.home"]

    def test_unknown_names_list_the_known_ones(self) -> None:
        registry: Registry[int] = Registry("thing")
        registry.add("one", 1)
        registry.add("two", 2)
        with pytest.raises(UnknownNameError) as caught:
            registry["tow"]
        assert "Known things: one, two." in caught.value.fix
        assert "Did you mean 'two'?" in caught.value.fix

    def test_other_packages_register_by_entry_points(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "their_package.py").write_text("THING = 7\n")
        info = tmp_path / "their_package-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their_package\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[heartfelt.gadgets]\ntheirs = their_package:THING\n")
        monkeypatch.syspath_prepend(tmp_path)
        registry: Registry[int] = Registry("gadget")
        registry.add("ours", 1)
        assert registry["theirs"] == 7
        assert registry.names() == ["ours", "theirs"]

    def test_a_plugin_that_does_not_load_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        info = tmp_path / "broken-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[heartfelt.widgets]\nbad = no_such_module_here:THING\n")
        monkeypatch.syspath_prepend(tmp_path)
        registry: Registry[int] = Registry("widget")
        registry.add("ours", 1)
        assert registry.names() == ["ours"]
        assert registry["ours"] == 1
        assert "bad" not in registry
        assert list(registry.failed) == ["bad"]
        with pytest.raises(HeartfeltError, match=r"widget 'bad' offered by broken .*no_such_module_here") as caught:
            registry["bad"]
        assert "uninstall" in caught.value.fix
        with pytest.raises(UnknownNameError):
            registry["other"]

    @pytest.mark.parametrize("code", ["1 / 0", "raise RuntimeError('stop')", "import heartfelt.gone", "def ("])
    def test_whatever_a_plugin_raises_the_others_stay(
        self, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = f"harmful_{hashlib.sha256(code.encode()).hexdigest()[:8]}"
        (tmp_path / f"{module}.py").write_text(f"{code}\n")
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[heartfelt.trinkets]\nbad = {module}:THING\nours = {module}:THING\n")
        monkeypatch.syspath_prepend(tmp_path)
        registry: Registry[int] = Registry("trinket")
        registry.add("ours", 1)
        assert registry["ours"] == 1
        assert registry.names() == ["ours"]
        assert "already taken" in registry.failed["ours"].problem
        with pytest.raises(HeartfeltError, match="trinket 'bad'"):
            registry["bad"]


class TestStreams:
    def test_the_same_name_gives_the_same_numbers_from_the_start(self) -> None:
        assert np.array_equal(stream(3, "a").random(5), stream(3, "a").random(5))

    @pytest.mark.parametrize("other", [(3, "b"), (4, "a"), (3, "a", 1), (3, "a", "1")])
    def test_other_names_and_seeds_are_other_streams(self, other: tuple[int, str]) -> None:
        assert not np.array_equal(stream(3, "a").random(5), stream(*other).random(5))

    def test_a_number_and_its_text_are_different_names(self) -> None:
        assert derived_seed(0, 1) != derived_seed(0, "1")

    def test_values_stay_what_they_were(self) -> None:
        assert stream(0, "anchor").integers(0, 1000, 4).tolist() == ANCHOR


ANCHOR = [947, 330, 579, 575]
"""Drawn once when streams were written; a change here changes every simulated study."""


class TestFiles:
    def test_a_folder_is_whole_or_absent(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError), whole_folder(tmp_path / "out") as scratch:
            (scratch / "half").write_text("half")
            raise RuntimeError
        assert list(tmp_path.iterdir()) == []

    def test_a_full_folder_is_not_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "precious").write_text("x")
        with pytest.raises(InputError, match="already exists"), whole_folder(tmp_path / "out"):
            pass
        with whole_folder(tmp_path / "out", replace=True) as scratch:
            (scratch / "new").write_text("y")
        assert [p.name for p in (tmp_path / "out").iterdir()] == ["new"]

    def test_json_is_strict(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="Out of range"):
            write_json(tmp_path / "a.json", {"x": float("nan")})
        assert list(tmp_path.iterdir()) == []

    def test_a_failed_write_leaves_the_old_file(self, tmp_path: Path) -> None:
        write_text(tmp_path / "a", "old")
        with pytest.raises(UnicodeEncodeError):
            write_text(tmp_path / "a", "\ud800")
        assert (tmp_path / "a").read_text() == "old"

    @pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "C:\\x", "..\\x"])
    def test_paths_stay_inside(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(InputError, match="leads out of"):
            inside(tmp_path, path, "manifest.csv")

    def test_links_in_the_folder_are_followed_and_paths_out_of_it_are_not(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "blob").write_text("media")
        (tmp_path / "root" / "clip.wav").symlink_to(tmp_path / "blob")
        assert inside(tmp_path / "root", "clip.wav", "manifest.csv").read_text() == "media"
        for path in ("../blob", "clip/../../blob", str(tmp_path / "blob"), "C:/blob"):
            with pytest.raises(InputError):
                inside(tmp_path / "root", path, "manifest.csv")


@pytest.mark.parametrize("kind", [InputError, StudyError])
def test_a_text_that_cannot_be_read_says_why(tmp_path: Path, kind: type[HeartfeltError]) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "marked.yaml").write_text("name: a", encoding="utf-8-sig")
    cases = {"absent": "There is no", "latin": "byte 9", "folder": "cannot be read: Is a directory"}
    for name, problem in cases.items():
        with pytest.raises(kind, match=problem):
            read_text(tmp_path / f"{name}.yaml", "Write one.", kind)
    assert read_text(tmp_path / "marked.yaml", "") == "name: a"
    assert sha256_of(tmp_path / "latin.yaml") == hashlib.sha256(b"name: caf\xe9").hexdigest()
