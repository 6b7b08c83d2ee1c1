"""From the figures of many simulated studies to forecasts with their Monte Carlo uncertainty."""

from __future__ import annotations

import math

import numpy as np

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Floats
from heartfelt.planning.results import ContrastPower, QuestionForecast, StudyForecast
from heartfelt.planning.simulated.design import PlannedDesign
from heartfelt.planning.simulated.simulation import Studies, mean_where, wanted_pairs
from heartfelt.stats.estimate import Estimate

RANGE = "range of 95% of the simulated studies"
PILOT = "what the pilot leaves open, with Monte Carlo error"
WILSON = "Wilson, Monte Carlo"
_Z = 1.959963984540054


def share_estimate(hits: float, count: float, method: str, unit: str = "studies") -> Estimate:
    if count <= 0:
        return Estimate.missing(f"there are no such {unit}", method)
    value = hits / count
    centre = (value + _Z * _Z / (2 * count)) / (1 + _Z * _Z / count)
    half = _Z * math.sqrt(value * (1 - value) / count + _Z * _Z / (4 * count * count)) / (1 + _Z * _Z / count)
    estimate = Estimate(value=value, method=method, counts={unit: int(count)})
    return estimate.with_interval(max(centre - half, 0.0), min(centre + half, 1.0), WILSON)


def mean_share(shares: Floats, method: str) -> Estimate:
    """The mean of a share per study, with the interval of its Monte Carlo error over studies."""
    finite = shares[np.isfinite(shares)]
    if not finite.size:
        return Estimate.missing("no simulated study could be tested", method)
    value = float(finite.mean())
    error = float(finite.std(ddof=1)) / math.sqrt(finite.size) if finite.size > 1 else 0.0
    if error == 0.0:
        # All studies alike: as many as there are, none otherwise.
        return share_estimate(value * finite.size, finite.size, method)
    estimate = Estimate(value=value, method=method, counts={"studies": finite.size})
    return estimate.with_interval(max(value - _Z * error, 0.0), min(value + _Z * error, 1.0), "Monte Carlo")


def open_share(shares: Floats, powers: Floats | None, method: str) -> Estimate:
    """The mean of a share per study; its interval holds 95% of the ``powers`` under what the pilot leaves open, if anything."""
    unadjusted = mean_share(shares, method)
    if powers is None or unadjusted.value is None or not np.isfinite(powers).any():
        return unadjusted
    low, high = np.nanquantile(powers, [0.025, 0.975]).tolist()
    return unadjusted.with_interval(min(low, unadjusted.value), max(high, unadjusted.value), PILOT)


def forecast(values: Floats, method: str) -> StudyForecast:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return StudyForecast(Estimate.missing("no simulated study has it", method))
    low, high = np.quantile(finite, [0.025, 0.975]).tolist()
    estimate = Estimate(value=float(finite.mean()), method=method, counts={"studies": finite.size})
    estimate = estimate.with_interval(low, high, RANGE)
    error = float(finite.std(ddof=1)) / math.sqrt(finite.size) if finite.size > 1 else None
    return StudyForecast(estimate, error)


def question_forecast(name: str, studies: Studies, design: PlannedDesign, options: PlanOptions) -> QuestionForecast:
    detected, planted = studies.detected, studies.planted
    differ = np.abs(planted) > 1e-9
    wanted = wanted_pairs(planted, options)
    figures, real = studies.figures, studies.real

    pairs = detected.shape[1]
    equal = ~differ & np.isfinite(detected)
    if pairs == 0:
        power = Estimate.missing("the study has a single system", "power per pair of systems")
    elif not differ.any():
        power = mean_share(detected.mean(axis=1), "share of pairs detected, though no systems differ")
    else:
        mean_powers = None if studies.powers is None else mean_where(studies.powers, wanted)
        text = "share of pairs of systems detected, corrected for all pairs"
        power = open_share(mean_where(detected, wanted), mean_powers, text)
    studied = equal.any(axis=1) if detected.size else np.zeros(0, bool)
    alarms = (detected * equal).max(axis=1)[studied] if studied.any() else np.zeros(0)
    none = np.zeros(0)

    def of_all(key: str, text: str) -> StudyForecast:
        return forecast(figures.get(key, none), text)

    def of_some(key: str, text: str) -> StudyForecast:
        return forecast(real.get(key, none), text)

    return QuestionForecast(
        question=name,
        power=power,
        pairs=pairs,
        pairs_found=forecast(detected.sum(axis=1), "pairs of systems detected, corrected for all pairs"),
        power_systems=_omnibus(detected, "any pair of systems detected, corrected for all pairs"),
        power_equivalence=_equivalence(studies, options),
        power_intents=mean_share(studies.found_intents, "share of pairs of intents detected, corrected for all pairs"),
        false_alarms=share_estimate(
            float(alarms.sum()), alarms.size, "studies with a false alarm among systems that do not differ"
        ),
        difference_width=forecast(studies.difference_width, "width of the 95% interval of a difference of systems"),
        mean_width=forecast(studies.mean_width, "width of the 95% interval of a system's mean"),
        label_error=of_all("label_error", "standard error of a stimulus's mean rating"),
        alpha=of_all("alpha", "Krippendorff's alpha, interval"),
        icc1=of_all("icc1", "ICC(1,1)"),
        icc1k=of_all("icc1k", "ICC(1,k)"),
        ceiling=of_some("ceiling", "ceiling of the correlation with mean ratings"),
        icc2=of_some("icc2", "ICC(2,1)"),
        icc2k=of_some("icc2k", "ICC(2,k)"),
        icc1k_width=of_some("icc1k_width", "width of the 95% interval of ICC(1,k)"),
        alpha_ordinal=of_some("alpha_ordinal", "Krippendorff's alpha, ordinal"),
        contrasts=_contrasts(studies, design),
    )


def _omnibus(detected: Floats, method: str) -> Estimate:
    if not detected.size or not np.isfinite(detected).any():
        return Estimate.missing("there are not two systems to test", method)
    finite = detected[np.isfinite(detected).all(axis=1)]
    return share_estimate(float(finite.max(axis=1).sum()), len(finite), method)


def _equivalence(studies: Studies, options: PlanOptions) -> Estimate:
    """How often two systems that do not differ are shown to be equivalent within the smallest effect (two one-sided tests)."""
    from scipy.special import stdtr, stdtrit

    method = "share of pairs of equal systems shown to be equivalent"
    if options.smallest_effect is None:
        return Estimate.missing("no smallest effect was named (--smallest-effect)", method)
    errors, free = studies.errors[:, 0], studies.errors[:, 1]
    if not errors.size:
        return Estimate.missing("there are not two systems to test", method)
    # The difference must lie within the margins less the reach of a one-sided 95% bound.
    room = options.smallest_effect / errors - stdtrit(free, 0.95)
    chance = np.where(room > 0, 1.0 - 2.0 * stdtr(free, -np.maximum(room, 0.0)), 0.0)
    return open_share(chance.mean(axis=1), None if studies.powers is None else chance.mean(axis=1), method)


def _contrasts(studies: Studies, design: PlannedDesign) -> tuple[ContrastPower, ...]:
    """The power of each pair, where the effects of the systems are the same in every study or come from a pilot."""
    planted = studies.planted
    if not studies.named or not planted.shape[1]:
        return ()
    names, out, column = design.systems, [], 0
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            hits = studies.detected[:, column]
            finite = hits[np.isfinite(hits)]
            power = share_estimate(float(finite.sum()), finite.size, "studies that find the difference")
            if studies.powers is not None:
                power = open_share(hits, studies.powers[:, column], power.method)
            out.append(ContrastPower(names[a], names[b], float(planted[:, column].mean()), power))
            column += 1
    return tuple(out)
