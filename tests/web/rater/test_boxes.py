"""Where a machine saw what it drafted: drawn on the image while drafts are verified, and not before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from heartfelt.collect import CollectOptions
from heartfelt.formats.study_folder.drafts import read_drafts, write_drafts
from heartfelt.study import load_study
from tests.web.rater.serving import Served
from tests.web.rater.test_verification import Expert, drafted
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
LIMITS = "It knows stars and rings alone."


def boxed(folder: Path) -> Served:
    """Two images whose objects a detector saw in boxes."""
    drafted(folder, 2).close()
    seen = [{"tag": "star", "confidence": 0.9, "box": [0.25, 0.1, 0.75, 0.5]}]
    objects = pl.col("question") == "objects"
    write_drafts(
        folder,
        read_drafts(folder, load_study(folder)).with_columns(
            boxes=pl.when(objects).then(pl.lit(json.dumps(seen))), limits=pl.when(objects).then(pl.lit(LIMITS))
        ),
    )
    served = Served(folder, options=CollectOptions(seed=7, durable=False, hidden=0.0, planted=0.0))
    served.begin()
    return served


@pytest.mark.slow
def test_boxes_are_drawn_on_the_image_while_drafts_are_verified(browser: Browser, tmp_path: Path) -> None:
    visitor = Visitor(browser, boxed(tmp_path / "study"), controlled=True)
    visitor.enter()
    page, expert = visitor.page, Expert(visitor)
    page.wait_for_selector(".enlarge img")
    assert not page.locator(".detections").is_visible(), "judgements come first, with nothing of the machine in sight"
    assert not page.locator(".limits").is_visible()
    expert.judge(0)
    assert page.locator(".detections").is_visible()
    assert page.locator(".detections text").text_content() == "star"
    natural = page.evaluate(
        "() => { const i = document.querySelector('.enlarge img'); return [i.naturalWidth, i.naturalHeight]; }"
    )
    shown, place = (page.locator(name).bounding_box() for name in (".detections rect", ".enlarge img"))
    assert shown is not None
    assert place is not None
    scale = min(place["width"] / natural[0], place["height"] / natural[1])
    left = place["x"] + (place["width"] - scale * natural[0]) / 2
    assert shown["x"] == pytest.approx(left + 0.25 * scale * natural[0], abs=3)
    assert shown["width"] == pytest.approx(0.5 * scale * natural[0], abs=5)
    page.locator(".limits summary").click()
    assert page.locator(".limits p").text_content() == LIMITS
    visitor.accessible()
    page.screenshot(path=str(tmp_path / "boxes.png"))
    visitor.close()
