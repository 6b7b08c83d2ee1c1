"""README.md: the dataset card, with the front matter that the Hugging Face Hub reads."""

from __future__ import annotations

from collections.abc import Iterator

from heartfelt.analysis.methods_section import methods_section
from heartfelt.publishing.hold_out import COLUMNS, LIMIT
from heartfelt.publishing.layouts.huggingface import hub_configs, hub_front_matter
from heartfelt.publishing.licences import LicenceText
from heartfelt.publishing.papers.citation import bibtex, citation_line
from heartfelt.publishing.papers.codebook import questions_grid
from heartfelt.publishing.papers.facts import (
    answers_words,
    emotion_words,
    holders_of,
    languages_of,
    licence_of,
    media_licence_of,
    privacy_limits,
    privacy_words,
    size_words,
    stated,
    stimuli_words,
    title_of,
)
from heartfelt.publishing.papers.provenance import file_licences, provenance_grid
from heartfelt.publishing.papers.tables import (
    anonymisation_grid,
    ceiling_grid,
    labels_grid,
    ledger_grid,
    raters_grid,
    reliability_grid,
    screening_grid,
    splits_grid,
    systems_grid,
)
from heartfelt.publishing.release import Release
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.markup import (
    Grid,
    bullets,
    grid_markdown,
    heading,
    markdown,
    one_line,
    paragraphs,
    yaml_text,
)
from heartfelt.study.model import say
from heartfelt.wording import listed, number, plural

MOST_ROWS = 40
FIGURES = (
    "perceived-maps",
    "system-ranking",
    "strengths",
    "category-map",
    "ceiling",
    "reliability-by-raters",
)
"""The figures that a card shows, as far as there are such."""
MOST_FIGURES = 3
SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)
TASKS = {"audio": "audio-classification", "speech": "audio-classification", "image": "image-classification"}
COLLECTION = ("Participants and ratings", "Stimuli", "Procedure", "Verification of drafts")
"""What the card takes from the methods section."""


def front_matter(release: Release) -> dict[str, object]:
    """What the Hub reads about the dataset, as plain data."""
    terms, study = licence_of(release), release.snapshot.study
    out: dict[str, object] = {"license": "unknown" if terms is None else terms.hub}
    if terms is not None and terms.hub == "other":
        out |= {"license_name": terms.spdx.lower(), "license_link": "LICENSE"}
    out["language"] = list(dict.fromkeys(tag.split("-")[0] for tag in languages_of(release)))
    out["pretty_name"] = one_line(title_of(release), 200)
    out["task_categories"] = [TASKS.get(study.media, "other")]
    answers = release.snapshot.counts["ratings"] or release.snapshot.counts["means"]
    out["size_categories"] = [next((name for most, name in SIZES if answers < most), "100M<n<1B")]
    tags = [
        "human-ratings",
        "emotion",
        study.media,
        "croissant",
        "heartfelt",
        *map(one_line, release.details.keywords),
    ]
    out["tags"] = list(dict.fromkeys(tag for tag in tags if tag))
    return {**out, **hub_front_matter(hub_configs(release.files))}


def card(release: Release, charts: Charts | None = None) -> str:
    """The text of README.md; of the ``charts`` that are drawn into ``figures/`` it shows the main ones."""
    head = f"---\n{yaml_text(front_matter(release))}---\n"
    shown = [*_sections(release), *_figures(charts or {})]
    parts = "\n\n".join(part.strip("\n") for part in shown if part.strip())
    return f"{head}\n{parts}\n"


def _sections(release: Release) -> Iterator[str]:
    details, study = release.details, release.snapshot.study
    yield heading(1, title_of(release))
    yield f"{size_words(release)[0].upper()}{size_words(release)[1:]}."
    yield paragraphs(say(study.description))
    yield from _use(release)
    yield heading(2, "What it is")
    yield from _content(release)
    yield heading(2, "How it was collected")
    yield from _collection(release)
    yield heading(2, "Raters")
    yield from _raters(release)
    yield heading(3, "Pay")
    yield paragraphs(stated(details.pay))
    yield heading(2, "Screening")
    yield from _screening(release)
    yield heading(2, "Reliability")
    yield from _reliability(release)
    yield heading(2, "Labels and splits")
    yield from _labels(release)
    yield heading(2, "Anonymisation")
    yield from _anonymisation(release)
    for title, statement in (
        ("Intended use", details.uses or details.purpose),
        ("Uses to avoid", details.not_for),
        ("Limits", details.limits),
        ("Biases", details.biases),
        ("Ethics", details.ethics),
        ("Funding", details.funding),
        ("Conflicts of interest", details.conflicts),
    ):
        yield heading(2, title)
        yield paragraphs(stated(statement))
        if title == "Limits":
            yield from _limits(release)
    yield heading(2, "Licence")
    yield from _licences(release)
    yield heading(2, "Citation")
    yield markdown(citation_line(release), 2000)
    yield f"```bibtex\n{bibtex(release).replace('`', chr(39))}```"
    yield heading(2, "Credit")
    yield from _credit(release)
    yield heading(2, "Files")
    yield from _files(release)


def _figures(charts: Charts) -> Iterator[str]:
    figures = {name: chart for name in FIGURES if isinstance(chart := charts.get(name), Chart)}
    if figures:
        yield heading(2, "Figures")
    for name, chart in list(figures.items())[:MOST_FIGURES]:
        yield f"![{markdown(chart.title).replace(']', '')}](figures/{name}.png)"
        yield markdown(chart.caption, 2000)


def _table(grid: Grid) -> str:
    return grid_markdown(grid, caption=False, most=MOST_ROWS)


def _use(release: Release) -> Iterator[str]:
    configs = hub_configs(release.files)
    lines = ["```python"]
    if configs:
        lines += [
            "from datasets import load_dataset",
            f'data = load_dataset("PATH", "{configs[0].name}")',
            "",
        ]
    lines += ["import heartfelt", 'snapshot = heartfelt.load("PATH/snapshot")', "```"]
    yield "\n".join(lines)
    yield "`PATH` is this folder. `heartfelt analyze PATH/snapshot` recomputes every number below."


def _content(release: Release) -> Iterator[str]:
    study, counts = release.snapshot.study, release.snapshot.counts
    facts = [f"{stimuli_words(study, counts['stimuli'])}, {number(counts['rated'])} of them rated"]
    if counts["systems"]:
        facts.append(
            f"made by {plural(counts['systems'], 'system')}: {markdown(listed(_systems(release), 30), 2000)}"
        )
    if counts["intents"]:
        facts.append(f"meant to convey {plural(counts['intents'], 'intent')}")
    if counts["ratings"]:
        facts.append(f"{answers_words(release)} to {plural(len(study.asked), 'question')}")
    if counts["means"]:
        facts.append(f"{plural(counts['means'], 'published mean')} of {plural(len(study.asked), 'question')}")
    if counts["fields"]:
        facts.append(
            f"{plural(counts['fields'], 'value')} that a machine filled in, with what people decided"
        )
    media = release.media.values()
    shared = sum(medium.path is not None for medium in media)
    if media:
        facts.append(f"{number(shared)} of {plural(len(media), 'media file')} published here")
        reasons = dict.fromkeys(one_line(medium.why_absent) for medium in media if medium.why_absent)
        facts += [f"media that are not here: {markdown(listed(list(reasons), 5), 2000)}"] if reasons else []
    yield bullets(facts)
    judged = emotion_words(study)
    yield f"Raters judged {judged}." if judged else ""
    yield grid_markdown(questions_grid(study), most=MOST_ROWS)
    origins = provenance_grid(release)
    yield grid_markdown(origins, most=MOST_ROWS) if origins.rows else ""


def _systems(release: Release) -> list[str]:
    names = {system.id: system.name or system.id for system in release.snapshot.study.systems}
    return [names.get(name, name) for name in release.snapshot.stimuli["system"].drop_nulls().unique().sort()]


def _collection(release: Release) -> Iterator[str]:
    details, analysis = release.details, release.analysis
    yield f"**When:** {markdown(stated(details.collected), 2000)}"
    yield f"**How raters were found:** {markdown(stated(details.recruitment), 5000)}"
    if analysis is not None:
        for paragraph in methods_section(analysis):
            if paragraph.title in COLLECTION:
                yield f"**{paragraph.title}:** {markdown(paragraph.text, 20_000)}"
    yield "`METHODS.md` is a methods section with references; `DATASHEET.md` answers a reviewer's questions."


def _raters(release: Release) -> Iterator[str]:
    survey = release.snapshot.survey
    rater_count, unknown = len(survey.raters), survey.unknown_raters
    if not rater_count:
        yield (
            f"The source does not name the raters of its {plural(unknown, 'answer')}."
            if unknown
            else "No rater is known."
        )
        return
    listed_only = release.snapshot.raters.height - rater_count
    text = f"{plural(rater_count, 'rater')} gave at least one answer"
    text += f"; {number(listed_only)} more are listed and gave none" if listed_only > 0 else ""
    text += f"; the source does not name the raters of {plural(unknown, 'more answer')}" if unknown else ""
    yield f"{text}."
    yield _table(raters_grid(release))


def _screening(release: Release) -> Iterator[str]:
    yield _table(screening_grid(release))
    yield "Who and what was left out at any stage, and why:"
    yield _table(ledger_grid(release))


def _reliability(release: Release) -> Iterator[str]:
    yield _table(reliability_grid(release, brief=True))
    yield "More coefficients are in `tables/reliability.md`."
    yield heading(3, "The human ceiling")
    yield (
        "What a predictor that knew every stimulus's true value could expect with these labels. Scores above it point to chance,"
        " or to labels that were seen before."
    )
    yield _table(ceiling_grid(release))
    if release.analysis is not None and (
        release.analysis.summary.systems or release.analysis.summary.comparisons
    ):
        yield heading(3, "Systems")
        yield _table(systems_grid(release))


def _labels(release: Release) -> Iterator[str]:
    yield _table(labels_grid(release))
    yield _table(splits_grid(release))
    if release.hold_out:
        part = markdown(release.hold_out)
        yield (
            f"The labels and ratings of the part {part} are held out: they are not published, and submissions are scored by the"
            " benchmark's server. Its stimuli are published."
        )
        yield from (markdown(step.about, 5000) for step in release.record.steps if COLUMNS in step.settings)
    benchmark = release.benchmark
    if benchmark is not None:
        hashes = [f"{name}: `{value}`" for name, value in sorted(benchmark.table_hashes.items())]
        yield "Hashes of the benchmark's tables, in whatever order their rows are:"
        yield bullets(hashes)


def _anonymisation(release: Release) -> Iterator[str]:
    record = release.record
    yield f"{privacy_words(release)} `publication.json` holds every step for machines."
    yield _table(anonymisation_grid(release))
    yield f"Hash of the published snapshot: `{record.published_hash}`; made with heartfelt {markdown(record.version)}."


def _limits(release: Release) -> Iterator[str]:
    """What the data themselves show about their limits."""
    analysis = release.analysis
    facts = list(privacy_limits(release))
    facts += [markdown(step.about, 5000) for step in release.record.steps if LIMIT in step.settings]
    if analysis is not None:
        counts = analysis.summary.counts
        if counts.unrated:
            facts.append(
                f"{number(counts.unrated)} of {stimuli_words(analysis.snapshot.study, counts.stimuli)} have no rating."
            )
        if counts.items_without_label:
            facts.append(f"{plural(counts.items_without_label, 'item')} have no label.")
        if counts.raters and counts.raters < 20:
            facts.append(
                f"Only {plural(counts.raters, 'rater')}: results may not carry over to other people."
            )
        facts += [markdown(note, 1000) for note in analysis.summary.notes]
    if facts:
        yield "From the data:"
        yield bullets(facts)


def _licences(release: Release) -> Iterator[str]:
    for subject, terms, file in (
        ("Ratings, labels and documentation", licence_of(release), "LICENSE"),
        ("Media", media_licence_of(release), "LICENSE-MEDIA"),
    ):
        yield f"**{subject}:** {_licence_words(terms)} See `{file}`."
    if single := file_licences(release):
        yield "Licences of single files, as the column `licence` of the stimuli states them:"
        yield bullets([markdown(words, 2000) for words in single])
    yield f"Rights holders: {markdown(holders_of(release.details), 2000)}."


def _licence_words(terms: LicenceText | None) -> str:
    if terms is None:
        return "Not stated by the authors; ask them before you use it."
    link = f"[{markdown(terms.name)}]({terms.url})" if terms.url else markdown(terms.name)
    return f"{link} (`{terms.spdx}`). {terms.about}"


def _credit(release: Release) -> Iterator[str]:
    study = release.snapshot.study
    credits = [text for text in (release.details.sources, study.credit) if text]
    yield "\n\n".join(map(paragraphs, credits)) or stated(None)
    yield "Documentation and benchmark were made with heartfelt."


def _files(release: Release) -> Iterator[str]:
    rows = tuple((file.path, file.layout, file.table, file.split or "", file.rows) for file in release.files)
    if rows:
        yield _table(
            Grid(
                name="files", caption="Files", columns=("file", "layout", "table", "part", "rows"), rows=rows
            )
        )
    yield bullets(
        [
            "`snapshot/` and `benchmark/`: what heartfelt reads; `media.csv`: every media file with its hash",
            "`publication.json`: every step before publishing",
            "`CODEBOOK.md`, `codebook.csv`: every column of every table",
            "`croissant.json`: the same for machines",
            "`tables/`, `figures/`: for a paper, with the numbers behind each figure as CSV",
            "`digests.csv`: every hash in these files, what it is over, and whether it is keyed",
            "`CHECKSUMS.sha256`: check with `sha256sum -c CHECKSUMS.sha256`",
        ]
    )
    if release.details.contact:
        yield f"Contact: {markdown(release.details.contact)}"
