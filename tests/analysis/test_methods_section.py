"""The methods section: what was asked and how, in the past tense, with the references of what it names."""

from __future__ import annotations

from heartfelt.analysis.text.methods_section import REFERENCES, Paragraph, procedure, references, scale_words
from heartfelt.study import parse_study
from heartfelt.study.scales.scale import SCALES
from tests.cases import check_all

SCALE_TEXTS = {
    "points": (
        "points: 5, anchors: {1: low, 3: so-so, 5: high}",
        "a 5-point scale from 1 (low) to 5 (high), with 3 (so-so)",
    ),
    "numeric": ("low: 0, high: 100, unit: '%'", "a number from 0 to 100 %"),
    "ordered": ("categories: [a, {id: b, text: Much}]", "one of 2 ordered categories (a and Much)"),
    "categories": ("categories: [a, b]", "one of 2 categories (a and b)"),
    "yes-no": ("", "yes or no"),
    "text": ("", "a text of the rater's own"),
    "tags": ("tags: [a, b], open: false", "any number of tags from a list of 2"),
    "choice": ("ties: true", "a choice between two stimuli, ties allowed"),
    "preference": ("steps: 2", "a preference between two stimuli from -2 to 2"),
    "grade": ("", "a grade for each stimulus of a set from 0 to 100"),
    "rank": ("", "a ranking of the stimuli of a set"),
    "best-worst": ("", "a choice of the best and the worst of a set"),
    "trace": ("rate: 5", "a trace from -1 to 1, 5 samples per second"),
}


def test_every_scale_has_words() -> None:
    assert set(SCALE_TEXTS) == set(SCALES)


@check_all("name", SCALE_TEXTS)
def test_scales_in_words(name: str) -> None:
    keys, words = SCALE_TEXTS[name]
    scales = f"scales: {{q: {{type: yes-no}}, s: {{type: {name}, {keys}}}}}"
    study = parse_study(f"name: s\n{scales}\nquestions: [{{id: q, text: Q, scale: q}}]\n")
    assert words in scale_words(study.scales["s"])


STUDY = """
name: s
credit: Somebody (2026).
languages: [en, de]
scales: {v: {type: points, points: 9}}
questions: [{id: q, text: Q, scale: v}]
design: {ratings_per_item: 6, stimuli_per_rater: 20, listening: started, practice: 2}
probes: [{type: repeat, id: again}]
consent: {text: Do you agree}
"""


def test_the_design_is_stated_only_for_ratings_that_were_collected_with_it() -> None:
    study = parse_study(STUDY)
    text = " ".join(procedure(study))
    for part in (
        "Each rater was given up to 20 stimuli in random order; the design sought 6 ratings per item.",
        "once a clip had begun to play",
        "Two practice trials were not recorded.",
        "Sessions contained repeated stimuli.",
        "statement of consent",
        "2 languages (en and de)",
    ):
        assert part in text
    elsewhere = " ".join(procedure(study, collected_here=False))
    assert elsewhere == "The ratings were collected elsewhere; the source describes how (Somebody (2026))."


def test_references_are_those_of_the_methods_named() -> None:
    made = references((Paragraph("Reliability", "We used Krippendorff's alpha and Holm's correction."),))
    assert [each.split(",")[0] for each in made] == ["Holm", "Krippendorff"]
    assert all(f"({year})" in each for each in REFERENCES.values() for year in [each.split("(")[1][:4]])
