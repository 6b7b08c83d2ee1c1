"""The plain table formats: long, wide, votes, means."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import heartfelt
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from tests.cases import check_all


def write(tmp_path: Path, text: str, name: str = "data.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def cells(snapshot: Snapshot) -> set[tuple[str, str, str, float]]:
    return set(snapshot.ratings.select("rater", "stimulus", "question", "value").iter_rows())


class TestLong:
    def read(self, tmp_path: Path, text: str, **options: object) -> Snapshot:
        return heartfelt.read(write(tmp_path, text), "long", **options)

    def test_usual_names_are_understood(self, tmp_path: Path) -> None:
        snapshot = self.read(tmp_path, "user,file_name,dimension,score\nu,f,valence,3\n")
        assert cells(snapshot) == {("u", "f", "valence", 3.0)}

    def test_any_names_by_mapping(self, tmp_path: Path) -> None:
        text = "who;what;v;a;when;took\nu1;x;1,5;2;2025-09-20T10:00:00Z;3,25\nu2;x;2;;2025-09-20 10:00:01;4\n"
        snapshot = self.read(tmp_path, text, rater="who", stimulus="what", value="v,a", at="when", seconds="took")
        assert cells(snapshot) == {("u1", "x", "v", 1.5), ("u1", "x", "a", 2.0), ("u2", "x", "v", 2.0)}
        assert snapshot.ratings["at"][0] == datetime(2025, 9, 20, 10, tzinfo=UTC)
        assert snapshot.ratings["seconds"][0] == 3.25

    def test_a_python_mapping_states_scales(self, tmp_path: Path) -> None:
        snapshot = self.read(
            tmp_path, "rater,stimulus,question,value\nu,f,v,3\nu,f,a,1\n", scale={"v": "1-9", "a": "yes-no"}
        )
        assert snapshot.study.scale_of("v").bounds() == (1.0, 9.0)
        assert snapshot.study.scale_of("a").labels() == {0.0: "no", 1.0: "yes"}

    def test_extra_columns_stay_and_numbers_become_numbers(self, tmp_path: Path) -> None:
        snapshot = self.read(tmp_path, "rater,stimulus,question,value,device,age\nu,f,v,3,phone,31\nw,f,v,4,,32\n")
        assert snapshot.ratings.select("device", "age").rows() == [("phone", 31), (None, 32)]

    def test_columns_about_stimuli_and_raters_move_there(self, tmp_path: Path) -> None:
        text = "rater,stimulus,question,value,system,intent,age,genre\nu,f,v,3,S,happy,31,jazz\nu,g,v,4,T,sad,31,pop\n"
        snapshot = self.read(tmp_path, text, rater_columns="age", stimulus_columns="genre")
        assert snapshot.stimuli.select("stimulus", "system", "intent", "genre").rows() == [
            ("f", "S", "happy", "jazz"),
            ("g", "T", "sad", "pop"),
        ]
        assert snapshot.raters.rows() == [("u", 31)]
        assert [s.id for s in snapshot.study.systems] == ["S", "T"]

    def test_contradicting_descriptions_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"'f'.*'system'.*'S'.*'T'"):
            self.read(tmp_path, "rater,stimulus,question,value,system\nu,f,v,3,S\nw,f,v,3,T\n")

    def test_words_become_categories(self, tmp_path: Path) -> None:
        snapshot = self.read(tmp_path, "rater,stimulus,question,value\nu,f,e,sad\nw,f,e,happy\nw,g,e,sad\n")
        assert snapshot.study.scale_of("e").level == "nominal"
        assert set(snapshot.ratings.select("answer", "value").iter_rows()) == {("happy", 0.0), ("sad", 1.0)}

    def test_a_stated_order_of_words_is_used(self, tmp_path: Path) -> None:
        snapshot = self.read(
            tmp_path, "rater,stimulus,question,value\nu,f,e,no\nw,f,e,much\n", scale="ordered:no|some|much"
        )
        assert dict(snapshot.ratings.select("answer", "value").iter_rows()) == {"no": 0.0, "much": 2.0}

    def test_one_question_in_numbers_and_one_in_words(self, tmp_path: Path) -> None:
        snapshot = self.read(tmp_path, "rater,stimulus,question,value\nu,f,v,3\nu,f,e,happy\nw,f,e,sad\n")
        assert snapshot.study.scale_of("v").level == "interval"
        assert snapshot.study.scale_of("e").level == "nominal"

    @pytest.mark.slow
    @pytest.mark.parametrize("gap", ["", "NA", "NaN", "null", "N/A", " "])
    def test_gaps_in_any_spelling(self, tmp_path: Path, gap: str) -> None:
        snapshot = self.read(tmp_path, f"rater,stimulus,question,value\nu,f,v,{gap}\nw,f,v,2\n")
        assert sorted(snapshot.ratings["value"].to_list(), key=str) == [2.0, None]

    def test_spaces_around_ids_are_no_part_of_them(self, tmp_path: Path) -> None:
        snapshot = self.read(tmp_path, "rater,stimulus,question,value\n u ,f,v,1\nu,g ,v,2\n")
        assert snapshot.survey.raters == ["u"]
        assert snapshot.survey.stimuli == ["f", "g"]

    def test_parquet_with_numbers_for_ids(self, tmp_path: Path) -> None:
        path = tmp_path / "r.parquet"
        pl.DataFrame(
            {"rater": [1.0, 2.0], "stimulus": [10, 10], "question": ["v", "v"], "value": [3, 4]}
        ).write_parquet(path)
        assert cells(heartfelt.read(path, "long")) == {("1", "10", "v", 3.0), ("2", "10", "v", 4.0)}

    def test_a_rater_is_a_number_here_and_a_text_there(self, tmp_path: Path) -> None:
        write(tmp_path, "rater,age\n1.0,30\n2.0,40\n", "people.csv")
        snapshot = self.read(tmp_path, "rater,stimulus,question,value\n1,f,v,3\n2,f,v,4\n", raters="people.csv")
        assert snapshot.raters.rows() == [("1", 30), ("2", 40)]

    def test_files_that_share_no_rater_are_refused(self, tmp_path: Path) -> None:
        write(tmp_path, "rater,age\nx,30\n", "people.csv")
        with pytest.raises(InputError, match=r"data\.csv.*people\.csv"):
            self.read(tmp_path, "rater,stimulus,question,value\n1,f,v,3\n", raters="people.csv")

    def test_media_are_found_beside(self, tmp_path: Path) -> None:
        (tmp_path / "audio").mkdir()
        soundfile.write(tmp_path / "audio" / "f.wav", np.zeros(800, np.float32), 8000)
        snapshot = self.read(tmp_path, "rater,stimulus,question,value\nu,f.wav,v,3\nu,g.wav,v,4\n")
        assert snapshot.stimuli.select("stimulus", "found").rows() == [("f.wav", True), ("g.wav", False)]
        assert snapshot.counts["media_missing"] == 1

    @pytest.mark.slow
    def test_a_folder_it_wrote_reads_back_with_probed_media(self, tmp_path: Path) -> None:
        (tmp_path / "audio").mkdir()
        soundfile.write(tmp_path / "audio" / "f.wav", np.zeros(800, np.float32), 8000)
        snapshot = self.read(tmp_path, "rater,stimulus,question,value\nu,f.wav,v,3\n")
        heartfelt.export(snapshot, "long", tmp_path / "out")
        assert heartfelt.read(tmp_path / "out").hash == snapshot.hash
        (tmp_path / "out" / "stimuli.csv").write_text("stimulus,found\nf.wav,true\n")
        assert heartfelt.read(tmp_path / "out").counts["rated"] == 1

    def test_repeated_presentations_are_kept_apart(self, tmp_path: Path) -> None:
        snapshot = self.read(tmp_path, "rater,stimulus,question,value,repeat\nu,f,v,3,0\nu,f,v,5,1\n")
        assert snapshot.counts["ratings"] == 2

    def test_row_order_does_not_matter(self, tmp_path: Path) -> None:
        head, rows = "rater,stimulus,question,value\n", [f"r{i % 7},s{i},v,{i % 9 + 1}\n" for i in range(50)]
        assert (
            self.read(tmp_path, head + "".join(rows)).hash == self.read(tmp_path, head + "".join(reversed(rows))).hash
        )

    @pytest.mark.slow
    @check_all(
        ("text", "options", "problem", "fix"),
        [
            ("a,b\n1,2\n", {}, "no column is unmistakably the", 'value="COLUMN"'),
            (
                "rater,stimulus,question,value\nu,f,v,3\n",
                {"value": "valu"},
                "has no column 'valu'",
                "Did you mean 'value'?",
            ),
            ("rater,stimulus,question,value\nu,f,v,10\n", {"scale": "1-9"}, "off its scale; the first is 10", "1 to 9"),
            (
                "rater,stimulus,question,value\nu,f,v,seven\nu,g,v,3\n",
                {},
                "rater 'u' answered 'seven' on stimulus 'f'",
                "Correct the cell",
            ),
            (
                "rater,stimulus,question,value\nu,f,v,hapy\nw,f,v,sad\n",
                {"scale": "categories:happy|sad"},
                "1 answers to 'v' are 'hapy'",
                "Did you mean 'happy'?",
            ),
            (
                "rater,stimulus,question,value\nu,f,v,1\nu,f,v,2\n",
                {},
                "rater 'u' on stimulus 'f', question 'v' (2 times: 1, 2)",
                "repeat",
            ),
            ("rater,stimulus,question,value\nu,,v,1\n", {}, "line 2: the column 'stimulus' is empty", "Fill in"),
            (
                "rater,stimulus,question,value,position\nu,f,v,1,x\n",
                {},
                "line 2, column 'position': 'x' is not a number",
                "Correct",
            ),
            ("rater,stimulus,question,value,position\nu,f,v,1,1.5\n", {}, "'1.5' is not a whole number", "Correct"),
            ("rater,stimulus,question,value\nu,f,v,1\n", {"scale": "1 to 9"}, "does not state a scale", "1-9"),
            ("rater,stimulus,question,value\nu,f,v,1\n", {"media": "nowhere"}, "no media folder", "relative"),
            ("rater,stimulus,question,value,path\nu,f,v,1,../x.wav\n", {}, "leads out of", "relative"),
            ("rater,stimulus,question,value\nu,f,v,inf\n", {}, "the first is inf", "Correct"),
            ("rater,stimulus,question,value\n", {}, "holds no ratings", "one answer per row"),
            (
                "rater,stimulus,valence,arousal\nu,f,,\n",
                {"value": "valence,arousal"},
                "holds no ratings",
                "one answer per row",
            ),
        ],
    )
    def test_mistakes_name_the_place_and_the_fix(
        self, tmp_path: Path, text: str, options: dict[str, str], problem: str, fix: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            self.read(tmp_path, text, **options)
        assert problem in caught.value.problem
        assert fix in caught.value.fix

    def test_an_unreadable_moment_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"line 3.*'at'.*'yesterday'"):
            self.read(tmp_path, "rater,stimulus,question,value,at\nu,f,v,1,2025-01-01\nu,g,v,1,yesterday\n")


class TestWide:
    SURVEY = "id,age,valence_1,valence_2,arousal_1,arousal_2\na,30,7,,2,3\nb,,1,2,,4\n"

    def test_one_row_per_person_with_gaps(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, self.SURVEY), "wide", scale="1-7")
        assert cells(snapshot) == {
            ("a", "1", "valence", 7.0),
            ("a", "1", "arousal", 2.0),
            ("a", "2", "arousal", 3.0),
            ("b", "1", "valence", 1.0),
            ("b", "2", "valence", 2.0),
            ("b", "2", "arousal", 4.0),
        }
        assert snapshot.raters.rows() == [("a", 30), ("b", None)]

    def test_without_an_id_rows_are_numbered(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, "valence_1,valence_2\n1,2\n3,\n"), "wide")
        assert cells(snapshot) == {
            ("row1", "1", "valence", 1.0),
            ("row1", "2", "valence", 2.0),
            ("row2", "1", "valence", 3.0),
        }

    def test_one_row_per_stimulus(self, tmp_path: Path) -> None:
        path = write(tmp_path, "file,system,r1,r2,r3\nx.png,A,1,2,\ny.png,B,3,,4\n")
        snapshot = heartfelt.read(path, "wide", rows="stimulus", pattern="r{rater}", question="quality")
        assert cells(snapshot) == {
            ("1", "x.png", "quality", 1.0),
            ("2", "x.png", "quality", 2.0),
            ("1", "y.png", "quality", 3.0),
            ("3", "y.png", "quality", 4.0),
        }
        assert snapshot.stimuli["system"].to_list() == ["A", "B"]

    def test_the_stimulus_may_come_first(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(
            write(tmp_path, "pid,clip7.happy,clip7.sad\nu,1,0\n"), "wide", pattern="{stimulus}.{question}"
        )
        assert cells(snapshot) == {("u", "clip7", "happy", 1.0), ("u", "clip7", "sad", 0.0)}

    def test_answers_in_words(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, "pid,e_1,e_2\nu,sad,happy\nw,happy,\n"), "wide")
        assert snapshot.study.scale_of("e").level == "nominal"
        assert snapshot.counts["ratings"] == 3

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("text", "options", "problem"),
        [
            ("id,age\na,3\n", {}, "no column name fits the pattern"),
            ("id,v_1,v_2\na,3,x\nb,1,2\n", {}, "line 2, column 'v_2': 'x' is not a number"),
            ("id,v_1,v_2\na,3,8\n", {"scale": "1-7"}, "off its scale; the first is 8"),
            ("id,v_1,v_2\na,3,4\na,1,2\n", {"id": "id"}, "id 'a' is there more than once"),
            ("id,v_1,v_2\na,3,4\n", {"pattern": "{q}_{stimulus}"}, "holds {q}"),
            ("id,v_1,v_2\na,3,4\n", {"rows": "person"}, "rows=person is not possible"),
            ("id,v_1,v_2\na,3,4\n", {"id": "idd"}, "has no column 'idd'"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, text: str, options: dict[str, str], problem: str) -> None:
        with pytest.raises(InputError) as caught:
            heartfelt.read(write(tmp_path, text), "wide", **options)
        assert problem in caught.value.problem


class TestVotes:
    def test_counts_become_ratings_without_a_rater(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, "item,awe,fear,total,source\nx,3,1,4,web\ny,0,2,2,web\n"), "votes")
        counted = snapshot.ratings.group_by("stimulus", "answer").len().sort("stimulus", "answer").rows()
        assert counted == [("x", "awe", 3), ("x", "fear", 1), ("y", "fear", 2)]
        assert snapshot.ratings["rater"].null_count() == 6
        assert snapshot.raters.height == 0
        assert snapshot.items["source"].to_list() == ["web", "web"]

    def test_a_question_column_and_an_order(self, tmp_path: Path) -> None:
        text = "file,question,not,weak,strong\nx,Anger,1,1,1\nx,Awe,0,0,3\n"
        snapshot = heartfelt.read(write(tmp_path, text), "votes", ordered=True)
        assert snapshot.study.scale_of("Awe").level == "ordinal"
        assert snapshot.ratings.filter(pl.col("question") == "Awe")["value"].to_list() == [2.0, 2.0, 2.0]

    def test_an_item_without_votes_stays_listed(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, "item,a,b\nx,1,2\ny,0,0\n"), "votes")
        assert snapshot.counts["unrated"] == 1

    def test_a_sum_is_no_category(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, "item,a,b,everyone\nx,1,2,3\ny,2,0,2\n"), "votes")
        assert list(snapshot.study.scale_of("category").labels().values()) == ["a", "b"]

    @pytest.mark.parametrize(
        ("text", "options", "problem"),
        [
            ("item,a,b\nx,1,-2\n", {"categories": "a,b"}, "-2 is not a number of votes"),
            ("item,a,b\nx,1,0.5\n", {"categories": "a,b"}, "0.5 is not a number of votes"),
            ("item,a\nx,1\n", {}, "fewer than two columns hold counts"),
            ("item,a,b\nx,1,2\nx,3,4\n", {}, "item 'x' is there more than once"),
            ("item,a,b\n", {}, "no rows"),
            ("item,a,b\nx,1,2\n", {"categories": "a,c"}, "has no column 'c'"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, text: str, options: dict[str, str], problem: str) -> None:
        with pytest.raises(InputError) as caught:
            heartfelt.read(write(tmp_path, text), "votes", **options)
        assert problem in caught.value.problem


class TestMeans:
    @pytest.mark.parametrize(
        ("text", "options"),
        [
            ("file,valence_mean,valence_sd,valence_n,kind\nx,4.5,1.5,10,a\n", {}),
            ("name,mos_valence,std_valence,n_valence,kind\nx,4.5,1.5,10,a\n", {}),
            ("clip,m,s,k,kind\nx,4.5,1.5,10,a\n", {"mean": "m", "sd": "s", "n": "k", "question": "valence"}),
            (
                "clip;avg valence;sd valence;n valence;kind\nx;4,5;1,5;10;a\n",
                {"mean": "avg {question}", "sd": "sd {question}", "n": "n {question}"},
            ),
        ],
    )
    def test_many_spellings_of_the_same(self, tmp_path: Path, text: str, options: dict[str, str]) -> None:
        snapshot = heartfelt.read(write(tmp_path, text), "means", **options)
        assert snapshot.means.select("stimulus", "question", "mean", "sd", "n").rows() == [
            ("x", "valence", 4.5, 1.5, 10)
        ]
        assert snapshot.stimuli["kind"].to_list() == ["a"]
        assert snapshot.counts["ratings"] == 0

    def test_a_plain_mean(self, tmp_path: Path) -> None:
        snapshot = heartfelt.read(write(tmp_path, "clip,mos,n\nx,4.5,3\n"), "means")
        assert snapshot.means.rows() == [("x", "rating", 4.5, 3)]

    @pytest.mark.parametrize(
        ("text", "options", "problem"),
        [
            ("clip,x\na,1\n", {}, "no column is unmistakably a mean"),
            ("clip,mos\na,4\n", {"stimulus": "mos", "mean": "mos"}, "'mos' cannot play two parts"),
            ("clip,v_mean\na,8\n", {"scale": "1-7"}, "line 2, column 'v': the mean 8 is off the scale"),
            ("clip,v_mean,v_sd\na,3,-1\n", {}, "-1 is below 0"),
            ("clip,v_mean\na,3\na,4\n", {}, "clip 'a' is there more than once"),
            ("clip,v_mean\na,three\n", {}, "'three' is not a number"),
            ("clip,v_mean\n", {}, "no rows"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, text: str, options: dict[str, str], problem: str) -> None:
        with pytest.raises(InputError) as caught:
            heartfelt.read(write(tmp_path, text), "means", **options)
        assert problem in caught.value.problem


class TestPublicData:
    def test_agiqa(self, shared_data: Path) -> None:
        snapshot = heartfelt.read(shared_data / "agiqa" / "data.csv", "means")
        assert snapshot.counts["stimuli"] == 2982
        assert sorted(snapshot.means["question"].unique()) == ["align", "quality"]
        assert {"prompt", "adj1", "adj2", "style"} <= set(snapshot.stimuli.columns)

    def test_oasis(self, shared_data: Path) -> None:
        snapshot = heartfelt.read(shared_data / "oasis", "means", scale="1-7")
        assert (snapshot.counts["stimuli"], snapshot.counts["media_missing"]) == (433, 0)
        assert snapshot.study.media == "image"
        assert snapshot.means.filter(pl.col("stimulus") == "Acorns_1.jpg", pl.col("question") == "valence").select(
            "mean", "sd", "n"
        ).row(0) == (4.68627451, 0.954202712, 102)
