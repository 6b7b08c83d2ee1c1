"""Break the core modules one expression at a time and count how many breaks the tests notice.

    python scripts/mutants.py [--sample N] [--seed N] [--only TEXT] [--workers N] [--survivors FILE]

A mutant is one changed expression: a comparison moved by its boundary or turned round, a constant moved, an
operator exchanged, a condition dropped, a keyword argument left out, ``min`` for ``max``. From each module a fixed sample is
drawn; for each mutant the module's own quick tests run until the first failure. A mutant is caught if a test fails or takes
far longer than usual. ``EQUIVALENT`` lists mutants that change nothing a caller could see, each with the reason; they are left
out of the counts. The table goes into CONTRIBUTING.md; the exit status is 1 below the aim of 80%.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "heartfelt"
AIM = 0.8
QUICK = "not (slow or browser or server or data or peer)"
QUICK_WEB = (
    "not (slow or browser or data or peer)"  # every test of the web package counts as one with a server
)
LONGEST = 120  # seconds a mutant's tests may take before they count as failed


@dataclass(frozen=True, slots=True)
class Core:
    """Core modules, as a pattern below ``src/heartfelt``, and the tests that guard them."""

    modules: str
    tests: tuple[str, ...]


STATS = "tests/stats"
PUBLISHING = "tests/publishing"
ANONYMITY = "publishing/anonymity"
PLANNING = ("tests/planning/test_by_hand.py", "tests/planning/test_limits.py")
GUARDS: dict[str, dict[str, str]] = {
    "comparison": {
        "abx": "limits abx",
        "bootstrap": "limits",
        "ceilings": "limits ceilings",
        "choices": "by_hand choices symmetry",
        "consistency": "limits consistency symmetry",
        "fit": "limits by_hand strengths choices symmetry",
        "hits": "by_hand hits",
        "links": "limits strengths",
        "mushra": "by_hand mushra",
        "pairing": "by_hand pairing",
        "pairs": "limits strengths consistency hits",
        "position": "by_hand prediction",
        "prediction": "by_hand prediction hits",
        "recalibration": "by_hand prediction",
        "spread": "limits by_hand spread choices",
        "strengths": "limits by_hand strengths symmetry",
    },
    "inference": {
        "_ordinal_effects": "ordinal_by_hand cumulative_link",
        "_ordinal_fit": "ordinal_by_hand cumulative_link",
        "_ordinal_links": "ordinal_by_hand cumulative_link",
        "anova": "limits anova published",
        "count_dependence": "counts_by_hand count_dependence bounds",
        "cumulative_link": "ordinal_by_hand limits cumulative_link",
        "equivalence": "limits equivalence",
        "linear_model": "limits anova marginal_means mixed",
        "marginal_means": "limits marginal_means bounds",
        "mixed": "limits mixed bounds tastes",
        "no_association": "rearranging_by_hand no_association",
        "permutation": "rearranging_by_hand permutation",
        "posthoc": "limits bounds posthoc",
        "prediction_powered": "counts_by_hand ../prediction_powered",
        "random_intercepts": "limits mixed bounds tastes",
        "random_variances": "limits",
    },
    "reliability": {
        "_splits": "halves_by_hand split_half ../small_and_compiled",
        "components": "by_hand components icc",
        "crossed": "by_hand components icc limits bounds",
        "icc": "limits bounds icc",
        "icc_jackknife": "limits bounds icc",
        "number_ceiling": "by_hand rater_differences limits bounds ../noise_ceiling",
        "spearman_brown": "halves_by_hand spearman_brown",
        "split_half": "halves_by_hand split_half bounds",
        "vote_ceiling": "votes_by_hand bounds ../noise_ceiling",
        "vote_family": "votes_by_hand vote_family",
        "vote_mixture": "votes_by_hand vote_family bounds ../noise_ceiling",
        "yardsticks": "yardsticks_by_hand bounds ../noise_ceiling",
    },
}
"""The statistics whose every module counts: each module's tests, by what follows ``test_`` in their names."""

_PICTURES = "metadata/test_planted_pictures metadata/test_hostile metadata/test_places metadata/test_layouts metadata/test_boxes"
_SOUNDS = "metadata/test_planted_sounds metadata/test_hostile metadata/test_places metadata/test_layouts metadata/test_boxes"
_PADDING = "test_padding metadata/test_metadata"
MEDIA: dict[str, str] = {
    **dict.fromkeys(("images", "bitmaps", "colour_profiles", "boxes", "picture_items"), _PICTURES),
    **dict.fromkeys(("audio", "frames", "ogg", "films", "containers"), _SOUNDS),
    **dict.fromkeys(("padding", "ogg_padding", "pieces"), _PADDING),
}
"""The modules that clean media, with their tests below ``tests/media``."""


def _guarded() -> Iterator[Core]:
    for package, modules in GUARDS.items():
        for module, names in modules.items():
            yield Core(
                f"stats/{package}/{module}.py",
                tuple(
                    f"{STATS}/test_{name[3:]}.py"
                    if name.startswith("../")
                    else f"{STATS}/{package}/test_{name}.py"
                    for name in names.split()
                ),
            )


MAKE: tuple[Core, ...] = (
    Core("stimuli/generation/provenance.py", ("tests/stimuli/generation/test_provenance.py",)),
    Core("stimuli/preparation/cropping.py", ("tests/stimuli/preparation/test_cropping.py",)),
    Core("stimuli/prompts/intents.py", ("tests/stimuli/preparation/test_intents.py",)),
    Core("media/recordings.py", ("tests/media/test_recordings.py",)),
    Core("publishing/anonymity/media_licences.py", ("tests/stimuli/generation/test_provenance.py",)),
    Core("publishing/papers/provenance.py", ("tests/publishing/papers/test_origins.py",)),
)
"""Making stimuli: where they come from, where they are cut, which are the same."""
CORE: tuple[Core, ...] = (
    *MAKE,
    Core(
        "stats/estimate.py", (f"{STATS}/test_confidence.py", f"{STATS}/test_ratio.py", "tests/test_base.py")
    ),
    Core("stats/_bounds.py", (f"{STATS}/test_interval_forms.py", f"{STATS}/test_ratio.py")),
    Core(
        "stats/association.py",
        tuple(
            f"{STATS}/test_{name}.py"
            for name in ("association", "classify", "paired_metrics", "interval_forms")
        ),
    ),
    Core(
        "stats/agreement/krippendorff.py",
        (f"{STATS}/agreement/test_limits.py", f"{STATS}/agreement/test_alpha.py"),
    ),
    Core(
        "stats/rater_differences.py",
        (f"{STATS}/reliability/test_rater_differences.py", f"{STATS}/reliability/test_limits.py"),
    ),
    Core("stats/reml.py", (f"{STATS}/test_reml.py", f"{STATS}/inference/test_bounds.py")),
    *_guarded(),
    Core("planning/uncertainty.py", PLANNING),
    Core("planning/power.py", PLANNING),
    Core("planning/search.py", PLANNING),
    Core("planning/reliability.py", PLANNING),
    Core(
        "planning/preregister.py", ("tests/planning/test_registered.py", "tests/planning/test_preregister.py")
    ),
    Core(
        "screening/rules/informativeness.py",
        ("tests/screening/test_pinned.py", "tests/screening/test_informativeness.py"),
    ),
    Core(
        "screening/rules/collusion.py",
        (
            "tests/screening/test_decision.py",
            "tests/screening/test_pinned.py",
            "tests/screening/test_collusion.py",
        ),
    ),
    Core(
        "screening/rules/repetition.py",
        ("tests/screening/test_straight_lining.py", "tests/screening/test_pinned.py"),
    ),
    Core("screening/rules/verification.py", ("tests/screening/test_verification.py",)),
    Core("screening/decision.py", ("tests/screening/test_decision.py", "tests/screening/test_pinned.py")),
    Core("labels/labelling.py", ("tests/labels/test_exact_labels.py", "tests/labels/test_labels.py")),
    Core("analysis/two_way.py", ("tests/analysis/test_limits.py", "tests/analysis/test_two_way.py")),
    Core("analysis/verdict.py", ("tests/analysis/test_levels.py", "tests/analysis/test_verdict_limits.py")),
    Core("analysis/sensitivity.py", ("tests/analysis/test_levels.py", "tests/analysis/test_by_hand.py")),
    Core("scoring/compare.py", ("tests/scoring/test_compare_exact.py", "tests/scoring/test_compare.py")),
    Core("scoring/measure.py", ("tests/scoring/test_limits.py", "tests/scoring/test_chance.py")),
    Core(
        "collect/assign/*.py",
        tuple(
            f"tests/collect/test_{name}.py"
            for name in ("drawing", "leases", "session_plans", "places", "assignment")
        ),
    ),
    Core("snapshot/survey.py", ("tests/snapshot/test_guards.py", "tests/snapshot/test_sensitivity.py")),
    Core("tables.py", ("tests/snapshot/test_guards.py", "tests/test_base.py")),
    Core(
        "predictors/execution/running.py",
        ("tests/predictors/test_limits.py", "tests/predictors/test_running.py"),
    ),
    Core(
        "drafts/*.py", ("tests/predictors/drafts/test_limits.py", "tests/predictors/drafts/test_drafting.py")
    ),
    Core("predictors/measures/tagger.py", ("tests/predictors/drafts/test_plugged_in.py",)),
    Core("media/colour_names.py", ("tests/media/test_colour_names.py",)),
    Core("web/security/*.py", ("tests/web/security",)),
    *(
        Core(f"media/metadata/{module}.py", tuple(f"tests/media/{name}.py" for name in names.split()))
        for module, names in MEDIA.items()
    ),
    Core("publishing/anonymity/media.py", ("tests/publishing/test_media.py",)),
    Core("publishing/anonymity/key.py", ("tests/publishing/test_key.py",)),
    Core("publishing/splits.py", ("tests/publishing/test_splits_by_hand.py",)),
    Core(
        "publishing/hold_out.py",
        ("tests/publishing/test_held_out_rows.py", "tests/publishing/test_hiding.py"),
    ),
    Core("publishing/hiding/*.py", ("tests/publishing/test_hiding.py",)),
    *(
        Core(
            f"publishing/anonymity/{module}.py",
            tuple(f"tests/publishing/test_{name}.py" for name in names.split()),
        )
        for module, names in {
            "check": "last_check people_by_hand publish",
            "columns": "people_by_hand",
            "durations": "answer_times",
            "earlier": "earlier_by_hand earlier people_by_hand",
            "generalise": "search_by_hand search_limits generalise people_by_hand",
            "hierarchies": "search_by_hand search_limits rare_answers generalise people_by_hand",
            "information": "search_by_hand search_limits",
            "people": "people_by_hand last_check",
            "pseudonyms": "people_by_hand",
            "regions": "people_by_hand",
            "roles": "people_by_hand answer_times",
            "suppress": "search_by_hand search_limits",
            "wishes": "people_by_hand",
        }.items()
    ),
    Core(
        f"{ANONYMITY}/recognise/*.py",
        (f"{PUBLISHING}/test_recognise.py", f"{PUBLISHING}/test_personal_data.py"),
    ),
    Core(
        f"{ANONYMITY}/personal_data.py",
        (f"{PUBLISHING}/test_personal_data.py", f"{PUBLISHING}/test_quarantine.py"),
    ),
    Core(f"{ANONYMITY}/texts.py", (f"{PUBLISHING}/test_quarantine.py", f"{PUBLISHING}/test_text_cells.py")),
    Core(f"{ANONYMITY}/quarantine.py", (f"{PUBLISHING}/test_quarantine.py",)),
    Core(f"{ANONYMITY}/in_release.py", (f"{PUBLISHING}/test_quarantine.py",)),
    Core(f"{ANONYMITY}/machine.py", (f"{PUBLISHING}/test_machine.py",)),
    Core(f"{ANONYMITY}/draft.py", (f"{PUBLISHING}/test_draft.py",)),
    Core(
        "publishing/digests.py", ("tests/publishing/test_digest_list.py", "tests/publishing/test_digests.py")
    ),
    Core("web/challenge/final.py", ("tests/web/challenge/test_final.py",)),
    Core("web/challenge/guard.py", ("tests/web/challenge/test_guard.py",)),
    Core("publishing/submissions/ladder.py", ("tests/web/challenge/test_ladder.py",)),
    Core("publishing/submissions/ledger.py", ("tests/web/challenge/test_ledger.py",)),
    Core("publishing/submissions/ledger_file.py", ("tests/web/challenge/test_ledger.py",)),
    Core("web/challenge/parts.py", ("tests/web/challenge/test_parts.py",)),
    Core("web/challenge/reading.py", ("tests/web/challenge/test_reading.py",)),
)
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
    "stats/comparison/ceilings.py: beyond(most) > 0 and most < 1000000000000.0"
    " -> beyond(most) > 0 or most < 1000000000000.0": "where a search ends at most; the root between is the same",
    "stats/comparison/ceilings.py: most < 1000000000000.0 -> most <= 1000000000000.0": "how far a search looks, only",
    "stats/comparison/choices.py: (None,) * len(names) if penalty else linked.why -> linked.why": (
        "with a penalty everybody has a strength, and reasons are not read"
    ),
    "stats/comparison/choices.py: best.size != 1 or worst.size != 1 or members.size < 2"
    " -> best.size != 1 or worst.size != 1": "a best and a worst are two members",
    "stats/comparison/fit.py: matrix.shape[0] <= DIRECT_AT_MOST -> matrix.shape[0] > DIRECT_AT_MOST": (
        "two ways to the same solution; one is quicker"
    ),
    "stats/comparison/fit.py: matrix.shape[0] <= DIRECT_AT_MOST -> matrix.shape[0] < DIRECT_AT_MOST": (
        "two ways to the same solution; one is quicker"
    ),
    "stats/comparison/fit.py: 2.0 * tied -> 2.0 / tied": "where a search starts; it ends at the same value",
    "stats/comparison/recalibration.py: step * min(1.0, 5.0 / max(float(np.abs(step * [1.0, spread]).max()), 1e-300))"
    " -> step / min(1.0, 5.0 / max(float(np.abs(step * [1.0, spread]).max()), 1e-300))": (
        "from even odds no step is longer than 5 where there is a maximum"
    ),
    "stats/inference/_ordinal_fit.py: float(np.linalg.eigvalsh(hessian).min()) <= 0"
    " -> float(np.linalg.eigvalsh(hessian).min()) < 0": "rounding never leaves an eigenvalue of exactly 0",
    "stats/inference/_ordinal_fit.py: thresholds * spread -> thresholds / spread": "where a search starts",
    "stats/inference/_ordinal_fit.py: np.abs(parameters) > 1000.0 -> np.abs(parameters) >= 1000.0": (
        "a parameter on its way to infinity is never exactly 1000"
    ),
    "stats/inference/_ordinal_fit.py: 1e-09 * abs(value) -> 1e-09 / abs(value)": "what counts as rounding in a search",
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
    "stats/reliability/vote_mixture.py: 1.0 / likelihood.shape[1] -> 1.0 * likelihood.shape[1]": (
        "the weights are divided by their sum"
    ),
    "stats/reliability/_splits.py: of_x > 1e-12 * xx -> of_x >= 1e-12 * xx": "what counts as rounding",
    "stats/reliability/crossed.py: logs[free] < logs[free].max() - 18.0 -> logs[free] <= logs[free].max() - 18.0": (
        "how far a search looks, only"
    ),
    "stats/reliability/halves.py: d.value[order] - float(d.value.mean()) -> d.value[order] + float(d.value.mean())": (
        "a correlation does not depend on where values begin"
    ),
    "stats/reliability/vote_mixture.py: side * push * size -> side * push / size": "the unit of what a search looks for",
    "stats/reliability/vote_mixture.py: solved / total if total > 0 else weights / weights.sum() -> solved / total": (
        "the sum is held close to one"
    ),
    "stats/inference/variance_tables.py: 2 * df_residual * max(df * f, 1) -> 2 * df_residual / max(df * f, 1)": "where a search starts",
    "stats/inference/_ordinal_links.py: 0 -> 1": "between 0 and 1 both tails keep their digits",
    "stats/inference/adjusted_means.py: 1e-07 * float(np.linalg.norm(scaled)) -> 1e-07 / float(np.linalg.norm(scaled))": (
        "what counts as rounding"
    ),
    "stats/reliability/crossed.py: fit.step.residual <= 1e-12 * float(d.value.var())"
    " -> fit.step.residual < 1e-12 * float(d.value.var())": "what counts as rounding",
    "stats/reliability/halves.py: split_compiled if splits * d.size > COMPILED_FROM else split_at_once"
    " -> split_at_once": "two ways to the same numbers; one is quicker",
    "stats/reliability/vote_family.py: of == check -> of != check": "the smaller of two p-values, in either order",
    "stats/inference/linear_model.py: 8 * code.size -> 8 / code.size": "two ways to the same codes; one is quicker",
    "stats/inference/random_variances.py: 0.3 -> 0.34": "where a search starts",
    "stats/inference/variance_tables.py: 0.5 * step -> 0.5 / step": "where a search starts",
    "stats/inference/rating_counts.py: _ROUNDS if len(self.groups) > 1 else 1 -> _ROUNDS": (
        "the means of a single grouping are gone after one round"
    ),
    "stats/inference/prediction_powered.py: part - centre -> part + centre": "a slope does not depend on where x begins",
    "stats/inference/_ordinal_fit.py: decrement < _INNER_PRECISION -> decrement <= _INNER_PRECISION": "when a search ends",
    "stats/inference/_ordinal_fit.py: length < 1e-06 -> length <= 1e-06": "when a search ends",
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
    "stats/inference/random_variances.py: fit.exact or not fit.converged -> not fit.converged": (
        "an exact fit has not converged either"
    ),
    "stats/inference/random_variances.py: order.work > MOST_WORK -> order.work >= MOST_WORK": (
        "a limit of memory that no count of multiplications meets exactly"
    ),
    "collect/assign/state.py: event.trial or 0 -> event.trial": "for stores of earlier versions; today's rows have it",
    "analysis/two_way.py: left < 0.5 -> left <= 0.5": "ratings are counted in whole numbers",
    (
        "scoring/compare.py: adjusted is None or difference.p.value is None or pairs == 1"
        " -> difference.p.value is None or pairs == 1"
    ): "a corrected p-value is missing exactly where the p-value is",
    "collect/assign/state.py: trial.position > 0 -> trial.position >= 0": "a place is -1 or at least 1",
    "collect/assign/pool.py: None if rater.latest is None else self._group.get(rater.latest)"
    " -> self._group.get(rater.latest)": "no unit is None",
    "collect/assign/state.py: self.layout.adaptive and self.budget_left > 0 -> self.budget_left > 0": (
        "unless the study is adaptive, nothing is left of the budget once every unit is full"
    ),
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
    "stats/association.py: self.p.why_missing or 'no difference is known' -> self.p.why_missing": "always has a reason",
    "screening/rules/informativeness.py: new_share - share -> new_share + share": (
        "the loop runs to its last round, where nothing moves any more"
    ),
    "stats/association.py: self.spread is None or self.metric is None or self.spread.why_none"
    " or self.estimate.is_missing -> self.spread is None or self.spread.why_none or self.estimate.is_missing": (
        "a spread always comes with its metric; the check is for mypy"
    ),
    "stats/reml.py: lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)"
    " -> lapack.dpotrf(matrix.T, clean=0, overwrite_a=1)": "0 is what LAPACK's wrapper takes anyway",
    "labels/labelling.py: pl.Series('item', [int(name) for name in made.items], dtype=pl.Int64)"
    " -> pl.Series('item', [int(name) for name in made.items])": "there is at least one, and polars takes int for Int64",
    "publishing/anonymity/personal_data.py: NUMBERS if numbered else () -> NUMBERS": "every such pattern needs a digit anyway",
    "publishing/anonymity/personal_data.py: ADDRESSES if numbered else () -> ADDRESSES": "every such pattern needs a digit anyway",
    "publishing/anonymity/personal_data.py: EASTERN_ADDRESSES if unspaced or numbered else () -> EASTERN_ADDRESSES": (
        "every such pattern needs such a letter or a digit anyway"
    ),
    "publishing/anonymity/personal_data.py: EASTERN_NAMES if unspaced else () -> EASTERN_NAMES": (
        "every such pattern needs such a letter anyway"
    ),
    "publishing/anonymity/quarantine.py: pl.Int64 if name == 'times' else pl.String -> pl.String": "the file holds text only",
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
    "publishing/anonymity/generalise.py: 8 -> 9": "how many combinations are worked out, only",
    "publishing/anonymity/generalise.py: least[place] >= -worst[0] -> least[place] > -worst[0]": "tries ties once more",
    "publishing/anonymity/columns.py: 'stimulus' not in keys or not frame.height -> 'stimulus' not in keys": (
        "of a table without rows no item has several"
    ),
    "publishing/anonymity/information.py: 1.0 -> 1.11": "a share is never above 1 but for rounding",
    "publishing/anonymity/people.py: len(whens.levels) > 1 -> len(whens.levels) >= 1": (
        "without columns and dates nothing is chosen"
    ),
    "publishing/anonymity/information.py: float(size) if total else 0.0 -> 0.0": "where nothing is shown the share is 0",
    "publishing/anonymity/people.py: raters.select('rater').join(earlier, on='rater', how='left', maintain_order='left')"
    " -> raters.select('rater').join(earlier, on='rater', how='left')": "polars keeps this order unasked",
    "publishing/anonymity/pseudonyms.py: ratings['set'].null_count() < ratings.height"
    " -> ratings['set'].null_count() <= ratings.height": "of no set the most that have seen it is nobody",
    "publishing/anonymity/suppress.py: wanted < rows.size -> wanted <= rows.size": "nobody left is no group",
    "publishing/anonymity/suppress.py: weights + 0.01 -> weights - 0.01": "both order groups by what joining them costs",
    "planning/power.py: 8.0 -> 8.81": "where a search starts; no share has a bar below 0",
    "planning/power.py: 60 -> 61": "how often a search halves",
    "planning/power.py: float(chances(ratio, middle).mean()) > share -> float(chances(ratio, middle).mean()) >= share": (
        "which way a search goes that has arrived"
    ),
    "planning/search.py: taken is not None and taken <= limit -> taken <= limit": "a budget comes with prices",
    "planning/preregister.py: each.cost_at_most or 0.0 -> each.cost_at_most": "a budget comes with prices",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed expression."""

    module: str
    line: int
    before: str
    after: str
    source: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """How ``EQUIVALENT`` and the list of survivors call it; line numbers move, expressions less so."""
        return f"{self.module}: {self.before} -> {self.after}"


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
        # ``strict`` of zip guards against a fault elsewhere, and changes nothing without one.
        for dropped in [place for place, word in enumerate(node.keywords) if word.arg != "strict"]:
            others = [word for place, word in enumerate(node.keywords) if place != dropped]
            yield ast.Call(node.func, node.args, others)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side)
        for side in (node.left, node.right)
    )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def mutants_of(path: Path, tests: tuple[str, ...]) -> list[Mutant]:
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
    for node in ast.walk(tree):
        if id(node) in silent or not isinstance(node, ast.expr):
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = ast.unparse(node)
        for other in changed(node):
            after = ast.unparse(other)
            broken = (data[:begin] + f"({after})".encode() + data[end:]).decode()
            out.append(Mutant(str(path.relative_to(PACKAGE)), node.lineno, before, after, broken, tests))
    return out


def _seeds(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Default seeds: one is as good as another."""
    last = arguments.args[-len(arguments.defaults) :] if arguments.defaults else []
    pairs = [
        *zip(last, arguments.defaults, strict=True),
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


def sample(size: int, seed: int, only: str) -> list[Mutant]:
    """The mutants to try: ``size`` from each module, spread over its lines, always the same for the same seed."""
    out: list[Mutant] = []
    for core in CORE:
        paths = sorted(PACKAGE.glob(core.modules))
        if not paths:
            raise SystemExit(f"No module matches {core.modules}: correct CORE in {Path(__file__).name}.")
        for path in paths:
            if path.name == "__init__.py":
                continue
            every = [
                each
                for each in mutants_of(path, core.tests)
                if each.name not in EQUIVALENT and only in each.module
            ]
            random.Random(f"{seed} {path.name}").shuffle(every)
            out += sorted(every[:size], key=lambda each: each.line)
    return out


def caught(mutant: Mutant, copies: list[Path]) -> bool:
    """Whether a test fails when the mutant stands in for its module."""
    place = copies.pop()
    target = place / "heartfelt" / mutant.module
    original = target.read_bytes()
    try:
        target.write_text(mutant.source, encoding="utf-8")
        return run_tests(mutant.tests, place) != 0
    finally:
        target.write_bytes(original)
        copies.append(place)


def run_tests(tests: Sequence[str], source: Path) -> int:
    """The exit status of the quick tests with the code below ``source``; 124 if they take too long.

    The tests run in a fork of this process, which has the heavy libraries loaded already.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        sys.path[:0] = [str(source), str(ROOT)]
        os.environ["PYTHONPATH"] = str(source)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        import pytest

        status = pytest.main(
            [
                "-x",
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "--rootdir",
                str(ROOT),
                "-m",
                QUICK_WEB if tests[0].startswith("tests/web") else QUICK,
                *tests,
            ]
        )
        os._exit(int(status))
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


def preload() -> None:
    """Load what every run of the tests would load first; nothing of heartfelt itself."""
    import numba  # noqa: F401
    import numpy  # noqa: F401
    import polars  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401


def main() -> int:
    """Run the sample and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sample", type=int, default=10, help="mutants a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only modules whose path holds this text")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="tests at a time")
    parser.add_argument("--survivors", type=Path, help="write the mutants no test noticed to this file")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    preload()
    tried = sample(options.sample, options.seed, options.only)
    workers = options.workers
    with tempfile.TemporaryDirectory() as scratch:
        copies = [Path(scratch) / str(place) for place in range(workers)]
        for each in copies:
            shutil.copytree(ROOT / "src", each)
        for tests in {mutant.tests for mutant in tried}:
            if run_tests(tests, copies[0]) != 0:
                raise SystemExit(f"The tests {' '.join(tests)} fail without any mutant.")
        results: list[bool] = []
        with ThreadPoolExecutor(workers) as pool:
            for done, noticed in enumerate(pool.map(lambda mutant: caught(mutant, copies), tried), 1):
                results.append(noticed)
                print(
                    f"\r{done}/{len(tried)} mutants, {sum(results)} caught",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        print(file=sys.stderr)
    survivors = [mutant for mutant, noticed in zip(tried, results, strict=True) if not noticed]
    if options.survivors:
        options.survivors.write_text(
            "".join(f"{each.module}:{each.line}: {each.before} -> {each.after}\n" for each in survivors)
        )
    print(table(tried, results))
    return 0 if sum(results) >= AIM * len(tried) else 1


def table(tried: Sequence[Mutant], results: Sequence[bool]) -> str:
    """One row per package in Markdown."""
    rows: dict[str, list[tuple[str, bool]]] = {}
    for mutant, noticed in zip(tried, results, strict=True):
        rows.setdefault(str(Path(mutant.module).parent), []).append((mutant.module, noticed))
    every = [each for _, found in sorted(rows.items()) for each in found]
    lines = ["| package | modules | mutants | caught | share |", "|---|---|---|---|---|"]
    for name, found in [*sorted(rows.items()), ("all", every)]:
        noticed_here = sum(noticed for _, noticed in found)
        modules = len({module for module, _ in found})
        lines.append(
            f"| `{name}` | {modules} | {len(found)} | {noticed_here} | {noticed_here / len(found):.0%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
