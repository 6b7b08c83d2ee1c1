"""Anchors named when a table is read: stimuli with a known answer, which screening uses and nothing else counts.

``--map anchors=`` takes stimuli with commas between them, each with the limits of its answer where there are any
(``clip7=0-2, clip9=7-``), or the name of a column of the stimuli that holds the limits (or yes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.study import Study
from heartfelt.study.probe import AnchorProbe, Probe

ANCHOR_OPTIONS: Mapping[str, str] = {
    "anchors": "stimuli with a known answer, used for screening only: clip7=0-2, clip9=7- with commas,"
    " or the column of the stimuli that holds such limits (or yes)",
    "anchor_question": "the question the anchors' limits are about; needed where several are asked",
}
_LIMITS = re.compile(r"(-?\d+(?:\.\d+)?)?\s*(?:\.\.|-)\s*(-?\d+(?:\.\d+)?)?")
_YES = {"yes", "true", "1", "1.0", "x", "anchor"}
_NO = {"", "no", "false", "0", "0.0"}
Ends = tuple[float | None, float | None]


def with_anchors(study: Study, stimuli: pl.DataFrame, options: Mapping[str, str], where: str) -> Study:
    """The study with an anchor probe for every distinct pair of limits that the options name."""
    if "anchors" not in options:
        return study
    marked = _marked(options["anchors"], stimuli, where)
    question = _question(
        study, options.get("anchor_question"), limited=any(any_end(ends) for ends in marked.values())
    )
    groups: dict[Ends, list[str]] = {}
    for name, ends in marked.items():
        groups.setdefault(ends, []).append(name)
    taken = {probe.id for probe in study.probes}
    made: list[Probe] = []
    for ends, names in groups.items():
        number = 1 + len(taken)
        while f"anchor{number}" in taken:
            number += 1
        taken.add(f"anchor{number}")
        made.append(
            AnchorProbe(
                type="anchor",
                id=f"anchor{number}",
                stimuli=names,
                question=question,
                at_least=ends[0],
                at_most=ends[1],
            )
        )
    return study.changed(probes=[*study.probes, *made])


def any_end(ends: Ends) -> bool:
    """Whether there is a limit at all."""
    return ends != (None, None)


def _marked(text: str, stimuli: pl.DataFrame, where: str) -> dict[str, Ends]:
    if text.strip() in stimuli.columns and text.strip() != "stimulus":
        column = stimuli.select("stimulus", pl.col(text.strip()).cast(pl.String)).fill_null("")
        marked = {
            str(name): _ends(limits, where)
            for name, limits in column.iter_rows()
            if limits.strip().casefold() not in _NO
        }
    else:
        known = set(stimuli["stimulus"].to_list())
        marked = {}
        for part in filter(None, (one.strip() for one in text.split(","))):
            name, _, limits = part.rpartition("=") if part not in known and "=" in part else (part, "", "yes")
            marked[name.strip()] = _ends(limits, where)
        for name in marked:
            if name not in known:
                raise InputError(
                    f"{where}: the anchor '{name}' is not among the stimuli, nor is '{text.strip()}' a column of them.",
                    suggestion(name, sorted(known)[:200], "Stimuli"),
                )
    if not marked:
        raise InputError(
            f"{where}: no stimulus is marked as an anchor by '{text}'.",
            "Name stimuli (--map anchors=clip7=0-2), or a column of the stimuli with limits or yes.",
        )
    return marked


def _ends(text: str, where: str) -> Ends:
    if text.strip().casefold() in _YES:
        return None, None
    found = _LIMITS.fullmatch(text.strip())
    if found is None or found.groups() == (None, None):
        raise InputError(
            f"{where}: '{text}' does not say within which limits an anchor's answer must lie.",
            "Write LOW-HIGH, LOW-, -HIGH, or yes for an anchor without limits.",
        )
    low, high = (None if end is None else float(end) for end in found.groups())
    if low is not None and high is not None and low > high:
        raise InputError(
            f"{where}: the limits '{text}' of an anchor are the wrong way round.", "Write LOW-HIGH."
        )
    return low, high


def _question(study: Study, named: str | None, *, limited: bool) -> str:
    asked = [question.id for question in study.asked]
    if named is not None:
        if named not in asked:
            raise InputError(
                f"There is no question '{named}' for anchors.", suggestion(named, asked, "Questions")
            )
        return named
    if limited and len(asked) > 1:
        raise InputError(
            "The anchors have limits, and several questions are asked.",
            f"Say which question they are about: --map anchor_question=NAME ({', '.join(asked[:12])}).",
        )
    return asked[0]
