"""What people made of a machine's drafts: one computation for the report and the dashboard.

Everything comes from a snapshot's table ``fields``. A row whose draft was seen (``shown`` is ``true``) has a verdict; one
whose draft was withheld (``hidden``) holds what a person answers by themselves, which is what the draft is measured by; one
with another stimulus's draft (``planted``) tests whether anybody looked. Which draft is withheld or planted is drawn for
each rater and item, so differences between the three are effects of what was shown.

*Similarity* of an answer to a draft is 1 for the same and 0 for nothing in common: numbers by their distance as a share of
the range, categories equal or not, tags and words by the Jaccard index (``heartfelt.study.scales.similarity``). A draft that was
rejected without another answer counts as 0. Accepting a nearly right number makes the answer equal to it: that is part of
what anchoring measures.

A planted draft may be right by chance: the machine's own may be wrong, and two phrases may mean the same. Planted drafts
that are not clearly different from the machine's own are counted apart (``planted_alike``).

Intervals take raters and stimuli as crossed samples (``heartfelt.stats.reliability.clustered``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from heartfelt.analysis.findings.verification import (
    Contrast,
    DraftedField,
    DraftedModel,
    DraftVerdicts,
    DraftVerification,
    VerifyingRater,
)
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.verified import verified_rows
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.posthoc import holm
from heartfelt.stats.reliability.clustered import Crossed, difference, mean, share

ALL = "all"
VERDICTS = ("accepted", "fixed", "rejected")
_ACCEPTED, _MISSED, _ACCURACY = (
    "share of verifications",
    "share of planted errors that were accepted",
    "mean similarity of drafts to answers given without them",
)
_LEAST_SECONDS = 0.05


def verification(snapshot: Snapshot, left_out: Sequence[str] = ()) -> DraftVerification | None:
    """The evidence on drafts, without the raters ``left_out`` except in the table of raters; None where nobody verified any."""
    everything = verified_rows(snapshot)
    if not everything.height:
        return None
    rows = everything.filter(~pl.col("verified_by").is_in(list(left_out)))
    names = [q.id for q in snapshot.study.asked if q.id in set(rows["field"].unique().to_list())]
    fields = [drafted_field(rows.filter(pl.col("field") == name), name) for name in names]
    fields = _corrected(fields)
    if len(fields) > 1:
        fields.insert(0, drafted_field(rows, ALL))
    return DraftVerification(
        tuple(fields),
        tuple(_model(*key, part) for key, part in _by_model(rows)),
        tuple(_rater(str(key[0]), part) for key, part in everything.group_by("verified_by", maintain_order=True)),
        everything.height - rows.height,
    )


def drafted_field(rows: pl.DataFrame, name: str) -> DraftedField:
    """The figures of one field, or of several together."""
    planted = rows.filter(pl.col("shown") == "planted")
    errors = planted.filter("wrong")
    hidden = rows.filter(pl.col("shown") == "hidden")
    return DraftedField(
        field=name,
        verdicts=verdicts(rows.filter(pl.col("shown") == "true")),
        hidden=hidden.height,
        planted=errors.height,
        planted_alike=planted.height - errors.height,
        missed=_missed(errors),
        accuracy=_accuracy(hidden),
        anchoring=_anchoring(rows),
        seconds=_times(rows),
        keystrokes=_contrast(rows, "keystrokes", "keys and taps for a field", "keystrokes were not recorded"),
    )


def verdicts(rows: pl.DataFrame) -> DraftVerdicts:
    """The shares of the verdicts on the machine's own drafts."""
    if not rows.height:
        missing = Estimate.missing("no draft has been verified yet", _ACCEPTED, {"verifications": 0})
        return DraftVerdicts(0, missing, missing, missing)
    crossed = _crossed(rows)
    accepted, fixed, rejected = (
        _renamed(share((rows["verdict"] == verdict).to_numpy(), crossed, _ACCEPTED)) for verdict in VERDICTS
    )
    return DraftVerdicts(rows.height, accepted, fixed, rejected)


def _renamed(estimate: Estimate) -> Estimate:
    counts = dict(estimate.counts)
    return replace(estimate, counts={"verifications": counts.pop("answers"), **counts})


def _missed(errors: pl.DataFrame) -> Estimate:
    if not errors.height:
        return Estimate.missing("no planted error was shown", _MISSED, {"verifications": 0})
    return _renamed(share((errors["verdict"] == "accepted").to_numpy(), _crossed(errors), _MISSED))


def _accuracy(hidden: pl.DataFrame) -> Estimate:
    comparable = hidden.filter(pl.col("alike").is_not_null())
    if not comparable.height:
        return Estimate.missing("nobody answered without seeing the draft", _ACCURACY, {"answers": 0})
    alike = comparable["alike"].to_numpy()
    if np.isin(alike, (0.0, 1.0)).all():
        return share(alike, _crossed(comparable), _ACCURACY)
    return _within(mean(alike, _crossed(comparable), _ACCURACY))


def _within(estimate: Estimate) -> Estimate:
    """The same estimate with bounds in the range of similarities."""
    if estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def _anchoring(rows: pl.DataFrame) -> Contrast:
    comparable = rows.filter(pl.col("alike").is_not_null())
    contrast = _contrast(comparable, "alike", "mean similarity to the draft", "no answer can be compared with a draft")
    return replace(contrast, with_draft=_within(contrast.with_draft), without_draft=_within(contrast.without_draft))


def _times(rows: pl.DataFrame) -> Contrast:
    """Each rater's own times with and without a draft, on the log scale."""
    log = rows.with_columns(pl.col("seconds").clip(lower_bound=_LEAST_SECONDS).log().alias("_log"))
    contrast = _contrast(
        log, "_log", "geometric mean of seconds", "time per field was not recorded", within_raters=True
    )
    if contrast.difference.is_missing:
        return replace(contrast, with_draft=_exp(contrast.with_draft), without_draft=_exp(contrast.without_draft))
    ratio = replace(_exp(contrast.difference), method="time with a draft as a multiple of that without, by rater")
    return Contrast(
        with_draft=_exp(contrast.with_draft), without_draft=_exp(contrast.without_draft), difference=ratio, p=contrast.p
    )


def _exp(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    low, high = (None if bound is None else math.exp(bound) for bound in (estimate.low, estimate.high))
    return replace(estimate, value=math.exp(estimate.value), low=low, high=high)


def _contrast(rows: pl.DataFrame, column: str, method: str, reason: str, *, within_raters: bool = False) -> Contrast:
    """A number with the machine's own draft in sight against the same without any draft."""
    usable = rows.filter(pl.col(column).is_not_null() & (pl.col("shown") != "planted"))
    if not usable.height:
        missing = Estimate.missing(reason, method, {"answers": 0})
        return Contrast(with_draft=missing, without_draft=missing, difference=missing, p=None)
    value: Floats = usable[column].cast(pl.Float64).to_numpy()
    with_draft = (usable["shown"] == "true").to_numpy()
    crossed = _crossed(usable)
    sides = [mean(value[side], crossed.where(side), method) for side in (with_draft, ~with_draft)]
    counts = crossed.counts | {"without_draft": int((~with_draft).sum())}
    gap, p = difference(value, with_draft, crossed, method, within_raters=within_raters, counts=counts)
    return Contrast(with_draft=sides[0], without_draft=sides[1], difference=gap, p=p)


def _corrected(fields: Sequence[DraftedField]) -> list[DraftedField]:
    """Holm's correction over the fields, for each of the three comparisons."""
    anchoring, seconds, keystrokes = (
        _with_holm([getattr(field, part) for field in fields]) for part in ("anchoring", "seconds", "keystrokes")
    )
    return [
        replace(field, anchoring=anchoring[at], seconds=seconds[at], keystrokes=keystrokes[at])
        for at, field in enumerate(fields)
    ]


def _with_holm(contrasts: Sequence[Contrast]) -> list[Contrast]:
    adjusted = holm([contrast.p for contrast in contrasts]).adjusted
    return [replace(contrast, p_holm=p) for contrast, p in zip(contrasts, adjusted, strict=True)]


def _by_model(rows: pl.DataFrame) -> list[tuple[tuple[str, str | None], pl.DataFrame]]:
    with_source = rows.filter(pl.col("shown") != "planted").with_columns(pl.col("source").fill_null("unknown"))
    groups = with_source.group_by("source", "version", maintain_order=True)
    models = [((str(key[0]), None if key[1] is None else str(key[1])), part) for key, part in groups]
    return sorted(models, key=lambda model: (model[0][0], model[0][1] or ""))


def _model(source: str, version: str | None, rows: pl.DataFrame) -> DraftedModel:
    shown, hidden = (rows.filter(pl.col("shown") == kind) for kind in ("true", "hidden"))
    fields = tuple(rows["field"].unique(maintain_order=True).to_list())
    return DraftedModel(
        source=source, version=version, fields=fields, verdicts=verdicts(shown), accuracy=_accuracy(hidden)
    )


def _rater(name: str, rows: pl.DataFrame) -> VerifyingRater:
    errors = rows.filter(pl.col("wrong"))
    visible, hidden = (rows.filter(pl.col("shown") == kind)["seconds"] for kind in ("true", "hidden"))
    seconds, seconds_without = (
        None if not part.count() else float(np.median(part.drop_nulls())) for part in (visible, hidden)
    )
    return VerifyingRater(
        rater=name or "unknown",
        verdicts=verdicts(rows.filter(pl.col("shown") == "true")),
        planted=errors.height,
        planted_accepted=int((errors["verdict"] == "accepted").sum()),
        missed=_missed(errors),
        seconds=seconds,
        seconds_without=seconds_without,
    )


def _crossed(rows: pl.DataFrame) -> Crossed:
    return Crossed(rows["rater_code"].to_numpy(), rows["stimulus_code"].to_numpy())
