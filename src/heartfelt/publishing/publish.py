"""From a snapshot to a folder that can be published, and a private one that cannot."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.clock import now
from heartfelt.errors import InputError, StudyError
from heartfelt.files import make_private, make_public, must_be_free, whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.labels import Benchmark
from heartfelt.progress import Progress, no_progress
from heartfelt.publishing.anonymity.check import check_groups, check_media, check_step, private_texts
from heartfelt.publishing.anonymity.columns.durations import answer_times
from heartfelt.publishing.anonymity.columns.roles import check_named_columns
from heartfelt.publishing.anonymity.columns.unpublished import leave_out_columns
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.earlier import with_earlier
from heartfelt.publishing.anonymity.generalisation.people import coarsen, facts_of
from heartfelt.publishing.anonymity.key import KEYED, keyed_hash, private_folder, refuse_inside, secret_key
from heartfelt.publishing.anonymity.media import media_table, publish_media
from heartfelt.publishing.anonymity.pseudonyms import people_of, pseudonymise
from heartfelt.publishing.anonymity.texts.in_release import check_release, decided_in_release, take_out, with_allowed
from heartfelt.publishing.anonymity.texts.quarantine import QUARANTINE, QuarantinedText
from heartfelt.publishing.anonymity.texts.texts import quarantine_texts
from heartfelt.publishing.anonymity.texts.wishes import PSEUDONYMS, gone_since, honour_wishes
from heartfelt.publishing.digests import SOURCE, with_keyed_hashes, write_digests
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.publishing.layouts import LAYOUTS
from heartfelt.publishing.layouts.layout import USUAL_LAYOUTS
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.papers.write import Papers, write_papers
from heartfelt.publishing.read_back import ReadBack
from heartfelt.publishing.release.checksums import write_checksums
from heartfelt.publishing.release.record import record, write_record
from heartfelt.publishing.release.release import Release, ReleaseLayout, ReleaseRecord
from heartfelt.publishing.release.splits import check_split, freeze_release, release_split, split_options
from heartfelt.publishing.statements.details import Details
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import parse_study, study_text

BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PublishedStudy:
    """What was published where, and what remains to be decided."""

    folder: Path
    private: Path
    release: Release
    papers: Papers
    """What the papers could not say: keys that the authors left out, columns that nobody described."""
    quarantined: tuple[QuarantinedText, ...] = ()
    comparison: ReadBack | None = None
    """How the published tables differ from the source, where they were read back."""

    @property
    def record(self) -> ReleaseRecord:
        return self.release.record

    @property
    def undecided(self) -> int:
        """Texts that were left out because nobody has decided about them."""
        return sum(not text.decision for text in self.quarantined)

    @property
    def quarantine(self) -> Path:
        """The file in which to decide about them."""
        return self.private / QUARANTINE


def publish(
    snapshot: Snapshot,
    out: Path | str,
    options: PublishOptions | None = None,
    details: Details | None = None,
    progress: Progress | None = None,
) -> PublishedStudy:
    """Make a snapshot anonymous and write it to ``out`` with benchmark, layouts and papers; complete or not at all."""
    options, details, report = options or PublishOptions(), details or Details(), progress or no_progress
    out = Path(out)
    must_be_free(out)
    if snapshot.source.media_root is not None:
        refuse_inside(out, snapshot.source.media_root, "where the media of the source are")
    layouts = _layouts(options)
    split_options(snapshot.stimuli, options.split)  # settings that cannot be are refused before any work
    private = private_folder(out, options.private)
    key = secret_key(out, private, options.key)
    source = Draft.of(snapshot)
    check_named_columns(source, options)
    everybody = people_of(source)
    found_before = decided_in_release(options, private)
    options = with_allowed(options, found_before)
    with whole_folder(out) as folder:
        report("removing what is private", 0, 5)
        draft = honour_wishes(source, options)
        draft = leave_out_columns(draft, options)
        report("removing what is private", 1, 5)
        draft, quarantined = quarantine_texts(draft, options, [*everybody, *options.private_texts], private)
        draft = take_out(draft, found_before)
        report("removing what is private", 2, 5)
        # After texts were searched for the ids themselves, before anything is compared with earlier releases.
        draft, people = pseudonymise(draft, key)
        draft = draft.changed(*gone_since(private, people))
        draft, earlier = with_earlier(draft, people, key, options)
        share = options.share_media
        if share is None and details.media_may_be_shared is False:
            share = False
        draft, media = publish_media(draft, folder, share, report, key)
        draft = with_keyed_hashes(replace(draft, source=_source(draft)), media, key)
        report("removing what is private", 3, 5)
        draft, benchmark, reason = _divided(draft, options, private, key)
        if options.hold_out is not None:  # as the stimuli: the order of the source may be that of the labels
            media = dict(sorted(media.items()))
        draft = answer_times(coarsen(draft, options, earlier), options.seconds)
        public = draft.snapshot()
        report("removing what is private", 4, 5)
        typed = [text for quarantined_text in quarantined for text in quarantined_text.private]
        secret = private_texts(source, everybody, typed, details, options)
        groups = check_groups(public, *facts_of(draft, options), options, earlier)
        release_record = record(keyed_hash(key, SOURCE, snapshot.hash), public, draft.steps, options)
        release = Release(
            snapshot=public,
            benchmark=benchmark,
            why_no_benchmark=reason,
            analysis=None,
            panel=None,
            record=release_record,
            details=details,
            media=media,
            hold_out=options.hold_out,
        )
        release = _analysed(release, options, report)
        steps = (*check_split(release, folder, report).steps, check_step(secret, groups, options))
        release = replace(release, record=replace(release_record, steps=(*release_record.steps, *steps)))
        release = _write(release, folder, layouts, report)
        papers = write_papers(release, folder, report, figures=options.figures)
        # The last check reads what was written, so that no layout or paper has to be trusted.
        report("searching every file for what is private", 0, 1)
        check_release(folder, secret, private, quarantined)
        check_media(folder)
        # Digests list every file but the checksums, and checksums every file: in this order.
        write_digests(release, folder)
        write_checksums(folder, report)
        make_public(folder)
        _same_moment(folder)
        _write_private(people, private)
    return PublishedStudy(folder=out, private=private, release=release, papers=papers, quarantined=quarantined)


def _source(draft: Draft) -> Source:
    """Where the published snapshot comes from: without paths, options and notes of the original."""
    versions = {}
    for name, text in draft.source.versions.items():
        with suppress(StudyError):  # a text that this version cannot read
            versions[name] = study_text(parse_study(text))
    return Source(format="published", name=draft.study.name, media_root=draft.source.media_root, versions=versions)


def _divided(
    draft: Draft, options: PublishOptions, private: Path, key: bytes
) -> tuple[Draft, Benchmark | None, str | None]:
    """What is published of a part that is held out, and the benchmark; all labels go to the private folder then.

    Done before facts about raters are coarsened, so that what is published of them is counted as it is published.
    """
    snapshot = draft.snapshot()
    if options.hold_out is None:
        try:
            return draft, freeze_release(snapshot, settings=options.split), None
        except InputError as error:
            return draft, None, error.problem
    split = release_split(snapshot, settings=options.split)
    columns, anyway = options.hold_out_columns, options.hold_out_anyway
    divided = hold_out(snapshot, options.hold_out, split, columns=columns, anyway=anyway)
    everything = divided.private.snapshot_hash
    hidden = replace(
        divided.private,
        snapshot_hash=keyed_hash(key, "all answers", everything),
        salt=keyed_hash(key, "salt", everything).removeprefix(KEYED),
    )
    make_private(hidden.write(private / BENCHMARK, replace=True))
    tables = {name: divided.snapshot.table(name) for name in draft.tables}
    return draft.changed(*divided.steps, **tables), divided.benchmark, divided.why_no_benchmark


def _analysed(release: Release, options: PublishOptions, report: Progress) -> Release:
    """With the analysis of what is published, and the benchmark under its hash."""
    public = release.snapshot
    if release.benchmark is None:
        release = replace(release, split=split_options(public.stimuli, options.split))
    else:
        release = replace(release, benchmark=replace(release.benchmark, snapshot_hash=public.hash))
    if not options.analysis:
        return release
    analysis = analyze(public, AnalyzeOptions(resamples=options.resamples, seed=options.seed), report)
    return replace(release, analysis=analysis, panel=analysis.panel)


def _write(release: Release, folder: Path, layouts: Iterable[ReleaseLayout], report: Progress) -> Release:
    release.snapshot.write(folder / "snapshot")
    if release.benchmark is not None:
        release.benchmark.write(folder / BENCHMARK)
    write_text(folder / "media.csv", csv_text(media_table(release.media)))
    for layout in layouts:
        release = replace(release, files=(*release.files, *layout.write(release, folder, report)))
    write_record(release.record, folder)
    return release


def _layouts(options: PublishOptions) -> list[ReleaseLayout]:
    names = USUAL_LAYOUTS if options.layouts is None else options.layouts
    return [LAYOUTS[name] for name in dict.fromkeys(("snapshot", *names))]


def _same_moment(folder: Path) -> None:
    """Give every file the same date: when each was written says in which order the source had the media."""
    moment = now().timestamp()
    for path in folder.rglob("*"):
        os.utime(path, (moment, moment))


def _write_private(people: pl.DataFrame, private: Path) -> None:
    """Who is who, for the researcher alone."""
    path = private / PSEUDONYMS
    write_text(path, csv_text(people), private=True)
