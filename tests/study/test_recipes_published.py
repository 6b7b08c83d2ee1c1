"""The published designs as recipes: they parse, and they say what the papers and files say."""

from __future__ import annotations

import pytest

from heartfelt.study import parse_study, study_text
from heartfelt.study.model import AnchorProbe, RepeatProbe, say
from heartfelt.study.recipes import RECIPES, recipe_study, recipe_text
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from tests.cases import check_all

MIKELS = ["amusement", "awe", "contentment", "excitement", "anger", "disgust", "fear", "sadness"]
TASKS = ["affirmative", "contrastive_1", "contrastive_2", "penultimate", "ultimate"]


@pytest.mark.slow
@check_all("name", RECIPES)
def test_every_recipe_is_a_whole_study(name: str) -> None:
    study = recipe_study(name)
    assert study.name == name
    assert parse_study(study_text(study)).hash == study.hash
    assert study.consent is not None
    assert study.credit
    assert study.stimuli.manifest == "stimuli.csv"
    assert say(study.title)
    assert say(study.instructions)
    assert all(say(question.text) for question in study.asked)


@check_all("name", RECIPES)
def test_a_recipe_speaks_all_its_languages(name: str) -> None:
    """A text given in several languages is given in each language of the study."""
    study = recipe_study(name)
    texts = [study.title, study.instructions, *(question.text for question in study.asked)]
    texts += [study.consent.text] if study.consent else []
    texts += [demographic.text for demographic in study.demographics]
    for text in texts:
        if isinstance(text, dict):
            assert set(text) == set(study.languages)
        else:
            assert study.languages == ["en"]


@check_all("name", RECIPES)
def test_a_recipe_is_text_to_copy_and_change(name: str) -> None:
    assert recipe_text(name).startswith("# ")
    assert "\t" not in recipe_text(name)
    assert recipe_text(name).endswith("\n")


def test_musiceval_asks_two_questions_on_five_points() -> None:
    study = recipe_study("musiceval")
    assert [question.id for question in study.asked] == ["impression", "alignment"]
    for question in study.asked:
        scale = study.scale_of(question.id)
        assert isinstance(scale, Points)
        assert scale.bounds() == (1.0, 5.0)
        assert set(scale.anchors) == {1, 2, 3, 4, 5}
    assert study.question("alignment").shows == ["prompt"]
    assert len(study.systems) == 21
    assert study.design.ratings_per_item == 5
    assert study.design.batch is not None
    assert study.design.practice >= 1
    assert study.design.replays is None
    anchor, repeat = study.probes
    assert isinstance(anchor, AnchorProbe)
    assert (anchor.question, anchor.at_least) == ("impression", 3)
    assert isinstance(repeat, RepeatProbe)
    # 13,740 ratings by 14 experts, five a clip.
    assert study.design.stimuli_per_rater == -(-2748 * 5 // 14)


def test_emolia_emo_asks_every_emotion_under_every_task_type() -> None:
    study = recipe_study("emolia-emo")
    assert len(study.asked) == 40 * 5
    question = study.question("Jealousy___Envy/contrastive_2")
    assert question.about == {"queried_emotion": "Jealousy___Envy", "task_type": "contrastive_2"}
    assert "_" not in say(question.text)
    assert [q.about["task_type"] for q in study.asked[:5]] == TASKS
    assert len({q.about["queried_emotion"] for q in study.asked}) == 40
    assert {intent.id for intent in study.intents} == {q.about["queried_emotion"] for q in study.asked}
    scale = study.scale_of(question.id)
    assert isinstance(scale, Ordered)
    assert scale.labels() == {0.0: "not_present", 1.0: "weakly_present", 2.0: "strongly_present"}
    assert study.design.ratings_per_item == 3
    assert study.stimuli.items == "items.csv"
    assert study.media == "speech"


def test_emolia_dim_holds_speech_against_written_levels() -> None:
    study = recipe_study("emolia-dim")
    question = study.question("TEMP/5/negative")
    assert question.about == {"dimension": "TEMP", "level": "5", "polarity": "negative"}
    assert question.rubric == study.question("TEMP/5/positive").rubric
    assert question.shows == ["rubric"]
    assert isinstance(study.scale_of(question.id), YesNo)
    assert study.design.ratings_per_item == 3
    levels = {q.about["level"] for q in study.asked if q.about["dimension"] == "ACNT"}
    assert all(not level.isdigit() for level in levels)
    rubrics = [q.rubric for q in study.asked if q.about["polarity"] == "positive"]
    assert len(set(map(str, rubrics))) == len(rubrics)
    assert {intent.id for intent in study.intents} == {q.about["dimension"] for q in study.asked}


@pytest.mark.parametrize("name", ["emolia-emo", "emolia-dim"])
def test_emolia_asks_who_listens(name: str) -> None:
    asked = {demographic.id: demographic for demographic in recipe_study(name).demographics}
    assert list(asked) == ["age", "languages", "gender", "degree", "expertise", "listening_setup"]
    assert asked["age"].at_least == 18
    assert asked["languages"].type == "languages"


def test_aigiemo_judges_first_and_verifies_the_machine_after() -> None:
    study = recipe_study("aigiemo")
    names = [question.id for question in study.asked]
    assert names[:5] == ["emotion", "valence", "arousal", "caption", "reason"]
    assert names[5:] == ["style", "scene", "objects", "facial_expression", "human_action", "colour", "brightness"]
    assert [question.machine_first for question in study.asked] == [False] * 5 + [True] * 7
    emotion = study.scale_of("emotion")
    assert isinstance(emotion, Categories)
    assert list(emotion.labels().values()) == MIKELS
    for name in ("valence", "arousal"):
        scale = study.scale_of(name)
        assert isinstance(scale, Numeric)
        assert scale.bounds() == (0.0, 1.0)
        assert study.question(name).emotion == "felt"
    assert isinstance(study.scale_of("caption"), FreeText)
    assert isinstance(study.scale_of("objects"), Tags)
    assert study.media == "image"
