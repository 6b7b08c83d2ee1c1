"""What the offline drafters say of real images: how often objects and faces are right, and how fast they are.

The file names of OASIS say what a photograph shows; the prompts of AVT say what an image was to show. An answer of ``objects`` is
right if one of the classes behind it has such a word among its names and broader words. Only images with a word that the
network knows count. Faces: with ``SKIMAGE_FOLDER`` (a folder with scikit-image, as for ``pixels``) also crops of Labeled Faces
in the Wild. The images are those of ``../shared/data``.
"""

from __future__ import annotations

import csv
import os
import re
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image

from heartfelt.predictors import Ask, Case, Media, predictor_from, run
from heartfelt.predictors.answers.scales import normalised
from heartfelt.predictors.networks.images.faces import detect_faces
from heartfelt.predictors.networks.images.imagenet import broader_words, imagenet_classes
from heartfelt.stats._bounds import wilson
from heartfelt.study.scales.scale import Numeric, Tags

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FORMS = [{normalised(word) for word in (each.name, *each.synonyms, *each.broader)} for each in imagenet_classes()]
TAGS, NUMBER = Tags(type="tags"), Numeric(type="numeric")


def main() -> None:
    oasis = sorted((DATA / "oasis" / "images").glob("*.jpg"))
    avt = sorted(path for path in (DATA / "avt_ai_images" / "images").rglob("*") if path.is_file())
    if not oasis or not avt:
        print(f"there are no images in {DATA}; nothing is measured")
        return
    themes = [{normalised(path.stem.rpartition("_")[0])} for path in oasis]
    with (DATA / "avt_ai_images" / "prompts.csv").open(encoding="utf-8") as file:
        prompts = {row["ID"]: _words(row["prompts"]) for row in csv.DictReader(file)}
    for name, paths, words in (("OASIS", oasis, themes), ("AVT", avt, [prompts[path.stem] for path in avt])):
        for spec in ("objects", "objects[least=0.6]", "objects:efficientnet-lite0"):
            _objects(name, spec, paths, words)
        for spec, question in (("pixels", "brightness"), ("faces", "faces"), ("expressions", "expression")):
            table, seconds = _answers(
                spec, paths, Ask(question=question, scale=NUMBER if spec != "expressions" else TAGS, text="")
            )
            some = table.filter((pl.col("value") > 0) | (pl.col("answer") != "(none)"))
            seen = "" if spec == "pixels" else f"; faces in {some.height}: {', '.join(some['stimulus'][:12])}"
            print(f"{name}, {spec}: {len(paths)} images, {len(paths) / seconds:.0f} images/s{seen}")
    _looked_at()
    _crops()


def _looked_at() -> None:
    """Words for the images that somebody described by looking (``tests/predictors/drafts/seen``), and how many agree."""
    with (Path(__file__).parents[1] / "tests/predictors/drafts/seen/images.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (DATA / row["image"]).is_file()]
    table, _ = _answers("objects", [DATA / row["image"] for row in rows], Ask(question="objects", scale=TAGS, text=""))
    things = [{normalised(word) for word in row["things"].split(";")} for row in rows]
    answers = [answer.split(";") if answer else [] for answer in table["answer"]]
    right = sum(_names(word, seen) for words, seen in zip(answers, things, strict=True) for word in words)
    some, words = sum(map(bool, answers)), sum(map(len, answers))
    print(f"looked at: {some} of {len(rows)} images have a word, {words} words, {right} agree with what was seen")


def _objects(name: str, spec: str, paths: Sequence[Path], words: Sequence[set[str]]) -> None:
    table, seconds = _answers(spec, paths, Ask(question="objects", scale=TAGS, text=""))
    known = [bool(set.union(*FORMS) & each) for each in words]
    first = [None if answer is None else answer.split(";")[0] for answer in table["answer"]]
    right = [answer is not None and _names(answer, each) for answer, each in zip(first, words, strict=True)]
    score = table["score"].fill_null(0).to_numpy()
    count = sum(known)
    print(f"{name}, {spec}: {len(paths) / seconds:.0f} images/s; {count} of {len(paths)} show something it knows")
    for low, high in ((0.4, 1.01), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01)):
        chosen = [k and a is not None and low <= s < high for k, a, s in zip(known, first, score, strict=True)]
        hits, answers = sum(r for r, c in zip(right, chosen, strict=True) if c), sum(chosen)
        if answers:
            bounds = "[{:.0%}, {:.0%}]".format(*wilson(hits, answers, 0.95))
            print(
                f"  confidence {low:.1f} to {min(high, 1):.1f}: {answers} answers, right {hits / answers:.0%} {bounds}"
            )
    others = sum(a is not None and not k for a, k in zip(first, known, strict=True))
    print(f"  answers where it knows none of the words: {others} of {len(paths) - count}")


def _answers(spec: str, paths: Sequence[Path], ask: Ask) -> tuple[pl.DataFrame, float]:
    predictor = predictor_from(spec)
    cases = [Case(stimulus="/".join(path.parts[-2:]), asks=(ask,), media=Media(path)) for path in paths]
    predictor.predict(cases[:1])
    begun = time.perf_counter()
    return run(predictor, cases).table, time.perf_counter() - begun


def _names(answer: str, words: set[str]) -> bool:
    places: Iterable[int] = broader_words().get(answer, ())
    places = places or [at for at, each in enumerate(imagenet_classes()) if each.name == answer]
    return any(FORMS[place] & words for place in places)


def _words(text: str) -> set[str]:
    """The words of a text, and every two that follow one another."""
    words = re.findall(r"[A-Za-z-]+", text)
    return {normalised(word) for word in (*words, *(" ".join(pair) for pair in pairwise(words)))}


def _crops() -> None:
    path = Path(os.environ.get("SKIMAGE_FOLDER", "")) / "skimage" / "data" / "lfw_subset.npy"
    if not path.is_file():
        print("scikit-image is not here (set SKIMAGE_FOLDER); the row on Labeled Faces in the Wild is left out")
        return
    results = []
    for crop in np.load(path):
        large = Image.fromarray((crop * 255).astype(np.uint8)).resize((100, 100), Image.Resampling.BICUBIC)
        page = Image.new("L", (200, 200), 128)
        page.paste(large, (50, 50))
        results.append(bool(detect_faces(page.convert("RGB"))))
    print(f"Labeled Faces in the Wild: {sum(results[:100])} of 100 faces, {sum(results[100:])} of 100 other crops")


if __name__ == "__main__":
    main()
