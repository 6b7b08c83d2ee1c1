"""``heartfelt publish``: a folder that others can use and nobody can be identified in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from heartfelt.cli.command import Format, Map, Source, app, parse_map, progress_bar, read_source, say
from heartfelt.cli.deposit import DryRun, MakePublic, send_all
from heartfelt.errors import InputError
from heartfelt.extras import require_extra
from heartfelt.wording import listed

_Columns = list[str] | None


class _OptionalDetails(TyperCommand):
    """``--details`` may be given without its FILE: at the end, before another option or before a folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a bare ``--details`` an empty value."""
        for position, argument in enumerate(args):
            following = args[position + 1] if position + 1 < len(args) else "-"
            if argument == "--details" and (following.startswith("-") or Path(following).is_dir()):
                args = [*args[:position], "--details=", *args[position + 1 :]]
        return super().parse_args(ctx, args)


@app.command(cls=_OptionalDetails)
def publish(
    source: Source,
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUT",
            help="The folder to make, for everybody to read; only 'publish SOURCE --details' has none.",
        ),
    ] = None,
    format: Format = None,
    map: Map = None,
    k: Annotated[int, typer.Option("--k", help="Raters who share every published combination of facts.")] = 5,
    l: Annotated[  # noqa: E741  # the letter the literature uses for diversity
        int, typer.Option("--l", help="Values of every sensitive column among them.")
    ] = 2,
    sensitive: Annotated[
        _Columns,
        typer.Option(
            metavar="COLUMN",
            help="A column of the raters that nobody should learn about a person. May be repeated.",
        ),
    ] = None,
    open: Annotated[
        _Columns,
        typer.Option(
            metavar="COLUMN",
            help="A column to publish as it is: nobody could know a rater by it. May be repeated.",
        ),
    ] = None,
    drop: Annotated[
        _Columns, typer.Option(metavar="COLUMN", help="A column of any table to leave out. May be repeated.")
    ] = None,
    weight: Annotated[
        _Columns,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="How much a column of the raters matters where detail has to go; 1 if left out. May be repeated.",
        ),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RELEASE",
            help="An earlier release of some of the same people, to be checked together with this one. May be repeated.",
        ),
    ] = None,
    people: Annotated[
        str,
        typer.Option(
            help="Who is published: all, only people of an earlier release (earlier), or only new ones (new)."
        ),
    ] = "all",
    without_demographics: Annotated[
        bool, typer.Option("--without-demographics", help="Publish nothing that is known of raters.")
    ] = False,
    times: Annotated[
        str, typer.Option(help="The finest period to date ratings by: day, week, month or none.")
    ] = "day",
    seconds: Annotated[
        float,
        typer.Option(
            help="Publish answer times, rounded to this. Their sum is the length of a session, which recruiters show beside the"
            " id; 0 publishes none."
        ),
    ] = 0.0,
    texts: Annotated[
        str | None,
        typer.Option(
            help="search: texts with personal data wait for a decision; review: all texts do; drop: no text is published. If left"
            " out, review for up to 200 different texts and search for more.",
            show_default=False,
        ),
    ] = None,
    ner: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LANGUAGE=MODEL",
            help="A spaCy model that looks for names besides, such as en=en_core_web_lg; needs heartfelt[ner]. May be repeated.",
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="quarantine.csv with decisions; the one in the private folder if left out."
        ),
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where key and quarantine are stored; OUT-private if left out."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The key of the pseudonyms; made in the private folder if left out."
        ),
    ] = None,
    allow: Annotated[
        _Columns,
        typer.Option(metavar="TEXT", help="A text the final check would take for private. May be repeated."),
    ] = None,
    share_media: Annotated[
        bool | None,
        typer.Option(
            "--media/--no-media",
            help="Publish media files, or links and hashes; by their licence if left out.",
        ),
    ] = None,
    details: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE]",
            help="What only the authors know: title, licence, pay, ethics and more; publication.yaml of the SOURCE folder if left"
            " out. Without OUT, an empty FILE is written to fill in, and nothing else is done.",
        ),
    ] = None,
    hold_out: Annotated[
        str | None,
        typer.Option(metavar="PART", help="A part of the split whose ratings and labels stay private."),
    ] = None,
    hold_out_columns: Annotated[
        _Columns,
        typer.Option(
            metavar="COLUMN",
            help="A column to publish about held-out stimuli too, unless it predicts their labels. May be repeated.",
        ),
    ] = None,
    hold_out_anyway: Annotated[
        _Columns,
        typer.Option(
            metavar="COLUMN",
            help="A column to publish about held-out stimuli even if it predicts their labels. May be repeated.",
        ),
    ] = None,
    analysis: Annotated[
        bool, typer.Option(help="Analyse the published ratings, for the card, the tables and the figures.")
    ] = True,
    figures: Annotated[bool, typer.Option(help="Draw the figures of the analysis.")] = True,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A layout to write, such as huggingface, webdataset, csv, published. May be repeated; huggingface and csv"
            " if left out.",
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="How stimuli are divided: by=COLUMN (or by=published), seed=N, folds=N, or shares such as train=0.8. May be"
            " repeated.",
        ),
    ] = None,
    push: Annotated[
        list[str] | None,
        typer.Option(metavar="hub:OWNER/NAME", help="Send it to the Hugging Face hub (token in HF_TOKEN)."),
    ] = None,
    deposit: Annotated[
        list[str] | None,
        typer.Option(metavar="zenodo[:sandbox]", help="Send it to Zenodo (token in ZENODO_TOKEN)."),
    ] = None,
    dry_run: DryRun = False,
    make_public: MakePublic = False,
) -> None:
    """Make a study anonymous and write dataset, benchmark and papers."""
    from heartfelt.collect.recruited import recruiters_ids
    from heartfelt.files import must_be_free
    from heartfelt.publishing.anonymity.key import refuse_inside
    from heartfelt.publishing.deposits import DepositOptions, check_target
    from heartfelt.publishing.details import read_details
    from heartfelt.publishing.options import PublishOptions, people_chosen, period, text_treatment
    from heartfelt.publishing.publish import publish as run
    from heartfelt.publishing.read_back import read_back
    from heartfelt.publishing.record import sentences

    described = Path(details) if details else None
    if out is None:
        if details is None:
            raise InputError(
                "Missing argument 'OUT'.", "Give the folder to make: heartfelt publish SOURCE OUT."
            )
        _write_details(source, described)
        return
    must_be_free(out)
    models = parse_map(ner, "--ner en=en_core_web_lg")
    if models:
        require_extra("ner")
    refuse_inside(out, source, "which is to be published")
    recruited = recruiters_ids(source)
    stated = read_details(described or (source if source.is_dir() else None))
    sending = DepositOptions(dry_run, make_public, stated, private)
    for target in (targets := [*(push or ()), *(deposit or ())]):
        check_target(target, sending)
    options = PublishOptions(
        k=k,
        l=l,
        sensitive=tuple(sensitive or ()),
        open=tuple(open or ()),
        drop=tuple(drop or ()),
        weights=_weights(weight),
        earlier=tuple(earlier or ()),
        people=people_chosen(people),
        without_demographics=without_demographics,
        times=period(times),
        seconds=seconds,
        texts=None if texts is None else text_treatment(texts),
        ner=models,
        decisions=decisions,
        private=private,
        key=key,
        private_texts=(str(source.resolve()), *recruited),
        allow=tuple(allow or ()),
        share_media=share_media,
        split=parse_map(split, "--split by=prompt"),
        hold_out=hold_out,
        hold_out_columns=tuple(hold_out_columns or ()),
        hold_out_anyway=tuple(hold_out_anyway or ()),
        analysis=analysis,
        figures=figures,
        layouts=None if layout is None else tuple(layout),
    )
    with progress_bar(f"reading {source}") as report:
        snapshot = read_source(source, format, parse_map(map), report)
        published = run(snapshot, out, options, stated, progress=report)
        comparison = read_back(snapshot, published.folder, published.private, key)
    say(*(f"• {line}" for line in sentences(published.record)))
    say(*comparison.sentences)
    if published.papers.not_stated:
        say(
            "The papers say 'Not stated by the authors' for:",
            *(f"• {line}" for line in published.papers.not_stated),
            "Fill in publication.yaml and publish again; 'heartfelt publish DIR --details' writes an empty one.",
        )
    if published.papers.undescribed:
        names = listed(list(published.papers.undescribed), 12)
        say(f"Columns that nobody has described (add them under 'columns' in publication.yaml): {names}.")
    if published.undecided:
        say(
            f"{published.undecided:,} texts wait for a decision: fill in the column 'decision' of {published.quarantine}"
            " with publish, redact or drop, and publish again."
        )
    say(f"Published: {out}", f"Private, never to be shared: {published.private}")
    send_all(out, targets, sending)


def _weights(pairs: list[str] | None) -> dict[str, float]:
    """``["age=3"]`` as a mapping."""
    weights = {}
    for name, text in parse_map(pairs, "--weight about_age=3").items():
        try:
            weights[name] = float(text)
        except ValueError as error:
            raise InputError(
                f"The weight '{text}' of '{name}' is not a number.", "Use 1, 3 or 0.5."
            ) from error
    return weights


def _write_details(source: Path, details: Path | None) -> None:
    """Write an empty file of details to fill in, by default ``publication.yaml`` in the source's folder."""
    from heartfelt.publishing.details import write_details_template

    path = write_details_template(details or (source if source.is_dir() else source.parent))
    say(f"Wrote {path}. Every key may stay empty; fill in what you can before 'heartfelt publish'.")


@app.command("publish-details", hidden=True)
def publish_details(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study folder.")],
) -> None:
    """Write an empty publication.yaml; 'heartfelt publish DIR --details' does the same."""
    _write_details(folder, None)
