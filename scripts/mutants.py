"""Break the code one expression at a time and count how many breaks the tests notice.

    python scripts/mutants.py [PACKAGE ...] [--sample N] [--seed N] [--workers N] [--record]

A mutant is one changed expression: a comparison moved by its boundary or turned round, a constant moved, an
operator exchanged, a condition dropped, a keyword argument left out, ``min`` for ``max``. From each package a sample is drawn that
visits its modules in turn; for each mutant the quickest tests run that call the changed function, until the first failure. A mutant
is caught if a test fails or takes far longer than usual.

Which test calls which function is recorded once per test file, in ``.mutants.json``, and again when the test file changes; a module
that moved since is found by its name. ``EQUIVALENT`` lists mutants that change nothing a caller could see, each with the reason;
they are left out of the counts. The table goes into CONTRIBUTING.md; the exit status is 1 where a package is
below the aim of 80%.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "heartfelt"
RECORD = ROOT / ".mutants.json"
AIM = 0.8
MARKS = "not (browser or data or peer)"
MAX_SECONDS = 15.0  # of the tests of one mutant, as recorded
TIMEOUT = 300.0  # after which a mutant's tests count as failed
RECORD_SECONDS = 60.0  # on a processor, after which no more tests of a file are recorded
MAX_FILES = 12
FEW_FILES = 5
ENOUGH_TESTS = 8
UNRECORDED: dict[str, Any] = {"shared_seconds": 0, "tests": [], "calls": {}}
NO_TESTS = 5  # the exit status of pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed expression."""

    module: str
    function: str
    line: int
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """How ``EQUIVALENT`` calls it; modules move and line numbers change, expressions less so."""
        return f"{Path(self.module).name}: {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.before} -> {self.after}"


EQUIVALENT: dict[str, str] = {
    **dict.fromkeys(
        (
            f"web/challenge/final.py: ScoreOptions(ceilings=False, slices=()) -> ScoreOptions({other})"
            for other in ("ceilings=False", "slices=()")
        ),
        "the ranking reads headlines, which have neither ceilings nor slices",
    ),
    "publishing/submissions/ladder.py: shown >= certainty -> shown > certainty": "sixty halvings end at the same digits",
    "web/challenge/parts.py: costs[0] < costs[1] -> costs[0] <= costs[1]": "equal costs are decided by the coin before",
    "web/challenge/parts.py: own.group_by('prompt', maintain_order=True) -> own.group_by('prompt')": (
        "groups are put in the order of the names"
    ),
    "predictors/drafts/drafting.py: row.get('call') or '' -> row.get('call')": "neither is the id of a call",
    "predictors/drafts/cases.py: items.join(filled, on=['stimulus', 'question'], how='anti', maintain_order='left')"
    " -> items.join(filled, on=['stimulus', 'question'], how='anti')": "cases are put in the order of the stimuli",
    "predictors/drafts/drafting.py: runs and all((each.problem is not None for each in runs))"
    " -> all((each.problem is not None for each in runs))": "without a drafter nothing is run: that is an error before",
    "stats/comparison/predicted/ceilings.py: beyond(most) > 0 and most < 1000000000000.0"
    " -> beyond(most) > 0 or most < 1000000000000.0": "where a search ends at most; the root between is the same",
    "stats/comparison/predicted/ceilings.py: most < 1000000000000.0 -> most <= 1000000000000.0": "how far a search looks, only",
    "stats/comparison/strengths/choices.py: (None,) * len(names) if penalty else linked.why -> linked.why": (
        "with a penalty everybody has a strength, and reasons are not read"
    ),
    "stats/comparison/strengths/choices.py: best.size != 1 or worst.size != 1 or members.size < 2"
    " -> best.size != 1 or worst.size != 1": "a best and a worst are two members",
    "stats/comparison/strengths/fit.py: matrix.shape[0] <= DIRECT_AT_MOST -> matrix.shape[0] > DIRECT_AT_MOST": (
        "two ways to the same solution; one is quicker"
    ),
    "stats/comparison/strengths/fit.py: matrix.shape[0] <= DIRECT_AT_MOST -> matrix.shape[0] < DIRECT_AT_MOST": (
        "two ways to the same solution; one is quicker"
    ),
    "stats/comparison/strengths/fit.py: 2.0 * tied -> 2.0 / tied": "where a search starts; it ends at the same value",
    "stats/comparison/predicted/recalibration.py: step * min(1.0, 5.0 / max(float(np.abs(step * [1.0, spread]).max()), 1e-300))"
    " -> step / min(1.0, 5.0 / max(float(np.abs(step * [1.0, spread]).max()), 1e-300))": (
        "from even odds no step is longer than 5 where there is a maximum"
    ),
    "stats/inference/ordinal/fit.py: float(np.linalg.eigvalsh(hessian).min()) <= 0"
    " -> float(np.linalg.eigvalsh(hessian).min()) < 0": "rounding never leaves an eigenvalue of exactly 0",
    "stats/inference/ordinal/fit.py: thresholds * spread -> thresholds / spread": "where a search starts",
    "stats/inference/ordinal/fit.py: np.abs(parameters) > 1000.0 -> np.abs(parameters) >= 1000.0": (
        "a parameter on its way to infinity is never exactly 1000"
    ),
    "stats/inference/ordinal/fit.py: 1e-09 * abs(value) -> 1e-09 / abs(value)": "what counts as rounding in a search",
    "stats/inference/equivalence.py: self.p_above_low is None or self.p_below_high is None -> self.p_above_low is None": (
        "both are missing or neither"
    ),
    "stats/inference/adjusted_means.py: np.bincount(data.factors[of].codes, minlength=len(self.levels))"
    " -> np.bincount(data.factors[of].codes)": "every level has a row",
    "stats/inference/adjusted_means.py: 1e-09 * size.max() -> 1e-09 / size.max()": "columns have length one, so that it is about 1",
    "stats/inference/posthoc.py: not math.isfinite(df) or df > 100000000.0 -> not math.isfinite(df)": (
        "with so many degrees of freedom both ways give the same digits"
    ),
    "stats/inference/prediction_powered.py: many ** 2 / (rest.size - 1) if many else 0.0 -> many ** 2 / (rest.size - 1)": (
        "without further items it is 0 over -1"
    ),
    "stats/inference/random_intercepts.py: coding == 'sum' or all((len(term.parts) == 1 for term in data.terms))"
    " -> all((len(term.parts) == 1 for term in data.terms))": "the map from a coding to itself is the identity",
    "stats/reliability/crossed.py: 1.5 -> 1.6600000000000001": "how long a step of a search may be",
    "stats/reliability/halves.py: split_compiled if splits * d.size > COMPILED_FROM else split_at_once"
    " -> split_compiled": "two ways to the same numbers; one is quicker",
    "stats/ceilings/vote_mixture.py: 1.0 / likelihood.shape[1] -> 1.0 * likelihood.shape[1]": (
        "the weights are divided by their sum"
    ),
    "stats/reliability/halves.py: of_x > 1e-12 * xx -> of_x >= 1e-12 * xx": "what counts as rounding",
    "stats/reliability/crossed.py: logs[free] < logs[free].max() - 18.0 -> logs[free] <= logs[free].max() - 18.0": (
        "how far a search looks, only"
    ),
    "stats/reliability/halves.py: d.value[order] - float(d.value.mean()) -> d.value[order] + float(d.value.mean())": (
        "a correlation does not depend on where values begin"
    ),
    "stats/ceilings/vote_mixture.py: side * push * size -> side * push / size": "the unit of what a search looks for",
    "stats/ceilings/vote_mixture.py: solved / total if total > 0 else weights / weights.sum() -> solved / total": (
        "the sum is held close to one"
    ),
    "stats/inference/variance_tables.py: 2 * df_residual * max(df * f, 1) -> 2 * df_residual / max(df * f, 1)": (
        "where a search starts"
    ),
    "stats/inference/ordinal/links.py: 0 -> 1": "between 0 and 1 both tails keep their digits",
    "stats/inference/adjusted_means.py: 1e-07 * float(np.linalg.norm(scaled)) -> 1e-07 / float(np.linalg.norm(scaled))": (
        "what counts as rounding"
    ),
    "stats/reliability/crossed.py: fit.step.residual <= 1e-12 * float(d.value.var())"
    " -> fit.step.residual < 1e-12 * float(d.value.var())": "what counts as rounding",
    "stats/reliability/halves.py: split_compiled if splits * d.size > COMPILED_FROM else split_at_once"
    " -> split_at_once": "two ways to the same numbers; one is quicker",
    "stats/ceilings/vote_family.py: of == check -> of != check": "the smaller of two p-values, in either order",
    "stats/inference/linear_model.py: 8 * code.size -> 8 / code.size": "two ways to the same codes; one is quicker",
    "stats/inference/mixed.py: 0.3 -> 0.34": "where a search starts",
    "stats/inference/variance_tables.py: 0.5 * step -> 0.5 / step": "where a search starts",
    "stats/inference/rating_counts.py: _ROUNDS if len(self.groups) > 1 else 1 -> _ROUNDS": (
        "the means of a single grouping are gone after one round"
    ),
    "stats/inference/prediction_powered.py: part - centre -> part + centre": "a slope does not depend on where x begins",
    "stats/inference/ordinal/fit.py: decrement < _INNER_PRECISION -> decrement <= _INNER_PRECISION": "when a search ends",
    "stats/inference/ordinal/fit.py: length < 1e-06 -> length <= 1e-06": "when a search ends",
    "stats/inference/variance_tables.py: 0.95 -> 1.055": "the confidence of rows without an interval",
    "stats/inference/rating_counts.py: counts[items] if items.size else np.zeros(0) -> counts[items]": (
        "of no items both are empty"
    ),
    "stats/inference/linear_model.py: columns_needed > _MOST_COLUMNS -> columns_needed >= _MOST_COLUMNS": (
        "a limit of memory"
    ),
    "stats/inference/no_association.py: np.argsort(self.system, kind='stable') -> np.argsort(self.system)": (
        "rows of a system are shuffled anyway"
    ),
    "stats/inference/no_association.py: _flipped(own, RESAMPLES, seed, 'systems') if own.size else np.zeros(RESAMPLES)"
    " -> _flipped(own, RESAMPLES, seed, 'systems')": "sums of nothing are 0",
    "stats/inference/permutation.py: estimate.why_missing or '' -> estimate.why_missing": "always has a reason",
    "stats/inference/posthoc.py: value <= cut -> value < cut": "the cut is moved by more than rounding",
    "stats/inference/posthoc.py: df > 100000000.0 -> df >= 100000000.0": "both ways give the same digits there",
    "stats/inference/posthoc.py: 32 -> 33": "how far a sum goes beyond what counts",
    "stats/inference/mixed.py: fit.exact or not fit.converged -> not fit.converged": (
        "an exact fit has not converged either"
    ),
    "stats/inference/mixed.py: order.work > MOST_WORK -> order.work >= MOST_WORK": (
        "a limit of memory that no count of multiplications meets exactly"
    ),
    "collect/assign/state.py: event.trial or 0 -> event.trial": "for stores of earlier versions; today's rows have it",
    "analysis/systems/two_way.py: left < 0.5 -> left <= 0.5": "ratings are counted in whole numbers",
    (
        "scoring/comparison/compare.py: adjusted is None or difference.p.value is None or pairs == 1"
        " -> difference.p.value is None or pairs == 1"
    ): "a corrected p-value is missing exactly where the p-value is",
    "collect/assign/state.py: trial.position > 0 -> trial.position >= 0": "a place is -1 or at least 1",
    "collect/assign/pool.py: None if rater.latest is None else self._group.get(rater.latest)"
    " -> self._group.get(rater.latest)": "no unit is None",
    "collect/assign/state.py: change > 0 and (not rater.live) -> not rater.live": (
        "a lease can end only while its rater is live"
    ),
    "snapshot/survey.py: facts.whole or continuous -> facts.whole and continuous": "only reads the rows once more",
    "snapshot/survey.py: facts.whole or continuous -> continuous": "only reads the rows once more",
    "snapshot/survey.py: low is None or facts.low >= low -> low is None": "only reads the rows once more",
    "snapshot/survey.py: high is None or facts.high <= high -> high is None": "only reads the rows once more",
    "snapshot/survey.py: facts.low >= low -> facts.low > low": "only reads the rows once more",
    "snapshot/survey.py: facts.high <= high -> facts.high < high": "only reads the rows once more",
    "snapshot/survey.py: self._waiting[0].done() or len(self._waiting) > 2 * WORKERS"
    " -> len(self._waiting) > 2 * WORKERS": "how many wait, only",
    "snapshot/survey.py: facts.low is None or facts.high is None -> facts.low is None and facts.high is None": (
        "both are missing or neither"
    ),
    "snapshot/survey.py: set() if surveyed.stimuli == stimuli else set(surveyed.stimuli) - set(stimuli)"
    " -> set(surveyed.stimuli) - set(stimuli)": "only makes two sets more",
    "snapshot/survey.py: ratings.filter(pl.col('rater').is_not_null()).group_by(key).agg(pl.len().alias('times'),"
    " pl.col('value').alias('values')).filter(pl.col('times') > 1).sort(key).collect(engine='streaming')"
    " -> ratings.filter(pl.col('rater').is_not_null()).group_by(key).agg(pl.len().alias('times'),"
    " pl.col('value').alias('values')).filter(pl.col('times') > 1).sort(key).collect()": "only takes more memory",
    "snapshot/survey.py: ratings.filter(answered).collect(engine='streaming') -> ratings.filter(answered).collect()": (
        "only takes more memory"
    ),
    "snapshot/survey.py: 262144 -> 262145": "how many rows are looked at together, only",
    "snapshot/survey.py: lazy.collect_batches(chunk_size=BATCH, maintain_order=True)"
    " -> lazy.collect_batches(chunk_size=BATCH)": "polars keeps the order by default",
    "snapshot/survey.py: ratings.collect_batches(chunk_size=BATCH, maintain_order=True)"
    " -> ratings.collect_batches(chunk_size=BATCH)": "polars keeps the order by default",
    "snapshot/survey.py: self._pool.shutdown(cancel_futures=True) -> self._pool.shutdown()": "nothing is waiting then",
    "snapshot/survey.py: len(self._waiting) > 2 * WORKERS -> len(self._waiting) <= 2 * WORKERS": "how many wait, only",
    "snapshot/survey.py: len(self._waiting) > 2 * WORKERS -> len(self._waiting) >= 2 * WORKERS": "how many wait, only",
    "stats/prediction/association.py: self.p.why_missing or 'no difference is known' -> self.p.why_missing": "always has a reason",
    "screening/rules/ratings/informativeness.py: new_share - share -> new_share + share": (
        "the loop runs to its last round, where nothing moves any more"
    ),
    "stats/prediction/association.py: self.spread is None or self.metric is None or self.spread.why_none"
    " or self.estimate.is_missing -> self.spread is None or self.spread.why_none or self.estimate.is_missing": (
        "a spread always comes with its metric; the check is for mypy"
    ),
    "stats/reliability/reml.py: lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)"
    " -> lapack.dpotrf(matrix.T, clean=0, overwrite_a=1)": "0 is what LAPACK's wrapper takes anyway",
    "labels/labelling.py: pl.Series('item', [int(name) for name in made.items], dtype=pl.Int64)"
    " -> pl.Series('item', [int(name) for name in made.items])": "there is at least one, and polars takes int for Int64",
    "publishing/anonymity/recognise/personal_data.py: NUMBERS if numbered else () -> NUMBERS": (
        "every such pattern needs a digit anyway"
    ),
    "publishing/anonymity/recognise/personal_data.py: ADDRESSES if numbered else () -> ADDRESSES": (
        "every such pattern needs a digit anyway"
    ),
    "publishing/anonymity/recognise/personal_data.py: EASTERN_ADDRESSES if unspaced or numbered else () -> EASTERN_ADDRESSES": (
        "every such pattern needs such a letter or a digit anyway"
    ),
    "publishing/anonymity/recognise/personal_data.py: EASTERN_NAMES if unspaced else () -> EASTERN_NAMES": (
        "every such pattern needs such a letter anyway"
    ),
    "publishing/anonymity/texts/quarantine.py: pl.Int64 if name == 'times' else pl.String -> pl.String": "the file holds text only",
    "stats/inference/posthoc.py: 0.02 -> 0.032": "where a search starts; it ends at the same value",
    "publishing/digests.py: column.replace(new) if new else column -> column.replace(new)": "nothing to replace leaves all",
    "publishing/hiding/spelled.py: order is not None and abs(order) > 0.99 -> abs(order) > 0.99": (
        "a correlation that cannot be computed is NaN; None is there for the types"
    ),
    "publishing/hiding/features.py: base64.b64decode(padded, validate=True) -> base64.b64decode(padded)": (
        "it is given nothing but letters of the alphabet"
    ),
    "publishing/hiding/features.py: value == each -> value != each": "to the models a feature and its opposite are the same",
    "publishing/anonymity/check.py: 2000000 -> 2000001": "how many texts are searched at once, only",
    "publishing/anonymity/earlier.py: 0.0 -> 0.01": "no share below .9 makes two raters one",
    "publishing/anonymity/earlier.py: 500 -> 501": "how many rows are compared at once, only",
    "publishing/anonymity/generalisation/generalise.py: 8 -> 9": "how many combinations are worked out, only",
    "publishing/anonymity/generalisation/generalise.py: least[place] >= -worst[0] -> least[place] > -worst[0]": (
        "tries ties once more"
    ),
    "publishing/anonymity/columns/unpublished.py: 'stimulus' not in keys or not frame.height -> 'stimulus' not in keys": (
        "of a table without rows no item has several"
    ),
    "publishing/anonymity/generalisation/information.py: 1.0 -> 1.11": "a share is never above 1 but for rounding",
    "publishing/anonymity/generalisation/people.py: len(whens.levels) > 1 -> len(whens.levels) >= 1": (
        "without columns and dates nothing is chosen"
    ),
    "publishing/anonymity/generalisation/information.py: float(size) if total else 0.0 -> 0.0": (
        "where nothing is shown the share is 0"
    ),
    "publishing/anonymity/generalisation/people.py: raters.select('rater').join(earlier, on='rater', how='left',"
    " maintain_order='left')"
    " -> raters.select('rater').join(earlier, on='rater', how='left')": "polars keeps this order unasked",
    "publishing/anonymity/pseudonyms.py: ratings['set'].null_count() < ratings.height"
    " -> ratings['set'].null_count() <= ratings.height": "of no set the most that have seen it is nobody",
    "publishing/anonymity/generalisation/suppress.py: wanted < rows.size -> wanted <= rows.size": "nobody left is no group",
    "publishing/anonymity/generalisation/suppress.py: weights + 0.01 -> weights - 0.01": (
        "both order groups by what joining them costs"
    ),
    "planning/simulated/power.py: 8.0 -> 8.81": "where a search starts; no share has a bar below 0",
    "planning/simulated/power.py: 60 -> 61": "how often a search halves",
    "planning/simulated/power.py: float(chances(ratio, middle).mean()) > share -> float(chances(ratio, middle).mean()) >= share": (
        "which way a search goes that has arrived"
    ),
    "planning/search.py: taken is not None and taken <= limit -> taken <= limit": "a budget comes with prices",
    "planning/preregister.py: each.cost_at_most or 0.0 -> each.cost_at_most": "a budget comes with prices",
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
UNTESTABLE = {"strict", "encoding", "stacklevel", "daemon"}
"""Keywords that change nothing here: ``strict`` guards against a fault elsewhere, UTF-8 is the default of most systems."""
DEFAULTS = {"how='inner'"}
"""What a call means without the keyword too."""
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Every way one node can be broken."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for dropped in range(len(node.values)):
            rest = [value for place, value in enumerate(node.values) if place != dropped]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value = node.value
        assert isinstance(value, int | float)
        yield ast.Constant(value + 1 if isinstance(value, int) else value * 1.1 + 0.01)
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in CALLS:
            other_call = copy.deepcopy(node)
            if isinstance(other_call.func, ast.Name):
                other_call.func.id = CALLS[name]
            elif isinstance(other_call.func, ast.Attribute):
                other_call.func.attr = CALLS[name]
            yield other_call
        for keyword in node.keywords:
            if keyword.arg not in UNTESTABLE and ast.unparse(keyword) not in DEFAULTS:
                yield ast.Call(node.func, node.args, [word for word in node.keywords if word is not keyword])
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side) for side in (node.left, node.right)
    )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of one module; annotations, decorators, messages of errors, default seeds and constants of slots are left
    alone.
    """
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    silent = {id(inner) for node in ast.walk(tree) for part in _left_alone(node) for inner in ast.walk(part)}
    out = []
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node in _expressions(tree, "", ""):
        if id(node) in silent:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = ast.unparse(node)
        for other in changed(node):
            after = ast.unparse(other)
            out.append(
                Mutant(
                    module=str(path.relative_to(PACKAGE)),
                    function=function,
                    line=node.lineno,
                    before=before,
                    after=after,
                    source=(data[:begin] + f"({after})".encode() + data[end:]).decode(),
                )
            )
    return out


def _expressions(node: ast.AST, function: str, scope: str) -> Iterator[tuple[str, ast.expr]]:
    """Each expression below a node, with the qualified name of the function that evaluates it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield function, child
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _expressions(child, scope + child.name, f"{scope}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _expressions(child, function, f"{scope}{child.name}.")
        else:
            yield from _expressions(child, function, scope)


def _seeds(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Default seeds: one is as good as another."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return (value for argument, value in pairs if argument.arg == "seed" and value is not None)


def _left_alone(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
        return [
            *node.decorator_list,
            *(a.annotation for a in arguments if a.annotation),
            *_seeds(node.args),
            *([node.returns] if node.returns else []),
        ]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list]
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return [node]
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return [node]
    return []


def sample(package: str, size: int, seed: int) -> list[Mutant]:
    """``size`` mutants of a package, from its modules in turn; always the same for the same seed."""
    known = {f"{Path(module).name}: {rest}" for module, _, rest in (key.partition(": ") for key in EQUIVALENT)}
    folder = PACKAGE / package
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    queues = []
    for path in paths:
        mutants = [mutant for mutant in mutants_of(path) if mutant.name not in known]
        random.Random(f"{seed} {path.name}").shuffle(mutants)
        queues.append(mutants)
    random.Random(seed).shuffle(queues)
    turns = [queue[turn] for turn in range(size) for queue in queues if turn < len(queue)]
    return sorted(turns[:size], key=lambda mutant: (mutant.module, mutant.line))


def processor_seconds() -> float:
    """Time of this process and its children on a processor: a busy machine does not change it."""
    return sum(os.times()[:4])


class Recorder:
    """A plugin of pytest that notes which functions of heartfelt each test calls, and how long it takes.

    What is called for a fixture shared by several tests counts for every test of the file.
    """

    def __init__(self, source: Path) -> None:
        self._folder = str(source / "heartfelt") + os.sep
        self._end = processor_seconds() + RECORD_SECONDS
        self._calls: dict[int, Any] = {}
        self._shared: dict[int, Any] = {}
        self._shared_seconds = 0.0
        self._seconds: dict[str, float] = {}
        self._functions: dict[str, set[str]] = {}
        self._passed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the slow tests of a file with quick ones enough."""
        quick = [item for item in items if not item.get_closest_marker("slow")]
        items[:] = quick if len(quick) >= ENOUGH_TESTS else items

    def trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        """Note one call."""
        self._calls[id(frame.f_code)] = frame.f_code

    def _names(self, calls: dict[int, Any]) -> set[str]:
        codes = [code for code in calls.values() if code.co_filename.startswith(self._folder)]
        return {f"{code.co_filename.removeprefix(self._folder)}:{code.co_qualname}" for code in codes}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """What is called for a fixture of the whole file is noted separately."""
        if fixturedef.scope == "function":
            return (yield)
        calls, self._calls, begin = self._calls, self._shared, processor_seconds()
        try:
            return (yield)
        finally:
            self._calls = calls
            self._shared_seconds += processor_seconds() - begin

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Trace one test with its fixtures; none any more once time is up."""
        self._calls, begin, shared = {}, processor_seconds(), self._shared_seconds
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self._seconds[item.nodeid] = processor_seconds() - begin - (self._shared_seconds - shared)
            self._functions[item.nodeid] = self._names(self._calls)
            if processor_seconds() > self._end:
                item.session.shouldstop = "no time left to record more"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether the test passed."""
        if report.when == "call" and report.passed:
            self._passed.append(report.nodeid)

    def result(self) -> dict[str, Any]:
        """The tests that passed with their seconds, and the numbers of those that call each function."""
        calls: dict[str, list[int]] = {name: list(range(len(self._passed))) for name in self._names(self._shared)}
        for number, test in enumerate(self._passed):
            for name in self._functions[test] - self._names(self._shared):
                calls.setdefault(name, []).append(number)
        tests = [[test, round(self._seconds[test], 3)] for test in self._passed]
        return {"shared_seconds": round(self._shared_seconds, 3), "tests": tests, "calls": calls}


class Selection:
    """A plugin of pytest that runs the chosen tests only and notes which failed."""

    def __init__(self, tests: Iterable[str]) -> None:
        self._tests = set(tests)
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what was not chosen."""
        items[:] = [item for item in items if item.nodeid in self._tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what failed."""
        if report.failed:
            self.failed.append(report.nodeid)


def run_pytest(source: Path, files: Iterable[str], plugin: object, *options: str) -> int:
    """The exit status of the tests in these files with the code below ``source``."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(source), str(ROOT)]
    os.environ["PYTHONPATH"] = str(source)
    options += ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of plugins that are loaded already
    for plugin_name in ("cacheprovider", "xdist", "schemathesis"):
        options += ("-p", f"no:{plugin_name}")
    arguments = ["-q", "--rootdir", str(ROOT), "-m", MARKS, *options, *files]
    return int(pytest.main(arguments, plugins=[plugin]))


def in_fork(work: Callable[[], object], seconds: float, *, silent: bool = True) -> Any:
    """The result of ``work`` in a fork of this process, which has the heavy libraries loaded already.

    None if it takes longer than ``seconds`` or ends without a result.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        child = os.fork()
        if child == 0:
            os.setsid()
            output = os.dup(2)
            if silent:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
            try:
                answer.write_text(json.dumps(work()))
            except BaseException:  # noqa: BLE001 - the fork ends here, and its parent reads no exception
                os.write(output, traceback.format_exc().encode())
            finally:
                os._exit(0)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(child, os.WNOHANG)[0]:
                return json.loads(answer.read_text()) if answer.exists() else None
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return None


def preload() -> None:
    """Load what many tests would load first; nothing of heartfelt itself."""
    for name in ("numba", "polars", "scipy.optimize", "scipy.stats", "sqlalchemy", "torch"):
        with suppress(ImportError):
            importlib.import_module(name)


def test_files(package: str) -> Iterator[Path]:
    """The test files in the folder named like the package; where they are few, also those that import from it."""
    mirrored = sorted((ROOT / "tests" / package).rglob("test_*.py"))
    yield from mirrored
    if len(mirrored) < FEW_FILES:
        imports = re.compile(rf"heartfelt(\.| import .*\b){package}\b")
        for path in sorted({*(ROOT / "tests").rglob("test_*.py")} - {*mirrored}):
            if imports.search(path.read_text(encoding="utf-8")):
                yield path


def record(packages: Sequence[str], source: Path, anew: bool) -> dict[str, Any]:
    """What each test file of the packages calls, recorded where it is not known yet."""
    known = json.loads(RECORD.read_text()) if RECORD.is_file() and not anew else {}
    digests = {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for package in packages
        for path in test_files(package)
    }
    new = [name for name, digest in digests.items() if known.get(name, {}).get("digest") != digest]

    def record_file(name: str) -> object:
        recorder = Recorder(source)
        run_pytest(source, [name], recorder, "--timeout", "60")
        return recorder.result()

    def record_all() -> object:
        sys.path[:0] = [str(source), str(ROOT)]
        for package in packages:
            for path in sorted((PACKAGE / package).rglob("*.py")):
                name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                with suppress(ImportError):
                    importlib.import_module(name.removesuffix(".__init__"))
        for number, name in enumerate(new, 1):
            print(f"recording {number}/{len(new)} {name}", file=sys.stderr, flush=True)
            recorded = in_fork(partial(record_file, name), 10 * RECORD_SECONDS) or UNRECORDED
            known[name] = {"digest": digests[name], **recorded}
            RECORD.write_text(json.dumps(known))
        return True

    if new and not in_fork(record_all, 10 * RECORD_SECONDS * len(new), silent=False):
        raise SystemExit("The tests could not be recorded.")
    entries = json.loads(RECORD.read_text())
    return {name: entries[name] for name in digests}


class Guards:
    """Which tests to run for a mutant."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self._entries = entries
        self._seconds = {test: took for entry in entries.values() for test, took in entry["tests"]}
        self._callers: dict[tuple[str, str], dict[str, set[str]]] = {}
        for file, entry in entries.items():
            for call, numbers in entry["calls"].items():
                module, _, function = call.partition(":")
                tests = {entry["tests"][number][0] for number in numbers}
                for place in (module, Path(module).name):
                    for key in ((place, function), (place, "")):
                        self._callers.setdefault(key, {}).setdefault(file, set()).update(tests)

    def without(self, tests: Iterable[str]) -> None:
        """Do without these tests from now on."""
        for test in tests:
            self._seconds.pop(test, None)

    def tests(self, mutant: Mutant) -> dict[str, list[str]]:
        """Tests by file: the quickest of the files that call little else, of each file in turn until time is up."""
        files: dict[str, set[str]] = {}
        for place in (mutant.module, Path(mutant.module).name):
            files = files or self._callers.get((place, mutant.function)) or self._callers.get((place, ""), {})
        special = sorted(files, key=lambda file: (len(self._entries[file]["calls"]), file))[:MAX_FILES]
        queues = {
            file: sorted((self._seconds[test], test) for test in files[file] if test in self._seconds)
            for file in special
        }
        chosen: dict[str, list[str]] = {}
        left = MAX_SECONDS
        while any(queues.values()) and (left > 0 or not chosen):
            for file in [file for file in special if queues[file]]:
                seconds, test = queues[file].pop(0)
                if file not in chosen:
                    seconds += self._entries[file]["shared_seconds"]
                if seconds <= left or not chosen:
                    chosen.setdefault(file, []).append(test)
                    left -= seconds
        return chosen


def failures(mutant: Mutant, guards: Guards, copies: list[Path]) -> list[str] | None:
    """The first test that fails when the mutant stands in for its module; None where none does.

    An empty list where no test could run to its end.
    """
    chosen = guards.tests(mutant)
    if not chosen:
        return None
    source = copies.pop()
    target = source / "heartfelt" / mutant.module
    original = target.read_bytes()
    try:
        target.write_text(mutant.source, encoding="utf-8")
        return failed_tests(source, chosen, TIMEOUT, "-x")
    finally:
        target.write_bytes(original)
        copies.append(source)


def failed_tests(source: Path, chosen: Mapping[str, Sequence[str]], seconds: float, *options: str) -> list[str] | None:
    """Which of the chosen tests fail; None where all pass, an empty list where they could not be run to the end."""

    def work() -> object:
        plugin = Selection(test for tests in chosen.values() for test in tests)
        return [run_pytest(source, chosen, plugin, *options), plugin.failed]

    status, failed = in_fork(work, seconds) or (1, [])
    return None if status in (0, NO_TESTS) else failed


def tried(mutants: Sequence[Mutant], guards: Guards, copies: list[Path]) -> list[bool]:
    """Whether each mutant is caught. A test that fails without a mutant too is named and not used any more."""
    found: dict[int, list[str] | None] = {}
    waiting = list(range(len(mutants)))
    while waiting:
        with ThreadPoolExecutor(len(copies)) as pool:
            results = pool.map(lambda place: failures(mutants[place], guards, copies), waiting)
            for place, failed in zip(waiting, results, strict=True):
                found[place] = failed
                if failed is None:
                    untested = "" if guards.tests(mutants[place]) else " (no test calls it)"
                    print(f"not noticed: {mutants[place]}{untested}", file=sys.stderr, flush=True)
        culprits: dict[str, list[str]] = {}
        for test in sorted({test for place in waiting for test in found[place] or ()}):
            culprits.setdefault(test.partition("::")[0], []).append(test)
        broken = failed_tests(copies[0], culprits, 10 * TIMEOUT) if culprits else None
        if broken == []:
            raise SystemExit("The tests cannot be run without a mutant.")
        if broken:
            print(f"not used, as they fail without a mutant: {', '.join(broken)}", file=sys.stderr)
        guards.without(broken or ())
        waiting = [place for place in waiting if set(found[place] or ()) & set(broken or ())]
    return [found[place] is not None for place in range(len(mutants))]


def main() -> int:
    """Run the sample and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    every = sorted(path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
    parser.add_argument(
        "packages", nargs="*", default=every, help="packages and modules below src/heartfelt; default: all"
    )
    parser.add_argument("--sample", type=int, default=20, help="mutants a package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="tests at a time")
    parser.add_argument("--record", action="store_true", help="record anew which test calls what")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    os.environ["HEARTFELT_COMPILE"] = ""  # a compiled loop shows no calls
    preload()
    rows: list[tuple[str, int, int, int]] = []
    with tempfile.TemporaryDirectory() as scratch:
        copies = [Path(scratch) / str(number) for number in range(options.workers)]
        for copy_of_source in copies:
            shutil.copytree(ROOT / "src", copy_of_source)
        guards = Guards(record(options.packages, copies[0], options.record))
        for package in options.packages:
            mutants = sample(package, options.sample, options.seed)
            results = tried(mutants, guards, copies)
            rows.append((package, len({mutant.module for mutant in mutants}), len(mutants), sum(results)))
            print(f"{package}: {sum(results)} of {len(mutants)} caught", file=sys.stderr, flush=True)
    print(table(rows))
    return 0 if all(noticed >= AIM * count for _, _, count, noticed in rows) else 1


def table(rows: Sequence[tuple[str, int, int, int]]) -> str:
    """One row per package in Markdown."""
    lines = ["| package | modules | mutants | caught | share |", "|---|---|---|---|---|"]
    total = ("all", sum(row[1] for row in rows), sum(row[2] for row in rows), sum(row[3] for row in rows))
    for package, modules, count, noticed in [*rows, total]:
        if count:
            lines.append(f"| `{package}` | {modules} | {count} | {noticed} | {noticed / count:.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
