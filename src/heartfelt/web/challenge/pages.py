"""The pages of a challenge, in the look of the reports: how to submit, the leaderboard, and a team's own submissions."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from heartfelt.publishing.submissions.ledger import Member, Submission
from heartfelt.report.layout.page import ReportPage, Section, render
from heartfelt.report.layout.templates import section
from heartfelt.study import Scale
from heartfelt.study.model import say
from heartfelt.web.challenge.challenge import Challenge
from heartfelt.web.challenge.final import Final, final_of
from heartfelt.wording import number, share

EXAMPLE_ROWS = 2
"""Of each question."""
_INLINE = re.compile(r"<(script|style)(?P<attributes>[^>]*)>(?P<text>.*?)</\1>", re.DOTALL)


def how_to_submit(challenge: Challenge, address: str) -> str:
    """The first page: what is predicted, how it is sent, what comes back."""
    hidden = set(challenge.items["question"])
    values: dict[str, object] = {
        "challenge": challenge,
        "questions": [question for question in challenge.study.asked if question.id in hidden],
        "address": address,
        "example": _example(challenge),
        "tries": len(challenge.ledger.scored()) + 1,
        "say": say,
        "answers_of": _answers,
        "first_score": _first_score,
    }
    sections = [
        section(f"web/challenge/{name}", name, None, **values) for name in ("predict", "file", "send", "scores")
    ]
    return _page(challenge, "How to submit predictions", sections)


def _first_score(lowest: float | None) -> str:
    return share(lowest, 3) if lowest is not None else "never: too few items; the final ranking has it"


def leaderboard_page(challenge: Challenge) -> str:
    """The leaderboard of every task; after the end the final ranking first."""
    final = final_of(challenge)
    boards = [
        section(
            "web/challenge/board",
            f"task-{at}",
            rung=rung,
            entries=challenge.leaderboard(rung),
            final=final,
            capital=_capital,
            minute=_minute,
        )
        for at, rung in enumerate(challenge.rungs, 1)
    ]
    closed = challenge.ledger.fact("closed") is not None
    more = section("web/challenge/more", "more", final=final, closed=closed)
    return _page(challenge, "Leaderboard", [*([] if final is None else final_sections(final)), *boards, more])


def final_page(challenge: Challenge, final: Final) -> str:
    """The final ranking as a page of its own."""
    return _page(challenge, "Final ranking", final_sections(final), [("challenge", challenge.id)])


def final_sections(final: Final) -> list[Section]:
    """The final ranking, a section per task."""
    boards = [
        section("web/challenge/final_board", f"final-{at}", board=board, capital=_capital, range_of=_range)
        for at, board in enumerate(final.boards, 1)
    ]
    return [section("web/challenge/final", "final", final=final), *boards]


def _range(low: float | None, high: float | None, why_none: str | None = None) -> str:
    return why_none or "" if low is None or high is None else f"{share(low, 3)} to {share(high, 3)}"


def own_page(challenge: Challenge, member: Member | None, submissions: Sequence[Submission] = ()) -> str:
    """A team's submissions, or the form that asks for a token."""
    if member is None:
        return _page(challenge, "Your submissions", [section("web/challenge/token", "token")], forms=True)
    today, in_all = challenge.ledger.remaining(member.team, challenge.options.limits)

    def published_of(entry: Submission) -> str:
        return ", ".join(f"{task} {share(value, 3)}" for task, value in challenge.result(entry).items())

    own = section(
        "web/challenge/own",
        "own",
        team=member.team,
        submissions=list(reversed(submissions)),
        closed=challenge.ledger.fact("closed") is not None,
        today=today,
        in_all=in_all,
        minute=_minute,
        published_of=published_of,
    )
    return _page(challenge, "Your submissions", [own])


def _page(
    challenge: Challenge,
    subtitle: str,
    sections: Sequence[Section],
    facts: Sequence[tuple[str, str]] | None = None,
    forms: bool = False,
) -> str:
    if facts is None:
        facts = [
            ("part", challenge.options.part or "all"),
            ("items", number(challenge.items.height)),
            ("challenge", challenge.id),
        ]
    return render(ReportPage(title=challenge.title, subtitle=subtitle, sections=sections, facts=facts, forms=forms))


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _minute(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def content_policy(page: str) -> str:
    """The policy for a page: its own inline style and scripts by their hashes, and nothing else."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for part in _INLINE.finditer(page):
        digest = base64.b64encode(hashlib.sha256(part["text"].encode()).digest()).decode()
        hashes[part[1]].append(f"'sha256-{digest}'")
    scripts, styles = " ".join(hashes["script"]), " ".join(hashes["style"])
    forms = "'self'" if "<form" in page else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles} 'unsafe-hashes'; img-src data:; base-uri 'none';"
        f" form-action {forms}; frame-ancestors 'none'"
    )


def _answers(scale: Scale) -> str:
    names = list(scale.labels().values())
    bounds = scale.bounds()
    if names:
        return ", ".join(str(name) for name in names)
    return "numbers" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}"


def _example(challenge: Challenge) -> list[str]:
    """The first items of each question with answers that anybody could give."""
    lines = []
    for question, stimulus in challenge.items.group_by("question", maintain_order=True).head(EXAMPLE_ROWS).rows():
        scale = challenge.study.scale_of(question)
        names, bounds = list(scale.labels().values()), scale.bounds()
        middle = "0" if bounds is None else f"{(bounds[0] + bounds[1]) / 2:g}"
        lines.append(f"{stimulus},{question},,{names[0]}" if names else f"{stimulus},{question},{middle},")
    return [*lines, "…"]
