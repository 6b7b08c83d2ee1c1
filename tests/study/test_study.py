"""``study.yaml``: what it may say, and how every mistake is told."""

from __future__ import annotations

import json

import pytest

from heartfelt.errors import InputError, StudyError, UnknownNameError
from heartfelt.study import SCALES, json_schema, parse_study, study_text
from heartfelt.study.model import say
from heartfelt.study.recipes import RECIPES, recipe_study, recipe_text
from heartfelt.study.scales.scale import Numeric, Tag, Tags
from heartfelt.study.scales.set_scale import SetScale, Trace
from heartfelt.study.yaml_lines import read_yaml
from tests.cases import check_all

GOOD = """\
name: small
languages: [en, ko]
systems:
  - {id: One, group: open-source, year: 2024}
intents:
  - {id: happy, reference: {valence: 8.4, arousal: 6}}
prompts:
  - {id: p, text: "{intent}, instrumental", systems: [One]}
scales:
  nine: {type: points, points: 9, anchors: {1: low, 9: {en: high, ko: 높음}}}
  kinds: {type: categories, categories: [awe, {id: fear, text: Fear, value: 7}]}
  levels: {type: ordered, categories: [not_present, weakly_present, strongly_present]}
  yn: {type: yes-no}
  words: {type: text, max_words: 5}
  labels: {type: tags, tags: [a, b], open: false}
  slider: {type: numeric, low: 0, high: 1}
questions:
  - {id: valence, text: {en: How pleasant, ko: 얼마나}, scale: nine, axis: valence, emotion: perceived}
  - {id: "{e}/{t}", text: "Is {e} present?", scale: levels, for_each: {e: [Anger, Awe], t: [x, y]}}
probes:
  - {type: anchor, id: real, stimuli: [r1], question: valence, at_least: 3}
  - {type: repeat, id: again}
  - {type: headphones, id: head}
design: {ratings_per_item: 6, distinct: [system, intent]}
consent: {text: Do you agree}
demographics:
  - {id: age, text: Age, type: number, at_least: 18}
"""


def test_a_study_reads_and_writes_back_the_same() -> None:
    study = parse_study(GOOD)
    assert parse_study(study_text(study)) == study
    assert parse_study(study_text(study)).hash == study.hash


def test_for_each_stands_for_every_combination() -> None:
    study = parse_study(GOOD)
    assert [q.id for q in study.asked] == ["valence", "Anger/x", "Anger/y", "Awe/x", "Awe/y"]
    assert study.question("Awe/y").text == "Is Awe present?"
    assert study.question("Awe/y").about == {"e": "Awe", "t": "y"}


def test_keys_of_the_researchers_own_are_kept_where_allowed() -> None:
    system = parse_study(GOOD).systems[0]
    assert (system.model_extra or {})["year"] == 2024


def test_the_hash_does_not_depend_on_layout() -> None:
    study = parse_study(GOOD)
    assert parse_study(json.dumps(study.plain())).hash == study.hash
    assert parse_study(GOOD.replace("points: 9", "points: 10")).hash != study.hash


@check_all(
    ("old", "new", "problem", "fix"),
    [
        ("name: small", "nam: small", "line 1, nam: there is no such key here", "Did you mean 'name'?"),
        ("scale: nine,", "scale: nne,", "line 18, questions.0.scale: no scale is called 'nne'", "Did you mean 'nine'?"),
        (
            "axis: valence,",
            "axis: valance,",
            "line 18, questions.0.axis: no intent has a coordinate 'valance'",
            "Did you mean 'valence'?",
        ),
        (
            "type: points",
            "type: point",
            "line 10, scales.nine: 'point' is not one of the choices",
            "Did you mean 'points'?",
        ),
        (
            "points: 9,",
            "pionts: 9,",
            "line 10, scales.nine.pionts: there is no such key here",
            "Did you mean 'points'?",
        ),
        ("9: {en: high", "11: {en: high", "line 10, scales.nine: there is no point 11", "Correct the value"),
        ("ratings_per_item: 6", "ratings_per_item: six", "line 24, design.ratings_per_item", "Correct the value"),
        (
            "ratings_per_item: 6",
            "ratings_per_itm: 6",
            "line 24, design.ratings_per_itm",
            "Did you mean 'ratings_per_item'?",
        ),
        (
            "emotion: perceived",
            "emotion: percieved",
            "'percieved' is not one of the choices",
            "Did you mean 'perceived'?",
        ),
        ("id: again", "id: real", "line 20, probes: two probes are called 'real'", "heartfelt schema"),
        (
            "question: valence, at_least",
            "question: valenc, at_least",
            "line 21, probes.0.question: no question is called 'valenc'",
            "Did you mean 'valence'?",
        ),
        (
            "systems: [One]",
            "systems: [Oen]",
            "line 8, prompts.0.systems: no system is called 'Oen'",
            "Did you mean 'One'?",
        ),
        (", at_least: 3", ", at_least: 3, at_most: 2", "line 21, probes.0: at_least cannot exceed at_most", "Correct"),
        ("low: 0, high: 1", "low: 1, high: 0", "line 16, scales.slider: low must be below high", "Correct"),
        ("languages: [en, ko]", "languages: [english]", "line 2, languages.0", "Correct"),
        ("name: small", "name: small\nname: other", "line 2: the key 'name' is given twice", "Keep one"),
        ("name: small", "name: 'small", "not valid YAML", "quotes"),
        ("consent: {text", "consent: {tekst", "line 25, consent.tekst", "Keys here"),
    ],
)
def test_mistakes_are_told_with_place_and_fix(old: str, new: str, problem: str, fix: str) -> None:
    assert old in GOOD
    with pytest.raises(StudyError) as caught:
        parse_study(GOOD.replace(old, new, 1), "study.yaml")
    assert problem in caught.value.problem
    assert caught.value.problem.startswith("study.yaml")
    assert fix in caught.value.fix


GRID = GOOD.replace(
    '  - {id: "{e}/{t}"', '  - {id: arousal, text: How aroused, scale: nine, axis: arousal}\n  - {id: "{e}/{t}"'
)


def test_two_questions_make_a_grid() -> None:
    study = parse_study(GRID.replace("design: {", "design: {affect_grid: [valence, arousal], "))
    assert study.design.affect_grid == ("valence", "arousal")
    assert parse_study(study_text(study)) == study


@pytest.mark.parametrize(
    ("grid", "problem", "fix"),
    [
        ("[valence, arousl]", "no question is called 'arousl'", "Did you mean 'arousal'?"),
        ("[valence, Anger/x]", "'Anger/x' has no 9 points", "Both questions of a grid need 9"),
        ("[valence, valence]", "a grid needs two different questions", "heartfelt schema"),
        ("[valence]", "design.affect_grid", "heartfelt schema"),
    ],
)
def test_a_grid_of_other_questions_is_told_with_place_and_fix(grid: str, problem: str, fix: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(GRID.replace("design: {", f"design: {{affect_grid: {grid}, "), "study.yaml")
    assert "line 25, design.affect_grid" in caught.value.problem
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "\n".join(f"{b}: &{b} [{', '.join(['*' + a] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "a: &a [*a]",
        "[" * 100 + "]" * 100,
        "x: " + "{a: " * 60 + "1" + "}" * 60,
    ],
    ids=["billion laughs", "an anchor inside itself", "deep list", "deep mapping"],
)
def test_a_yaml_bomb_does_not_go_off(text: str) -> None:
    with pytest.raises(StudyError, match="expands to more than"):
        parse_study(text)


@pytest.mark.parametrize(
    "text", ["a: !!python/object/apply:os.getcwd []", "a: !custom 1", "? [a, b]\n: 1", "", "- 1", "3", "a: \x00"]
)
def test_odd_files_are_refused_in_words(text: str) -> None:
    with pytest.raises(StudyError):
        parse_study(text)


@pytest.mark.parametrize("text", [GOOD, "a: &x [1, 'true', true, yes]\nb: *x\nc: |\n  two\n  lines\n", "é: 높음 😀\n"])
def test_both_parsers_read_the_same_on_the_same_lines(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read_yaml(text, "study.yaml")
    monkeypatch.setattr("yaml.__with_libyaml__", False)
    assert read_yaml(text, "study.yaml") == fast


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[" * 200_000, "- " * 100_000], ids=["flow", "block"])
def test_what_nests_too_deep_is_refused_and_ends_no_process(text: str) -> None:
    with pytest.raises(StudyError, match="not valid YAML"):
        parse_study(text)


def test_yes_and_no_stay_words() -> None:
    study = parse_study(GOOD.replace("[awe, {id: fear, text: Fear, value: 7}]", "[yes, no]"))
    assert study.scales["kinds"].labels() == {0.0: "yes", 1.0: "no"}


class TestScales:
    study = parse_study(GOOD)

    @pytest.mark.parametrize(
        ("scale", "answer", "expected"),
        [
            ("nine", "3", (3.0, None)),
            ("nine", 9, (9.0, None)),
            ("kinds", "fear", (7.0, "fear")),
            ("kinds", 7, (7.0, "fear")),
            ("levels", "weakly_present", (1.0, "weakly_present")),
            ("yn", "Yes", (1.0, "yes")),
            ("yn", 0, (0.0, "no")),
            ("words", "a b", (None, "a b")),
            ("labels", ["a", "b"], (None, "a;b")),
            ("slider", "0,5", (0.5, None)),
        ],
    )
    def test_answers_on_the_scale(self, scale: str, answer: object, expected: tuple[float | None, str | None]) -> None:
        assert self.study.scales[scale].read(answer) == expected

    @check_all(
        ("scale", "answer"),
        [
            ("nine", 0),
            ("nine", 10),
            ("nine", 2.5),
            ("nine", "x"),
            ("nine", True),
            ("nine", "nan"),
            ("kinds", "feer"),
            ("kinds", 3),
            ("levels", ""),
            ("yn", "maybe"),
            ("words", "a b c d e f"),
            ("labels", "c"),
            ("slider", 1.01),
            ("slider", "inf"),
        ],
    )
    def test_answers_off_the_scale(self, scale: str, answer: object) -> None:
        with pytest.raises(InputError):
            self.study.scales[scale].read(answer)

    def test_every_registered_scale_is_here(self) -> None:
        alone = {name for name, scale in SCALES.items() if not issubclass(scale, (SetScale, Trace))}
        assert {getattr(scale, "type", "") for scale in self.study.scales.values()} == alone

    @pytest.mark.parametrize("scale", ["nine", "kinds", "levels", "yn", "slider"])
    def test_bounds_hold_what_read_accepts(self, scale: str) -> None:
        bounds = self.study.scales[scale].bounds()
        assert bounds is not None
        for value in bounds:
            assert self.study.scales[scale].read(value)[0] == value


class TestRecipes:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", RECIPES)
    def test_is_valid_and_round_trips(self, name: str) -> None:
        study = recipe_study(name)
        assert parse_study(study_text(study)) == study
        assert study.consent is not None
        assert study.credit

    def test_an_unknown_recipe_names_the_known(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean 'aimoclips'"):
            recipe_text("aimoclip")

    def test_aimoclips_is_as_published(self) -> None:
        study = recipe_study("aimoclips")
        assert len(study.systems) == 6
        assert len(study.intents) == 12
        assert {len([i for i in study.intents if i.group == g]) for g in ("hv_ha", "lv_ha", "lv_la", "hv_la")} == {3}
        assert [study.scale_of(q).bounds() for q in ("valence", "arousal")] == [(1.0, 9.0)] * 2
        assert (study.design.stimuli_per_rater, study.design.distinct) == (56, ["system", "intent"])


def test_a_text_falls_back_to_a_language_there_is() -> None:
    assert say({"en": "a", "ko": "b"}, "ko-KR") == "b"
    assert say({"ko": "b"}, "fr") == "b"
    assert say("plain", "fr") == "plain"


def test_the_schema_describes_every_key() -> None:
    schema = json_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {
        "systems",
        "intents",
        "prompts",
        "stimuli",
        "scales",
        "questions",
        "probes",
        "design",
        "consent",
        "demographics",
        "languages",
    } <= set(schema["properties"])
    json.dumps(schema, allow_nan=False)


NUMERIC = "name: s\nscales: {{n: {{type: numeric, {given}}}}}\nquestions: [{{id: q, text: Q, scale: n}}]"


def test_a_slider_has_words_at_its_places() -> None:
    study = parse_study(NUMERIC.format(given="low: 0, high: 1, anchors: {0: calm, 0.5: {en: mid, ko: 중간}, 1: wild}"))
    scale = study.scales["n"]
    assert isinstance(scale, Numeric)
    assert scale.anchors == {0: "calm", 0.5: {"en": "mid", "ko": "중간"}, 1: "wild"}
    assert parse_study(study_text(study)) == study
    assert parse_study(study_text(study)).hash == study.hash


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("low: 0, high: 1, anchors: {2: far}", "there is no 2 on a scale from 0 to 1"),
        ("low: 0, anchors: {0: near}", "anchors need a slider"),
        ("low: 0, high: 1, anchors: {middle: x}", "anchors"),
    ],
)
def test_words_beside_the_slider_are_refused(given: str, problem: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(NUMERIC.format(given=given))
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("tags", "problem"), [("[a, {id: a, text: A}]", "two tags are called 'a'"), ("['a;b']", "holds the separator")]
)
def test_tags_that_cannot_be_told_apart_are_refused(tags: str, problem: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(f"name: s\nscales: {{t: {{type: tags, tags: {tags}}}}}\nquestions: [{{id: q, text: Q, scale: t}}]")
    assert problem in caught.value.problem


def test_a_tag_is_stored_by_its_id() -> None:
    scale = Tags(type="tags", tags=[Tag(id="warm", text={"ko": "따뜻함"}), "cold"], open=False)
    assert scale.names == ["warm", "cold"]
    assert scale.read(["warm", "cold"]) == (None, "warm;cold")
    with pytest.raises(InputError, match="not a tag"):
        scale.read("따뜻함")


def test_a_study_that_uses_no_newer_key_keeps_its_hash() -> None:
    """Snapshots are held to their study's hash: a key added later must not change that of a study without it."""
    assert recipe_study("aimoclips").hash[:16] == "98db7077874c8d6d"
    assert recipe_study("emolia-emo").hash[:16] == "54e85871631c5f14"
    used = recipe_study("aimoclips")
    advanced = used.changed(design=used.design.model_copy(update={"auto_advance": "on"}))
    assert advanced.hash != used.hash


def test_the_schema_knows_slider_words_translated_tags_and_going_on() -> None:
    parts = json_schema()["$defs"]
    assert "anchors" in parts["Numeric"]["properties"]
    assert {"id", "text"} == set(parts["Tag"]["properties"])
    assert parts["Design"]["properties"]["auto_advance"]["enum"] == ["offer", "on", "off"]
