"""The methods section of a paper, paragraph by paragraph in the past tense, with the references it needs.

:mod:`heartfelt.analysis.text.methods_text` says how the figures were made; this adds what was rated, how it was asked, and the
software. What only the authors know (recruiting, pay, ethics) is added by whoever publishes.
"""

from __future__ import annotations

import platform
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars as pl

from heartfelt.analysis.data.arms import arms_text
from heartfelt.analysis.data.counts import distinct_names
from heartfelt.analysis.summary import Analysis, Summary
from heartfelt.analysis.text.methods_text import collected, instrument_words, method_words
from heartfelt.analysis.text.sentences import template_lines
from heartfelt.snapshot import Snapshot
from heartfelt.study import Scale, Study
from heartfelt.study.model import AnchorProbe, AttentionProbe, HeadphoneProbe, RepeatProbe, Text, say
from heartfelt.study.norms import NORMS, norms_of
from heartfelt.study.scales.scale import Categories, Category, FreeText, Numeric, Ordered, Points, Tags, YesNo
from heartfelt.study.scales.set_scale import BestWorst, Choice, Grade, Preference, Ranking, Trace
from heartfelt.wording import listed, number, plural

MOST_QUESTIONS = 12
LIBRARIES = ("numpy", "scipy", "polars")
NOUNS = {"audio": ("clip", "clips"), "speech": ("recording", "recordings"), "image": ("image", "images")}
REFERENCES: dict[str, str] = tomllib.loads(Path(__file__).with_name("references.toml").read_text("utf-8"))
"""The source of each method, by the words a methods section names it with."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a methods section, with the name of its part."""

    title: str
    text: str


def methods_section(analysis: Analysis) -> tuple[Paragraph, ...]:
    """The paragraphs in the order of a paper; those without anything to say are left out."""
    summary, snapshot = analysis.summary, analysis.all_ratings
    study = snapshot.study
    statistics = [method_words(block, summary) for block in ("tests", "comparisons", "categories")]
    steps = procedure(study, collected_here=collected_here(snapshot))
    parts = (
        ("Participants and ratings", collected(summary, study)),
        ("Stimuli", stimuli_text(snapshot, summary)),
        ("Measures", " ".join((*measures(study), *instrument_words(summary, study)))),
        ("Procedure", " ".join([*steps, *arms_text(snapshot)])),
        ("Verification of drafts", method_words("verified", summary)),
        ("Screening", method_words("screened", summary)),
        ("Labels", labels_text(analysis)),
        ("Reliability", method_words("reliability", summary)),
        ("Statistical analysis", " ".join(filter(None, statistics))),
        ("Software", software(summary)),
    )
    return tuple(Paragraph(title, text) for title, text in parts if text)


def references(paragraphs: tuple[Paragraph, ...], study: Study | None = None) -> tuple[str, ...]:
    """The references of the methods and instruments that the paragraphs name, in alphabetical order."""
    text = " ".join(paragraph.text for paragraph in paragraphs)
    instruments = (
        {} if study is None else {instrument.name: instrument.citation for instrument in study.instruments.values()}
    )
    norms = {name: table.citation for name, table in NORMS.items()}
    return tuple(sorted(source for words, source in (REFERENCES | instruments | norms).items() if words in text))


def stimuli_text(snapshot: Snapshot, summary: Summary) -> str:
    """What was rated: how many stimuli, by which systems, for which intents, how long."""
    table, study = snapshot.stimuli, snapshot.study
    names = {system.id: system.name or system.id for system in study.systems}
    durations = table["duration"].drop_nulls() if "duration" in table.columns else pl.Series()
    seconds = {"low": durations.min(), "mean": durations.mean(), "high": durations.max()}
    has_size = {"width", "height"} <= set(table.columns)
    return method_words(
        "stimuli",
        summary,
        stimuli=plural(table.height, *NOUNS.get(study.media, ("stimulus", "stimuli"))),
        systems=[names.get(name, name) for name in distinct_names(table, "system")],
        intents=distinct_names(table, "intent"),
        norms=[norm.name for norm in norms_of(study.intents)] if summary.counts.intents else (),
        seconds={name: number(float(str(value)), 1) for name, value in seconds.items()} if durations.len() else None,
        sizes=table.select("width", "height").drop_nulls().unique().rows() if has_size else (),
    )


def measures(study: Study) -> list[str]:
    """What was asked, on which scale; what very many questions have in common."""
    kinds = {"perceived": "the emotion that the stimulus expresses", "felt": "the emotion that they felt"}
    judged = list(dict.fromkeys(kinds[question.emotion] for question in study.asked if question.emotion))
    by_scale = Counter(question.scale for question in study.asked)
    pooled = [(count, scale_words(study.scales[name])) for name, count in by_scale.items()]
    single = [(question, _line(question.text), scale_words(study.scale_of(question.id))) for question in study.asked]
    many = len(study.asked) > MOST_QUESTIONS
    return template_lines(
        "analysis/methods", "measures", judged=judged, questions=() if many else single, scales=pooled if many else ()
    )


def scale_words(scale: Scale) -> str:
    """A scale as a phrase: ``a 9-point scale from 1 (very unpleasant) to 9 (very pleasant)``."""
    match scale:
        case Points():
            return _points_words(scale)
        case Numeric():
            return _number_words(scale)
        case Ordered() | Categories():
            names = [_category(category) for category in scale.categories]
            order = "ordered " if isinstance(scale, Ordered) else ""
            return f"one of {len(names)} {order}categories ({listed(names, 20)})"
        case YesNo():
            return "yes or no"
        case FreeText():
            return "a text of the rater's own"
        case Tags():
            return _tags_words(scale)
    return _set_scale_words(scale)


def _points_words(scale: Points) -> str:
    anchors = {point: text for point, text in scale.anchors.items() if _line(text)}
    first, last = (f"{end}{_anchor(anchors.get(end))}" for end in (scale.first, scale.last))
    middle = [f"{at}{_anchor(text)}" for at, text in sorted(anchors.items()) if scale.first < at < scale.last]
    between = f", with {listed(middle)} between" if middle else ""
    pictures = " and pictures" if scale.pictures else ""
    return f"a {scale.points}-point scale{pictures} from {first} to {last}{between}"


def _number_words(scale: Numeric) -> str:
    unit, limits = f" {scale.unit}" if scale.unit else "", scale.bounds()
    return f"a number{unit}" if limits is None else f"a number from {limits[0]:g} to {limits[1]:g}{unit}"


def _tags_words(scale: Tags) -> str:
    from_list = f" from a list of {len(scale.names)}" if scale.names else ""
    invented = " or tags of the rater\u2019s own" if scale.open and from_list else ""
    return f"any number of tags{from_list}{invented}"


def _set_scale_words(scale: Scale) -> str:
    if isinstance(scale, Choice):
        return f"a choice between two stimuli, {'ties allowed' if scale.ties else 'without ties'}"
    if isinstance(scale, Preference):
        return f"a preference between two stimuli from {-scale.steps} to {scale.steps}"
    if isinstance(scale, Grade):
        return f"a grade for each stimulus of a set from {scale.low:g} to {scale.high:g}"
    if isinstance(scale, Ranking):
        return "a ranking of the stimuli of a set"
    if isinstance(scale, BestWorst):
        return "a choice of the best and the worst of a set"
    if isinstance(scale, Trace):
        return f"a trace from {scale.low:g} to {scale.high:g}, {scale.rate:g} samples per second"
    return "an answer"


def _category(category: Category | str) -> str:
    return category if isinstance(category, str) else (_line(category.text) if category.text else "") or category.id


def _anchor(text: Text | None) -> str:
    return f" ({_line(text)})" if text else ""


def _line(text: Text) -> str:
    return " ".join(say(text).split())


def collected_here(snapshot: Snapshot) -> bool:
    """Whether the ratings carry what only heartfelt's own pages log: they were collected with the study's own design."""
    columns = set(snapshot.scan_ratings().collect_schema().names()) | set(snapshot.raters.columns)
    return bool(columns & {"kind", "counts", "plays", "heard", "agreed", "study_version"})


def procedure(study: Study, *, collected_here: bool = True) -> list[str]:
    """The design of the study; of ratings that were collected elsewhere, only whom to ask about theirs."""
    if not collected_here:
        source = " ".join(study.credit.split()).rstrip(".") if study.credit else ""
        return [f"The ratings were collected elsewhere; the source describes how ({source})."] if source else []
    probes = list(dict.fromkeys(words for probe in study.probes if (words := PROBES.get(type(probe)))))
    return template_lines("analysis/methods", "procedure", study=study, probes=probes)


PROBES: Mapping[type, str] = {
    AnchorProbe: "stimuli with known answers",
    RepeatProbe: "repeated stimuli",
    AttentionProbe: "trials that asked for a given answer",
    HeadphoneProbe: "a headphone check",
}


def labels_text(analysis: Analysis) -> str:
    """How labels were made from ratings."""
    table = analysis.labels
    labelled = table.filter(table["value"].is_not_null()) if table.height else table
    if not labelled.height:
        return ""
    words = {
        "mean": "the mean of its ratings",
        "median": "the median of its ratings",
        "mode": "its most frequent answer",
        "p910": "the estimate of ITU-T P.910",
        "dawid-skene": "the most probable category under the Dawid-Skene model",
        "published mean": "the published mean",
    }
    methods = dict.fromkeys(words.get(name.split(",")[0], name) for name in labelled["method"].unique().sort())
    return method_words("labels", analysis.summary, study=analysis.snapshot.study, label_methods=list(methods))


def software(summary: Summary) -> str:
    """What the analyses were run with."""
    libraries = [f"{name} {version}" for name in LIBRARIES if (version := _version(name))]
    return (
        f"Analyses were run with heartfelt {summary.heartfelt} (seed {summary.seed}, data {summary.hash[:12]}) under Python"
        f" {platform.python_version()} with {listed(libraries)}."
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
