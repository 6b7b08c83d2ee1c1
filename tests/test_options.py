"""One source for options: what a command takes, its function takes, and the types, the help and the docstring say the same."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer

from heartfelt import api as public
from heartfelt.arguments import keyword_function, option_classes
from heartfelt.cli.app import app
from heartfelt.cli.flags import App, with_flags
from heartfelt.errors import InputError, on_command_line
from heartfelt.options import Option, Without, build, check, options_of, written

PUBLIC: Mapping[str, str] = vars(public)["FUNCTIONS"]
ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "analyze": ("analyze",),
    "bench": ("bench",),
    "conveyance": ("convey",),
    "deposit": ("send",),
    "distances": ("distances",),
    "draft": ("draft",),
    "evaluate": ("train", "fine_tune"),
    "experiment": ("experiment",),
    "intents": ("choose_intents",),
    "make": ("make",),
    "new": ("start_study",),
    "plan": ("plan",),
    "predict": ("predict",),
    "prepare": ("prepare",),
    "publish": ("publish", "send"),
    "score": ("score_pinned",),
    "serve": ("serve",),
    "serve-predictor": ("serve_predictor",),
    "simulate-collection": ("simulate_collection",),
    "site": ("write_site",),
    "train": ("train", "fine_tune"),
    "view": ("write_view",),
    "words": ("words",),
}
"""The public functions of each command that is a stage."""
NO_FUNCTION: Mapping[str, str] = {
    **dict.fromkeys(("recipes", "check", "schema", "formats", "show", "prompts"), "prints what is there"),
    **dict.fromkeys(("import", "export"), "heartfelt.read, Snapshot.write and heartfelt.export"),
    **dict.fromkeys(("snapshot", "backup", "restore", "preview"), "manages a collection"),
    **dict.fromkeys(("serve-benchmark",), "serves until it is stopped; Challenge and serve_challenge"),
    "demo": "runs the other stages",
}
"""Commands that are no stage, with what they are instead; groups manage collections, models and challenges."""
PRINTING = {"out", "as_json", "browser", "help"}
ONLY_COMMAND: Mapping[str, Mapping[str, str]] = {
    "bench": {"model": "models, by position"},
    "conveyance": {"model": "a loaded model"},
    "deposit": {"details": "part of the options object", "target": "by position"},
    "draft": {"dry_run": "heartfelt.predictors.drafts.plan_drafts"},
    "evaluate": {"settings_file": "a dict", "export_only": "export_chat_training"},
    "experiment": {
        "source": "sources, a dict",
        "dry_run": "heartfelt.training.experiments.listed_cells",
        "format": "read the sources with heartfelt.read",
        "map": "read the sources with heartfelt.read",
    },
    "intents": {"limits": "read_norms", "to": "intents_yaml"},
    "make": {"dry_run": "heartfelt.stimuli.forecast_make"},
    "new": {},
    "predict": {
        "files": "source",
        "prompts": "prompt, a dict",
        "earlier": "a hidden flag of version 0.8",
        "most": "how much is printed",
    },
    "prepare": {"report_to": "out"},
    "publish": {"push": "api.send", "deposit": "api.send"},
    "score": {"verify": "heartfelt.scoring.bench.pinned.verify"},
    "serve-predictor": {"name": "a predictor"},
    "train": {"settings_file": "a dict", "export_only": "export_chat_training"},
    "words": {},
}
"""Parameters of a command that its functions take in another way, or that are about what is printed."""
ONLY_FUNCTION: Mapping[str, Mapping[str, str]] = {
    "bench": {"folder": "--out", "models": "--model"},
    "conveyance": {"read": "how a source is read"},
    "evaluate": {"evaluate_only": "the command itself"},
    "experiment": {"sources": "SOURCE"},
    "predict": {"source": "FILE", "folder": "--out"},
    "publish": {"target": "--push and --deposit"},
    "score": {"timeout": "of the second process"},
    "serve": {"prepared": "how the command says what it waits for", "ready": "the same"},
    "serve-predictor": {"predictor": "NAME", "ready": "what the command prints"},
    "train": {"evaluate_only": "heartfelt evaluate"},
}


def leaves(command: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        if hasattr(inner, "commands"):
            yield from leaves(inner, f"{prefix}{name} ")
        else:
            yield prefix + name, inner


@cache
def commands() -> dict[str, Any]:
    return dict(leaves(typer.main.get_command(app)))


def option_names(function: str) -> set[str]:
    inner = inspect.unwrap(getattr(public, function))
    return {name for _, offered in option_classes(inner).values() for name in offered}


def test_every_command_is_a_stage_or_says_what_it_is() -> None:
    assert {name for name in commands() if " " not in name} == FUNCTIONS.keys() | NO_FUNCTION.keys()
    used = {function for functions in FUNCTIONS.values() for function in functions}
    assert PUBLIC.keys() - used == {"label", "screen", "plot"}, "functions without a command"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_and_its_functions_take_the_same(name: str) -> None:
    typed = {parameter.name for parameter in commands()[name].params} - PRINTING
    taken: set[str] = set()
    for function in FUNCTIONS[name]:
        parameters = inspect.signature(getattr(public, function)).parameters
        taken |= parameters.keys() - {"progress", "out", "cache"} | ({"cache"} & option_names(function))
    positional = {parameter.name for parameter in commands()[name].params if parameter.param_type_name == "argument"}
    lacking = typed - taken - ONLY_COMMAND.get(name, {}).keys() - positional
    further = taken - typed - ONLY_FUNCTION.get(name, {}).keys()
    firsts = {next(iter(inspect.signature(getattr(public, function)).parameters)) for function in FUNCTIONS[name]}
    assert lacking == set(), "no function of the stage takes these"
    assert further - firsts == set(), "the command does not take these"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_flags_have_the_help_and_the_default_of_their_option(name: str) -> None:
    fields = {
        key: field
        for function in FUNCTIONS[name]
        for _, offered in option_classes(inspect.unwrap(getattr(public, function))).values()
        for key, field in offered.items()
    }
    flags = {parameter.name: parameter for parameter in commands()[name].params}
    assert fields or name == "conveyance"
    for key in fields.keys() & flags.keys():
        assert fields[key].option.help in flags[key].help or key in ("questions", "seed", "policy", "private")
        assert [flag for text in fields[key].flags for flag in text.split("/")] == [
            *flags[key].opts,
            *flags[key].secondary_opts,
        ]
        default = flags[key].default
        if isinstance(default, bool | int | float) and key != "cache":
            assert default == fields[key].default


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_options_are_frozen_documented_keywords(name: str) -> None:
    for kind, offered in option_classes(inspect.unwrap(getattr(public, name))).values():
        assert is_dataclass(kind)
        assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]  # every dataclass has them
        assert all(field.kw_only for field in kind.__dataclass_fields__.values())
        assert kind.__doc__
        text = inspect.getdoc(getattr(public, name)) or ""
        for key, field in offered.items():
            assert re.match(r".+[.:)]$", field.option.help), (name, key)
            assert re.search(rf"^{key} : \S", text, re.MULTILINE), (name, key)


def test_types_for_editors_and_tables_in_the_docs_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "write_options.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Nested."""

    depth: Annotated[int, Option(help="How deep.", low=1)] = 2
    shared: Annotated[str, Option(help="In both.")] = "a"
    hidden: Annotated[int, Option(help="Not offered.")] = 7

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """What a stage takes."""

    names: Annotated[tuple[str, ...], Option(help="Names.", flags=("--name",))] = ()
    sizes: Annotated[tuple[int, ...], Option(help="Sizes.", separator=",")] = (1, 2)
    weights: Annotated[Mapping[str, float] | None, Option(help="Weights.", metavar="KEY=NUMBER", example="a=1")] = None
    way: Annotated[Literal["up", "down"], Option(help="The way.")] = "up"
    place: Annotated[Path | None, Option(help="Where.")] = None
    loud: Annotated[bool, Option(help="Whether.")] = True
    half: Annotated[float, Option(help="A half, or a text.", parse=lambda text: float(text) / 2)] = 1.0
    shared: Annotated[str, Option(help="In both.")] = "a"
    inner: Annotated[Inner, Without("hidden")] = Inner(depth=3)

    def __post_init__(self) -> None:
        check(self)


def stage(source: str, options: Outer, *, progress: int = 0) -> tuple[str, Outer, int]:
    """Do it.

    Parameters
    ----------
    source : str
        From where.

    Returns
    -------
    tuple
        What it got.
    """
    return source, options, progress


def run(*words: str) -> Outer:
    got: list[Outer] = []
    group = App()

    @group.command()
    def only(options: Outer) -> None:
        """One command."""
        got.append(options)

    with on_command_line():
        typer.main.get_command(group)(args=list(words), standalone_mode=False)
    return got[0]


def test_options_from_a_command_line() -> None:
    assert run() == Outer()
    assert run("--no-loud", "--way", "down", "--depth", "5").inner.depth == 5
    chosen = run(
        *("--name", "a", "--name", "b", "--sizes", "3,4", "--weights", "x=1.5", "--place", "there"),
        *("--half", "4", "--shared", "s"),
    )
    assert (chosen.names, chosen.sizes, chosen.weights) == (("a", "b"), (3, 4), {"x": 1.5})
    assert (chosen.place, chosen.half) == (Path("there"), 2.0)
    assert (chosen.shared, chosen.inner.shared, chosen.inner.hidden) == ("s", "s", 7)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--sizes", "3,x"), "--sizes 3,x: not whole numbers with commas."),
        (("--weights", "x"), "'x' is not of the form KEY=NUMBER."),
        (("--weights", "x=y"), "--weights x=y: 'y' is not a number."),
        (("--way", "left"), "--way = 'left' is unknown."),
    ],
)
def test_what_is_wrong_on_a_command_line_names_the_flag(words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        run(*words)
    assert caught.value.problem == problem
    assert caught.value.fix


def test_options_as_keywords() -> None:
    function = keyword_function(stage)
    source, options, progress = function("x", names="one", sizes=[5], depth=4, place="there", progress=3)
    assert (source, progress) == ("x", 3)
    assert options == Outer(names=("one",), sizes=(5,), place=Path("there"), inner=Inner(depth=4))
    assert list(inspect.signature(function).parameters) == [
        "source", "names", "sizes", "weights", "way", "place", "loud", "half", "shared", "depth", "progress",
    ]  # fmt: skip
    assert "depth : int\n    How deep." in (function.__doc__ or "")
    with pytest.raises(TypeError, match="hidden"):
        function("x", hidden=1)


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"names": 5}, "names=5 is not a list of text."),
        ({"sizes": ["a"]}, "sizes=['a'] is not a list of a whole number."),
        ({"weights": 3}, "weights=3 is not a mapping."),
        ({"place": 3}, "place=3 is not a path."),
        ({"loud": "yes"}, "loud='yes' is not True or False."),
        ({"way": "left"}, "way = 'left' is unknown."),
        ({"depth": 0}, "depth must be at least 1, not 0."),
        ({"depth": True}, "depth=True is not a whole number."),
    ],
)
def test_what_is_wrong_in_python_names_the_argument(keywords: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        keyword_function(stage)("x", **keywords)
    assert caught.value.problem == problem
    assert caught.value.fix


def test_a_nested_default_is_kept_and_an_option_knows_its_name() -> None:
    assert options_of(Outer)["depth"].default == 3
    assert build(Outer, {"shared": "b"}).inner == Inner(depth=3, shared="b")
    assert written(Outer(), "names") == "names"
    with on_command_line():
        assert written(Outer(), "names") == "--name"


def test_a_command_without_options_is_left_as_it_is() -> None:
    def plain(source: str) -> None: ...

    assert with_flags(plain) is plain
