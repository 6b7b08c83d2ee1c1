"""From a snapshot to a folder that can be published, and a private one that cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.errors import InputError
from heartfelt.files import must_be_free, whole_folder
from heartfelt.labels import Benchmark
from heartfelt.progress import Progress
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import private_folder, secret_key
from heartfelt.publishing.anonymity.media import media_table, publish_media
from heartfelt.publishing.anonymity.pseudonyms import pseudonymise
from heartfelt.publishing.layouts import LAYOUTS
from heartfelt.publishing.layouts.layout import USUAL_LAYOUTS
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.papers.checksums import write_checksums
from heartfelt.publishing.papers.details import Details
from heartfelt.publishing.papers.write import Papers, write_papers
from heartfelt.publishing.record import record, write_record
from heartfelt.publishing.release import Layout, Record, Release
from heartfelt.publishing.splits import check_split, freeze_release, split_options
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What was published where, and what remains to be decided."""

    folder: Path
    private: Path
    release: Release
    papers: Papers
    """What the papers could not say: keys that the authors left out, columns that nobody described."""

    @property
    def record(self) -> Record:
        """Every step between the source and what is published."""
        return self.release.record


def publish(
    snapshot: Snapshot,
    out: Path | str,
    options: PublishOptions | None = None,
    details: Details | None = None,
    progress: Progress | None = None,
) -> Published:
    """Make a snapshot anonymous and write it to ``out`` with benchmark, layouts and papers; complete or not at all."""
    options, details, report = options or PublishOptions(), details or Details(), progress or _silent
    out, layouts = Path(out), _layouts(options)
    must_be_free(out)
    private = private_folder(out, options.private)
    key = secret_key(out, private, options.key)
    with whole_folder(out) as folder:
        draft, people = pseudonymise(Draft.of(snapshot), key)
        people.write_csv(private / "pseudonyms.csv")
        share = details.media_may_be_shared if options.share_media is None else options.share_media
        draft, media = publish_media(draft, folder, None if share else share, report)
        source = Source("published", snapshot.study.name, media_root=draft.source.media_root)
        public = replace(draft, source=source).snapshot()
        benchmark, why = _benchmark(public, options)
        steps = draft.steps
        made = record(snapshot.hash, public, steps, options)
        analysis = _analysis(public, options, report)
        panel = None if analysis is None else analysis.panel
        release = Release(public, benchmark, why, analysis, panel, made, details, media, options.hold_out)
        if benchmark is None:
            release = replace(release, split=split_options(public.stimuli, options.split))
        made = replace(made, steps=(*made.steps, *check_split(release, folder, report).steps))
        release = replace(release, record=made)
        public.write(folder / "snapshot")
        if benchmark is not None:
            benchmark.write(folder / "benchmark")
        media_table(media).write_csv(folder / "media.csv")
        for layout in layouts:
            release = replace(release, files=(*release.files, *layout.write(release, folder, report)))
        write_record(made, folder)
        papers = write_papers(release, folder, report, figures=options.figures)
        write_checksums(folder, report)
    return Published(out, private, release, papers)


def _silent(_doing: str, _done: int, _total: int) -> None:
    """No progress is shown."""


def _benchmark(snapshot: Snapshot, options: PublishOptions) -> tuple[Benchmark | None, str | None]:
    try:
        return freeze_release(snapshot, settings=options.split), None
    except InputError as error:
        return None, error.problem


def _analysis(snapshot: Snapshot, options: PublishOptions, report: Progress) -> Analysis | None:
    if not options.analysis:
        return None
    return analyze(snapshot, AnalyzeOptions(resamples=options.resamples, seed=options.seed), report)


def _layouts(options: PublishOptions) -> list[Layout]:
    names = USUAL_LAYOUTS if options.layouts is None else options.layouts
    return [LAYOUTS[name] for name in dict.fromkeys(("snapshot", *names))]
