"""Intraclass correlations against the published table, pingouin, mean squares by hand, and simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.agreement import alpha
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability import icc
from heartfelt.stats.reliability.intraclass import FORMS
from tests.facts import mentions
from tests.stats.reliability.ratings import Crossed, Triple, complete, ragged

SOURCE = "Shrout & Fleiss (1979), table 2 and 4; pingouin 0.6.1 intraclass_corr; formulas of McGraw & Wong (1996)"

TARGETS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def shrout_fleiss() -> Triple:
    item, rater = (a.ravel() for a in np.indices(TARGETS.shape))
    return rater, item, TARGETS.ravel()


def test_the_published_table() -> None:
    result = icc(*shrout_fleiss())
    values = {form: round(float(getattr(result, form)), 2) for form in FORMS}
    assert values == {"icc1": 0.17, "icc2": 0.29, "icc3": 0.71, "icc1k": 0.44, "icc2k": 0.62, "icc3k": 0.91}
    # Mean squares of the paper: items 11.24, judges 32.49, residual 1.02, within 6.26.
    assert result.icc1.value == pytest.approx((11.2416667 - 6.2638889) / (11.2416667 + 3 * 6.2638889), abs=1e-6)
    assert result.k == 4
    assert result.complete
    assert result.headline == result.icc2


def test_intervals_of_the_published_table() -> None:
    # psych::ICC and pingouin print these to two digits.
    result = icc(*shrout_fleiss(), interval="f")
    bounds = [(round(e.low or 0, 2), round(e.high or 0, 2)) for e in (getattr(result, f) for f in FORMS)]
    assert bounds == [(-0.13, 0.72), (-0.88, 0.91), (0.02, 0.76), (0.07, 0.93), (0.34, 0.95), (0.68, 0.99)]


@pytest.mark.peer
@pytest.mark.parametrize(("items", "raters"), [(5, 3), (20, 4), (40, 12), (8, 30)])
def test_complete_data_equal_pingouin(items: int, raters: int) -> None:
    pingouin = pytest.importorskip("pingouin")
    import pandas as pd

    rater, item, value = complete(items, items, raters)
    table = pd.DataFrame({"item": item, "rater": rater, "value": value})
    peer = pingouin.intraclass_corr(table, targets="item", raters="rater", ratings="value")
    result = icc(rater, item, value, interval="f")
    for row, form in enumerate(("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")):
        ours = getattr(result, form)
        assert ours.value == pytest.approx(peer["ICC"][row], abs=1e-6)
        assert [ours.low, ours.high] == pytest.approx(peer.iloc[row, -1].tolist(), abs=0.00501)


def test_intervals_by_hand() -> None:
    rater, item, value = complete(2, 15, 6)
    table = np.zeros((15, 6))
    table[item, rater] = value
    n, k = table.shape
    rows, columns = table.mean(1), table.mean(0)
    msr = k * rows.var(ddof=1)
    msw = ((table - rows[:, None]) ** 2).sum() / (n * (k - 1))
    mse = ((table - rows[:, None] - columns + table.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    f = stats.f(n - 1, n * (k - 1))
    result = icc(rater, item, value, confidence=0.9, interval="f")
    ratio = msr / msw / f.ppf(0.95)
    assert result.icc1.low == pytest.approx((ratio - 1) / (ratio + k - 1))
    assert result.icc1k.low == pytest.approx(1 - 1 / ratio)
    ratio = msr / mse * stats.f((n - 1) * (k - 1), n - 1).ppf(0.95)
    assert result.icc3.high == pytest.approx((ratio - 1) / (ratio + k - 1))
    assert result.icc3.confidence == 0.9


def test_a_nearly_complete_design_is_close_to_the_complete_one() -> None:
    rater, item, value = complete(3, 60, 8)
    whole = icc(rater, item, value)
    holed = icc(rater[1:], item[1:], value[1:])
    assert not holed.complete
    for form in FORMS:
        assert getattr(holed, form).value == pytest.approx(getattr(whole, form).value, abs=0.01)
    assert holed.k == pytest.approx(8, abs=0.05)


def test_unequal_counts_use_n0() -> None:
    # Items with 2, 3 and 4 ratings: n0 = (9 - 29/9) / 2 = 2.888...; mean squares by hand.
    groups = ([1.0, 3.0], [4.0, 5.0, 6.0], [2.0, 2.0, 3.0, 1.0])
    item = [i for i, g in enumerate(groups) for _ in g]
    value = [v for g in groups for v in g]
    grand = np.mean(value)
    msb = sum(len(g) * (np.mean(g) - grand) ** 2 for g in groups) / 2
    msw = sum(((np.array(g) - np.mean(g)) ** 2).sum() for g in groups) / 6
    n0 = (9 - 29 / 9) / 2
    result = icc(range(9), item, value, interval="f")
    assert result.icc1.value == pytest.approx((msb - msw) / (msb + (n0 - 1) * msw))
    assert result.icc1k.value == pytest.approx(1 - msw / msb)
    assert result.k == pytest.approx(n0)
    assert mentions(result.icc1.interval, "exact", "unequal")
    assert mentions(result.icc3.why_missing, "rater", "rating", "residual")


def test_wald_interval_equals_the_f_interval_for_equal_counts() -> None:
    rng = np.random.default_rng(5)
    value = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1))
    item = np.repeat(np.arange(30), 4)
    equal = icc(np.arange(120), item, value.ravel(), interval="f")
    # One more rating of one item makes the counts unequal; the interval must hardly move.
    more = icc(np.arange(121), np.append(item, 0), np.append(value.ravel(), value[0].mean()), interval="f")
    assert equal.icc1.interval == "F"
    assert mentions(more.icc1.interval, "exact", "unequal")
    assert [more.icc1.low, more.icc1.high] == pytest.approx([equal.icc1.low, equal.icc1.high], abs=0.01)


@pytest.mark.slow
def test_wald_interval_covers_under_the_one_way_model() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, 40)
    item = np.repeat(np.arange(40), counts)
    inside = 0
    for _ in range(250):
        value = rng.normal(0, 0.8, 40)[item] + rng.normal(0, 1.2, item.size)
        e = icc(np.arange(item.size), item, value, interval="f").icc1
        inside += e.low is not None and e.high is not None and e.low <= 0.64 / 2.08 <= e.high
    assert 0.91 < inside / 250 < 0.985


@dataclass(frozen=True)
class Panel:
    """Items and raters (``per_item`` of them, 0 for all), spread of gains, chance that a rater is careless."""

    items: int
    raters: int
    per_item: int = 0
    gain: float = 0.0
    careless: float = 0.0

    def draw(self, rng: np.random.Generator) -> Triple:
        item, rater = (a.ravel() for a in np.indices((self.items, self.raters)))
        if self.per_item:
            chosen = rng.random((self.items, self.raters)).argsort(1)[:, : self.per_item]
            item, rater = np.repeat(np.arange(self.items), self.per_item), chosen.ravel()
        gain = 1 + self.gain * rng.normal(size=self.raters)
        careless = rng.random(self.raters) < self.careless
        noise = np.where(careless, 1.8, 1.0)
        gain[careless] = 0.0
        level = 0.6 * rng.normal(size=self.raters)
        value = gain[rater] * rng.normal(size=self.items)[item] + level[rater]
        return rater, item, value + noise[rater] * rng.normal(size=item.size)

    @property
    def truth(self) -> tuple[float, float]:
        """ICC(2,1) and ICC(3,1) over all raters there could be: the items' part is what two raters share."""
        attentive = 1 - self.careless
        item = attentive**2
        noise = attentive * (1 + self.gain**2) - item + attentive + (1 - attentive) * 1.8**2
        return item / (item + 0.36 + noise), item / (item + noise)

    def intervals(self, interval: str = "auto", runs: int = 120) -> list[list[Estimate]]:
        """ICC(2,1) and ICC(3,1) of as many data sets."""
        rng = np.random.default_rng([self.items, self.raters, self.per_item])
        results = [icc(*self.draw(rng), interval=interval) for _ in range(runs)]  # type: ignore[arg-type]  # a string
        return [[result.icc2 for result in results], [result.icc3 for result in results]]

    def coverage(self, interval: str = "auto", runs: int = 120) -> list[float]:
        return [
            float(np.mean([bounds(e)[0] <= truth <= bounds(e)[1] for e in estimates]))
            for estimates, truth in zip(self.intervals(interval, runs), self.truth, strict=True)
        ]


def bounds(e: Estimate) -> tuple[float, float]:
    assert e.low is not None
    assert e.high is not None
    return e.low, e.high


@pytest.mark.slow
@pytest.mark.parametrize(
    "panel",
    [
        Panel(200, 8),
        Panel(200, 8, gain=0.35),
        Panel(60, 12, gain=0.35),
        Panel(60, 4, gain=0.35),
        Panel(40, 3, gain=0.35),
        Panel(8, 6),
        Panel(60, 3),
        Panel(100, 10, 3, gain=0.35),
        Panel(60, 20, 2),
    ],
)
def test_intervals_for_raters_like_these_cover_and_are_no_wider_than_needed(panel: Panel) -> None:
    for estimates, truth in zip(panel.intervals(), panel.truth, strict=True):
        estimates = [e for e in estimates if e.low is not None]
        assert len(estimates) >= 110
        ends = np.array([bounds(e) for e in estimates])
        # Of 120 runs at a true coverage of .93, 106 or more in all but 1 of 50.
        assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) >= 0.88
        ideal = 3.92 * np.std([float(e) for e in estimates])
        # Three raters who happen to be alike hardly show it.
        assert np.mean(ends[:, 1] - ends[:, 0]) < (1.75 if panel.raters == 3 else 1.45) * ideal


@pytest.mark.slow
@pytest.mark.parametrize(
    "panel", [Panel(200, 8, careless=0.2), Panel(60, 12, careless=0.2), Panel(120, 25, 6, careless=0.33)]
)
def test_the_bound_if_some_are_careless_holds_when_some_are(panel: Panel) -> None:
    for estimates, truth in zip(panel.intervals(), panel.truth, strict=True):
        held = [e.bound_if_careless is not None and e.bound_if_careless <= truth for e in estimates]
        missed = [bounds(e)[0] > truth for e in estimates]
        assert np.mean(held) >= 0.93
        assert np.mean(held) > 1 - np.mean(missed)


@pytest.mark.slow
def test_f_and_model_intervals_cover_when_raters_are_alike_and_not_otherwise() -> None:
    assert min(Panel(60, 12).coverage("f")) >= 0.88
    assert max(Panel(200, 8, gain=0.35).coverage("f")) < 0.8
    assert max(Panel(200, 8, careless=0.2).coverage("f")) < 0.8
    assert min(Panel(120, 25, 6).coverage("model", 60)) >= 0.88
    assert max(Panel(120, 25, 6, careless=0.33).coverage("model", 60)) < 0.88


@pytest.mark.parametrize("panel", [Panel(200, 8, gain=0.35), Panel(60, 12), Panel(60, 12, careless=0.2)])
def test_one_rating_less_hardly_moves_the_interval(panel: Panel) -> None:
    # It made it three times as wide while complete and incomplete data had different methods.
    rater, item, value = panel.draw(np.random.default_rng(5))
    whole, less = icc(rater, item, value), icc(rater[1:], item[1:], value[1:])
    for form in FORMS:
        a, b = getattr(whole, form), getattr(less, form)
        assert a.interval == b.interval == "two-way jackknife over items and raters, log F, for raters like these"
        assert [b.low, b.high] == pytest.approx([a.low, a.high], abs=0.012)


def test_two_raters_are_taken_to_differ_as_raters_usually_do() -> None:
    rater, item, value = complete(3, 30, 2)
    result, by_f = icc(rater, item, value).icc3, icc(rater, item, value, interval="f").icc3
    assert mentions(result.interval, "jackknife", "items", "2 raters")
    assert np.diff(bounds(by_f))[0] < np.diff(bounds(result))[0] < 2.5 * np.diff(bounds(by_f))[0]
    less = icc(rater[1:], item[1:], value[1:]).icc3
    assert bounds(less) == pytest.approx(bounds(result), abs=0.05)
    with pytest.raises(InputError, match="alike or careless"):
        icc(rater, item, value, future_raters="lazy")  # type: ignore[arg-type]  # the error is the point


@pytest.mark.parametrize("gain", [0.0, 0.35])
def test_each_further_rater_of_a_panel_narrows_its_intervals(gain: float) -> None:
    widths = np.zeros((4, 3))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        table = (1 + gain * rng.normal(size=5)) * rng.normal(size=(60, 1)) + rng.normal(size=(60, 5))
        for row, raters in enumerate((2, 3, 4, 5)):
            item, rater = (a.ravel() for a in np.indices((60, raters)))
            forms = icc(rater, item, table[:, :raters].ravel())
            agreed = alpha(rater, item, table[:, :raters].ravel())
            widths[row] += [np.diff(bounds(e))[0] for e in (forms.icc2, forms.icc3, agreed)]
    steps = widths[1:] / widths[:-1]
    assert np.all((steps > 0.6) & (steps < 1.02))


def test_a_panel_of_few_raters_may_have_missed_the_careless_ones() -> None:
    # The fewer the raters, the further the bound lies below; the interval itself is for raters like these.
    rater, item, value = Panel(400, 40).draw(np.random.default_rng(6))
    below = []
    for raters in (4, 10, 40):
        e = icc(rater[rater < raters], item[rater < raters], value[rater < raters]).icc3
        low, high = bounds(e)
        assert e.bound_if_careless is not None
        below.append((float(e) - e.bound_if_careless) / float(e))
        assert float(e) - e.bound_if_careless > float(e) - low
        assert float(e) - low < 1.5 * (high - float(e))
    assert below[0] > 1.5 * below[1] > 2 * below[2]


def test_values_do_not_depend_on_names_order_scale_or_offset() -> None:
    rater, item, value = ragged(4, 40, 9, 0.5)
    order = np.random.default_rng(0).permutation(value.size)
    plain = icc(rater, item, value)
    other = icc([f"p{r}" for r in rater[order]], [("clip", int(i)) for i in item[order]], 1e4 + 7 * value[order])
    for form in FORMS:
        assert getattr(other, form).value == pytest.approx(getattr(plain, form).value, abs=1e-6)
        assert getattr(other, form).high == pytest.approx(getattr(plain, form).high, abs=1e-5)


def test_raters_needed_and_reliability_with_go_both_ways() -> None:
    result = icc(*Crossed(80, 20, 5).draw(np.random.default_rng(0)))
    needed = result.raters_needed(0.8)
    assert needed.value is not None
    assert float(result.reliability_with(needed.value)) >= 0.8
    assert float(result.reliability_with(needed.value - 1)) < 0.8
    assert result.reliability_with(result.k or 0).value == pytest.approx(result.icc2k.value)
    with pytest.raises(InputError, match="icc4"):
        result.raters_needed(0.8, "icc4")  # type: ignore[arg-type]  # the error is the point


MISSING = [
    ([], [], [], "there are no ratings"),
    (["a"] * 3, [1, 2, 3], [1, 2, 3], "there is only one rater"),
    (["a", "b", "c"], [1] * 3, [1, 2, 3], "there is only one item"),
    (["a", "b", "c"], [1, 2, 3], [1, 2, 3], "no item has two ratings"),
    (["a", "a", "b", "b"], [1, 2, 1, 2], [3] * 4, "all ratings are equal"),
    (["a", "b"], [1, 2], [np.nan, np.inf], "there are no ratings"),
]


@pytest.mark.parametrize(("rater", "item", "value", "why"), MISSING)
def test_missing_says_why(rater: list[str], item: list[int], value: list[float], why: str) -> None:
    result = icc(rater, item, value)
    for form in FORMS:
        assert getattr(result, form).why_missing == why
    dumps(result)


def test_perfect_agreement_has_a_value_and_no_interval() -> None:
    result = icc(["a", "a", "a", "b", "b", "b"], [1, 2, 3] * 2, [1, 2, 5, 1, 2, 5])
    assert [getattr(result, form).value for form in FORMS] == pytest.approx([1.0] * 6)
    assert result.icc2.low is None
    assert mentions(result.icc2.why_no_interval, "variance", "infinite")
    shifted = icc(["a", "a", "a", "b", "b", "b"], [1, 2, 3] * 2, [1, 2, 5, 2, 3, 6])
    assert shifted.icc3.value == pytest.approx(1.0)
    assert shifted.icc2.value is not None
    assert shifted.icc2.value < 1


def test_negative_on_complete_data() -> None:
    result = icc([1, 2] * 3, [1, 1, 2, 2, 3, 3], [1, 5, 5, 1, 3, 3])
    assert result.icc1.value == pytest.approx(-1.0)
    assert result.icc1k.value is None
    assert result.icc1k.why_missing is not None


def test_ten_thousand_raters_with_one_rating_each() -> None:
    rng = np.random.default_rng(0)
    item = np.arange(10_000) % 1000
    value = rng.normal(size=1000)[item] + rng.normal(size=10_000)
    result = icc(np.arange(10_000), item, value)
    assert result.icc1.value == pytest.approx(0.5, abs=0.05)
    assert result.icc2.value == pytest.approx(result.icc1.value, abs=1e-6)
    assert result.icc3.value is None


def test_misuse_is_refused() -> None:
    with pytest.raises(InputError, match=r"'a'.*item 1.*2 repeated"):
        icc(["a", "a", "b", "a", "a"], [1, 2, 1, 2, 1], [1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="between 0 and 1"):
        icc([1, 2], [1, 1], [1, 2], confidence=95)
    with pytest.raises(InputError, match="positive"):
        icc([1, 2], [1, 1], [1, 2], k=0)
    with pytest.raises(InputError, match=r"interval.*'boot'"):
        icc([1, 1, 2, 2], [1, 2, 1, 2], [1, 2, 3, 5], interval="boot")  # type: ignore[arg-type]  # the error is the point
