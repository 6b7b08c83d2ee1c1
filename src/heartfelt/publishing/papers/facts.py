"""What papers say about a release, worked out once: names, licences, counts, raters, splits, and sentences about steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.analysis.text.verdict_comparisons import noun
from heartfelt.errors import InputError
from heartfelt.publishing.release.release import PublishedColumn, PublishedFile, Release, ReleaseStep, StepKind
from heartfelt.publishing.statements.columns import about_column
from heartfelt.publishing.statements.details import Details
from heartfelt.publishing.statements.licences import LicenceText, licence
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Question, Study
from heartfelt.study.model import say
from heartfelt.wording import listed, number, percent, plural

NOT_STATED = "Not stated by the authors."
TECHNICAL = frozenset(
    {"rater", "arm", "study_version", "excluded", "agreed", "attention_asked", "attention_right", "headphones_correct"}
)
"""Columns of the raters that describe the session rather than the person."""
STEPS: Mapping[StepKind, str] = {
    "wishes": "What raters asked not to be shared was left out.",
    "columns": "Columns were left out or renamed: {columns}.",
    "free-text": "Texts were searched for personal data, and those with any were left out or redacted: {columns}.",
    "pseudonyms": "Identifiers of people were replaced by keyed pseudonyms.",
    "hashes": "Hashes of what is not published were keyed: {columns}.",
    "media": "Metadata was removed from media files.",
    "hold-out": "What people said about the stimuli of the part {part} was held out, and other columns about them emptied.",
    "demographics": "Facts about raters were generalised, and left out for raters who would have stood out: {columns}.",
    "earlier": "What is published was checked together with an earlier release of the same people.",
    "times": "Times were made coarser: {columns}.",
}
"""What a kind of step did, in the past tense."""
MOST_VALUES = 12
NOUNS = {"audio": ("clip", "clips"), "speech": ("recording", "recordings"), "image": ("image", "images")}


def stated(text: str | None) -> str:
    """A statement of the authors, or that there is none."""
    return text if text else NOT_STATED


def title_of(release: Release) -> str:
    """The dataset's title: the authors', or the study's."""
    study = release.snapshot.study
    return release.details.title or say(study.title).strip() or study.name


def slug(text: str) -> str:
    """A name for files and ids: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "dataset"


def languages_of(release: Release) -> tuple[str, ...]:
    """Languages of the dataset: the authors', or the study's."""
    return release.details.language or tuple(release.snapshot.study.languages)


def licence_of(release: Release) -> LicenceText | None:
    """The licence of ratings and labels: the authors', or the study's where that is an SPDX identifier."""
    stated = release.details.licence or release.snapshot.study.licence
    try:
        return licence(stated) if stated else None
    except InputError:
        return None


def media_licence_of(release: Release) -> LicenceText | None:
    """The licence of the media, as far as the authors state one."""
    stated = release.details.media_licence
    return licence(stated) if stated else None


def holders_of(details: Details) -> str:
    return ", ".join(map(str, details.authors)) or "not stated by the authors"


def stimuli_words(study: Study, count: int) -> str:
    """``12 clips``, ``1 image``."""
    return plural(count, *NOUNS.get(study.media, ("stimulus", "stimuli")))


def size_words(release: Release) -> str:
    snapshot = release.snapshot
    counts = snapshot.counts
    parts = []
    if counts["ratings"]:
        by_raters = f" by {plural(len(snapshot.survey.raters), 'rater')}" if snapshot.survey.raters else ""
        parts.append(f"{answers_words(release)}{by_raters}")
    if counts["means"]:
        parts.append(plural(counts["means"], "published mean"))
    answers = " and ".join(parts) or "no ratings"
    rated = "" if counts["rated"] == counts["stimuli"] else f" ({number(counts['rated'])} of them rated)"
    return f"{answers} about {stimuli_words(snapshot.study, counts['stimuli'])}{rated}"


def answers_words(release: Release) -> str:
    """``480 answers``; where stimuli were judged together, the comparisons and how many rows they take."""
    rows, analysis = release.snapshot.counts["ratings"], release.analysis
    if analysis is None or release.snapshot.study.sets is None:
        return plural(rows, "answer")
    return f"{plural(analysis.summary.counts.ratings, noun(analysis.summary))} ({plural(rows, 'row')})"


def counts_words(estimate: Estimate) -> str:
    """What an estimate was computed from: ``20 raters, 36 items``."""
    return ", ".join(f"{number(count)} {name.replace('_', ' ')}" for name, count in estimate.counts.items())


def method_words(estimate: Estimate) -> str:
    """How a value and its interval were computed, or why there is no interval."""
    if estimate.value is None:
        return estimate.method
    bounds = estimate.interval or (estimate.why_no_interval or "no interval")
    level = f"{percent(estimate.confidence)} " if estimate.low is not None else ""
    return f"{estimate.method}; {level}{bounds}" if estimate.method else f"{level}{bounds}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFact:
    """What is published about the raters in one column: how many gave each answer."""

    column: str
    about: str
    answers: tuple[tuple[str, int], ...]
    missing: int
    summary: str | None = None
    """In place of the answers, where there are many: how many, or from where to where."""


def rater_facts(release: Release) -> tuple[RaterFact, ...]:
    """The published columns of the raters, as counts."""
    raters, study = release.snapshot.raters, release.snapshot.study
    out = []
    for name in raters.columns:
        column = raters[name]
        if name in TECHNICAL or column.null_count() == column.len():
            continue
        about = about_column("raters", name, study, release.details)
        stated = column.drop_nulls()
        if stated.n_unique() > MOST_VALUES:
            words = f"{number(stated.n_unique())} different answers"
            if stated.dtype.is_numeric():
                low, middle, high = (_short(value) for value in (stated.min(), stated.median(), stated.max()))
                words = f"{low} to {high}, median {middle}"
            out.append(RaterFact(column=name, about=about, answers=(), missing=column.null_count(), summary=words))
            continue
        pairs = sorted(stated.value_counts(name="count").iter_rows(), key=lambda row: (-int(row[1]), str(row[0])))
        answers = tuple((_short(a) if isinstance(a, int | float) else str(a), int(n)) for a, n in pairs)
        out.append(RaterFact(column=name, about=about, answers=answers, missing=column.null_count()))
    return tuple(out)


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    figure = float(str(value))
    return number(figure, 0 if figure.is_integer() else 1)


def left_out(release: Release) -> tuple[tuple[str, str, str, int], ...]:
    """Everything left out, counted: stage, what, why, how many. Reasons that name single raters are given as their rule."""
    ledger = release.analysis.ledger if release.analysis is not None else release.snapshot.ledger
    if not ledger.height:
        return ()
    rule = pl.col("rule") if "rule" in ledger.columns else pl.lit(None, pl.String)
    reason = pl.when(rule.is_not_null()).then(pl.format("screening rule: {}", rule)).otherwise(pl.col("reason"))
    counted = ledger.select("stage", "what", reason.alias("why")).group_by("stage", "what", "why").len("n")
    ordered = counted.sort(pl.col("n"), "stage", "what", "why", descending=[True, False, False, False])
    return tuple(
        (str(stage), str(subject), str(reason_text), int(n)) for stage, subject, reason_text, n in ordered.iter_rows()
    )


def steps_words(release: Release) -> str:
    """What was done to the data before publishing, as sentences in the past tense; tables/anonymisation.md has every step."""
    out = []
    for kind, words in STEPS.items():
        steps = [step for step in release.record.steps if step.kind == kind]
        if steps:
            names = dict.fromkeys(_column_words(step) for step in steps if step.column is not None)
            rows = number(max(step.rows for step in steps))
            out.append(words.format(columns=listed(list(names), 20), rows=rows, part=release.hold_out or ""))
    return " ".join(out)


def _column_words(step: ReleaseStep) -> str:
    name = f"{step.table}.{step.column}"
    if step.lost is None or step.lost in (0.0, 1.0):
        return name
    return f"{name} ({percent(step.lost)} of its information lost)"


def privacy_words(release: Release) -> str:
    """What protects the raters from being identified, as a sentence."""
    if not rater_facts(release):
        return "Nothing but a keyed pseudonym is published about raters; its key is not published."
    record = release.record
    return (
        f"Every published combination of facts about raters is shared by at least {record.k} of them (k-anonymity), with at least"
        f" {record.l} different values of every sensitive column among them (l-diversity), or was removed. Identifiers are keyed"
        " pseudonyms whose key is not published."
    )


def privacy_limits(release: Release) -> tuple[str, ...]:
    """What the published answers themselves still say about who somebody is, whatever was done to the rest."""
    if not release.snapshot.survey.raters:
        return ()
    alone, raters = unlike_others(release.snapshot)
    out = [
        f"Pseudonyms do not hide how somebody rated: {number(alone)} of {plural(raters, 'rater')} gave a combination of answers"
        " that nobody else gave. Whoever knows some of a person's answers, or has another release of the same people under any key,"
        " can find the row."
    ][: min(alone, 1)]
    if "seconds" in release.snapshot.scan_ratings().collect_schema():
        out.append(
            "Answer times are published: their sum is about the length of a session, so whoever knows that, such as the recruiter,"
            " can find the person."
        )
    else:
        out.append(
            "Answer times are not published; how many answers a person gave still bounds the length of the session."
        )
    return tuple(out)


def unlike_others(snapshot: Snapshot) -> tuple[int, int]:
    """Raters whose answers nobody else gave in the same combination, and all raters who answered."""
    ratings = snapshot.scan_ratings().filter(pl.col("rater").is_not_null())
    names = [name for name in ("stimulus", "question", "repeat", "value", "answer") if name in ratings.collect_schema()]
    rows = ratings.select("rater", pl.struct(names).hash().alias("answered"))
    by_rater = rows.group_by("rater").agg(pl.len(), pl.sum("answered")).collect()
    return int((~by_rater.select("len", "answered").is_duplicated()).sum()), by_rater.height


def published_tables(release: Release, folder: Path) -> tuple[PublishedFile, ...]:
    """Every file that holds a table: those that layouts wrote, those of snapshot and benchmark, and the list of media."""
    study, details, out = release.snapshot.study, release.details, list(release.files)
    written = {file.path for file in release.files}
    paths = [path for subfolder in ("snapshot", "benchmark") for path in sorted((folder / subfolder).glob("*.parquet"))]
    for path in (*paths, folder / "media.csv"):
        name = path.relative_to(folder).as_posix()
        if name in written or not path.is_file():
            continue
        layout = name.partition("/")[0].removesuffix(".csv")
        table = "benchmark items" if name == "benchmark/items.parquet" else path.stem
        frame = pl.scan_csv(path, infer_schema_length=None) if path.suffix == ".csv" else pl.scan_parquet(path)
        columns = tuple(
            PublishedColumn(column, str(dtype), about_column(table, column, study, details))
            for column, dtype in frame.collect_schema().items()
        )
        rows = int(frame.select(pl.len()).collect().item())
        out.append(PublishedFile(path=name, layout=layout, table=table, split=None, rows=rows, columns=columns))
    return tuple(out)


def by_layout(files: Sequence[PublishedFile]) -> Mapping[tuple[str, str], tuple[PublishedFile, ...]]:
    """Files by layout and table, in the order given."""
    out: dict[tuple[str, str], list[PublishedFile]] = {}
    for file in files:
        out.setdefault((file.layout, file.table), []).append(file)
    return {key: tuple(layout_files) for key, layout_files in out.items()}


def question_words(question: Question) -> str:
    """The text of a question, in English where there is such."""
    return say(question.text).strip() or question.id


def emotion_words(study: Study) -> str:
    """Whether raters judged what stimuli express or what they felt."""
    kinds = dict.fromkeys(question.emotion for question in study.asked if question.emotion)
    words = {"perceived": "the emotion that a stimulus expresses", "felt": "the emotion that they felt"}
    return " and ".join(words[kind] for kind in kinds)
