"""A small hand-made emolia data set with every quirk: ties, one vote each, four raters, one rater, an answer given twice, an
item nobody answered, a flag on a rated and on an unrated item."""

from __future__ import annotations

from pathlib import Path

from heartfelt.datasets.emolia.reader import DIM, EMO, EmoliaDim, EmoliaEmo
from heartfelt.snapshot import Snapshot

TIMES = {"ann": (1000, 5000), "bea": (2000, 5000), "cem": (3000, 8000), "dov": (6000, 6000)}
WORDS = dict(enumerate(EMO.answers))

EMO_ITEMS: list[tuple[str, str, str, str, dict[str, int]]] = [
    ("f1.mp3", "Joy", "affirmative", "Joy", {"ann": 2, "bea": 2, "cem": 1}),
    ("f2.mp3", "Joy", "affirmative", "Joy", {"ann": 0, "bea": 1, "cem": 2}),
    ("f3.mp3", "Joy", "contrastive_1", "Pain", {"ann": 0, "bea": 1}),
    ("f4.mp3", "Awe", "ultimate", "Pain", {"ann": 0}),
    ("f5.mp3", "Awe", "affirmative", "Awe", {"ann": 0, "bea": 0, "cem": 1, "dov": 2}),
    ("f6.mp3", "Awe", "penultimate", "Pain", {"ann": 0, "bea": 0, "cem": 0}),
    ("f7.mp3", "Joy", "contrastive_2", "Pain", {"ann": 1, "bea": 2}),
]
DIM_ITEMS: list[tuple[str, str, str, str, dict[str, str]]] = [
    ("sample_00.mp3", "TEMP", "5", "positive", {"ann": "yes", "bea": "no"}),
    ("sample_01.mp3", "TEMP", "5", "positive", {"ann": "yes", "bea": "yes", "cem": "no"}),
    ("sample_00.mp3", "TEMP", "5", "negative", {"cem": "no"}),
    ("sample_02.mp3", "LANG", "European", "positive", {"ann": "yes", "bea": "yes", "cem": "yes", "dov": "no"}),
    ("sample_03.mp3", "TEMP", "0", "negative", {"ann": "no", "bea": "no", "cem": "no"}),
]
FLAGS = (
    "x1,ann,TEMP,5,positive,sample_00.mp3,two | speakers,2026-05-03 19:14:04\n"
    "x2,bea,TEMP,5,negative,sample_09.mp3,silence,2026-05-04 09:56:15\n"
)


def emo(folder: Path) -> Snapshot:
    lines = ["first,ann,Pain,Joy,contrastive_2,f7.mp3,not_present,9,9,2026-04-15 11:00:00"]
    lines += ["blank,ann,Awe,Awe,affirmative,f8.mp3,,9,9,2026-04-15 11:00:00"]
    for file, emotion, task, source, votes in EMO_ITEMS:
        for who, code in votes.items():
            reaction, sample = TIMES[who]
            lines.append(
                f"{file}{task}{who},{who},{source},{emotion},{task},{file},{WORDS[code]},{reaction},{sample},"
                "2026-04-15 12:00:00"
            )
    _write(folder / "annotations.csv", EMO.columns, "\n".join(lines) + "\n")
    return EmoliaEmo().read(folder, {})


def dim(folder: Path) -> Snapshot:
    lines = []
    for file, dimension, level, polarity, votes in DIM_ITEMS:
        for who, word in votes.items():
            reaction, sample = TIMES[who]
            lines.append(
                f"{file}{level}{polarity}{who},{who},{dimension},{level},{polarity},{file},{word},{reaction},{sample},"
                "2026-05-03 12:00:00"
            )
    _write(folder / "annotations.csv", DIM.columns, "\n".join(lines) + "\n")
    _write(folder / "flags.csv", DIM.flag_columns, FLAGS)
    return EmoliaDim().read(folder, {})


def _write(path: Path, columns: tuple[str, ...], rows: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(",".join(columns) + "\n" + rows, encoding="utf-8")
