"""What the pages of a site are made from: every source's scores with display names and colours, and what is public of its items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.palette import distinct
from heartfelt.report.site.sources.published import PublicFacts
from heartfelt.report.site.sources.secrets import shown_spec, without_secrets
from heartfelt.scoring import Scores
from heartfelt.scoring.bench.manifest import rounded
from heartfelt.scoring.comparison.leaderboard import Leaderboard, ScoredRun, boards_of
from heartfelt.scoring.results.parts import PartAgreement
from heartfelt.scoring.results.scores import ModelInfo
from heartfelt.serialization import from_json, to_json

K = TypeVar("K")
LEAST_ITEMS = 10
"""Where items are hidden, scores of fewer items than this are not shown: they would give labels away."""
SHOWN_DIGITS = 3
"""Of numbers that depend on hidden labels."""
HIDDEN_SOURCE = "hidden"
"""In place of the hash of a source with hidden labels."""
EXAMPLES = 4
_ITEMS: dict[str, type[pl.DataType]] = {
    "task": pl.String,
    "model": pl.String,
    "stimulus": pl.String,
    "question": pl.String,
    "system": pl.String,
    "intent": pl.String,
    "truth": pl.Float64,
    "code": pl.Float64,
    "score": pl.Float64,
    "answer": pl.String,
    "said": pl.Float64,
    "answered": pl.Boolean,
    "problem": pl.String,
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SiteBoard:
    """One source: the scores of all its models under their display names, with the items that are public."""

    scores: Scores
    asked_for: Scores
    """As ``leaderboard.json`` has it: models under the names they were asked for."""
    notes: tuple[str, ...]
    hidden: int
    """Items of which neither label nor answers are shown."""
    hidden_stimuli: frozenset[str]
    """Stimuli all of whose items are hidden."""
    examples: tuple[tuple[str, str], ...]
    """A few items (stimulus and question) that are scored."""
    runs: Mapping[str, str]
    """The run of each model, by display name."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Site:
    """Everything a site shows."""

    title: str
    boards: tuple[SiteBoard, ...]
    runs: tuple[ScoredRun, ...]
    published: PublicFacts
    models: Mapping[str, str]
    """The address of each model's page, by display name, in the order of the boards."""
    colours: Mapping[str, str]
    submit_to: str | None = None

    @property
    def hides_labels(self) -> bool:
        """Whether any item's label must not be shown."""
        return any(board.hidden for board in self.boards)

    def boards_with(self, model: str) -> list[SiteBoard]:
        return [board for board in self.boards if model in board.scores.models]


def site_of(runs: Sequence[ScoredRun], published: PublicFacts, title: str = "", submit_to: str | None = None) -> Site:
    """Compare the models of all runs, and leave only what is public of their items."""
    boards = tuple(_site_board(board, runs, published) for board in boards_of(runs))
    names = list(dict.fromkeys(model for board in boards for model in board.scores.models))
    colours = {name: distinct(index) for index, name in enumerate(names)}
    only = f"{boards[0].scores.title}: leaderboard" if len(boards) == 1 else "Leaderboard"
    return Site(
        title=title or only,
        boards=boards,
        runs=tuple(_public_runs(runs, boards)),
        published=published,
        models=file_names(names),
        colours=colours,
        submit_to=submit_to,
    )


def _public_runs(runs: Sequence[ScoredRun], boards: Sequence[SiteBoard]) -> list[ScoredRun]:
    secret = {name for board in boards if board.hidden for name in board.runs.values()}
    return [replace(run, scores=_without_oracles(run.scores)) if run.name in secret else run for run in runs]


def _site_board(board: Leaderboard, runs: Sequence[ScoredRun], published: PublicFacts) -> SiteBoard:
    names = display_names(board.scores.models, board.scores.model_info)
    by_run = {run.name: run for run in runs}
    items, slices, every_score = [pl.DataFrame(schema=_ITEMS)], [], []
    for model, (run_name, own_name) in board.origin.items():
        run = by_run[run_name]
        model_items = run.items.filter(pl.col("model") == own_name).with_columns(pl.lit(names[model]).alias("model"))
        items.append(model_items.select([name for name in _ITEMS if name in model_items.columns]))
        every_score += [replace(score, model=names[model]) for score in run.scores.scores if score.model == own_name]
        slices += [replace(part, model=names[model]) for part in run.scores.slices if part.model == own_name]
    every = pl.concat(items, how="diagonal")
    rows = published.public(every)
    rows = rows.with_columns(pl.col("answered").fill_null(pl.col("said").is_not_null()))
    hidden = every.select("stimulus", "question").n_unique() - rows.select("stimulus", "question").n_unique()
    gone = set(members(every)) - set(members(rows))
    if hidden:
        slices = [part for part in slices if part.items >= LEAST_ITEMS]
    example_items = every.select("stimulus", "question").unique().sort("stimulus", "question").head(EXAMPLES)
    examples = tuple((stimulus, question) for stimulus, question in example_items.iter_rows())
    original = renamed(board.scores, unique({model: shown_spec(model) for model in board.scores.models}))
    scores = renamed(board.scores, names)
    scores = replace(scores, scores=tuple(every_score), rows=rows, slices=tuple(slices))
    if hidden:
        original, scores = _without_oracles(original), _without_oracles(scores)
    runs_of = {names[model]: run for model, (run, _) in board.origin.items()}
    return SiteBoard(
        scores=scores,
        asked_for=original,
        notes=board.notes,
        hidden=hidden,
        hidden_stimuli=frozenset(gone),
        examples=examples,
        runs=runs_of,
    )


def _without_oracles(scores: Scores) -> Scores:
    """Scores on hidden labels without their hash and their parts, and with three digits: any of these would tell a right guess of
    all labels.
    """
    shown = from_json(Scores, rounded(to_json(scores), SHOWN_DIGITS))
    bare = replace(shown, hash=HIDDEN_SOURCE, parts=PartAgreement(), options=scores.options)
    return replace(bare, ledger=scores.ledger, rows=scores.rows)


def members(rows: pl.DataFrame) -> list[str]:
    """The stimuli of some items, those of sets one by one as well."""
    names = rows["stimulus"].unique()
    return [*names, *names.str.split(SEPARATOR).explode()]


def display_names(models: Iterable[str], about: Mapping[str, ModelInfo]) -> dict[str, str]:
    """What each model is called; the name it was asked for where two would be called the same."""
    names = {model: about[model].display_name if model in about else model for model in models}
    name_counts = Counter(names.values())
    clear = {model: name if name and name_counts[name] == 1 else model for model, name in names.items()}
    return unique({model: shown_spec(name) for model, name in clear.items()})


def unique(names: Mapping[str, str]) -> dict[str, str]:
    """The same names, numbered where several are equal."""
    out: dict[str, str] = {}
    for key, name in names.items():
        count, text = 2, name
        while text in out.values():
            count, text = count + 1, f"{name} ({count})"
        out[key] = text
    return out


def renamed(scores: Scores, names: Mapping[str, str]) -> Scores:
    """The same scores with models under other names, and without secrets in what is said of them."""
    return replace(
        scores,
        models=tuple(names[model] for model in scores.models),
        model_info={names[model]: _without_secrets(about) for model, about in scores.model_info.items()},
        coverage={
            names[model]: {
                task: replace(coverage, problems=_counted(coverage.problems)) for task, coverage in covered.items()
            }
            for model, covered in scores.coverage.items()
        },
        ranks=tuple(replace(rank, model=names[rank.model]) for rank in scores.ranks),
        scores=tuple(replace(score, model=names[score.model]) for score in scores.scores),
        comparisons=tuple(
            replace(pair, first=names[pair.first], second=names[pair.second]) for pair in scores.comparisons
        ),
        slices=tuple(replace(part, model=names[part.model]) for part in scores.slices),
        parts=scores.parts.renamed(names),
    )


def _counted(problems: Mapping[str, int]) -> dict[str, int]:
    """How often each problem came, without secrets."""
    out: Counter[str] = Counter()
    for problem, count in problems.items():
        out[without_secrets(problem)] += count
    return dict(out)


def _without_secrets(about: ModelInfo) -> ModelInfo:
    identity = None if about.identity is None else shown_spec(about.identity)
    return replace(about, spec=shown_spec(about.spec), display_name=shown_spec(about.display_name), identity=identity)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for every name, all different also where case does not count."""
    return files_of({name: name for name in names})


def files_of(names: Mapping[K, str]) -> dict[K, str]:
    """The same for things that are called by these names, several of which may be equal."""
    out: dict[K, str] = {}
    used_names: set[str] = {"index.html"}
    for key, text in names.items():
        base = re.sub(r"[^\w.-]+", "-", text).strip("-.")[:80] or "page"
        name, count = f"{base}.html", 2
        while name.casefold() in used_names:
            name, count = f"{base}-{count}.html", count + 1
        used_names.add(name.casefold())
        out[key] = name
    return out
