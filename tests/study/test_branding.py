"""A study's own colours: contrast as WCAG defines it, and colours that could not be read are refused with the numbers."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from heartfelt.study.parts.branding import AA, PAPER, Branding, contrast, least_contrast, stylesheet

SOURCE = "WCAG 2.1, definition of contrast ratio; #767676 on white is the lightest grey that passes AA (4.54)"


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_the_backgrounds_are_those_of_the_pages() -> None:
    css = files("heartfelt.web.rater").joinpath("static", "rate.css").read_text(encoding="utf-8")
    found = re.findall(r"--paper: (#\w+); --card: (#\w+);", css)
    assert [tuple(pair) for pair in found] == [PAPER["light"], PAPER["dark"]]


def test_a_colour_that_cannot_be_read_is_refused_with_one_that_can() -> None:
    with pytest.raises(ValueError, match=r"#ffcc00 has a contrast of 1\.\d\d:1 with the page in light mode") as refused:
        Branding(colour="#ffcc00")
    better = re.findall(r"Use (#\w{6})", str(refused.value))[0]
    assert least_contrast(Branding(colour=better).colour or "", "light") >= AA
    with pytest.raises(ValueError, match="in dark mode"):
        Branding(colour="#003366", dark_colour="#003366")
    with pytest.raises(ValueError, match="no picture"):
        Branding(logo="logo.pdf")


@pytest.mark.parametrize("colour", ["#003366", "#8b0000", "#1d6a86", "#5a2d82"])
def test_texts_on_and_in_the_colour_can_be_read_in_both_modes(colour: str) -> None:
    for rules, scheme in zip(stylesheet(Branding(colour=colour)).split("@media"), PAPER, strict=True):
        accent, ink = (re.findall(rf"--{name}: (#\w+);", rules)[0] for name in ("accent", "accent-ink"))
        assert contrast(accent, ink) >= AA
        assert least_contrast(accent, scheme) >= AA
