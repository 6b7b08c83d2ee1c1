"""The pages of settings and of what is registered, from the program itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from formats import cell


def pages() -> dict[str, str]:
    """The Markdown of each page by its path below ``settings/``."""
    return {
        "study.md": _study(),
        "generators.md": _generators(),
        "screening.md": _screening(),
        "figures.md": _figures(),
        "predictors.md": _predictors(),
        "models.md": _models(),
        "training.md": _training(),
        "scoring.md": _scoring(),
        "tables.md": _tables(),
        "web-api.md": _web_api(),
    }


def _study() -> str:
    from heartfelt.study.model import Question
    from heartfelt.study.parts.adjudication_rules import Adjudication
    from heartfelt.study.parts.design import Design, Recruiting
    from heartfelt.study.parts.sets import Sets
    from heartfelt.study.study import StimuliSource

    parts = [
        "# Keys of study.yaml\n",
        "The keys of the parts of `study.yaml`, generated from the program; `heartfelt schema` prints all as a JSON Schema. "
        "What they are for is on the page about [study.yaml](../study.md).\n",
    ]
    named: dict[str, type[BaseModel]] = {
        "stimuli": StimuliSource, "questions": Question, "sets": Sets, "design": Design, "recruiting": Recruiting,
        "adjudication": Adjudication,
    }  # fmt: skip
    parts += [f"## {name}\n\n{_first_line(model)}\n\n{_table(model, {'rules'})}" for name, model in named.items()]
    return "\n".join(parts)


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").splitlines()[0].replace("``", "`")


def _screening() -> str:
    from heartfelt.screening import POLICIES, RULES

    parts = [
        "# Screening rules and policies\n",
        "Every rule with its settings, and what every policy does with it, generated from the program. How the rules work and "
        "how often they are right is on the page about [screening](../screening.md).\n",
        "## Policies\n",
        _rows_of(("policy", "meaning"), ((f"`{name}`", POLICIES[name].about) for name in POLICIES)),
        "## Rules\n",
        _rows_of(
            ("rule", "examines", *POLICIES),
            ((f"`{name}`", RULES[name].about, *(POLICIES[p].action(name) for p in POLICIES)) for name in RULES),
        ),
        "## Settings of rules\n",
        _rows_of(
            ("rule", "setting", "default", "meaning"),
            (
                (f"`{name}`", f"`{key}`", _default(value).replace("inf", "none").replace("-none", "none"), about)
                for name in RULES
                for key, (value, about) in RULES[name].settings.items()
            ),
        ),
    ]
    return "\n".join(parts)


def _figures() -> str:
    from heartfelt.report.figures import FIGURES

    return "\n".join(
        [
            "# Figures of a report\n",
            "Every figure by its name, for `heartfelt.plot(analysis, NAME)` and the files in `figures/`, generated from the "
            "program. How they are made is on the page about [reports](../report.md#figures).\n",
            _rows_of(("figure", "shows"), ((f"`{name}`", FIGURES[name].about) for name in sorted(FIGURES))),
        ]
    )


def _predictors() -> str:
    from heartfelt.predictors import PREDICTIONS, PREDICTORS
    from heartfelt.predictors.trained.valence_arousal import shipped
    from heartfelt.serialization import from_json
    from heartfelt.training import ProtocolScore
    from heartfelt.training.heads.card import evaluation_table

    parts = [
        "# Options of predictors\n",
        "Every option of every predictor, as in `NAME[option=value]:ARG`, and the columns of predictions, generated from the "
        "program. What they do is on the page about [predictors](../predictors.md).\n",
    ]
    for name in sorted(PREDICTORS):
        kind = PREDICTORS[name]
        parts.append(f"## {name}\n\n{kind.about[0].upper()}{kind.about[1:]}.\n")
        if kind.options:
            parts.append(_rows_of(("option", "meaning"), ((f"`{key}`", text) for key, text in kind.options.items())))
    parts += [
        "## Columns of predictions\n",
        _rows_of(("column", "holds"), ((f"`{column.name}`", column.about) for column in PREDICTIONS.columns)),
        "## Scores of valence-arousal\n",
        "How the shipped head was evaluated ([what the readings are](../valence-arousal.md#scores)).\n",
        *evaluation_table([from_json(ProtocolScore, row) for row in shipped().facts.evaluation]),
    ]
    return "\n".join(parts)


def _models() -> str:
    from heartfelt.predictors.weights import MODELS

    parts = [
        "# Pretrained models\n",
        "Every network `heartfelt models pull` knows, with its package, licence and authors, generated from the program. How they "
        "are used is on the page about [models](../models.md).\n",
    ]
    for name in MODELS.names():
        model = MODELS[name]
        parts.append(
            f"## {name}\n\n{model.about[0].upper()}{model.about[1:]}. Package `{model.requirement}` ({model.megabytes} MB), "
            f"licence {model.licence}, <{model.source}>. {model.credit}.\n"
        )
    return "\n".join(parts)


def _scoring() -> str:
    from heartfelt.scoring import METRICS

    return "\n".join(
        [
            "# Metrics\n",
            "Every metric of `heartfelt bench`, and what a predictor that knows nothing about the item scores, generated from the "
            "program. What they are for is on the page about [scoring](../scoring.md).\n",
            _rows_of(
                ("metric", "name", "better", "chance"),
                (
                    (f"`{name}`", info.title, "higher" if info.higher_is_better else "lower", info.chance_rule)
                    for name, info in METRICS.items()
                ),
            ),
        ]
    )


def _tables() -> str:
    parts = [
        "# Tables\n",
        "The columns of every table that heartfelt reads and writes, generated from the program. A table may have more columns. "
        "What they are for is on the page about the [architecture](../architecture.md#the-snapshot).\n",
    ]
    for contract in contracts():
        about = contract.about[0].upper() + contract.about[1:].replace("``", "`")
        columns = _rows_of(("column", "holds"), ((f"`{each.name}`", each.about) for each in contract.columns))
        parts.append(f"## {contract.name}\n\n{_marked(about)}.\n\n{columns}")
    return "\n".join(parts)


def contracts() -> list[Any]:
    """The contracts of all tables but predictions, which are on the page of predictors."""
    from heartfelt.tables import Contract

    places = (
        "heartfelt.tables",
        "heartfelt.labels.labelling",
        "heartfelt.labels.vote_buckets",
        "heartfelt.labels.strengths",
        "heartfelt.labels.traces",
        "heartfelt.labels.benchmark",
        "heartfelt.screening.rule",
        "heartfelt.predictors.interface.calls",
        "heartfelt.predictors.files.media_files",
    )
    found = {
        (each.name, each.about): each
        for place in places
        for each in vars(import_module(place)).values()
        if isinstance(each, Contract)
    }
    return list(found.values())


def _web_api() -> str:
    from fastapi.openapi.utils import get_openapi

    from heartfelt.web.api import routes

    parts = [
        "# The API of a study\n",
        "Every route below `/api/v1` of a study that is served, generated from the program; the server's own `/api/v1/docs` has "
        "the forms of requests and answers. How to ask is on the page about [serving](../serving.md#api).\n",
    ]
    paths = get_openapi(title="", version="", routes=list(routes()))["paths"]
    parts.append(
        _rows_of(
            ("route", "gives or does"),
            (
                (
                    f"`{method.upper()} {path.removeprefix('/api/v1')}`",
                    says["description"].split("\n\n")[0].replace("\n", " ").replace("``", "`"),
                )
                for path, methods in paths.items()
                for method, says in methods.items()
            ),
        )
    )
    return "\n".join(parts)


def _rows_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *([_marked(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _training() -> str:
    from heartfelt.training.finetuning import FINE_TUNE_RECIPES

    parts = [
        "# Settings of fine-tuning recipes\n",
        "Every setting of every recipe, generated from the program: `--set KEY=VALUE` or `--settings FILE`. "
        "What the recipes do is on the page about [training](../training.md#fine-tuning).\n",
    ]
    for name, recipe in sorted(FINE_TUNE_RECIPES.items()):
        parts.append(f"## {name}\n\n{recipe.about[0].upper()}{recipe.about[1:]}.\n\n{_table(recipe.settings)}")
    from heartfelt.training.finetuning.recipes.images.architectures import ARCHITECTURES

    parts.append("## Architectures of image-emotion and attributes\n")
    parts.append(
        _rows_of(
            ("architecture", "what it is", "after", "details"),
            (
                (f"`{name}`", ARCHITECTURES[name].about, ARCHITECTURES[name].source, ARCHITECTURES[name].details)
                for name in ARCHITECTURES
            ),
        )
    )
    return "\n".join(parts)


def _generators() -> str:
    from heartfelt.stimuli import GENERATORS, GeneratorSettings

    shared = set(GeneratorSettings.model_fields)
    parts = [
        "# Settings of generators\n",
        "Every key of a system in `make.yaml`, generated from the program. What the generators do is on the page about "
        "[making stimuli](../make.md#generators).\n",
        f"## Every generator\n\n{_table(GeneratorSettings)}",
    ]
    for name, kind in sorted(GENERATORS.items()):
        parts.append(f"## {name}\n\n{kind.about[0].upper()}{kind.about[1:]}.\n\n{_table(kind.settings, shared)}")
    parts += [
        "## What each built-in system conveys\n",
        "`5 + gain x (intended - 5) + shift`, plus noise with that standard deviation for each stimulus, limited to 1 to 9.\n",
        _conveyance(),
    ]
    return "\n".join(parts)


def _conveyance() -> str:
    from heartfelt.stimuli.synthesis.image import IMAGE_SYSTEMS
    from heartfelt.stimuli.synthesis.music import MUSIC_SYSTEMS
    from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS

    profiles = {
        name: system.conveyance
        for systems in (MUSIC_SYSTEMS, IMAGE_SYSTEMS, VOICE_SYSTEMS)
        for name, system in systems.items()
    }
    return _rows_of(
        ("system", "valence gain", "valence shift", "arousal gain", "arousal shift", "noise"),
        (
            (
                name,
                *(str(part[axis]) for axis in ("valence", "arousal") for part in (each.gain, each.shift)),
                str(each.noise),
            )
            for name, each in profiles.items()
        ),
    )


def _marked(text: str) -> str:
    """A text in a cell; code in it stays as it is."""
    parts = text.split("`")
    return "`".join(part if at % 2 else cell(part) for at, part in enumerate(parts))


def _table(settings: type[BaseModel], without: set[str] | None = None) -> str:
    rows = [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in _rows(settings, without or set())]
    return "| key | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _rows(settings: type[BaseModel], without: set[str]) -> Iterator[tuple[str, str, str]]:
    for field, info in settings.model_fields.items():
        if field in without:
            continue
        name = info.alias or field
        inner = _model_in(info.annotation)
        if inner is None or info.description:
            default = "" if inner else _default(info.get_default(call_default_factory=True))
            yield name, default, cell((info.description or "") + _choices(info.annotation))
        if inner is not None:
            yield from ((f"{name}.{key}", default, meaning) for key, default, meaning in _rows(inner, set()))


def _choices(annotation: Any) -> str:
    """The words a key can hold, where there are only some."""
    for each in (annotation, *get_args(annotation)):
        if get_origin(each) is Literal and all(isinstance(word, str) for word in get_args(each)):
            return f" ({', '.join(f'`{word}`' for word in get_args(each))})"
    return ""


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model a field holds, also as an optional one."""
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _default(value: Any) -> str:
    """A default as it is written after ``--set`` or in YAML."""
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, tuple | list):
        value = ",".join(str(each) for each in value)
    if value is None or value in ("", {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
