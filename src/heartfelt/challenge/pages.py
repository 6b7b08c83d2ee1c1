"""The pages of a challenge, in the look of the reports: how to submit, and the leaderboard."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from heartfelt.challenge.challenge import Challenge, Place
from heartfelt.challenge.ladder import Rung
from heartfelt.report.page import Page, Section, absent, bullets, joined, paragraph, render
from heartfelt.report.tables import table, table_of
from heartfelt.study import Scale
from heartfelt.study.model import say
from heartfelt.wording import number, plural, share

EXAMPLE_ROWS = 2
"""Of each question."""
_INLINE = re.compile(r"<(script|style)(?P<attributes>[^>]*)>(?P<text>.*?)</\1>", re.DOTALL)


def how_to_submit(challenge: Challenge, address: str) -> str:
    """The first page: what is predicted, how it is sent, what comes back."""
    limits = challenge.options.limits
    asked = [q for q in challenge.study.asked if q.id in set(challenge.items["question"])]
    questions = table(
        "Questions",
        ("question", "items", "what raters were asked", "answers"),
        [
            (
                question.id,
                challenge.items.filter(question=question.id).height,
                say(question.text),
                _answers(challenge.study.scale_of(question.id)),
            )
            for question in asked
        ],
    )
    example = "\n".join(["stimulus,question,value,answer", *_example(challenge)])
    command = " \\\n  ".join(
        (
            "curl -H 'Authorization: Bearer TOKEN'",
            "--data-binary @predictions.csv",
            f"'{address}/submissions?name=MODEL'",
        )
    )
    send = joined(
        paragraph("Send the file with your token; the organisers give tokens out."),
        _code(command, "Command"),
        paragraph(
            "The answer has an id; ask for the result at /submissions/ID with the same token. With ?wait=30 the answer"
            " comes when the submission is scored, after 30 seconds at most. JSON Lines and Parquet work as well,"
            " and each may be compressed with gzip; an upload form field called file too (curl -F file=@predictions.csv)."
        ),
        bullets(
            [
                f"{plural(limits.per_day, 'submission')} in 24 hours and {limits.in_all:,} in all for each submitter."
                " Files that cannot be used are refused with the reason and do not count.",
                f"One prediction for every item; at most {challenge.options.megabytes:g} MB.",
            ]
        ),
    )
    rules = joined(
        paragraph(
            "Scores are published as the best so far, rounded down to a step, beginning at chance: a submission that is not"
            " better by a step changes nothing and says nothing. So the hidden labels cannot be learnt by trying."
        ),
        table_of(
            "What is published",
            challenge.rungs,
            {
                "task": lambda rung: rung.task,
                "score": lambda rung: rung.title,
                "items": lambda rung: rung.items,
                "step": lambda rung: share(rung.step, 3),
                "chance (rounded up to a step)": lambda rung: share(rung.start * rung.step, 3),
            },
        ),
    )
    sections = [
        Section("predict", "What to predict", "", joined(questions, *_lists(challenge))),
        Section(
            "file",
            "The file",
            "A row per item: value for numbers, answer for categories.",
            _code(example, "Example"),
        ),
        Section("send", "How to send it", "", send),
        Section("scores", "What comes back", "", joined(rules, _link("/leaderboard", "Leaderboard"))),
    ]
    return render(Page(challenge.title, "How to submit predictions", sections, facts=_facts(challenge)))


def leaderboard_page(challenge: Challenge) -> str:
    """The leaderboard of every task."""
    sections = [
        Section(
            f"task-{place}",
            rung.task,
            f"{rung.title[0].upper()}{rung.title[1:]} on {plural(rung.items, 'item')} with hidden labels, in steps of"
            f" {share(rung.step, 3)};"
            f" chance is {share(rung.start * rung.step, 3)}, rounded up to a step.",
            _board(challenge.leaderboard(rung), rung),
        )
        for place, rung in enumerate(challenge.rungs, 1)
    ]
    more = Section("more", "How to take part", "", _link("/", "How to submit"))
    return render(Page(challenge.title, "Leaderboard", [*sections, more], facts=_facts(challenge)))


def content_policy(page: str) -> str:
    """The policy for a page: its own inline style and scripts by their hashes, and nothing else."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for part in _INLINE.finditer(page):
        digest = base64.b64encode(hashlib.sha256(part["text"].encode()).digest()).decode()
        hashes[part[1]].append(f"'sha256-{digest}'")
    scripts, styles = " ".join(hashes["script"]), " ".join(hashes["style"])
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles} 'unsafe-hashes'; img-src data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )


def _board(places: Sequence[Place], rung: Rung) -> Markup:
    if not places:
        return absent("Nobody is above chance yet.")
    return table_of(
        f"Leaderboard of {rung.task}",
        places,
        {
            "rank": lambda place: place.rank,
            "submitter": lambda place: place.submitter,
            "model": lambda place: place.model,
            rung.title: lambda place: place.score,
            "overstated by at most (95%)": lambda place: (
                number(place.overstated_at_most, 2) if place.overstated_at_most < 1 else "not bounded"
            ),
            "since": lambda place: f"{datetime.fromtimestamp(place.since, UTC):%Y-%m-%d %H:%M} UTC",
            "submissions": lambda place: place.submissions,
        },
    )


def _lists(challenge: Challenge) -> list[Markup]:
    """Links to what is scored."""
    lists = [_link("/items.csv", "All items as CSV")]
    if challenge.sets.height:
        lists += [
            paragraph(
                "Stimuli were compared: give each a value, higher for those that people prefer; or the probability that the"
                " first of two is chosen, with the columns question, first, second and probability."
            ),
            _link("/sets.csv", "What was compared, as CSV"),
        ]
    return lists


def _answers(scale: Scale) -> str:
    names = list(scale.labels().values())
    bounds = scale.bounds()
    if names:
        return ", ".join(str(name) for name in names)
    return "numbers" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}"


def _example(challenge: Challenge) -> list[str]:
    """The first items of each question with answers that anybody could give."""
    lines = []
    for question, stimulus in (
        challenge.items.group_by("question", maintain_order=True).head(EXAMPLE_ROWS).rows()
    ):
        scale = challenge.study.scale_of(question)
        names, bounds = list(scale.labels().values()), scale.bounds()
        middle = "0" if bounds is None else f"{(bounds[0] + bounds[1]) / 2:g}"
        lines.append(f"{stimulus},{question},,{names[0]}" if names else f"{stimulus},{question},{middle},")
    return [*lines, "…"]


def _facts(challenge: Challenge) -> list[tuple[str, str]]:
    part = challenge.options.part or "all"
    return [
        ("part", part),
        ("items", number(challenge.items.height)),
        ("benchmark", challenge.benchmark_hash[:16]),
    ]


def _code(text: str, what: str) -> Markup:
    frame = Markup(
        '<div class="wide" role="region" tabindex="0" aria-label="{}"><pre><code>{}</code></pre></div>'
    )
    return frame.format(what, text)


def _link(to: str, words: str) -> Markup:
    return Markup('<p><a href="{}">{}</a></p>').format(to.lstrip("/") or "./", words)
