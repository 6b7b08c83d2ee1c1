"""How much of the personal data in a fixture is found and taken out, by kind and language, and what else is taken for it."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from heartfelt.publishing.anonymity.recognise.personal_data import personal_data, redacted

TEXTS = Path(__file__).parent / "texts"


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment, and what is personal in it; nothing in a harmless one."""

    language: str
    kind: str
    secret: str
    text: str


def comments(name: str) -> list[Comment]:
    """The comments of one fixture."""
    with (TEXTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [Comment(**row) for row in csv.DictReader(file)]


@dataclass(kw_only=True)
class Measured:
    """Counts of comments by ``(kind, language)``, and the comments behind what went wrong."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    held_back: Counter[tuple[str, str]] = field(default_factory=Counter)
    taken_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: list[Comment] = field(default_factory=list)
    left_over: list[tuple[Comment, str]] = field(default_factory=list)
    harmless: int = 0
    false_alarms: list[tuple[Comment, str]] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """The share of personal comments that are held back for what is personal in them."""
        return self.held_back.total() / self.asked.total()

    @property
    def complete(self) -> float:
        """The share of personal comments of which redacting leaves nothing personal."""
        return self.taken_out.total() / self.asked.total()

    @property
    def false_alarm(self) -> float:
        """The share of harmless comments that are held back."""
        return len(self.false_alarms) / self.harmless


def measure(several: list[Comment]) -> Measured:
    """Search every comment."""
    out = Measured()
    for comment in several:
        findings = personal_data(comment.text)
        clean = redacted(comment.text, findings)
        if not comment.secret:
            out.harmless += 1
            if findings:
                out.false_alarms.append((comment, clean))
            continue
        start = comment.text.index(comment.secret)
        stop = start + len(comment.secret)
        cell = (comment.kind, comment.language)
        out.asked[cell] += 1
        if any(each.start < stop and start < each.stop for each in findings):
            out.held_back[cell] += 1
        else:
            out.missed.append(comment)
            continue
        if _remains(comment, clean):
            out.left_over.append((comment, clean))
        else:
            out.taken_out[cell] += 1
    return out


def _remains(comment: Comment, clean: str) -> bool:
    """Whether a word or number of what is personal is still there that the rest of the comment does not have."""
    around = comment.text.replace(comment.secret, " ")
    words = re.findall(r"[^\W_]{2,}", re.sub(r"\b(?:at|dot)\b", " ", comment.secret))
    left = re.sub(r"\[[\w -]+\]", " ", clean)
    return any(word in left and word not in around for word in words)


def main() -> int:
    """Print the table that docs/publishing.md summarises."""
    for name in sys.argv[1:]:
        result = measure(comments(name))
        kinds = dict.fromkeys(kind for kind, _ in result.asked)
        languages = dict.fromkeys(language for _, language in result.asked)
        print(f"{name}: recall {result.recall:.3f}, taken out {result.complete:.3f} of {result.asked.total()};"
              f" false alarms {len(result.false_alarms)} of {result.harmless}")  # fmt: skip
        for kind in kinds:
            cells = [
                f"{language} {result.held_back[kind, language]}/{result.asked[kind, language]}"
                for language in languages
            ]
            print(f"  {kind:16s}", "  ".join(cells))
        if name != "held_out":
            for comment in result.missed:
                print("  missed:", comment.kind, comment.language, comment.text)
            for comment, clean in [*result.left_over, *result.false_alarms]:
                print("  left over:" if comment.kind else "  false alarm:", comment.text, "->", clean)
    return 0


if __name__ == "__main__":
    sys.exit(main())
