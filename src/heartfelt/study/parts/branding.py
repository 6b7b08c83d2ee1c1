"""A study's own look on the rating pages: a logo, and a colour whose contrast is checked.

Contrast is that of WCAG 2.1: (L1 + .05) / (L2 + .05) with relative luminances L1 >= L2. AA asks for 4.5 to 1 for text.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from pydantic import Field, model_validator

from heartfelt.study.model import Part, Text

LOGO_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
AA = 4.5
PAPER = {"light": ("#f4f2ee", "#fffefb"), "dark": ("#12171c", "#1a2128")}
"""The backgrounds of the rating pages (--paper and --card in rate.css), by colour scheme."""
_INKS = ("#ffffff", "#0c2029")
_STEPS = 20
_TINT = 0.88
"""Share of the card's colour in the tint behind chosen answers."""


class Branding(Part):
    """The study's own look."""

    logo: str | None = Field(default=None, description="an SVG, PNG, JPEG or WebP file in the study folder")
    logo_text: Text | None = Field(default=None, description="what the logo says, for those who cannot see it")
    colour: str | None = Field(
        default=None, pattern=r"^#[0-9a-fA-F]{6}$", description="of buttons and links, as #rrggbb"
    )
    dark_colour: str | None = Field(
        default=None, pattern=r"^#[0-9a-fA-F]{6}$", description="in dark mode; a lighter one of it if left out"
    )

    @model_validator(mode="after")
    def _legible(self) -> Branding:
        if self.logo is not None and PurePosixPath(self.logo).suffix.lower() not in LOGO_TYPES:
            raise ValueError(f"'{self.logo}' is no picture that pages can show. Use an SVG, PNG, JPEG or WebP file")
        for colour, scheme, towards in ((self.colour, "light", "#000000"), (self.dark_colour, "dark", "#ffffff")):
            if colour is not None and (reached := least_contrast(colour, scheme)) < AA:
                better = legible(colour, scheme, towards)
                raise ValueError(
                    f"{colour} has a contrast of {reached:.2f}:1 with the page in {scheme} mode; WCAG AA asks for {AA}:1."
                    f" Use {better} ({least_contrast(better, scheme):.2f}:1) or another"
                )
        return self


def luminance(colour: str) -> float:
    """The relative luminance of a colour, from 0 (black) to 1 (white)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, background: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(colour), luminance(background)))
    return (lighter + 0.05) / (darker + 0.05)


def least_contrast(colour: str, scheme: str) -> float:
    """The lowest contrast of a colour with the backgrounds of a colour scheme, its own tint among them."""
    papers = PAPER[scheme]
    return min(contrast(colour, paper) for paper in (*papers, mixed(colour, papers[-1], _TINT)))


def mixed(colour: str, mixed_in: str, share: float) -> str:
    pairs = [(int(colour[at : at + 2], 16), int(mixed_in[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def legible(colour: str, scheme: str, towards: str) -> str:
    """The colour, as much darker or lighter as it takes."""
    tries = (mixed(colour, towards, step / _STEPS) for step in range(_STEPS + 1))
    return next(tried for tried in tries if least_contrast(tried, scheme) >= AA)


def contrast_notes(branding: Branding | None) -> list[str]:
    if branding is None or branding.colour is None:
        return []
    dark = branding.dark_colour or legible(branding.colour, "dark", "#ffffff")
    light = least_contrast(branding.colour, "light")
    return [
        f"Contrast of the branding: {branding.colour} {light:.1f}:1, in dark mode {dark}"
        f" {least_contrast(dark, 'dark'):.1f}:1 (WCAG AA asks for {AA}:1)."
    ]


def stylesheet(branding: Branding) -> str:
    """The colours as a style sheet that goes after the pages' own."""
    if branding.colour is None:
        return ""
    dark = branding.dark_colour or legible(branding.colour, "dark", "#ffffff")
    return "".join(
        (
            _rules(branding.colour, PAPER["light"][1]),
            "@media (prefers-color-scheme: dark) {\n",
            _rules(dark, PAPER["dark"][1]),
            "}\n",
        )
    )


def _rules(colour: str, paper: str) -> str:
    ink = max(_INKS, key=lambda ink: contrast(ink, colour))
    tint = mixed(colour, paper, _TINT)
    return f":root {{ --accent: {colour}; --accent-ink: {ink}; --ring: {colour}; --tint: {tint}; }}\n"
