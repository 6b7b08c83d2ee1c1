"""Any small table, however it was saved and whatever is odd about it: read and analysed, or refused with a reason.

The tables are random in layout (ratings, pairs, rankings, a column per stimulus), in the design and its answers (one rater,
everything tied, one side always chosen), and in how the file was damaged. Warnings are errors here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.errors import HeartfeltError
from heartfelt.snapshot import Snapshot
from tests.analysis.made import summary_of
from tests.analysis.test_bad_input import check_parts, check_reasons

Row = list[str]
QUICK = AnalyzeOptions(resamples=100)
ODD_CELLS = (
    "", "NA", "nan", "-", "3,5", "１", "1e5", "-1", "0", "=1+1", '"x', 'r"', "a;b", "true", "  4 ", "4\u200b", "1/2",
    "9" * 400, "😀", "inf", "1e400",
)  # fmt: skip
FORMATS = {"a column per stimulus": "wide", "counts": "votes", "means": "means"}
"""Formats of the layouts that are not long."""
LAYOUTS: Mapping[str, tuple[Row, dict[str, str]]] = {
    "ratings": (["rater", "stimulus", "system", "value"], {"scale": "1-9"}),
    "numbers": (["rater", "stimulus", "system", "value"], {}),
    "questions": (["rater", "stimulus", "question", "value"], {"scale": "1-9"}),
    "a column per question": (
        ["Rater ID", "Clip", "Valence", "Arousal"],
        {"rater": "Rater ID", "stimulus": "Clip", "value": "Valence,Arousal", "scale": "1-9"},
    ),
    "yes or no": (["rater", "stimulus", "system", "value"], {"scale": "yes-no"}),
    "pairs": (["rater", "first", "second", "winner"], {}),
    "pairs of unknown raters": (["first", "second", "winner"], {"rater": "none"}),
    "grades of pairs": (["rater", "first", "second", "value"], {"scale": "preference:3"}),
    "votes on pairs": (["first", "second", "a", "b"], {"votes": "a,b"}),
    "rankings": (["rater", "trial", "stimulus", "system", "value"], {"trial": "trial", "scale": "rank"}),
    "best and worst": (["rater", "m1", "m2", "m3"], {"members": "m1,m2,m3", "best": "m1", "worst": "m3"}),
    "a column per stimulus": (["id", "valence_s1", "valence_s2", "arousal_s1"], {"scale": "1-9"}),
    "counts": (["stimulus", "joy", "fear", "none"], {"categories": "joy,fear,none"}),
    "means": (["stimulus", "system", "mean", "sd", "n"], {}),
}
DAMAGES = (
    "odd cells", "a short row", "a long row", "a blank line", "the header twice", "one name for two columns",
    "a column without a name", "no rows", "no header", "shuffled", "rows twice",
)  # fmt: skip


def _damage(rng: random.Random, rows: list[Row], kind: str) -> None:
    row, column = rng.choice(rows), rng.randrange(len(rows[0]))
    if kind == "odd cells":
        for _ in range(rng.randint(1, 4)):
            _odd_cell(rng, rows)
    elif kind == "a short row":
        row.pop()
    elif kind == "a long row":
        row.append("extra")
    elif kind in {"a blank line", "the header twice"}:
        rows.insert(rng.randint(0, len(rows)), [] if kind == "a blank line" else list(rows[0]))
    elif kind in {"one name for two columns", "a column without a name"}:
        rows[0][column] = rows[0][-1] if kind == "one name for two columns" else ""
    elif kind in {"no rows", "no header"}:
        del rows[slice(1, None) if kind == "no rows" else 0]
    elif kind == "shuffled":
        rng.shuffle(rows)
    else:
        rows.extend([list(row) for row in rows[1:3]])


def _odd_cell(rng: random.Random, rows: list[Row]) -> None:
    row = rng.choice(rows)
    if row:
        row[rng.randrange(len(row))] = rng.choice(ODD_CELLS)


def _answer(rng: random.Random, answers: str, options: list[str], number: int) -> str:
    """One of the options: any, always the same, the stimulus's own, or mostly the same."""
    if answers == "constant" or (answers == "near constant" and number):
        return options[0]
    return options[number % len(options)] if answers == "agree" else rng.choice(options)


def _row(rng: random.Random, names: Row, rater: int, stimulus: int, stimuli: int, answers: str) -> Row:
    other = (stimulus + rng.randint(1, max(stimuli - 1, 1))) % max(stimuli, 2)
    first, second = f"s{stimulus}", f"s{other}"
    outcome = {"constant": ["tie"], "agree": [min(first, second)], "near constant": ["tie", "first"]}.get(
        answers, [first, second, "tie", "first"]
    )
    numbers = ["1", "0", "0"] if answers == "agree" else [str(number) for number in range(1, 10)]
    cells = {
        "rater": f"r{rater}", "Rater ID": f"r{rater}", "id": f"r{rater}", "stimulus": first, "Clip": first, "first": first,
        "second": second, "system": f"sys{stimulus % 3}", "question": rng.choice(["valence", "arousal"]),
        "winner": rng.choice(outcome), "trial": f"t{stimulus // 3}", "m1": first, "m2": second,
        "m3": f"s{(stimulus + 2) % max(stimuli, 3)}",
    }  # fmt: skip
    return [cells.get(name) or _answer(rng, answers, numbers, stimulus) for name in names]


@st.composite
def tables(draw: st.DrawFn, damaged: bool = True) -> tuple[bytes, str, dict[str, str]]:
    """The bytes of a file, its format, and the options to read it with."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    names, options = LAYOUTS[layout]
    raters, stimuli = draw(st.sampled_from([1, 2, 3, 8])), draw(st.sampled_from([1, 2, 3, 7]))
    answers = draw(st.sampled_from(["any", "constant", "agree", "near constant"]))
    missing = draw(st.sampled_from([0.0, 0.15, 0.6]))
    rows = [list(names)]
    for rater in range(raters):
        rows += [
            _row(rng, names, rater, stimulus, stimuli, answers)
            for stimulus in range(stimuli)
            if rng.random() >= missing
        ]
    for damage in draw(st.lists(st.sampled_from(DAMAGES), max_size=2)) if damaged else ():
        if rows and all(rows):
            _damage(rng, rows, damage)
    delimiter, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "cp949"]))
    content = bytearray(end.join(delimiter.join(row) for row in rows).encode(encoding, "replace"))
    if damaged and content and draw(st.integers(0, 9)) == 0:
        content[rng.randrange(len(content))] = rng.randrange(256)
        del content[rng.randint(0, len(content)) :]
    return bytes(content), FORMATS.get(layout, "long"), dict(options)


Table = tuple[bytes, str, dict[str, str]]
REGRESSIONS: tuple[Table, ...] = (
    (b"rater,first,second,winner\nr0,s0,s1,s1\nr1,s0,s1,tie\n", "long", {}),  # no finite maximum: a singular matrix
    (b"first,second,winner\na,b,a\na,b,tie\na,b,tie\na,b,a\na,b,tie\n", "long", {"rater": "none"}),  # nearly singular
    (b"first,second,a,b\ns2,s1,1,1\ns4,s2,1,1\ns0,s6,1,1\ns4,s0,1,1\ns6,s1,1,1\n", "long", {"votes": "a,b"}),  # 0 / 0
    (b"rater,first,second,value\nr1,s1,s6,1\nr1,s6,s2,1\n", "long", {"scale": "preference:3"}),  # errors of 1e-16
)


def _read(path: Path, content: bytes, format: str, options: dict[str, str], *, guessed: bool) -> Snapshot | None:
    """The snapshot, or None where the table is refused."""
    path.write_bytes(content)
    try:
        return heartfelt.read(path) if guessed else heartfelt.read(path, format, **options)
    except HeartfeltError as error:
        refused = error
    assert refused.problem
    assert refused.fix
    return None


@pytest.mark.slow
@settings(max_examples=50)
@given(table=tables(), guessed=st.booleans())
@example(table=(b'rater|stimulus|value\nr"|s1|8\na|s2|2\nb|s3|5\n', "long", {}), guessed=False)
@example(table=(b"rater,stimulus,value,*\nr0,s0,1,2\n", "long", {}), guessed=True)
@example(table=(b"rater,stimulus,value,^v.*$\nr0,s0,1,2\n", "long", {}), guessed=True)
@example(table=(b"stimulus,a,b\nx,1,2\ny,1,99999999999999\n", "votes", {}), guessed=False)
@example(table=(b"first,second,a,b\nx,y,1,inf\n", "long", {"votes": "a,b"}), guessed=False)
@example(table=(b"\nrater|stimulus|value\nr0|s0|1\n", "long", {}), guessed=True)
def test_any_table_is_read_or_refused_with_a_reason(
    tmp_path_factory: pytest.TempPathFactory, table: Table, guessed: bool
) -> None:
    _read(tmp_path_factory.mktemp("any") / "table.csv", *table, guessed=guessed)


@pytest.mark.slow
@settings(max_examples=6)
@given(table=tables(damaged=False))
@example(table=REGRESSIONS[0])
@example(table=REGRESSIONS[1])
@example(table=REGRESSIONS[2])
@example(table=REGRESSIONS[3])
def test_any_small_table_is_analysed(tmp_path_factory: pytest.TempPathFactory, table: Table) -> None:
    snapshot = _read(tmp_path_factory.mktemp("any") / "table.csv", *table, guessed=False)
    if snapshot is None:
        return
    summary = summary_of(found := analyze(snapshot, QUICK))
    assert "heartfelt failed" not in json.dumps(summary, allow_nan=False)
    check_reasons(summary)
    check_parts(found)
