"""What is refused, to the row: the guards of the survey and of the column contracts, with their counts and first cases."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot, survey
from heartfelt.snapshot.snapshot import spool
from heartfelt.study import parse_study
from heartfelt.tables import (
    ITEMS,
    MOMENT,
    RATERS,
    RATINGS,
    STIMULI,
    lossless_types,
    need_columns,
    number_schema,
    number_types,
)
from tests.cases import check_all
from tests.facts import mentions

STUDY = parse_study(
    "name: t\nscales: {nine: {type: points, points: 9}, share: {type: numeric, low: 0, high: 1}}\n"
    "questions: [{id: v, text: V, scale: nine}, {id: d, text: D, scale: share}]"
)


def ratings(*rows: tuple[str | None, str, str, float | None]) -> pl.DataFrame:
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def problem_of(frame: pl.DataFrame, stimuli: int = 3) -> tuple[str, str]:
    """What a snapshot of these ratings is refused for."""
    names = pl.DataFrame({"stimulus": [f"s{number}" for number in range(stimuli)]})
    with pytest.raises(InputError) as caught:
        Snapshot.build(STUDY, stimuli=names, ratings=frame)
    return caught.value.problem, caught.value.fix


class TestRatings:
    def test_only_doubled_ratings_are_counted_and_the_first_is_named_with_its_values(self) -> None:
        frame = ratings(
            ("a", "s0", "v", 1.0),
            ("c", "s1", "v", 3.0),
            ("c", "s1", "v", None),
            ("c", "s1", "v", 4.5),
            ("b", "s2", "v", 2.0),
            ("b", "s2", "v", 2.0),
        )
        problem, fix = problem_of(frame)
        assert mentions(problem, "t", "2 ratings", "'b'", "'s2'", "'v'", "2 times", "2")
        assert "repeat" in fix
        assert problem_of(frame.head(4))[0].endswith("question 'v' (3 times: 3, empty, 4.5).")

    def test_at_most_four_values_of_a_doubled_rating_are_listed(self) -> None:
        frame = ratings(*(("a", "s0", "v", float(value)) for value in range(1, 7)))
        assert problem_of(frame)[0].endswith("(6 times: 1, 2, 3, 4).")

    def test_ratings_off_their_scale_are_counted(self) -> None:
        frame = ratings(("a", "s0", "v", 9.0), ("b", "s1", "v", 9.5), ("c", "s2", "v", 12.0), ("c", "s1", "v", 1))
        assert mentions(problem_of(frame)[0], "t", "2 answers", "'v'", "9.5", "'b'", "'s1'")

    def test_only_answers_to_the_same_question_are_counted(self) -> None:
        frame = ratings(("a", "s0", "d", 0.25), ("a", "s1", "v", None), ("b", "s1", "v", 9.5), ("c", "s0", "d", 0.5))
        assert mentions(problem_of(frame)[0], "t", "1 answers", "'v'", "9.5")

    @pytest.mark.parametrize("value", [0.0, 10.0, 4.5, float("inf"), float("nan")])
    def test_one_rating_off_its_scale_is_enough(self, value: float) -> None:
        assert mentions(problem_of(ratings(("a", "s0", "v", value)))[0], "1 answers", "'v'")

    def test_a_continuous_scale_takes_every_number_within_its_limits(self) -> None:
        names = pl.DataFrame({"stimulus": ["s0", "s1", "s2"]})
        frame = ratings(("a", "s0", "d", 0.0), ("a", "s1", "d", 0.25), ("a", "s2", "d", 1.0), ("b", "s0", "v", None))
        assert Snapshot.build(STUDY, stimuli=names, ratings=frame).ratings.height == 4

    def test_questions_that_are_not_asked(self) -> None:
        frame = ratings(("a", "s0", "v", 1.0), ("a", "s0", "w", 1.0), ("b", "s0", "w", 1.0))
        assert problem_of(frame) == ("t: 2 ratings answer a question 'w' the study does not ask.", "Questions: d, v.")

    @pytest.mark.parametrize(("stimuli", "listed"), [(49, True), (50, False)])
    def test_stimuli_that_are_not_listed(self, stimuli: int, listed: bool) -> None:
        frame = ratings(("a", "s0", "v", 1.0), ("a", "x2", "v", 1.0), ("a", "x1", "v", 1.0))
        problem, fix = problem_of(frame, stimuli)
        assert mentions(problem, "t", "2 rated", "'x1'")
        assert ("Stimuli: s0" in fix) == listed
        assert fix.startswith("Add them to the manifest") != listed

    @pytest.mark.slow
    def test_rows_are_numbered_over_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(survey, "BATCH", 2)
        rows: list[tuple[str | None, str, str, float | None]] = [("a", f"s{n}", "v", 1.0) for n in range(9)]
        frame = ratings(*rows)
        assert spool(frame, "x").survey == spool(frame.lazy(), "x").survey
        assert spool(frame, "x").survey.stimuli == [f"s{n}" for n in range(9)]
        missing = pl.when(pl.int_range(pl.len()).is_in([6, 8])).then(None).otherwise("stimulus")
        with pytest.raises(InputError, match="x: rating 7 has no stimulus"):
            spool(frame.with_columns(stimulus=missing), "x")

    @pytest.mark.parametrize("value", [0.0, 10.0, 4.5])
    @pytest.mark.parametrize("place", [0, 3, 5])
    def test_a_rating_off_its_scale_is_noticed_in_every_batch(
        self, value: float, place: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(survey, "BATCH", 2)
        rows = [(f"r{n}", "s0", "v", value if n == place else 5.0) for n in range(6)]
        assert f"the first is {value:g} by rater 'r{place}'" in problem_of(ratings(*rows))[0]

    def test_an_empty_column_is_as_good_as_none(self) -> None:
        frame = ratings(("a", "s0", "v", 1.0), ("b", "s0", "v", 2.0))
        empty = frame.with_columns(answer=pl.lit(None, dtype=pl.String))
        partly = frame.with_columns(answer=pl.Series([None, "two"]))
        hashes = [survey.survey(each, "x").hash for each in (frame, empty, partly)]
        assert hashes[0] == hashes[1] != hashes[2]

    def test_ratings_pass_into_a_file_with_the_quickest_compression(self, tmp_path: Path) -> None:
        rows: list[tuple[str | None, str, str, float | None]] = [("a", f"s{n}", "v", 1.0) for n in range(99)]
        frame, path = ratings(*rows), tmp_path / "ratings.parquet"
        survey.survey_on_the_way(frame.lazy(), path, "x")
        assert pl.read_parquet(path).equals(frame)
        start_of_a_zstd_frame = b"\x28\xb5\x2f\xfd"
        assert start_of_a_zstd_frame not in path.read_bytes()
        frame.write_parquet(path)
        assert start_of_a_zstd_frame in path.read_bytes()

    def test_a_rating_doubled_over_batches_is_noticed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(survey, "BATCH", 2)
        rows: list[tuple[str | None, str, str, float | None]] = [("a", f"s{n % 4}", "v", 1.0) for n in range(5)]
        assert spool(ratings(*rows), "x").survey.doubled
        assert not spool(ratings(*rows[:4]), "x").survey.doubled


class TestContracts:
    def test_a_gap_is_named_with_its_row_and_how_many_there_are(self) -> None:
        frame = pl.DataFrame({"stimulus": ["a", None, "b", None], "question": ["q"] * 4})
        with pytest.raises(InputError, match=r"x.*'stimulus'.*row 2.*2 such"):
            ITEMS.check(frame, "x")

    def test_a_column_that_may_have_gaps_may(self) -> None:
        frame = ratings((None, "s", "q", None))
        assert RATINGS.check(frame, "x").height == 1

    def test_a_missing_column_is_named_and_an_optional_one_is_not_missed(self) -> None:
        with pytest.raises(InputError, match=r"no column 'question'.\nDid you mean 'questoin'"):
            ITEMS.check(pl.DataFrame({"stimulus": ["a"], "questoin": ["q"]}), "x")
        assert STIMULI.check(pl.DataFrame({"stimulus": ["a"]}), "x").columns == ["stimulus"]

    def test_the_columns_of_the_contract_come_first_and_others_are_passed_on(self) -> None:
        frame = pl.DataFrame({"more": [1], "system": ["A"], "stimulus": ["s"]})
        assert STIMULI.check(frame, "x").columns == ["stimulus", "system", "more"]

    @pytest.mark.parametrize(
        ("rows", "doubled"),
        [([("a", "q"), ("a", "q")], 2), ([("a", "q"), ("a", "p"), ("a", "q"), ("a", "p"), ("b", "p")], 4)],
    )
    def test_rows_that_share_their_key(self, rows: list[tuple[str, str]], doubled: int) -> None:
        frame = pl.DataFrame(rows, schema=["stimulus", "question"], orient="row")
        with pytest.raises(InputError, match=f"{doubled} rows of items share their key; the first is stimulus 'a'"):
            ITEMS.check(frame, "x")

    def test_two_rows_that_differ_in_part_of_the_key_are_two(self) -> None:
        frame = pl.DataFrame({"stimulus": ["a", "a"], "question": ["q", "p"]})
        assert ITEMS.check(frame, "x").height == 2

    def test_only_ratings_are_advised_to_number_repeats(self) -> None:
        twice = pl.DataFrame({"rater": ["a", "a"]})
        with pytest.raises(InputError, match=r"Keep one row per rater where they are copies\.$"):
            RATERS.check(twice, "x")
        rated = ratings(("a", "s", "q", 1.0), ("a", "s", "q", 2.0))
        with pytest.raises(InputError, match=r"column.*'repeat'"):
            RATINGS.check(rated, "x")

    def test_ids_are_text_however_they_were_read(self) -> None:
        numbers = pl.DataFrame({"rater": [7.0, 1.5, 8.0]})
        assert RATERS.check(numbers, "x")["rater"].to_list() == ["7", "1.5", "8"]
        assert RATERS.check(pl.DataFrame({"rater": [7, 8]}), "x")["rater"].to_list() == ["7", "8"]
        beyond = pl.DataFrame({"rater": [7.0, 1e30, float("inf")]})
        assert RATERS.check(beyond, "x")["rater"].to_list() == ["7", "1e+30", "inf"]

    def test_words_for_true_and_false_and_moments_without_a_zone(self) -> None:
        frame = pl.DataFrame({"stimulus": ["a", "b", "c"], "found": ["TRUE", "false", None]})
        assert STIMULI.check(frame, "x")["found"].to_list() == [True, False, None]
        frame = pl.DataFrame({"stimulus": ["a", "b"], "found": [1, 0], "duration": ["2.5", None]})
        checked = STIMULI.check(frame, "x")
        assert (checked["found"].to_list(), checked["duration"].to_list()) == ([True, False], [2.5, None])
        at = datetime(2026, 1, 5, 10)
        stored = RATINGS.check(ratings(("a", "s", "q", 1.0)).with_columns(at=pl.lit(at)), "x")
        assert stored.schema["at"] == MOMENT
        assert stored["at"].dt.hour().to_list() == [10]
        stored = RATINGS.check(ratings(("a", "s", "q", 1.0)).with_columns(at=pl.lit(at.date())), "x")
        assert stored.schema["at"] == MOMENT
        assert stored["at"].dt.day().to_list() == [5]

    def test_columns_that_are_needed(self) -> None:
        need_columns(["a", "b"], ("b", "a"), "The table")
        with pytest.raises(InputError, match=r"The table has no column 'c'.\nIt has: a, b\."):
            need_columns(["b", "a"], ("b", "c", "d"), "The table")


class TestNumbersInText:
    @check_all(
        ("cells", "kind"),
        [
            (["1", "-2", None], pl.Int64()),
            (["1", "2.5"], pl.Float64()),
            (["1e3", "2"], pl.Float64()),
            (["01", "2"], None),
            (["+1", "2"], None),
            (["1.1", "1.10"], None),
            (["1.10", "1.20"], pl.Float64()),
            ([None, None], None),
            (["1", "x"], None),
            (["1" * 18], pl.Int64()),
            (["1" * 19], None),
            (["0." + "1" * 20], pl.Float64()),
        ],
    )
    def test_which_columns_are_numbers(self, cells: list[str | None], kind: pl.DataType | None) -> None:
        frame = pl.DataFrame({"x": cells, "n": [1] * len(cells)}, schema={"x": pl.String, "n": pl.Int64})
        assert number_schema(frame.lazy(), ["x", "n"]) == ({} if kind is None else {"x": kind})

    def test_columns_to_keep_are_kept(self) -> None:
        frame = pl.DataFrame({"x": ["1", "2"], "y": ["1", "2"]})
        assert number_types(frame, ["x"]).schema == {"x": pl.String, "y": pl.Int64}
        assert lossless_types(frame, ["x"]).schema == {"x": pl.String, "y": pl.Int64}

    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            (["1", "2"], pl.Int64),
            (["1.5", "2.0"], pl.Float64),
            (["1.50", "2.0"], pl.String),
            (["01"], pl.String),
            ([None], pl.String),
            (["1", None], pl.Int64),
        ],
    )
    def test_numbers_that_can_be_turned_back(self, cells: list[str | None], kind: type[pl.DataType]) -> None:
        frame = pl.DataFrame({"x": cells}, schema={"x": pl.String})
        assert lossless_types(frame).schema == {"x": kind}
