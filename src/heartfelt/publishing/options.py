"""What can be chosen about a publication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from heartfelt.errors import InputError, require

Times: TypeAlias = Literal["day", "week", "month", "none"]
Texts: TypeAlias = Literal["search", "review", "drop"]
People: TypeAlias = Literal["all", "earlier", "new"]
TIMES: tuple[Times, ...] = ("day", "week", "month", "none")
N = TypeVar("N", bound=str)
TEXTS: tuple[Texts, ...] = ("search", "review", "drop")
PEOPLE: tuple[People, ...] = ("all", "earlier", "new")


def period(text: str) -> Times:
    """The period of that name."""
    return _chosen(text, TIMES, "period")


def text_treatment(text: str) -> Texts:
    """The way to treat texts of that name."""
    return _chosen(text, TEXTS, "way to treat texts")


def people_chosen(text: str) -> People:
    """The choice of people of that name."""
    return _chosen(text, PEOPLE, "choice of people")


def _chosen(text: str, names: tuple[N, ...], noun: str) -> N:
    for name in names:
        if name == text:
            return name
    raise InputError(f"Unknown {noun} '{text}'.", f"Use one of {', '.join(names)}.")


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """How a study is made anonymous and what is written."""

    k: int = 5
    """How many raters share every published combination of facts about a rater, at least."""
    l: int = 2  # noqa: E741  # the letter the literature uses for diversity
    """How many values of every sensitive column there are among them, at least."""
    sensitive: tuple[str, ...] = ()
    """Columns of the raters that nobody should learn about a person who is known to have taken part."""
    open: tuple[str, ...] = ()
    """Columns that are published as they are: of the raters, that nobody could know a rater by; or of the ratings."""
    drop: tuple[str, ...] = ()
    """Columns, of any table, that are not published."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much columns of the raters matter where some detail has to go, 1 if left out; ``at`` is when they took part."""
    earlier: tuple[Path, ...] = ()
    """Earlier releases of some of the same people: what both say together is k-anonymous too."""
    people: People = "all"
    """Who is published: all, or only those who are in an ``earlier`` release, or are ``new`` since."""
    without_demographics: bool = False
    """Publish nothing that is known of raters."""
    times: Times = "day"
    """The finest period in which a rating may be dated; coarser where k needs it."""
    seconds: float = 0.0
    """What answer times are rounded to; 0 publishes nothing that says how long a person took, for their sum tells people apart."""
    texts: Texts | None = None
    """``search``: texts with personal data wait for a decision; ``review``: all texts do; ``drop``: none is published. If left out,
    ``review`` for up to 200 different texts and ``search`` for more."""
    ner: Mapping[str, str] = field(default_factory=dict)
    """spaCy models that look for names besides, by language, such as ``{"en": "en_core_web_lg"}``; needs the extra ``ner``."""
    decisions: Path | None = None
    """The quarantine file with its column ``decision`` filled in; the one of the private folder if left out."""
    private: Path | None = None
    """Where key, quarantine and pseudonyms are stored; OUT-private if left out."""
    key: Path | None = None
    """The key of the pseudonyms; the file ``key`` in the private folder if left out."""
    private_texts: tuple[str, ...] = ()
    """Further texts that must not be published, such as the recruiter's ids of raters."""
    allow: tuple[str, ...] = ()
    """Texts that the final check would take for private and that may be published."""
    share_media: bool | None = None
    """Whether media files are published; if left out, unless the details or a licence forbid it."""
    split: Mapping[str, str] = field(default_factory=dict)
    """How stimuli are divided: ``by`` (a column, or ``published``), ``seed``, ``folds``, or a share per part. What is left open
    is decided by the stimuli: the split they were published with, or parts that share no prompt or intent."""
    hold_out: str | None = None
    """The part whose labels and ratings are not published."""
    hold_out_columns: tuple[str, ...] = ()
    """Columns of stimuli, items or fields to publish about held-out stimuli too; refused where they predict the labels."""
    hold_out_anyway: tuple[str, ...] = ()
    """Columns to publish about held-out stimuli although they predict the labels, or cannot be tested."""
    layouts: tuple[str, ...] | None = None
    """Which layouts are written besides the snapshot; ``huggingface`` and ``csv`` if left out."""
    analysis: bool = True
    """Whether the published ratings are analysed, for the card and its tables."""
    figures: bool = True
    """Whether the figures of the analysis are drawn."""
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        require(
            self.k >= 2, f"k must be at least 2, not {self.k}.", "Use 5, or what your ethics board asks for."
        )
        require(
            self.l >= 1, f"l must be at least 1, not {self.l}.", "Use 2 or more; 1 asks for no diversity."
        )
        require(
            self.l <= self.k,
            f"l = {self.l} needs groups of at least {self.l} raters.",
            f"Use k = {self.l} or more.",
        )
        require(
            self.hold_out is not None or not (self.hold_out_columns or self.hold_out_anyway),
            "Columns about held-out stimuli are named, and no part is held out.",
            "Name the part with hold_out (--hold-out test).",
        )
        for name, weight in self.weights.items():
            require(
                0 <= weight < float("inf"),
                f"The weight of '{name}' is {weight:g}.",
                "Use 0 or more; 1 is usual, 3 keeps a column three times as dearly.",
            )
        people_chosen(self.people)
        require(
            self.people == "all" or bool(self.earlier),
            f"people: {self.people} needs an earlier release.",
            "Name it with --earlier.",
        )
        period(self.times)
        if self.texts is not None:
            text_treatment(self.texts)
        require(self.seconds >= 0, "seconds cannot be negative.", "Use 0 to publish no answer times.")
