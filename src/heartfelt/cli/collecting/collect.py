"""Commands on a collection: freezing, backups, simulated raters, and ``heartfelt study`` for one that is running."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import AsJson, Database, StudyFolder, app, bar, progress_bar, say
from heartfelt.cli.flags import App
from heartfelt.collect.options import SimulationOptions

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from heartfelt.collect import Collection

study = App(
    name="study",
    help="Manage a study that collects ratings: participants, quota, tokens, erasure, senior raters.",
    no_args_is_help=True,
)
app.add_typer(study)


@app.command()
def snapshot(
    folder: StudyFolder,
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The snapshot folder to make; DIR/snapshots/NOW if left out.")
    ] = None,
) -> None:
    """Freeze what a study has collected so far, without stopping it."""
    from heartfelt.analysis.data.preregistration import find_preregistration
    from heartfelt.cli.analysis.overview import print_overview
    from heartfelt.collect.collection import collected_snapshot
    from heartfelt.files import write_bytes

    with progress_bar(f"reading {folder}") as report:
        result = collected_snapshot(folder, report)
        stamp = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
        target = result.write(out or folder / "snapshots" / stamp)
        registered = find_preregistration(folder)
        if registered is not None:
            write_bytes(target / registered.name, registered.read_bytes(), private=True)
    print_overview(result, target)


@app.command()
def backup(
    folder: StudyFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make, outside the study folder.")],
    media: Annotated[bool, typer.Option("--media", help="Copy the media too.")] = False,
    database: Database = None,
) -> None:
    """Copy a study and everything it has collected, from one moment, without stopping it."""
    from heartfelt.collect.store.backup import back_up

    with progress_bar(f"backing up {folder}") as report:
        done = back_up(folder, out, database=database, media=media, progress=report)
    say(
        f"{out}: {done.tables['answers']:,} answered trials and {done.tables['ratings']:,} answers of"
        f" {done.tables['raters']:,} raters, {'with' if media else 'without'} the media.",
        "It holds everything that is known about participants, and the study's secret: keep it as safe as the study.",
    )


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder made by 'heartfelt backup'.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study folder to make.")],
    database: Database = None,
) -> None:
    """Make a study folder from a backup; with --database its ratings go into PostgreSQL."""
    from heartfelt.collect.store import backup as backups

    with progress_bar(f"restoring {folder}") as report:
        done = backups.restore(source, folder, database=database, progress=report)
    say(f"{folder}: the study '{done.study}' as it was at {done.at}, {done.tables['answers']:,} answered trials.")
    if (folder / backups.EDITED_FILE).exists():
        say(
            f"Its study.yaml did not fit the answers: it is kept as {backups.EDITED_FILE}, and study.yaml is the version that"
            " raters answered."
        )
    if not done.media:
        say("The backup has no media: put the study's media folder back before serving it.")


def opened(folder: Path, database: str | None) -> Collection:
    from heartfelt.collect import Collection

    with progress_bar(f"opening {folder}") as report:
        return Collection.open(folder, database=database, progress=report)


def participants_table(people: pl.DataFrame) -> Table:
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("participant", "ended", "code"):
        grid.add_column(name)
    for name in ("heard", "impossible", "minutes"):
        grid.add_column(name, justify="right")
    for name in ("suggestion", "flags"):
        grid.add_column(name)
    for row in people.iter_rows(named=True):
        heard = "–" if row["heard"] is None else f"{row['heard']:.0%}"
        share = f"{row['impossible']} of {row['trials']}"
        counts = (heard, share, f"{row['minutes']:.1f}")
        first, last = ("participant", "ended", "code"), ("suggestion", "flags")
        texts = [escape(row[name] or "") for name in (*first, *last)]
        grid.add_row(*texts[:3], *counts, *texts[3:])
    return grid


@study.command()
def participants(
    folder: StudyFolder,
    out: Annotated[Path | None, typer.Option("--out", help="Write a CSV file instead of printing it.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List recruiters' participant ids with how each took part and a suggestion, to pay people by; CSV if it is piped."""
    from heartfelt.analysis.data.payment import payment_list
    from heartfelt.cli.command import out as console
    from heartfelt.files import write_text
    from heartfelt.formats.tables.delimited import csv_text
    from heartfelt.screening import screen
    from heartfelt.serialization import dumps

    with opened(folder, database) as collection:
        everybody = collection.snapshot()
        reasons = screen(everybody).reasons() if everybody.ratings.height else {}
        table = payment_list(collection.participants(), reasons)
    if out is not None:
        write_text(out, csv_text(table), private=True)
    elif as_json:
        print(dumps({"participants": table}))
    elif console.is_terminal:
        console.print(participants_table(table))
    else:
        print(csv_text(table), end="")


@study.command()
def reminders(
    folder: StudyFolder,
    out: Annotated[Path | None, typer.Option("--out", help="Write a CSV file instead of printing it.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Also raters whose next session is not open yet.")] = False,
    url: Annotated[str, typer.Option(help="Where the study is served, for the links.")] = "http://127.0.0.1:8000",
    database: Database = None,
) -> None:
    """List as CSV who is due for the next session, since when, and their personal link: to mail them."""
    import polars as pl

    from heartfelt.files import write_text
    from heartfelt.formats.tables.delimited import csv_text
    from heartfelt.web.security.signing import RATER_SECONDS, Signer, load_keys

    with opened(folder, database) as collection:
        notes = collection.invitations().drop_nulls("rater").select("rater", "note")
        people = collection.waiting().join(notes, on="rater", how="left", maintain_order="left")
        keys = load_keys(collection)
    signer = Signer(keys.secret)
    due = people if everybody else people.filter("due")
    links = [f"{url.rstrip('/')}/r/{signer.sign('resume', rater, RATER_SECONDS)}" for rater in due["rater"]]
    text = csv_text(due.with_columns(link=pl.Series(links, dtype=pl.String)))
    if keys.new_password:
        password = f"The dashboard's password, made just now and shown only once: {keys.new_password}"
        typer.echo(password, err=True)
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
        say(f"{out}: {due.height} raters. Whoever has a link continues as that rater: keep the file safe.")


@study.command()
def instruments(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this one: its items, scores and licence.")
    ] = None,
) -> None:
    """List the questionnaires that score themselves, with what they may be used for; or show one."""
    from heartfelt.study.instruments import instrument_names, shipped_instrument
    from heartfelt.study.model import say as text_in

    if name is None:
        for instrument in map(shipped_instrument, instrument_names()):
            say(
                f"{instrument.id:<10} {instrument.name}: {len(instrument.items)} items,"
                f" {len(instrument.subscales)} scores, {instrument.licence.name}"
            )
        say("Use one in study.yaml: 'before: [{instrument: NAME}]'; 'heartfelt study instruments NAME' shows it.")
        return
    shown = shipped_instrument(name)
    languages, licence = ", ".join(shown.languages), shown.licence
    say(f"{shown.name} (version {shown.version}; {languages})", f"  Cite: {shown.citation}")
    say(f"  Licence: {licence.name}. {licence.reason} {licence.url or ''}".rstrip())
    if shown.note:
        say(f"  Note: {shown.note}")
    for item in shown.items:
        say(f"  {item.id:>3}{'R' if item.reversed else ' '} {text_in(item.text, shown.languages[0])}")
    for key, rule in shown.subscales.items():
        allowed = f", {rule.allowed_missing} may be missing" if rule.allowed_missing else ""
        say(f"  {key}: {rule.name or key}, {rule.score} of items {', '.join(rule.items)}{allowed}")


@study.command()
def erase(
    folder: StudyFolder,
    participant: Annotated[str | None, typer.Option(help="The recruiter's id of the person.")] = None,
    rater: Annotated[str | None, typer.Option(help="The rater's id in this study.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    database: Database = None,
) -> None:
    """Delete everything about one person, for good. Only a count is left; their slots open again."""
    from heartfelt.collect.collection import snapshots_holding
    from heartfelt.errors import InputError

    if (participant is None) == (rater is None):
        raise InputError("erase needs exactly one person.", "Give --participant ID or --rater ID.")
    if not yes:
        typer.confirm(f"Delete everything about {participant or rater}, for good?", abort=True)
    with opened(folder, database) as collection:
        done = collection.erase(rater=rater, participant=participant)
    say(f"Erased rater {done.rater}: {done.trials} answered trials.")
    for path in snapshots_holding(folder, done.rater):
        say(f"  {path} was frozen earlier and still contains them: delete it.")


@study.command()
def quota(
    folder: StudyFolder,
    ratings: Annotated[int, typer.Argument(min=1, help="Ratings wanted for each item.")],
    database: Database = None,
) -> None:
    """Raise the number of ratings per item while the study runs; recorded as a version of the study."""
    from heartfelt.collect.messages.commands import ChangeSettings

    with opened(folder, database) as collection:
        before = collection.study.design.ratings_per_item
        collection.do(ChangeSettings({"ratings_per_item": ratings}))
    say(f"{folder}: {ratings} ratings per item from now on (before: {before}).")


@app.command("simulate-collection")
def simulate_collection(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A study folder; its media are not needed.")],
    options: SimulationOptions,
    as_json: AsJson = False,
) -> None:
    """Try a design before anybody is paid: simulated raters, the real assignment, and the resulting coverage."""
    from heartfelt.collect.simulation import simulate_collection as simulate
    from heartfelt.serialization import dumps
    from heartfelt.study import load_study

    with progress_bar("simulating raters") as report:
        result = simulate(folder, options, report)
    if as_json:
        print(dumps(result))
        return
    gone = f", {result.turned_away} turned away" if result.turned_away else ""
    units = "stimuli" if load_study(folder).sets is None else "sets"
    say(
        f"{result.raters} raters ({result.left} left early{gone}) gave {result.ratings:,} ratings of"
        f" {result.stimuli:,} {units} in {result.days:.2g} days",
        f"  {result.min} to {result.max} ratings each; {result.lost_stimuli} {units} have too few for a label",
    )
    most = max(result.histogram.values(), default=1)
    say(*(f"  {count:>6} {bar(n / most, 40)} {n:,}" for count, n in result.histogram.items()))


@study.command()
def adjudicators(
    folder: StudyFolder,
    add: Annotated[
        str | None, typer.Option(metavar="NOTE", help="Admit a senior rater and print their personal link.")
    ] = None,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="Make a senior rater's link invalid; decisions stay.")
    ] = None,
    erase: Annotated[
        str | None, typer.Option(metavar="ID", help="Delete a senior rater and their decisions; the items wait again.")
    ] = None,
    url: Annotated[str, typer.Option(help="Where the study is served, for the link.")] = "http://127.0.0.1:8000",
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Admit senior raters, who decide items that raters disagree on, and show how far they are."""
    from heartfelt.collect.messages.adjudicators import AddAdjudicator, RevokeAdjudicator
    from heartfelt.serialization import dumps

    with opened(folder, database) as collection:
        if add is not None:
            from heartfelt.web.security.signing import Signer, adjudicator_link, load_keys

            adjudicator, keys = collection.do(AddAdjudicator(add or None)), load_keys(collection)
            if keys.new_password:
                say(f"The dashboard's password, made just now and shown only once: {keys.new_password}")
            say(f"Senior rater {adjudicator}; whoever has this link decides under that id:")
            print(adjudicator_link(Signer(keys.secret), url, adjudicator))
            return
        if revoke is not None:
            collection.do(RevokeAdjudicator(revoke))
            say(f"The link of {revoke} is invalid from now on.")
        if erase is not None:
            count = collection.erase_adjudicator(erase)
            say(f"Erased {erase} and {count} decisions. Snapshots frozen earlier still contain them: delete those.")
        people, state = collection.adjudicators(), collection.adjudication()
    if as_json:
        print(dumps({"waiting": state.waiting, "decided": state.decided, "adjudicators": people}))
        return
    say(f"{state.waiting:,} items wait for a senior rater, {state.decided:,} are decided.")
    for row in people.iter_rows(named=True):
        valid = "" if row["active"] else ", revoked"
        say(f"  {row['adjudicator']}  {row['decisions']:,} decisions{valid}  {row['note'] or ''}")
