"""Other tools' files as they are: every tool's example is recognised and read without options.

Where the layouts of the examples and of the tables below come from:

- PsychoPy: psychopy/psychopy ``psychopy/data/experiment.py`` (saveAsWideText: order of columns, byte order mark, comma at the end
  of a line, ``None``), ``psychopy/data/trial.py`` (TrialHandler2: thisN, thisTrialN, thisRepN) and
  ``experiment/components/slider`` (response, rt); psychopy/psychojs ``src/data/ExperimentHandler.js`` for Pavlovia.
- jsPsych: jspsych/jsPsych ``packages/jspsych/src/modules/data/utils.ts`` (JSON2CSV: all cells quoted, ``null``),
  ``src/timeline/Trial.ts`` (trial_type, trial_index, plugin_version) and ``docs/plugins/audio-slider-response.md``. JATOS (a list
  of trials per line): documentation of the R package jspsychread. Version 6 (button_pressed, responses): general knowledge.
- Gorilla: its own page on data columns could not be read. Task Builder 1: data dictionary in the read-me of
  jgeller112/L2_VWP_Webcam. Task Builder 2: columns in public analyses of such data (Response Type, Object Name, Spreadsheet: …).
- PsyToolkit: a third-party reader of its downloads (data.csv, experiment_data).
- Qualtrics: support page "Understanding Your Dataset"; ropensci/qualtRics ``tests/testthat/files/sample.csv``. Previews: the R
  package excluder (Status), public analyses (DistributionChannel).
- LimeSurvey: LimeSurvey/LimeSurvey ``application/helpers/admin/export/Writer.php``, ``CsvWriter.php``; ``common_helper.php``
  (createFieldMap: texts of its own columns). Codes of answers (AO01, A1): general knowledge.
- REDCap: OuhscBbmc/REDCapR ``inst/test-data/projects`` (vignette-repeating, longitudinal-with-repeating-instrument) and
  ``inst/test-data/specific-redcapr/read-oneshot/label-header.R``; labels of the repeat columns: R scripts that REDCap writes.
- Google Forms: lesmana/google-sheet-format-form-grid-responses ``DEMONSTRATION.md`` (columns of a grid). The time stamp's name in
  other languages: general knowledge; no source was at hand.
- Label Studio: documentation "Label Studio Task Format"; HumanSignal/label-studio-sdk ``src/label_studio_sdk/converter``
  (converter.py, utils.py prettify_result, exports/csv2.py).
- Potato: source (user_state_management). BeaqleJS: source (js/beaqle.js, web_service). Go Listen: source (download_csv).
- Prolific: prolific-oss/cli ``cmd/study`` (tests of demographic-export) and headers in public analyses of such exports. Its older
  layout (session_id, entered_code): general knowledge; no source was at hand.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.formats import FORMATS
from heartfelt.formats.format import candidates
from heartfelt.formats.tools.export import ToolExport
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.scale import Tags
from tests.cases import check_all
from tests.facts import mentions
from tests.formats.workbook_files import write_xlsx

CLIPS = [f"clip{number:02d}" for number in range(1, 7)]
BOTH = ["valence", "arousal"]


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a tool's example holds, read off its files by eye."""

    stimuli: list[str]
    questions: list[str]
    ratings: int
    one: dict[str, Any]
    """One rating."""
    left_out: dict[str, int] = field(default_factory=dict)


EXPECTED = {
    "psychopy": Expected(
        stimuli=[f"clips/{clip}.wav" for clip in CLIPS],
        questions=BOTH,
        ratings=47,
        one={"rater": "s01", "stimulus": "clips/clip05.wav", "question": "arousal", "value": 7},
        left_out={"practice trial": 4, "no answer in the row (instructions, fixation, breaks)": 4},
    ),
    "jspsych": Expected(
        stimuli=[f"audio/{clip}.wav" for clip in CLIPS],
        questions=BOTH,
        ratings=48,
        one={
            "rater": "participant_01", "stimulus": "audio/clip05.wav", "question": "valence", "value": 88,
            "seconds": 1.115, "position": 11,
        },
        left_out={
            "practice trial": 4,
            "instructions, consent or fixation": 36,
            "answer without a stimulus (questions about the participant)": 4,
        },
    ),
    "gorilla": Expected(
        stimuli=[f"{clip}.mp3" for clip in CLIPS],
        questions=BOTH,
        ratings=48,
        one={"rater": "5430001", "stimulus": "clip01.mp3", "question": "valence", "value": 3, "seconds": 2.8763},
        left_out={
            "practice trial": 4,
            "event that is no response (fixation, instructions, continue)": 36,
            "end of the file": 1,
        },
    ),
    "psytoolkit": Expected(
        stimuli=[f"{clip}.wav" for clip in CLIPS],
        questions=["rating"],
        ratings=24,
        one={
            "rater": "s.1a2b3c4d-0000-4e5f-8a9b-0123456789a1", "stimulus": "clip03.wav", "value": 6, "seconds": 2.089,
        },
    ),
    "qualtrics": Expected(
        stimuli=CLIPS,
        questions=BOTH,
        ratings=48,
        one={"rater": "R_1abcDEF", "stimulus": "clip06", "question": "valence", "value": 8},
        left_out={"preview of the survey": 1},
    ),
    "limesurvey": Expected(
        stimuli=CLIPS,
        questions=BOTH,
        ratings=42,
        one={"rater": "1", "stimulus": "clip01", "question": "arousal", "value": 2},
    ),
    "redcap": Expected(
        stimuli=[f"{clip}.wav" for clip in CLIPS],
        questions=BOTH,
        ratings=48,
        one={"rater": "1", "stimulus": "clip02.wav", "question": "arousal", "value": 4},
    ),
    "google-forms": Expected(
        stimuli=[f"Clip {number}" for number in range(1, 7)],
        questions=["How pleasant is the clip?", "How energetic is the clip?"],
        ratings=48,
        one={"rater": "row1", "stimulus": "Clip 6", "question": "How pleasant is the clip?", "value": 9},
    ),
    "label-studio": Expected(
        stimuli=[f"{clip}.wav" for clip in CLIPS],
        questions=[*BOTH, "emotion"],
        ratings=69,
        one={"rater": "1", "stimulus": "clip01.wav", "question": "valence", "value": 2},
        left_out={
            "annotation of type 'labels', which is about a part of the item": 1,
            "task that the annotator skipped": 1,
        },
    ),
    "potato": Expected(
        stimuli=CLIPS,
        questions=["valence", "emotion", "arousal"],
        ratings=72,
        one={"rater": "annotator1", "stimulus": "clip01", "question": "emotion", "answer": "sad", "seconds": 5},
        left_out={"attention check or page that is no item": 4},
    ),
    "beaqlejs": Expected(
        stimuli=[f"id{test}/{name}" for test in (1, 2, 3) for name in ("reference", "1", "2", "Anchor")],
        questions=["quality"],
        ratings=48,
        one={"rater": "20261001-1001_listener10", "stimulus": "id1/1", "value": 67, "role": "member"},
        left_out={"test that was not taken, or an ABX test, whose result does not name its files": 4},
    ),
    "golisten": Expected(
        stimuli=[f"Example {test}/{name}" for test in (1, 2) for name in ("reference", "codec", "anchor")],
        questions=["quality"],
        ratings=24,
        one={"rater": "listener1", "stimulus": "Example 2/codec", "value": 61, "role": "member", "seconds": 43.5},
    ),
}  # fmt: skip
TOOLS = [name for name in FORMATS.names() if isinstance(FORMATS[name], ToolExport)]


def answer(snapshot: Snapshot, **about: Any) -> Any:
    """The value of the one rating of this rater, stimulus and question."""
    row = snapshot.ratings.filter(*(pl.col(name) == value for name, value in about.items()))
    assert row.height == 1, about
    return row["value"][0]


def left_out(snapshot: Snapshot) -> Counter[str]:
    return Counter(snapshot.ledger["reason"].to_list())


def test_every_tool_is_tested() -> None:
    assert set(TOOLS) == set(EXPECTED)


@pytest.mark.slow
@check_all("name", TOOLS)
def test_a_tools_files_are_read_without_options(name: str, tmp_path: Path) -> None:
    source, expected = FORMATS[name].example(tmp_path), EXPECTED[name]
    assert candidates(source) == [name]
    snapshot = heartfelt.read(source)
    assert snapshot.source.format == name
    assert snapshot.counts["raters"] == 4
    assert set(snapshot.survey.stimuli) == set(expected.stimuli)
    assert set(snapshot.survey.questions) == set(expected.questions)
    assert snapshot.ratings.height == expected.ratings
    same = snapshot.ratings.filter(*(pl.col(key) == value for key, value in expected.one.items()))
    assert same.height == 1
    assert left_out(snapshot) == expected.left_out


@pytest.mark.slow
@check_all("name", TOOLS)
def test_rows_can_be_selected_in_every_tools_files(name: str, tmp_path: Path) -> None:
    column = {
        "psychopy": "participant=s01|s02", "jspsych": "task=rating", "gorilla": "Participant Private ID=5430001|5430002",
        "psytoolkit": "participant_file!=s.1a2b3c4d-0000-4e5f-8a9b-0123456789a1", "qualtrics": "Age<23", "limesurvey": "lastpage=8",
        "redcap": "record_id<3", "google-forms": "How old are you?<23", "label-studio": "rater=1|2", "potato": "rater=annotator1",
        "beaqlejs": "trial_id=id1|id2", "golisten": "trial_id=Example 1",
    }[name]  # fmt: skip
    snapshot = heartfelt.read(FORMATS[name].example(tmp_path), where=column)
    assert 0 < snapshot.ratings.height <= EXPECTED[name].ratings - (0 if name == "jspsych" else 1)
    assert any("do not meet the condition" in reason for reason in snapshot.ledger["reason"])


@pytest.mark.slow
def test_facts_about_participants_are_facts_about_raters(tmp_path: Path) -> None:
    ages = {
        "psytoolkit": ("age_1", [23, 26, 29, 32]),
        "redcap": ("age", [21, 22, 23, 24]),
        "qualtrics": ("Age", [21, 22, 23, 24]),
        "limesurvey": ("age", [21, 22, 23, 24]),
    }
    for name, (column, expected) in ages.items():
        snapshot = heartfelt.read(FORMATS[name].example(tmp_path / name))
        assert snapshot.raters.sort("rater")[column].to_list() == expected, name


def test_names_and_addresses_of_listeners_are_not_read(tmp_path: Path) -> None:
    for name, entered in (("golisten", "Listener 1"), ("beaqlejs", "listener 1")):
        snapshot = heartfelt.read(FORMATS[name].example(tmp_path / name))
        assert entered not in str(snapshot.raters.to_dicts()) + str(snapshot.ratings.to_dicts())


def jspsych_trials(rater: str, response: Any, **more: Any) -> list[dict[str, Any]]:
    base = {"time_elapsed": 1000, "subject_id": rater, "rt": 900}
    return [
        {**base, "trial_type": "instructions", "trial_index": 0, "view_history": [{"page_index": 0}]},
        *(
            {
                **base,
                "trial_type": "survey-likert",
                "trial_index": at,
                "clip": f"{clip}.wav",
                "response": response,
                **more,
            }
            for at, clip in enumerate(CLIPS[:3], 1)
        ),
    ]


def test_jspsych_as_json_with_forms_whose_fields_are_questions(tmp_path: Path) -> None:
    trials = [*jspsych_trials("a", {"pleasant": 3, "lively": 1}), *jspsych_trials("b", {"pleasant": 2, "lively": 4})]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(trials), encoding="utf-8")
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "jspsych"
    assert answer(snapshot, rater="b", stimulus="clip02.wav", question="lively") == 4
    assert snapshot.ratings.height == 12
    assert left_out(snapshot) == {"trial of type 'instructions'": 2}


def test_jspsych_6_writes_buttons_and_forms_in_columns_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(
        '"rt","stimulus","button_pressed","trial_type","trial_index","time_elapsed","internal_node_id","subject","responses"\r\n'
        '"900","a.wav","3","audio-button-response","0","1000","0.0-0.0","p1",""\r\n'
        '"800","b.wav","1","audio-button-response","1","2000","0.0-1.0","p1",""\r\n'
        '"null","c.wav","null","audio-button-response","2","3000","0.0-2.0","p1",""\r\n'
        '"950","","","survey-text","3","4000","0.0-3.0","p1","{""Q0"":""31""}"\r\n',
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert answer(snapshot, rater="p1", stimulus="a.wav", question="rating") == 3
    assert left_out(snapshot) == {
        "no answer in the row": 1,
        "answer without a stimulus (questions about the participant)": 1,
    }


def test_jspsych_on_jatos_has_a_list_of_trials_per_line(tmp_path: Path) -> None:
    def line(*ratings: int) -> str:
        trial = {"trial_type": "audio-slider-response", "time_elapsed": 1000}
        return json.dumps(
            [
                {**trial, "trial_index": at, "stimulus": f"{CLIPS[at]}.wav", "response": value}
                for at, value in enumerate(ratings)
            ]
        )

    for name in ("results.txt", "results.json"):
        (tmp_path / name).write_text(f"{line(1, 2)}\n{line(3, 4)}\n", encoding="utf-8")
        snapshot = heartfelt.read(tmp_path / name)
        assert snapshot.source.format == "jspsych"
        assert answer(snapshot, rater="line2", stimulus="clip01.wav") == 3


def test_psychopys_numbers_of_trials_do_not_name_the_stimulus(tmp_path: Path) -> None:
    path = tmp_path / "p1.csv"
    path.write_text(
        "sentence,trials.thisN,thisRow.t,notes,thisN,thisTrialN,slider.response,slider.rt,participant,psychopyVersion,\n"
        "It rains,0,.4,,0,0,3,1.2,p1,2024.2.4,\nSnow,1,5.4,,1,1,5,.9,p1,2024.2.4,\nHail,2,9.4,,2,2,None,None,p1,2024.2.4,\n",
        encoding="utf-8-sig",
    )
    snapshot = heartfelt.read(path)
    assert snapshot.ratings.select("stimulus", "value", "seconds").rows() == [("It rains", 3, 1.2), ("Snow", 5, 0.9)]
    assert left_out(snapshot) == {"no answer in the row (instructions, fixation, breaks)": 1}


def test_jspsych_shows_html_and_the_file_in_it_is_the_stimulus(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = [
        ["image-slider-response", at, 1000 * at, "p1", f'<img class="x" src="img/{clip}.png">', at]
        for at, clip in enumerate(CLIPS[:3], 1)
    ]
    columns = ["trial_type", "trial_index", "time_elapsed", "participant", "stimulus", "response"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(path)
    snapshot = heartfelt.read(path)
    assert set(snapshot.survey.stimuli) == {"img/clip01.png", "img/clip02.png", "img/clip03.png"}
    assert list(snapshot.survey.questions) == ["rating"]


def test_gorillas_task_builder_2_names_objects_and_spreadsheet_columns(tmp_path: Path) -> None:
    rows = [
        {
            "Event Index": str(at), "Participant Private ID": "77", "Trial Number": str(at), "Screen": "Rate",
            "Response Type": kind, "Object Name": "Pleasantness", "Response": response, "Reaction Time": "1500",
            "Spreadsheet: audio": f"{CLIPS[at % 3]}.mp3", "Spreadsheet: display": "Trial",
        }
        for at, (kind, response) in enumerate([("response", "4"), ("info", "play"), ("response", "2"), ("action", None)])
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "task.csv")
    snapshot = heartfelt.read(tmp_path / "task.csv")
    assert answer(snapshot, stimulus="clip03.mp3", question="Pleasantness") == 2
    assert sum(left_out(snapshot).values()) == 2


def test_gorillas_own_columns_do_not_name_the_stimulus(tmp_path: Path) -> None:
    path = tmp_path / "task.csv"
    path.write_text(
        "Event Index,Participant Private ID,Trial Number,Screen Name,Zone Name,Zone Type,Reaction Time,Reaction Onset,"
        "Response Type,Response,Attempt,Timed Out,randomise_trials,display,sentence\n"
        "1,77,1,Rate,scale,response_slider_endValue,900,1,,4,1,,1,Trials,It rains\n"
        "2,77,2,Rate,scale,response_slider_endValue,800,1,,2,2,1,2,Trials,Snow\n"
        "3,77,2,Rate,next,continue_button,100,1,continue_button,,1,,2,Trials,Snow\n",
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert answer(snapshot, stimulus="Snow", question="scale") == 2
    assert sum(left_out(snapshot).values()) == 1


def test_psytoolkit_says_which_columns_to_name_and_takes_them(tmp_path: Path) -> None:
    folder = tmp_path / "download" / "experiment_data"
    folder.mkdir(parents=True)
    for rater in ("a", "b"):
        lines = [f"{at} {at % 5 + 1} {5 - at % 5} {CLIPS[at]}.wav" for at in range(5)]
        (folder / f"{rater}.txt").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"row.*0 1 5 clip01\.wav") as problem:
        heartfelt.read(tmp_path / "download")
    assert 'columns="block,stimulus,rating,rt"' in problem.value.fix
    options = {"columns": "trial_number,valence,arousal,stimulus", "value": "valence,arousal"}
    snapshot = heartfelt.read(tmp_path / "download", **options)
    assert answer(snapshot, rater="b", stimulus="clip02.wav", question="arousal") == 4


def test_qualtrics_in_another_language_with_choice_texts(tmp_path: Path) -> None:
    path = tmp_path / "umfrage.csv"
    names = ["StartDate", "Status", "Finished", "ResponseId", "DistributionChannel", "valence_c1", "valence_c2"]
    texts = [
        "Anfangsdatum",
        "Antworttyp",
        "Beendet",
        "Antwort-ID",
        "Verteilungskanal",
        "Wie angenehm?",
        "Wie angenehm?",
    ]
    ids = ["startDate", "status", "finished", "_recordId", "distributionChannel", "QID1", "QID2"]
    rows = [
        ["2026-10-01 10:00:00", "Umfragevorschau", "True", "R_0", "preview", "9", "9"],
        ["2026-10-01 10:05:00", "IP-Adresse", "True", "R_1", "anonymous", "3", "4"],
        ["2026-10-01 10:06:00", "IP-Adresse", "False", "R_2", "anonymous", "5", "1"],
    ]
    header = [names, texts, [json.dumps({"ImportId": name}) for name in ids]]
    pl.DataFrame([*header, *rows], orient="row").write_csv(path, include_header=False)
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "qualtrics"
    assert left_out(snapshot) == {"preview of the survey": 1}
    assert answer(snapshot, rater="R_2", stimulus="c1", question="valence") == 5


def test_limesurvey_with_codes_and_texts_as_headings(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    own = ["id. Response ID", "submitdate. Date submitted", "lastpage. Last page", "startlanguage. Start language"]
    asked = [f"{clip}[V]. Listen to {clip}. [How pleasant?]" for clip in CLIPS[:3]]
    lines = [[*own, *asked], ["1", "2026-10-01", "3", "en", "A4", "A2", "A1"], ["2", "", "3", "en", "A5", "A3", ""]]
    text = "\r\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    path.write_text(f"{text}\r\n\r\n", encoding="utf-8-sig", newline="")
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "limesurvey"
    assert answer(snapshot, rater="2", stimulus="clip02", question="V") == 3


def test_limesurvey_with_texts_as_headings_and_clips_as_rows_of_an_array(tmp_path: Path) -> None:
    columns = ["Response ID", "Date submitted", "Last page", "Start language"]
    answers = {f"How pleasant is it? [{clip}]": ["4", "2"] for clip in CLIPS[:3]}
    own = dict(zip(columns, (["1", "2"], ["2026-10-01", "2026-10-01"], ["3", "3"], ["en", "en"]), strict=True))
    pl.DataFrame({**own, **answers}).write_csv(tmp_path / "results.csv", separator=";")
    snapshot = heartfelt.read(tmp_path / "results.csv")
    assert snapshot.source.format == "limesurvey"
    assert answer(snapshot, rater="2", stimulus="clip03", question="How pleasant is it?") == 2


def test_redcap_with_a_column_per_clip(tmp_path: Path) -> None:
    rows = {"record_id": ["1", "2"], "age": ["20", "30"], "valence_1": ["4", "5"], "valence_2": ["1", "2"]}
    pl.DataFrame({**rows, "ratings_complete": ["2", "2"]}).write_csv(tmp_path / "redcap.csv")
    snapshot = heartfelt.read(tmp_path / "redcap.csv")
    assert snapshot.source.format == "redcap"
    assert answer(snapshot, rater="2", stimulus="1", question="valence") == 5
    assert snapshot.raters["ratings_complete"].to_list() == [2, 2]


def test_redcap_with_events_and_another_repeating_instrument(tmp_path: Path) -> None:
    path = tmp_path / "redcap.csv"
    path.write_text(
        "record_id,redcap_event_name,redcap_repeat_instrument,redcap_repeat_instance,age,intake_complete,clip,valence,"
        "rating_complete,med,dose,medication_complete\n"
        "1,visit_1_arm_1,,,21,2,,,,,,\n1,visit_1_arm_1,rating,1,,,a.wav,3,2,,,\n1,visit_1_arm_1,rating,2,,,b.wav,4,2,,,\n"
        "1,visit_1_arm_1,medication,1,,,,,,Aspirin,100,2\n1,visit_2_arm_1,,,,2,,,,,,\n1,visit_2_arm_1,rating,1,,,c.wav,5,2,,,\n"
        "2,visit_1_arm_1,,,35,2,,,,,,\n2,visit_1_arm_1,rating,1,,,a.wav,1,2,,,\n",
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert snapshot.ratings.select("rater", "stimulus", "question", "value").rows() == [
        ("1", "a.wav", "valence", 3), ("1", "b.wav", "valence", 4), ("1", "c.wav", "valence", 5), ("2", "a.wav", "valence", 1),
    ]  # fmt: skip
    assert snapshot.raters.sort("rater")["age"].to_list() == [21, 35]
    assert left_out(snapshot) == {"row of the instrument 'medication', which has no stimulus": 1}


def test_redcap_with_labels_whose_states_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        '"Record ID","Repeat Instrument","Repeat Instance","Age (years)","Complete?","Clip","How pleasant?","Complete?"\n'
        '1,,,21,Complete,,,\n1,Rating,1,,,a.wav,"5 - very",Complete\n1,Rating,2,,,b.wav,2,Complete\n'
        "2,,,35,Complete,,,\n2,Rating,1,,,a.wav,4,Complete\n",
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "redcap"
    assert answer(snapshot, rater="1", stimulus="a.wav", question="How pleasant?") == 5
    assert snapshot.raters.sort("rater")["Age (years)"].to_list() == [21, 35]


def test_google_forms_with_one_text_for_several_questions(tmp_path: Path) -> None:
    path = tmp_path / "form.csv"
    path.write_text(
        "Timestamp,Participant ID,How pleasant is it?,How pleasant is it?,How pleasant is it?\n"
        "2026/10/01 10:00:00 AM,p1,1 - not at all,2,3\n2026/10/01 10:05:00 AM,p2,3,2,5 - very\n",
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert answer(snapshot, rater="p2", stimulus="3", question="How pleasant is it?") == 5
    assert any("numbered in order" in note for note in snapshot.source.notes)


def test_google_forms_with_the_clip_before_a_colon_from_a_spreadsheet(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    header = ["Timestamp", *(f"{clip}: How {word}?" for clip in CLIPS[:2] for word in ("pleasant", "lively"))]
    path = write_xlsx(tmp_path / "form.xlsx", {"Form responses 1": [header, ["2026-10-01", 1, 2, 3, 4]]})
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "google-forms"
    assert answer(snapshot, stimulus="clip02", question="How pleasant?") == 3


@pytest.mark.slow
def test_label_studios_small_export_as_json_and_csv(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "annotation_id": 10 * at + by, "annotator": by, "audio": f"/data/local-files/?d=audio/{clip}.wav",
            "created_at": "2026-10-01T10:00:00Z", "emotion": "calm" if by == 1 else {"choices": ["calm", "sad"]}, "id": at,
            "lead_time": 3.5, "part": [{"start": 0.5, "end": 1.0, "labels": ["noise"]}], "quality": [{"rating": at + by}],
            "said": [{"author": "A", "text": "Hello"}], "system": "A", "updated_at": "2026-10-01T10:00:00Z",
        }
        for at, clip in enumerate(CLIPS[:3], 1)
        for by in (1, 2)
    ]  # fmt: skip
    (tmp_path / "min.json").write_text(json.dumps(rows), encoding="utf-8")
    flat = [{k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()} for row in rows]
    people: dict[Any, str] = {1: "ann@example.org", 2: "bob@example.org"}
    pl.DataFrame([{**row, "annotator": people[row["annotator"]]} for row in flat]).write_csv(tmp_path / "min.csv")
    for path, rater in ((tmp_path / "min.json", "2"), (tmp_path / "min.csv", "annotator2")):
        snapshot = heartfelt.read(path)
        assert snapshot.source.format == "label-studio"
        assert answer(snapshot, rater=rater, stimulus="audio/clip03.wav", question="quality") == 5
        assert isinstance(snapshot.study.scale_of("emotion"), Tags)
        assert set(snapshot.survey.questions) == {"quality", "emotion"}
        assert set(snapshot.stimuli["system"]) == {"A"}
        assert left_out(snapshot) == {"annotation 'part', which is about a part of the item": 6}
        assert "example.org" not in str(snapshot.raters.to_dicts()) + str(snapshot.ratings.to_dicts())


def test_potato_as_one_table_with_several_labels(tmp_path: Path) -> None:
    path = tmp_path / "annotated_instances.tsv"
    path.write_text(
        "user\tinstance_id\tdisplayed_text\temotion:::sad\temotion:::calm\tvalence:::scale_4\n"
        "u1\tc1\ta\ttrue\ttrue\t4\nu1\tc2\tb\t\ttrue\t4\nu2\tc1\ta\ttrue\t\t4\n",
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "potato"
    assert isinstance(snapshot.study.scale_of("emotion"), Tags)
    assert answer(snapshot, rater="u2", stimulus="c1", question="valence") == 4


def test_go_listens_acr_test_is_ratings_of_single_clips(tmp_path: Path) -> None:
    path = tmp_path / "acr.csv"
    path.write_text(
        'Tags,,,codec a,,codec b,\nName,Date,"Headphones?","Clip 1 rating",Time (s),"Clip 2 rating",Time (s)\n'
        'Ann,2026-10-01 10:00:00,yes,"4",8.5,"2",7\nBob,2026-10-01 10:05:00,yes,"5",6,"1",5\n',
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "golisten"
    assert answer(snapshot, rater="listener2", stimulus="Clip 1") == 5
    assert snapshot.ratings["seconds"].to_list() == [8.5, 7.0, 6.0, 5.0]
    assert "Ann" not in str(snapshot.raters.to_dicts())


_TIMES = (
    "2026-10-01T12:27:09.179000Z,2026-10-01T12:46:18.540000Z,2026-10-01T23:35:53.040000Z,2026-10-01T12:46:19.217499Z"
)
PROLIFIC = f"""Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Reviewed at,Archived at,\
Time taken,Completion code,Total approvals,Age,Sex,Ethnicity simplified,Country of birth,Language,Student status
61,5f0000000000000000000001,APPROVED,Not Applicable,{_TIMES},601,C1,12,34,Female,White,Spain,Spanish,No
62,5f0000000000000000000002,APPROVED,Not Applicable,{_TIMES},544,C1,9,DATA_EXPIRED,Male,CONSENT_REVOKED,Spain,Spanish,Yes
63,5f0000000000000000000009,RETURNED,Not Applicable,2026-10-01T12:27:09.179000Z,,,,,,3,51,Female,Black,Kenya,Swahili,No
"""


def test_prolifics_demographics_join_by_whichever_column_holds_its_ids(tmp_path: Path) -> None:
    source = FORMATS["qualtrics"].example(tmp_path)
    (tmp_path / "prolific.csv").write_text(PROLIFIC, encoding="utf-8")
    snapshot = heartfelt.read(source, raters="prolific.csv")
    people = snapshot.raters.sort("rater")
    assert people["Age_prolific"].to_list() == [34, None, None, None]
    assert people["Sex"].to_list() == ["Female", "Male", None, None]
    assert people["Ethnicity simplified"].to_list() == ["White", None, None, None]
    assert not {"PROLIFIC_PID", "Submission id", "Completion code", "Reviewed at"} & set(people.columns)
    notes = " ".join(snapshot.source.notes)
    assert mentions(notes, "2 of 4 raters", "prolific.csv")
    assert mentions(notes, "1 of 3 people", "prolific.csv")


def test_prolifics_demographics_join_ratings_in_a_long_table(tmp_path: Path) -> None:
    ids = [f"5f000000000000000000000{number}" for number in (1, 2)]
    table = {"rater": ids * 2, "stimulus": ["a", "a", "b", "b"], "question": ["q"] * 4, "value": [1, 2, 3, 4]}
    pl.DataFrame(table).write_csv(tmp_path / "answers.csv")
    (tmp_path / "prolific.csv").write_text(PROLIFIC, encoding="utf-8")
    snapshot = heartfelt.read(tmp_path / "answers.csv", raters="prolific.csv")
    assert snapshot.raters.sort("rater")["Sex"].to_list() == ["Female", "Male"]
    (tmp_path / "prolific.csv").write_text(PROLIFIC.replace("5f0", "6a0"), encoding="utf-8")
    with pytest.raises(InputError, match=r"answers\.csv.*prolific\.csv"):
        heartfelt.read(tmp_path / "answers.csv", raters="prolific.csv")


def test_prolifics_older_export_adds_nobody_who_did_not_answer(tmp_path: Path) -> None:
    table = {"rater": ["5f1", "5f2"], "stimulus": ["a", "a"], "question": ["q", "q"], "value": [1, 2]}
    pl.DataFrame(table).write_csv(tmp_path / "answers.csv")
    (tmp_path / "old.csv").write_text(
        "session_id,participant_id,status,started_datetime,time_taken,age,entered_code,Sex\n"
        "61,5f1,APPROVED,2020-10-01,601,34,C1,Female\n62,5f2,APPROVED,2020-10-01,544,28,C1,Male\n"
        "63,5f9,RETURNED,2020-10-01,,51,,Female\n",
        encoding="utf-8",
    )
    people = heartfelt.read(tmp_path / "answers.csv", raters="old.csv").raters.sort("rater")
    assert people.select("rater", "age").rows() == [("5f1", 34), ("5f2", 28)]
    assert not {"session_id", "entered_code"} & set(people.columns)


def test_a_qualtrics_reader_refuses_a_table_without_previews_and_ids(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("rater,note\nr1,x\nr2,y\nr3,z\n", encoding="utf-8")
    with pytest.raises(InputError):
        heartfelt.read(path, "qualtrics")
