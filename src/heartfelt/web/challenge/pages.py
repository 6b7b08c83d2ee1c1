"""The pages of a challenge, in the look of the reports: how to submit, the leaderboard, and a team's own submissions."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from heartfelt.publishing.submissions.ladder import Rung
from heartfelt.publishing.submissions.ledger import Member, Submission
from heartfelt.report.page import ReportPage, Section, absent, bullets, joined, paragraph, render
from heartfelt.report.tables import table, table_of
from heartfelt.study import Scale
from heartfelt.study.model import say
from heartfelt.web.challenge.challenge import Challenge, LeaderboardEntry
from heartfelt.web.challenge.final import Final, FinalBoard, final_of
from heartfelt.wording import number, plural, share

EXAMPLE_ROWS = 2
"""Of each question."""
_INLINE = re.compile(r"<(script|style)(?P<attributes>[^>]*)>(?P<text>.*?)</\1>", re.DOTALL)


def how_to_submit(challenge: Challenge, address: str) -> str:
    """The first page: what is predicted, how it is sent, what comes back."""
    limits = challenge.options.limits
    hidden_questions = [q for q in challenge.study.asked if q.id in set(challenge.items["question"])]
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
            for question in hidden_questions
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
                f"{plural(limits.per_day, 'submission')} in 24 hours and {limits.in_all:,} in all for each team. Files that"
                " cannot be used are refused with the reason and do not count; the same file again counts once.",
                f"One prediction for every item; at most {challenge.options.megabytes:g} MB.",
                "Choose what counts in the final ranking with POST /submissions/ID/final; by default it is what is behind"
                " your published score.",
            ]
        ),
        _link("/mine", "Your submissions"),
    )
    rules = joined(
        paragraph(
            "Your team's first score is published when it is better than chance by more than the tries of all teams explain (p at"
            " most 1 in the number of all submissions so far), a further one when it is better than the published one by more than"
            " your own tries explain; both rounded down to a step. Any other submission changes nothing and says nothing. Scores"
            " are computed on a part of the items; the final ranking uses the others, which nothing depends on before. Nobody is"
            " told which items are in which part."
        ),
        _what_is_published(challenge),
    )
    sections = [
        Section(id="predict", title="What to predict", lead="", html=joined(questions, *_lists(challenge))),
        Section(
            id="file",
            title="The file",
            lead="A row per item: value for numbers, answer for categories.",
            html=_code(example, "Example"),
        ),
        Section(id="send", title="How to send it", lead="", html=send),
        Section(
            id="scores",
            title="What comes back",
            lead="",
            html=joined(rules, _link("/leaderboard", "Leaderboard")),
        ),
    ]
    return render(
        ReportPage(
            title=challenge.title,
            subtitle="How to submit predictions",
            sections=sections,
            facts=_facts(challenge),
        )
    )


def _what_is_published(challenge: Challenge) -> Markup:
    tries = len(challenge.ledger.scored()) + 1
    return table_of(
        "What is published",
        challenge.rungs,
        {
            "task": lambda rung: rung.task,
            "score": lambda rung: rung.title,
            "items on the board": lambda rung: rung.items,
            "step": lambda rung: share(rung.step, 3),
            "resolution": lambda rung: share(rung.resolution, 2),
            "chance": lambda rung: share(rung.chance, 3),
            "a first score appears from": lambda rung: _first_score(rung.appears_from(tries)),
        },
    )


def _first_score(lowest: float | None) -> str:
    return share(lowest, 3) if lowest is not None else "never: too few items; the final ranking has it"


def leaderboard_page(challenge: Challenge) -> str:
    """The leaderboard of every task; after the end the final ranking first."""
    final = final_of(challenge)
    running = [
        Section(
            id=f"task-{number}",
            title=rung.task if final is None else f"{rung.task}, running board",
            lead=f"{rung.title[0].upper()}{rung.title[1:]} on {plural(rung.items, 'item')} with hidden labels, in steps of"
            f" {share(rung.step, 3)}; chance is {share(rung.chance, 3)}. Two teams whose true scores are"
            f" {share(rung.resolution, 2)} apart are shown in the right order nine times in ten.",
            html=_board(challenge.leaderboard(rung), rung),
        )
        for number, rung in enumerate(challenge.rungs, 1)
    ]
    more = Section(id="more", title="How to take part", lead="", html=_link("/", "How to submit"))
    if final is None and challenge.ledger.fact("closed") is not None:
        more = Section(id="more", title="Closed", lead="The final ranking is being made.")
    elif final is not None:
        more = Section(
            id="more",
            title="Files",
            lead="",
            html=joined(_link("/final.json", "final.json"), _link("/final.csv", "final.csv")),
        )
    sections = [*([] if final is None else final_sections(final)), *running, more]
    return render(
        ReportPage(title=challenge.title, subtitle="Leaderboard", sections=sections, facts=_facts(challenge))
    )


def final_page(challenge: Challenge, final: Final) -> str:
    """The final ranking as a page of its own."""
    return render(
        ReportPage(
            title=challenge.title,
            subtitle="Final ranking",
            sections=final_sections(final),
            facts=[("challenge", challenge.id)],
        )
    )


def final_sections(final: Final) -> list[Section]:
    """The final ranking, a section per task."""
    counts = (
        f"Closed on {final.closed[:10]} after {plural(final.submissions, 'submission')} by {plural(final.teams, 'team')}"
        f" ({final.refused:,} refused)."
    )
    if not final.untouched:
        counts += " An earlier version published scores on all hidden items, so this part was not entirely untouched."
    sections = [
        Section(
            id=f"final-{at}",
            title=f"{board.task}, final ranking",
            lead=f"{board.title[0].upper()}{board.title[1:]} on {plural(board.items, 'item')} that no score depended on before"
            " the end.",
            html=_final_board(board),
        )
        for at, board in enumerate(final.boards, 1)
    ]
    counts += " Ranks are what the data leave possible: teams within a range do not differ significantly."
    empty = "" if sections else absent("There is nothing to rank.")
    return [Section(id="final", title="Final ranking", lead=counts, html=empty), *sections]


def _final_board(board: FinalBoard) -> Markup:
    def interval(low: float | None, high: float | None, why_none: str | None = None) -> str:
        return why_none or "" if low is None or high is None else f"{share(low, 3)} to {share(high, 3)}"

    return table_of(
        f"Final ranking of {board.task}",
        board.places,
        {
            "rank": lambda entry: entry.ranks,
            "team": lambda entry: entry.team,
            "score": lambda entry: entry.score,
            "95% interval": lambda entry: interval(entry.low, entry.high, entry.why_no_interval),
            "model": lambda entry: entry.model,
            "for all teams at once": lambda entry: interval(entry.low_all, entry.high_all),
            "on the running board": lambda entry: entry.published,
            "tied with": lambda entry: ", ".join(entry.tied_with) or (entry.why_no_rank or "nobody"),
        },
    )


def own_page(challenge: Challenge, member: Member | None, submissions: Sequence[Submission] = ()) -> str:
    """A team's submissions, or the form that asks for a token."""
    if member is None:
        form = Markup(
            '<form method="post" action="mine"><p><label>Token <input type="password" name="token" required'
            ' autocomplete="off"></label> <button type="submit">Show</button></p></form>'
        )
        sections = [
            Section(id="token", title="Your token", lead="It shows your own team's submissions.", html=form)
        ]
        page = ReportPage(
            title=challenge.title,
            subtitle="Your submissions",
            sections=sections,
            facts=_facts(challenge),
            forms=True,
        )
        return render(page)
    today, in_all = challenge.ledger.remaining(member.team, challenge.options.limits)
    listed = table_of(
        f"Sent by {member.team}",
        list(reversed(submissions)),
        {
            "received": lambda entry: f"{datetime.fromtimestamp(entry.at, UTC):%Y-%m-%d %H:%M} UTC",
            "model": lambda entry: entry.model,
            "by": lambda entry: entry.member or "",
            "status": lambda entry: entry.status,
            "published after it": lambda entry: ", ".join(
                f"{task} {share(value, 3)}" for task, value in challenge.result(entry).items()
            ),
            "raised": lambda entry: ", ".join(entry.changed),
            "final": lambda entry: "chosen" if entry.chosen else "",
            "reason": lambda entry: entry.problem or "",
            "id": lambda entry: entry.id,
        },
    )
    lead = f"{plural(today, 'submission')} left in 24 hours, {in_all:,} in all."
    if challenge.ledger.fact("closed") is not None:
        lead = "The challenge is closed."
    body = listed if submissions else absent("Your team has not sent anything yet.")
    sections = [
        Section(
            id="own",
            title=f"Submissions of {member.team}",
            lead=lead,
            html=joined(body, _link("/leaderboard", "Leaderboard")),
        )
    ]
    return render(
        ReportPage(
            title=challenge.title, subtitle="Your submissions", sections=sections, facts=_facts(challenge)
        )
    )


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


def _board(entries: Sequence[LeaderboardEntry], rung: Rung) -> Markup:
    if not entries:
        return absent("Nobody has a published score yet.")
    return table_of(
        f"Leaderboard of {rung.task}",
        entries,
        {
            "rank": lambda entry: entry.rank,
            "team": lambda entry: entry.team,
            "score": lambda entry: entry.score,
            "model": lambda entry: entry.model,
            "overstated by at most (95%)": lambda entry: (
                number(entry.overstated_at_most, 2) if entry.overstated_at_most < 1 else "not bounded"
            ),
            "since": lambda entry: f"{datetime.fromtimestamp(entry.since, UTC):%Y-%m-%d %H:%M} UTC",
            "submissions": lambda entry: entry.submissions,
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
        ("challenge", challenge.id),
    ]


def _code(text: str, caption: str) -> Markup:
    frame = Markup(
        '<div class="wide" role="region" tabindex="0" aria-label="{}"><pre><code>{}</code></pre></div>'
    )
    return frame.format(caption, text)


def _link(to: str, words: str) -> Markup:
    return Markup('<p><a href="{}">{}</a></p>').format(to.lstrip("/") or "./", words)
