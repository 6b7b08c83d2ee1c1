"""Boundaries of the base: contracts, number columns, registries, atomic writes."""

from __future__ import annotations

import stat
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError, UnknownNameError
from heartfelt.files import must_be_free, whole_folder, write_bytes, write_text
from heartfelt.registry import DuplicateNameError, Registry
from heartfelt.serialization import write_json
from heartfelt.tables import CONTRACTS, ITEMS, RATERS, RATINGS, STIMULI, Contract, lossless_types, number_types
from tests.cases import check_all


class TestContracts:
    @pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
    def test_every_required_column_is_required(self, contract: Contract) -> None:
        empty = contract.empty()
        for column in contract.columns:
            if column.required:
                with pytest.raises(InputError, match=f"has no column '{column.name}'"):
                    contract.check(empty.drop(column.name), "f")

    def test_gaps_only_where_they_may_be(self) -> None:
        RATERS.check(pl.DataFrame({"rater": ["a"], "age": [None]}), "f")
        with pytest.raises(InputError, match=r"'rater'.*row 2.*1 such"):
            RATERS.check(pl.DataFrame({"rater": ["a", None]}), "f")
        STIMULI.check(pl.DataFrame({"stimulus": ["a"], "system": [None]}), "f")

    def test_keys(self) -> None:
        ITEMS.check(pl.DataFrame({"stimulus": ["a", "a"], "question": ["p", "q"]}), "f")
        with pytest.raises(InputError, match=r"2 rows.*'a'.*'p'"):
            ITEMS.check(pl.DataFrame({"stimulus": ["a", "a"], "question": ["p", "p"]}), "f")
        two = pl.DataFrame({"rater": ["r", "r"], "stimulus": ["a", "a"], "question": ["p", "p"], "value": [1.0, 2.0]})
        with pytest.raises(InputError) as caught:
            RATINGS.check(two, "f")
        assert "Number repeated presentations" in caught.value.fix
        RATINGS.check(two.with_columns(repeat=pl.Series([0, 1])), "f")
        RATINGS.check(two.with_columns(rater=pl.lit(None, pl.String)), "f")

    def test_types(self) -> None:
        made = RATINGS.check(
            pl.DataFrame({"rater": [1.0, 2.5], "stimulus": [3, 4], "question": ["p", "q"], "value": [1, 2]}), "f"
        )
        assert made["rater"].to_list() == ["1", "2.5"]
        assert made["stimulus"].to_list() == ["3", "4"]
        assert made.schema["value"] == pl.Float64
        result = STIMULI.check(pl.DataFrame({"stimulus": ["a", "b"], "found": ["TRUE", "false"]}), "f")
        assert result["found"].to_list() == [True, False]


class TestNumbers:
    @check_all(
        ("cells", "dtype"),
        [
            (["1", "2"], pl.Int64),
            (["1", "2.5"], pl.Float64),
            (["1e3", None], pl.Float64),
            (["0", "-5"], pl.Int64),
            (["01", "2"], pl.String),
            (["+1", "2"], pl.String),
            (["1.1", "1.10"], pl.String),
            (["1.50", "2.50"], pl.Float64),
            (["9" * 18], pl.Int64),
            (["9" * 19], pl.String),
            ([None, None], pl.String),
            (["1", "x"], pl.String),
            ([".5"], pl.String),
        ],
    )
    def test_number_types(self, cells: list[str | None], dtype: type[pl.DataType]) -> None:
        frame = pl.DataFrame({"c": cells}, schema={"c": pl.String})
        assert number_types(frame).schema["c"] == dtype
        assert number_types(frame, keep=["c"]).schema["c"] == pl.String

    @pytest.mark.parametrize(
        ("cells", "dtype"),
        [
            (["1", "2"], pl.Int64),
            (["1.0", "2.5"], pl.Float64),
            (["1.50"], pl.String),
            (["1", "2.5"], pl.String),
            (["1", None], pl.Int64),
        ],
    )
    def test_lossless_types(self, cells: list[str | None], dtype: type[pl.DataType]) -> None:
        frame = pl.DataFrame({"c": cells}, schema={"c": pl.String})
        assert lossless_types(frame).schema["c"] == dtype
        assert lossless_types(frame)["c"].cast(pl.String).to_list() == cells


class TestRegistry:
    def test_the_order_of_registration_and_sorted_names(self) -> None:
        registry: Registry[int] = Registry("odd thing")
        registry.add("b", 2)
        assert registry.register("a")(1) == 1
        assert (list(registry), registry.names(), len(registry)) == (["b", "a"], ["a", "b"], 2)
        assert registry.group == "heartfelt.odd_things"
        assert "a" in registry
        assert "c" not in registry

    def test_a_duplicate_by_decorator_raises_too(self) -> None:
        registry: Registry[int] = Registry("thing")
        registry.add("a", 1)
        with pytest.raises(DuplicateNameError):
            registry.register("a")(2)
        assert registry["a"] == 1

    def test_homes_are_loaded_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loaded: list[str] = []
        monkeypatch.setattr("heartfelt.registry.import_module", loaded.append)
        registry: Registry[int] = Registry("thing", homes=["a.home", "b.home"])
        for _ in range(2):
            with pytest.raises(UnknownNameError):
                registry["x"]
        assert loaded == ["a.home", "b.home"]


class TestFiles:
    def test_a_file_is_replaced_whole_and_nothing_is_left_behind(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        write_text(path, "one")
        write_text(path, "twö")
        assert path.read_text(encoding="utf-8") == "twö"
        assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o644

    def test_a_failed_write_leaves_the_old_bytes_and_no_scratch(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.bin"
        write_bytes(path, b"old")

        def full(_: int) -> None:
            raise OSError("disk full")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="disk full"):
            write_bytes(path, b"new")
        assert path.read_bytes() == b"old"
        assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]

    def test_json_ends_with_a_newline_and_keeps_letters(self, tmp_path: Path) -> None:
        write_json(tmp_path / "a.json", {"é": 1})
        assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "é": 1\n}\n'

    def test_a_folder_is_replaced_only_on_request(self, tmp_path: Path) -> None:
        target = tmp_path / "out"
        with whole_folder(target) as scratch:
            (scratch / "a").write_text("1")
            assert not target.exists()
        with pytest.raises(InputError, match="already exists and is not empty"), whole_folder(target):
            pass
        with whole_folder(target, replace=True) as scratch:
            (scratch / "b").write_text("2")
        assert [p.name for p in target.iterdir()] == ["b"]
        assert [p.name for p in tmp_path.iterdir()] == ["out"]
        assert stat.S_IMODE(target.stat().st_mode) == 0o755

    def test_a_failed_replacement_leaves_the_old_folder(self, tmp_path: Path) -> None:
        target = tmp_path / "out"
        with whole_folder(target) as scratch:
            (scratch / "a").write_text("1")
        with pytest.raises(RuntimeError), whole_folder(target, replace=True) as scratch:
            (scratch / "b").write_text("2")
            raise RuntimeError
        assert [p.name for p in target.iterdir()] == ["a"]
        assert [p.name for p in tmp_path.iterdir()] == ["out"]

    def test_what_is_free(self, tmp_path: Path) -> None:
        must_be_free(tmp_path / "absent")
        (tmp_path / "empty").mkdir()
        must_be_free(tmp_path / "empty")
        (tmp_path / "file").write_text("")
        for name in ("file", "."):
            with pytest.raises(InputError, match="already exists"):
                must_be_free(tmp_path / name)
