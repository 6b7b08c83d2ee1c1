"""METEOR 1.5 and SPICE 1.0 through their authors' Java programs, where Java and the programs' files are present.

The files are those of the Python package ``pycocoevalcap``: ``meteor-1.5.jar`` with its ``data`` folder, and ``spice-1.0.jar`` with
its ``lib`` folder, which needs the Stanford CoreNLP 3.6.0 jars as well. They are looked for in a folder that the caller names, in
the folder of the environment variable ``HEARTFELT_CAPTION_TOOLS``, and in an installed ``pycocoevalcap``. Both know English only
here. Texts go in as the words of :mod:`heartfelt.stats.texts.segmentation`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from heartfelt.errors import MissingPartError
from heartfelt.files import TemporaryFolder
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.texts.segmentation import words

VARIABLE = "HEARTFELT_CAPTION_TOOLS"
METEOR, SPICE = "meteor-1.5.jar", "spice-1.0.jar"
PARSER = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
_BREAK = " ||| "


def meteor(candidates: Sequence[str], references: Sequence[Sequence[str]], folder: Path | None = None) -> Floats:
    """The METEOR of each candidate with its best reference, 0 to 1."""
    jar = _jar(METEOR, folder)
    _need(jar.parent / "data" / "paraphrase-en.gz", "METEOR")
    if not len(candidates):
        return np.zeros(0)
    lines = [
        _BREAK.join(["SCORE", *(_line(text) for text in item_references), _line(candidate)])
        for candidate, item_references in zip(candidates, references, strict=True)
    ]
    counts = _asked(jar, lines)
    # It answers with the score of each text, then with that of all.
    scores = _asked(jar, [_BREAK.join(["EVAL", *counts])])[: len(lines)]
    if len(counts) != len(lines) or len(scores) != len(lines):
        raise MissingPartError(
            "METEOR's program stopped without an answer.", f"Check that 'java -jar {jar.name}' starts."
        )
    return np.array([float(score) for score in scores])


def _asked(jar: Path, lines: Sequence[str]) -> list[str]:
    """METEOR's answers to lines of its protocol."""
    command = [_java(), "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"]
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, cwd=jar.parent, input=text, capture_output=True, check=False, encoding="utf-8")
    return done.stdout.splitlines()


def spice(candidates: Sequence[str], references: Sequence[Sequence[str]], folder: Path | None = None) -> Floats:
    """The SPICE F1 of each candidate, 0 to 1; NaN where the references have nothing to compare."""
    jar = _jar(SPICE, folder)
    for name in PARSER:
        _need(jar.parent / "lib" / name, "SPICE")
    java, scratch = _java(), TemporaryFolder()
    input_path, output_path = scratch.path / "captions.json", scratch.path / "scores.json"
    rows = [
        {"image_id": index, "test": _line(text), "refs": [_line(reference) for reference in item_references]}
        for index, (text, item_references) in enumerate(zip(candidates, references, strict=True))
    ]
    input_path.write_text(json.dumps(rows), encoding="utf-8")
    command = [java, "-Xmx8G", "-jar", jar.name, str(input_path), "-out", str(output_path), "-silent"]
    done = subprocess.run(command, cwd=jar.parent, capture_output=True, text=True, check=False)
    if done.returncode or not output_path.is_file():
        reason = (done.stderr.strip().splitlines() or ["no message"])[0][:200]
        raise MissingPartError(f"SPICE's program failed: {reason}.", "It was written for Java 8.")
    scores = {row["image_id"]: row["scores"]["All"]["f"] for row in json.loads(output_path.read_text("utf-8"))}
    return np.array([float(scores[index]) for index in range(len(rows))])


def _line(text: str) -> str:
    return " ".join(words(text))


def _java() -> str:
    path = shutil.which("java")
    if path is None:
        raise MissingPartError("Java is not installed.", "Install a Java runtime, such as OpenJDK.")
    return path


def _jar(name: str, folder: Path | None) -> Path:
    """The program's file in the first of the places that has it."""
    spec = find_spec("pycocoevalcap")
    named = [os.environ.get(VARIABLE), *((spec.submodule_search_locations if spec else None) or ())]
    folders = [folder, *(Path(location) for location in named if location)]
    for parent in folders:
        paths = sorted(path for path in parent.rglob(name) if path.is_file()) if parent is not None else []
        if paths:
            return paths[0].resolve()
    raise MissingPartError(
        f"{name} is not here.", f"pip install pycocoevalcap, or set {VARIABLE} to a folder that has it."
    )


def _need(path: Path, program: str) -> None:
    if not path.is_file():
        raise MissingPartError(f"{program} needs {path.name}, which is not in {path.parent.name}.", "Add it.")
