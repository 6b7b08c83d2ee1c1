"""Whom intervals of reliability are for: raters like these, or raters some of whom are careless."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.text.highlights import if_careless
from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from tests.report import studies

pytestmark = pytest.mark.slow


def test_only_an_interval_notably_above_the_bound_names_it() -> None:
    labels = Estimate(value=0.8, low=0.7, high=0.9, bound_if_careless=0.25)
    assert if_careless(labels) == ", .25 or more if some future raters are careless"
    assert if_careless(replace(labels, bound_if_careless=0.65)) == ""
    assert if_careless(replace(labels, bound_if_careless=None)) == ""
    assert if_careless(labels.without_interval("too few")) == ""


def test_one_option_widens_every_figure_and_the_raters_needed() -> None:
    snapshot = studies.conveyance()
    alike = analyze(snapshot, AnalyzeOptions(resamples=100)).summary
    careless = analyze(snapshot, AnalyzeOptions(resamples=100, future_raters="careless")).summary
    assert (alike.future_raters, careless.future_raters) == ("alike", "careless")
    assert "for raters like these" in alike.methods
    assert "if some future raters are careless" in careless.methods
    for name, trust in (alike.reliability or {}).items():
        wide = (careless.reliability or {})[name]
        for form in ("alpha_interval", "icc1", "icc2", "icc2k", "icc3", "split_half"):
            narrow, own = getattr(trust, form), getattr(wide, form)
            assert (own.value, own.high, own.low) == (narrow.value, narrow.high, narrow.bound_if_careless)
            assert own.low < narrow.low
        for target, (_, most) in trust.raters_needed_between.items():
            assert wide.raters_needed_between[target][1] == trust.raters_needed_if_careless[target]
            assert most is not None
            assert (trust.raters_needed_if_careless[target] or 10**6) > most
        shares, wider = trust.variance_components, wide.variance_components
        assert shares is not None
        assert wider is not None
        assert wider.residual.high == shares.residual.bound_if_careless
    with pytest.raises(InputError, match="alike, careless"):
        AnalyzeOptions(future_raters="lazy")  # type: ignore[arg-type]  # the error is the point
