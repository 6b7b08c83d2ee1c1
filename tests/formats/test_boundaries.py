"""Boundaries and rare paths of reading tables: limits, gaps, codes, anchors, lists, moments, keys."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.formats.ratings.described import parse_scale
from heartfelt.formats.tables.columns import NamedTable, id_notes, ids, moment_expr, need, number_expr
from heartfelt.formats.tables.delimited import line_ends, read_delimited, with_line_ends
from heartfelt.formats.tables.source_table import compile_pattern, locate, open_table, pick, pick_optional
from heartfelt.study.model import AnchorProbe
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags
from tests.cases import check_all


def text(*cells: str | None) -> pl.DataFrame:
    return pl.DataFrame({"c": list(cells)}, schema={"c": pl.String})


class TestCells:
    @check_all("gap", ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", ".", "-", " NA ", None])
    def test_gaps(self, gap: str | None) -> None:
        assert NamedTable(text("1", gap), "f").numbers("c").to_list() == [1.0, None]

    def test_numbers_with_points_commas_and_spaces(self) -> None:
        assert NamedTable(text("1,5", " 2.5 ", "-3e2", "+4"), "f").numbers("c").to_list() == [1.5, 2.5, -300.0, 4.0]

    def test_the_first_cell_that_is_no_number_is_named_with_its_line(self) -> None:
        with pytest.raises(InputError, match=r"line 3.*'c'.*'x'.*2 such"):
            NamedTable(text("1", "x", "y"), "f").numbers("c")
        with pytest.raises(InputError, match="line 2, column 'c'"):
            NamedTable(text("1", "x"), "f", first=1).numbers("c")

    def test_whole_numbers(self) -> None:
        assert NamedTable(text("1.0", None, "-3"), "f").whole_numbers("c").to_list() == [1, None, -3]
        with pytest.raises(InputError, match=r"line 3.*'c'.*'1\.5'"):
            NamedTable(text("1", "1.5"), "f").whole_numbers("c")

    def test_what_is_no_number_is_empty_where_that_is_allowed(self) -> None:
        assert text("x", "2", "nan").select(number_expr("c"))["c"].to_list() == [None, 2.0, None]

    @pytest.mark.parametrize(
        ("cell", "moment"),
        [
            ("2026-01-05T10:00:00+09:00", datetime(2026, 1, 5, 1, tzinfo=UTC)),
            ("2026-01-05T10:00:00.25Z", datetime(2026, 1, 5, 10, 0, 0, 250_000, tzinfo=UTC)),
            ("2026-01-05 10:00:00", datetime(2026, 1, 5, 10, tzinfo=UTC)),
            ("2026-01-05 10:00", datetime(2026, 1, 5, 10, tzinfo=UTC)),
            ("2026-01-05", datetime(2026, 1, 5, tzinfo=UTC)),
            ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
            ("1700000000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
            ("100000000000", datetime(5138, 11, 16, 9, 46, 40, tzinfo=UTC)),
            ("100000000001", datetime(1973, 3, 3, 9, 46, 40, 1000, tzinfo=UTC)),
            ("NA", None),
            ("yesterday", None),
        ],
    )  # fmt: skip
    def test_moments(self, cell: str, moment: datetime | None) -> None:
        assert text(cell).select(moment_expr("c", pl.String))["c"].to_list() == [moment]

    def test_ids(self) -> None:
        assert ids(pl.Series(["7.0", "8.0", None])).to_list() == ["7", "8", None]
        assert ids(pl.Series(["7.0", "8.5"])).to_list() == ["7.0", "8.5"]
        assert ids(pl.Series([" a ", "7.0"])).to_list() == ["a", "7.0"]
        assert ids(pl.Series([7.0, 8.0])).to_list() == ["7", "8"]
        assert ids(pl.Series([7.0, 8.5])).to_list() == ["7.0", "8.5"]
        assert ids(pl.Series([7])).to_list() == ["7"]

    def test_trimmed_ids_are_counted(self) -> None:
        assert id_notes(pl.Series(["a", "b"]), "rater") == []
        assert id_notes(pl.Series([" a"]), "rater") == ["Spaces around 1 rater id were removed."]
        notes = id_notes(pl.Series([" a", "a", "b "]), "rater")
        assert notes == ["Spaces around 2 rater ids were removed, and 1 became equal to another id ('a')."]

    def test_keys(self) -> None:
        frame = pl.DataFrame({"a": ["1", "2", "1"], "b": ["x", "x", "x"]})
        NamedTable(frame[:2], "f").unique("a")
        with pytest.raises(InputError, match=r"line 2.*'1'.*'x'.*2 such"):
            NamedTable(frame, "f").unique("a", "b")
        with pytest.raises(InputError, match="f, line 1:"):
            NamedTable(frame, "f", first=1).unique("a", "b")

    def test_gaps_that_are_not_allowed(self) -> None:
        NamedTable(text("a"), "f").filled("c")
        with pytest.raises(InputError, match=r"line 3.*'c'.*1 such"):
            NamedTable(text("a", None), "f").filled("c")

    def test_words(self) -> None:
        assert NamedTable(text("Yes ", "no", None), "f").one_word_of("c", ["yes", "no"]).to_list() == [
            "yes",
            "no",
            None,
        ]
        with pytest.raises(InputError, match="line 3, column 'c': 'yess'") as caught:
            NamedTable(text("yes", "yess"), "f").one_word_of("c", ["yes", "no"])
        assert "Did you mean 'yes'?" in caught.value.fix

    @pytest.mark.parametrize("path", ["/etc/passwd", "..", "a/../b", "a/..", "C:/x", "..\\x"])
    def test_paths_out(self, path: str) -> None:
        NamedTable(pl.DataFrame([pl.Series("p", ["a/b..c.wav", "..a", None])]), "f").inside_paths("p")
        with pytest.raises(InputError, match=r"line 3.*'p'"):
            NamedTable(pl.DataFrame([pl.Series("p", ["ok", path])]), "f").inside_paths("p")

    def test_columns_by_name(self) -> None:
        frame = pl.DataFrame(schema={"Rater": pl.String, "rater ": pl.String, "Item": pl.String})
        assert pick_optional(frame.columns, "stimulus", {}, "f") == "Item"
        assert pick_optional(frame.columns, "rater", {}, "f") is None
        with pytest.raises(InputError, match="has no column 'item'") as caught:
            need(frame, ["item"], "f")
        assert "Did you mean 'Item'?" in caught.value.fix


class TestScales:
    @check_all(
        ("words", "scale"),
        [
            ("1-9", Points(type="points", points=9)),
            ("0-100", Points(type="points", points=101, first=0)),
            ("0-1", Points(type="points", points=2, first=0)),
            ("-3-3", Points(type="points", points=7, first=-3)),
            ("-3..-1", Points(type="points", points=3, first=-3)),
            ("numeric:0-1", Numeric(type="numeric", low=0, high=1)),
            ("numeric", Numeric(type="numeric")),
            ("ordered:a|b", Ordered(type="ordered", categories=["a", "b"])),
            ("categories: a | b ", Categories(type="categories", categories=["a", "b"])),
            ("tags", Tags(type="tags")),
            ("tags:a|b", Tags(type="tags", tags=["a", "b"], open=False)),
            ("text", FreeText(type="text")),
        ],
    )  # fmt: skip
    def test_in_one_word(self, words: str, scale: object) -> None:
        assert parse_scale(words) == scale

    @pytest.mark.parametrize("words", ["0-101", "9-1", "5-5", "1.5-3", "numeric:1-1", "ordered:a", "", "grid"])
    def test_what_is_none(self, words: str) -> None:
        with pytest.raises(InputError, match="does not state a scale"):
            parse_scale(words)

    @pytest.mark.slow
    @pytest.mark.parametrize(("answers", "kind"), [(60, Categories), (61, FreeText), (1, FreeText), (2, Categories)])
    def test_how_many_answers_in_words_are_categories(self, answers: int, kind: type[object]) -> None:
        frame = pl.DataFrame(
            {"rater": "p", "stimulus": [f"s{i}" for i in range(answers)], "value": [f"w{i:02}" for i in range(answers)]}
        )
        snapshot = heartfelt.read(frame)
        scale = snapshot.study.scales["scale"]
        assert isinstance(scale, kind)
        if kind is Categories:
            assert snapshot.ratings["value"].to_list() == [float(i) for i in range(answers)]

    @pytest.mark.slow
    def test_answers_with_their_own_codes_keep_them(self) -> None:
        frame = pl.DataFrame(
            {
                "rater": ["p", "p", "q"],
                "stimulus": ["a", "b", "a"],
                "question": "q",
                "value": [2.0, 7.0, 7.0],
                "answer": ["low", "high", "high"],
            }
        )
        snapshot = heartfelt.read(frame)
        assert snapshot.study.scale_of("q").labels() == {2.0: "low", 7.0: "high"}
        for value, problem in (([7.0, 7.0, 7.0], "numbers"), ([2.0, 7.0, 8.0], "numbers")):
            with pytest.raises(InputError, match=f"the answers to 'q' are {problem}, but rater"):
                heartfelt.read(frame.with_columns(value=pl.Series(value)))

    def test_a_stated_scale_refuses_other_answers(self) -> None:
        frame = pl.DataFrame({"rater": ["p", "q", "r"], "stimulus": "a", "value": ["low", "mid", "mid"]})
        with pytest.raises(InputError, match=r"2 answers.*'value'.*'mid'"):
            heartfelt.read(frame, scale="ordered:low|high")


class TestAnchors:
    FRAME = pl.DataFrame(
        {"rater": ["p"] * 3, "stimulus": ["a", "b", "c=d"], "value": [1.0, 5.0, 9.0], "known": ["0-2", "yes", "no"]}
    )

    def probes(self, **options: Any) -> list[AnchorProbe]:
        study = heartfelt.read(self.FRAME, scale="1-9", **options).study
        return [probe for probe in study.probes if isinstance(probe, AnchorProbe)]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("given", "limits"),
        [
            ("a=0-2", {("a",): (0, 2)}),
            ("a=2-2", {("a",): (2, 2)}),
            ("a=3-", {("a",): (3, None)}),
            ("a=-4", {("a",): (None, 4)}),
            ("a=-2..-1", {("a",): (-2, -1)}),
            ("a", {("a",): (None, None)}),
            ("a=0-2, b=0-2", {("a", "b"): (0, 2)}),
            ("a=0-2, b=7-", {("a",): (0, 2), ("b",): (7, None)}),
            ("c=d", {("c=d",): (None, None)}),
            ("known", {("a",): (0, 2), ("b",): (None, None)}),
        ],
    )  # fmt: skip
    def test_what_is_marked(self, given: str, limits: dict[tuple[str, ...], tuple[float | None, float | None]]) -> None:
        probes = self.probes(anchors=given)
        assert {tuple(p.stimuli): (p.at_least, p.at_most) for p in probes} == limits
        assert [p.id for p in probes] == [f"anchor{n}" for n in range(1, len(limits) + 1)]

    @pytest.mark.parametrize(
        ("given", "problem"),
        [
            ("a=3-2", "the wrong way round"),
            ("a=q", "does not say within which limits"),
            ("a=-", "does not say within which limits"),
            ("z=0-2", "the anchor 'z' is not among the stimuli"),
            (" , ", "no stimulus is marked"),
        ],
    )
    def test_what_is_refused(self, given: str, problem: str) -> None:
        with pytest.raises(InputError, match=problem):
            self.probes(anchors=given)

    @pytest.mark.slow
    def test_which_question_the_limits_are_about(self) -> None:
        frame = self.FRAME.with_columns(other=pl.col("value"))
        several = {"value": "value,other"}
        with pytest.raises(InputError, match="several questions are asked"):
            heartfelt.read(frame, anchors="a=0-2", **several)
        first = heartfelt.read(frame, anchors="a", **several).study.probes[0]
        assert isinstance(first, AnchorProbe)
        assert first.question == "value"
        named = heartfelt.read(frame, anchors="a=0-2", anchor_question="other", **several).study.probes[0]
        assert isinstance(named, AnchorProbe)
        assert named.question == "other"
        with pytest.raises(InputError, match=r"question.*'z'.*anchors"):
            heartfelt.read(frame, anchors="a=0-2", anchor_question="z", **several)


class TestLists:
    def test_numbers_need_unknown_raters(self) -> None:
        frame = pl.DataFrame({"rater": ["p"], "stimulus": ["a"], "value": ["[1, 2]"]})
        with pytest.raises(InputError, match="several numbers per cell"):
            heartfelt.read(frame)
        assert heartfelt.read(frame.drop("rater"), rater="none").ratings["value"].to_list() == [1.0, 2.0]

    def test_lists_of_different_lengths(self) -> None:
        frame = pl.DataFrame({"stimulus": ["a"], "v": ["[1, 2]"], "w": ["[1]"]})
        with pytest.raises(InputError, match="differ in length"):
            heartfelt.read(frame, rater="none", value="v,w")

    @pytest.mark.slow
    def test_one_cell_that_is_no_list(self) -> None:
        frame = pl.DataFrame({"rater": ["p", "q"], "stimulus": ["a", "a"], "value": ["[x]", "y"]})
        assert heartfelt.read(frame).study.scales["scale"].level == "nominal"
        words = heartfelt.read(frame.with_columns(value=pl.Series(["[x, z]", "['y']"]))).ratings
        assert words["answer"].to_list() == ["x;z", "y"]


class TestRoles:
    def test_a_column_plays_one_part(self) -> None:
        frame = pl.DataFrame({"rater": ["p"], "stimulus": ["a"], "value": [1]})
        with pytest.raises(InputError, match=r"column.*'rater'"):
            heartfelt.read(frame, stimulus="rater")

    def test_missing_columns(self) -> None:
        with pytest.raises(InputError, match="no column is unmistakably the value"):
            heartfelt.read(pl.DataFrame({"rater": ["p"], "stimulus": ["a"]}))
        with pytest.raises(InputError, match="has no column 'raiting'"):
            heartfelt.read(pl.DataFrame({"rater": ["p"], "stimulus": ["a"], "rating": [1]}), value="raiting")
        with pytest.raises(InputError, match="no column is unmistakably the rater") as caught:
            heartfelt.read(pl.DataFrame({"stimulus": ["a"], "rating": [1]}))
        assert 'rater="none"' in caught.value.fix

    def test_the_order_of_usual_names(self) -> None:
        assert pick(["user", "participant"], "rater", {}, "f") == "user"
        assert pick(["id", "name"], "rater", {}, "f") == "id"
        assert pick_optional(["x"], "rater", {}, "f") is None

    def test_extra_columns_do_not_take_the_names_of_others(self) -> None:
        frame = pl.DataFrame({"rater": ["p"], "stimulus": ["a"], "rating": [1], "value": ["x"], "answer": ["y"]})
        ratings = heartfelt.read(frame, value="rating").ratings
        assert ratings.select("source_value", "source_answer").row(0) == ("x", "y")

    def test_patterns(self) -> None:
        result = compile_pattern("{question}_{stimulus}", ["question", "stimulus"]).fullmatch("a_b_c")
        assert result is not None
        assert result.groupdict() == {"question": "a", "stimulus": "b_c"}
        for pattern in ("{x}_{stimulus}", "plain", "{question}_{question}"):
            with pytest.raises(InputError, match="The pattern"):
                compile_pattern(pattern, ["question", "stimulus"])

    def test_which_table_of_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds no CSV"):
            locate(tmp_path)
        (tmp_path / "a.csv").write_text("x\n1\n")
        assert locate(tmp_path).name == "a.csv"
        (tmp_path / "b.csv").write_text("x\n1\n")
        with pytest.raises(InputError, match="holds 2 tables"):
            locate(tmp_path)
        assert locate(tmp_path, ("b.csv",)).name == "b.csv"
        with pytest.raises(InputError, match="There is no file or folder"):
            locate(tmp_path / "c.csv")


class TestFiltering:
    FRAME = pl.DataFrame(
        {"rater": ["p", "q", "r"], "stimulus": ["a"] * 3, "value": [1, 2, 3], "age": ["17", "18", None]}
    )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("where", "raters"),
        [
            ("age>=18", ["q"]),
            ("age>17", ["q"]),
            ("age<18", ["p"]),
            ("age<=17", ["p"]),
            ("age=18.0", ["q"]),
            ("age!=18", ["p", "r"]),
            ("rater=p|r", ["p", "r"]),
            ("rater!=p;value<3", ["q"]),
            ("age=", ["r"]),
        ],
    )
    def test_conditions(self, where: str, raters: list[str]) -> None:
        snapshot = heartfelt.read(self.FRAME, where=where)
        assert snapshot.ratings["rater"].to_list() == raters
        lost = sum(int(row.split(" ")[0]) for row in snapshot.ledger["reason"])
        assert lost == 3 - len(raters)
        assert set(snapshot.ledger["stage"]) == {"import"}

    def test_a_condition_that_leaves_nothing_is_named(self) -> None:
        with pytest.raises(InputError, match=r"row.*'age>99'"):
            heartfelt.read(self.FRAME, where="value>0;age>99")

    def test_personal_columns_by_their_cells(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        rows = ["a@b.org,1", "c@d.org,2", "none,3", "none,4"]
        path.write_text("contact,v\n" + "\n".join(rows) + "\n")
        assert open_table(path, {}).columns == ["contact", "v"]
        path.write_text("contact,v\n" + "\n".join([*rows, "e@f.org,5"]) + "\n")
        assert open_table(path, {}).columns == ["v"]
        assert open_table(path, {"rater": "contact"}).columns == ["contact", "v"]
        assert open_table(path, {"personal": "keep"}).columns == ["contact", "v"]


def test_a_json_file_is_parsed_once_and_again_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from heartfelt.formats.tables import json_files

    parsed: list[Path] = []
    records = json_files._records

    def counted(text: str, source: Path) -> list[Any]:
        parsed.append(source)
        return records(text, source)

    monkeypatch.setattr(json_files, "_records", counted)
    path = tmp_path / "r.json"
    rows = [{"rater": "p", "stimulus": "a", "question": "q", "value": 1}]
    path.write_text(json.dumps(rows))
    assert heartfelt.read(path).ratings.height == 1
    assert parsed == [path]
    path.write_text(json.dumps([*rows, {**rows[0], "stimulus": "b"}]))
    assert heartfelt.read(path).ratings.height == 2
    assert parsed == [path, path]


class TestTextFiles:
    def test_a_table_without_rows_and_without_anything(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_text("rater,stimulus,value\n")
        assert read_delimited(path).shape == (0, 3)
        with pytest.raises(InputError, match="holds no ratings"):
            heartfelt.read(path, "long")
        path.write_text(" \n")
        with pytest.raises(InputError, match="is empty"):
            read_delimited(path)

    def test_columns_without_a_name_and_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_text("a,,b\n1,2,3\n")
        assert read_delimited(path).columns == ["a", "column_2", "b"]
        path.write_text("a,b,a\n1,2,3\n")
        with pytest.raises(InputError, match=r"line 1.*'a'.*1.*3"):
            read_delimited(path)

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_delimiters(self, tmp_path: Path, delimiter: str) -> None:
        path = tmp_path / "t.csv"
        path.write_text(f'a{delimiter}"b,;\t|"\n1{delimiter}2\n')
        assert read_delimited(path).columns == ["a", "b,;\t|"]

    def test_a_line_cut_off_at_the_end_is_told_from_one_in_the_middle(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_text("a,b\n1,2\n3\n")
        with pytest.raises(InputError, match=r"line 3.*1 fields.*2"):
            read_delimited(path)
        path.write_text("a,b\n1\n3,4\n")
        with pytest.raises(InputError, match=r"line 2: 1 fields where the header has 2\.\n") as caught:
            read_delimited(path)
        assert "delimiter" in caught.value.fix

    @pytest.mark.parametrize(
        ("content", "layout"),
        [
            (b"a\nb\n", "lf"),
            (b"a\r\nb\r\n", "crlf"),
            (b"a\nb", "lf, none at the end"),
            (b"a\r\nb", "crlf, none at the end"),
        ],
    )
    def test_line_ends(self, tmp_path: Path, content: bytes, layout: str) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes(content)
        assert line_ends(path) == layout
        assert with_line_ends("a\nb\n", layout).encode() == content

    @pytest.mark.slow
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp949"])
    def test_a_stated_encoding(self, tmp_path: Path, encoding: str) -> None:
        path = tmp_path / "t.csv"
        path.write_text("rater,stimulus,value\n김,음악,5\n", encoding=encoding)
        assert heartfelt.read(path, "long", encoding=encoding).ratings["rater"].to_list() == ["김"]
