"""DATASHEET.md: what a reviewer asks of a dataset, answered from the study as far as it knows.

The parts and the matters asked about follow Gebru et al. (2021), "Datasheets for Datasets", in heartfelt's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from heartfelt.analysis.methods_section import collected_here, methods_section
from heartfelt.publishing.papers.citation import citation_line
from heartfelt.publishing.papers.facts import (
    NOT_STATED,
    holders_of,
    left_out,
    licence_of,
    media_licence_of,
    privacy_limits,
    privacy_words,
    rater_facts,
    size_words,
    stated,
    steps_words,
    stimuli_words,
    title_of,
)
from heartfelt.publishing.papers.provenance import file_licences, origin_sentences
from heartfelt.publishing.release import Release
from heartfelt.publishing.splits import parts_of, placement, split_of
from heartfelt.report.markup import heading, paragraphs
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.wording import listed, number, plural

MOST_REASONS = 8


@dataclass(frozen=True, slots=True)
class DatasheetAnswer:
    """One question of the datasheet with its answer."""

    part: str
    question: str
    text: str


def datasheet(release: Release) -> tuple[DatasheetAnswer, ...]:
    """Every question with its answer, in order."""
    return tuple(
        DatasheetAnswer(part, question, answer(release))
        for part, questions in QUESTIONS.items()
        for question, answer in questions.items()
    )


def datasheet_file(release: Release) -> str:
    """The text of DATASHEET.md."""
    answers = datasheet(release)
    lines = [
        heading(1, f"Datasheet: {title_of(release)}"),
        "",
        "The questions follow Gebru, T., Morgenstern, J., Vecchione, B., Vaughan, J. W., Wallach, H., Daumé III, H., & Crawford, K."
        " (2021). Datasheets for datasets. Communications of the ACM, 64(12), 86-92.",
        "",
    ]
    part = ""
    for answer in answers:
        if answer.part != part:
            part = answer.part
            lines += [heading(2, part), ""]
        lines += [f"**{answer.question}**", "", paragraphs(answer.text), ""]
    open_questions = [answer.question for answer in answers if answer.text == NOT_STATED]
    if open_questions:
        lines += [heading(2, "Not stated"), "", "The authors have not answered:", ""]
        lines += [f"- {question}" for question in open_questions]
    return "\n".join(lines).rstrip() + "\n"


def _purpose(release: Release) -> str:
    return stated(release.details.purpose)


def _makers(release: Release) -> str:
    people = [
        f"{author} ({author.affiliation})" if author.affiliation else str(author)
        for author in release.details.authors
    ]
    return stated(f"{listed(people, 50)}." if people else None)


def _instances(release: Release) -> str:
    study, counts = release.snapshot.study, release.snapshot.counts
    text = (
        f"Stimuli ({stimuli_words(study, counts['stimuli'])}), the people who rated them, and their answers."
    )
    made = f" The stimuli were made by {plural(counts['systems'], 'system')}." if counts["systems"] else ""
    origins = origin_sentences(release)
    models = f" {'; '.join(origins)}." if origins else ""
    return f"{text}{made}{models}"


def _size(release: Release) -> str:
    return f"The release holds {size_words(release)}."


def _sample(release: Release) -> str:
    counts = release.snapshot.counts
    text = f"{number(counts['rated'])} of {number(counts['stimuli'])} stimuli were rated."
    if release.hold_out:
        text += f" What people said about the part '{release.hold_out}' is held out."
    return f"{text} Whether the stimuli stand for a larger set is for the authors to say, under purpose and biases."


DATA = (
    "For a stimulus: an identifier, what made it, what it was meant to convey where that applies, and its media or a link to"
    " them. For an answer: rater, stimulus, question and value. CODEBOOK.md describes every column."
)


def _labels(release: Release) -> str:
    made = release.benchmark
    if made is None:
        return f"No: {release.why_no_benchmark or 'no label could be made'}."
    methods = listed(made.items["method"].unique().sort().to_list())
    return f"Yes: {plural(made.items.height, 'label')} made from the ratings ({methods}), with standard errors and intervals."


def _missing(release: Release) -> str:
    counted = left_out(release)
    if not counted:
        return "Nothing was left out."
    total = sum(count for *_, count in counted)
    reasons = [
        f"{what}: {why.rstrip('.')} ({number(count)})" for _, what, why, count in counted[:MOST_REASONS]
    ]
    more = (
        f"; and {plural(len(counted) - MOST_REASONS, 'more reason')}" if len(counted) > MOST_REASONS else ""
    )
    return f"{plural(total, 'entry', 'entries')} in the ledger: {'; '.join(reasons)}{more}. tables/left-out.md lists all."


def _relations(release: Release) -> str:
    columns = release.snapshot.stimuli.columns
    shared = [name for name in ("system", "intent", "prompt") if name in columns]
    return f"Stimuli share {listed(shared)}; each is a column." if shared else "None are recorded."


def _splits(release: Release) -> str:
    split, placed = split_of(release), placement(release)
    parts = [
        f"{part} ({plural(placed.filter(placed['split'] == part).height, 'stimulus', 'stimuli')})"
        for part in parts_of(placed, split)
    ]
    if split.by == SPLIT:
        return f"Yes, those of the source: {listed(parts)}."
    return f"Yes: {listed(parts)}, divided by {split.by} so that nothing of one {split.by} is in two parts."


def _errors(release: Release) -> str:
    analysis = release.analysis
    if analysis is None:
        return NOT_STATED
    flagged = len(analysis.summary.screening.flagged)
    notes = " ".join(analysis.summary.notes)
    text = f"Screening flagged {plural(flagged, 'rater')} of {number(analysis.summary.counts.raters)} as possibly careless."
    return f"{text} Reliability and ceilings in the card say how noisy the ratings are. {notes}".strip()


def _self_contained(release: Release) -> str:
    media = list(release.media.values())
    if not media:
        return "Yes; no media belong to the release."
    absent = [medium for medium in media if medium.path is None]
    if not absent:
        return f"Yes: all {plural(len(media), 'media file')} are included, without metadata."
    reasons = listed(
        list(dict.fromkeys(medium.why_absent or "no reason is recorded" for medium in absent)), 4
    )
    text = f"No: {number(len(absent))} of {plural(len(media), 'media file')} are not included ({reasons});"
    return f"{text} media.csv gives links and hashes."


def _people(release: Release) -> str:
    facts = rater_facts(release)
    if not facts:
        return "The ratings are of people, about whom nothing but a pseudonym is published."
    names = listed([fact.column for fact in facts], 20)
    return f"The ratings are of people. Published about them, after generalisation: {names}. tables/raters.md counts every answer."


def _collected(release: Release) -> str:
    if release.analysis is None:
        return stated(release.details.recruitment)
    parts = {paragraph.title: paragraph.text for paragraph in methods_section(release.analysis)}
    wanted = ("Participants and ratings", "Measures", "Procedure", "Verification of drafts")
    return " ".join(parts[title] for title in wanted if title in parts)


def _consent(release: Release) -> str:
    consent = release.snapshot.study.consent
    if consent is None or not collected_here(release.snapshot):
        return stated(None)
    return f"Raters read a statement of consent (version {consent.version}) before they began."


def _withdrawn(release: Release) -> str:
    wishes = [step for step in release.record.steps if step.kind == "wishes"]
    if wishes:
        return " ".join(f"{step.about.rstrip('.')}." for step in wishes)
    return (
        "No withdrawal is recorded; raters of studies on heartfelt's own pages can have their answers erased."
    )


def _processed(release: Release) -> str:
    steps = f"{steps_words(release)} tables/anonymisation.md lists every step with its rows and cost.".strip()
    return (
        f"{steps} Labels were made from the ratings as METHODS.md describes." if release.benchmark else steps
    )


def _raw(release: Release) -> str:
    return (
        "The ratings are published one by one, as far as anonymisation allows; labels are made from them. The unpublished"
        f" source has the keyed hash {release.record.source_hash}."
    )


def _software(release: Release) -> str:
    return f"heartfelt {release.record.version}; 'heartfelt analyze' on snapshot/ recomputes every number of the card."


def _licences(release: Release) -> str:
    own, media = licence_of(release), media_licence_of(release)
    ratings = (
        f"Ratings and labels: {own.name} ({own.spdx})."
        if own
        else "Ratings and labels: the authors state no licence."
    )
    single = file_licences(release)
    files = f" By file: {'; '.join(single)}." if single else ""
    return f"{ratings} " + (
        f"Media: {media.name} ({media.spdx}).{files}"
        if media
        else files.strip() or "Media: the authors state no licence."
    )


Asked = Mapping[str, Callable[[Release], str]]
QUESTIONS: Mapping[str, Asked] = {
    "Motivation": {
        "What was the dataset made for?": _purpose,
        "Who made it, and for whom?": _makers,
        "Who paid for it?": lambda release: stated(release.details.funding),
        "Do the makers have interests that readers should know?": lambda release: stated(
            release.details.conflicts
        ),
    },
    "Composition": {
        "What does an instance stand for?": _instances,
        "How many are there?": _size,
        "Is it everything there is, or a sample?": _sample,
        "What data does each instance consist of?": lambda _: DATA,
        "Is there a label for each instance?": _labels,
        "Is information missing from instances?": _missing,
        "Are relations between instances explicit?": _relations,
        "Are there recommended splits?": _splits,
        "Are there errors, noise or redundancies?": _errors,
        "Is it complete in itself, or does it depend on other resources?": _self_contained,
        "Does it concern people, and which groups?": _people,
        "Can people be identified?": lambda release: " ".join(
            (privacy_words(release), *privacy_limits(release))
        ),
        "Could any of it offend or upset?": lambda release: stated(release.details.content),
    },
    "Collection": {
        "How were the data collected?": _collected,
        "Who rated, and how were they found?": lambda release: stated(release.details.recruitment),
        "What were they paid?": lambda release: stated(release.details.pay),
        "Over which period?": lambda release: stated(release.details.collected),
        "Was there an ethical review?": lambda release: stated(release.details.ethics),
        "Did people consent?": _consent,
        "Could people withdraw, and did they?": _withdrawn,
    },
    "Processing": {
        "How were the data cleaned, labelled or changed?": _processed,
        "Are the raw data available?": _raw,
        "Is the software available?": _software,
    },
    "Uses": {
        "What is it suited for?": lambda release: stated(release.details.uses),
        "What should it not be used for?": lambda release: stated(release.details.not_for),
        "What about how it was made might affect later uses?": lambda release: stated(release.details.limits),
        "Who or what is over- or underrepresented?": lambda release: stated(release.details.biases),
    },
    "Distribution": {
        "How is it distributed?": lambda release: stated(release.details.url),
        "Has it a DOI?": lambda release: stated(release.details.doi),
        "Under which licences?": _licences,
        "Who holds the rights?": lambda release: stated(
            f"{holders_of(release.details)}." if release.details.authors else None
        ),
    },
    "Maintenance": {
        "Who maintains it, and will it be updated?": lambda release: stated(release.details.maintenance),
        "Whom can one ask?": lambda release: stated(release.details.contact),
        "How should it be cited?": citation_line,
        "How are versions told apart?": lambda release: (
            f"By the hash of the snapshot, {release.snapshot.hash}, and CHECKSUMS.sha256."
            + (f" This is version {release.details.version}." if release.details.version else "")
        ),
    },
}
"""The parts and questions of the datasheet, with who answers."""
