"""What can be chosen about a publication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from heartfelt.errors import require
from heartfelt.options import Option, check, written

if TYPE_CHECKING:
    from heartfelt.publishing.statements.details import Details

Times: TypeAlias = Literal["day", "week", "month", "none"]
Texts: TypeAlias = Literal["search", "review", "drop"]
People: TypeAlias = Literal["all", "earlier", "new"]
TIMES: tuple[Times, ...] = get_args(Times)
_columns = partial(Option, metavar="COLUMN")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """How a study is made anonymous and what is written."""

    k: Annotated[int, Option(help="Raters who share every published combination of facts, at least.")] = 5
    l: Annotated[  # noqa: E741  # the letter the literature uses for diversity
        int, Option(help="Values of every sensitive column among them, at least.")
    ] = 2
    sensitive: Annotated[
        tuple[str, ...],
        _columns("A column of the raters that nobody should learn about a person who is known to have taken part."),
    ] = ()
    open: Annotated[
        tuple[str, ...],
        _columns("A column to publish as it is: nobody could know a rater by it (before_* names several)."),
    ] = ()
    drop: Annotated[tuple[str, ...], _columns("A column of any table to leave out.")] = ()
    weights: Annotated[
        Mapping[str, float],
        Option(
            help="How much a column of the raters matters where detail has to go, 1 if left out; at is when they took part.",
            flags=("--weight",),
            metavar="COLUMN=NUMBER",
            example="about_age=3",
        ),
    ] = field(default_factory=dict)
    earlier: Annotated[
        tuple[Path, ...],
        Option(
            help="An earlier release of some of the same people, to be checked together with this one.",
            metavar="RELEASE",
        ),
    ] = ()
    people: Annotated[
        People,
        Option(help="Who is published: all, only people of an earlier release (earlier), or only new ones (new)."),
    ] = "all"
    without_demographics: Annotated[bool, Option(help="Publish nothing that is known of raters.")] = False
    times: Annotated[
        Times, Option(help="The finest period to date ratings by: day, week, month or none; coarser where k needs it.")
    ] = "day"
    seconds: Annotated[
        float,
        Option(
            help="Publish answer times, rounded to this. Their sum is the length of a session, which recruiters show beside the"
            " id; 0 publishes none."
        ),
    ] = 0.0
    texts: Annotated[
        Texts | None,
        Option(
            help="search: texts with personal data wait for a decision; review: all texts do; drop: no text is published. If left"
            " out, review for up to 200 different texts and search for more."
        ),
    ] = None
    ner: Annotated[
        Mapping[str, str],
        Option(
            help="A spaCy model that looks for names besides, such as en=en_core_web_lg; needs heartfelt[ner].",
            metavar="LANGUAGE=MODEL",
            example="en=en_core_web_lg",
        ),
    ] = field(default_factory=dict)
    decisions: Annotated[
        Path | None,
        Option(help="quarantine.csv with decisions; the one in the private folder if left out.", metavar="FILE"),
    ] = None
    private: Annotated[
        Path | None,
        Option(help="Where key, quarantine and pseudonyms are stored; OUT-private if left out.", metavar="DIR"),
    ] = None
    key: Annotated[
        Path | None, Option(help="The key of the pseudonyms; made in the private folder if left out.", metavar="FILE")
    ] = None
    private_texts: tuple[str, ...] = ()
    """Further texts that must not be published, such as the recruiter's ids of raters."""
    allow: Annotated[
        tuple[str, ...], Option(help="A text the final check would take for private.", metavar="TEXT")
    ] = ()
    share_media: Annotated[
        bool | None,
        Option(
            help="Publish media files, or links and hashes; by their licence if left out.",
            flags=("--media/--no-media",),
        ),
    ] = None
    split: Annotated[
        Mapping[str, str],
        Option(
            help="How stimuli are divided: by=COLUMN (or by=published), seed=N, folds=N, or shares such as train=0.8. What is left"
            " open is decided by the stimuli: the split they were published with, or parts that share no prompt or intent.",
            metavar="KEY=VALUE",
            example="by=prompt",
        ),
    ] = field(default_factory=dict)
    hold_out: Annotated[
        str | None, Option(help="A part of the split whose ratings and labels stay private.", metavar="PART")
    ] = None
    hold_out_columns: Annotated[
        tuple[str, ...], _columns("A column to publish about held-out stimuli too, unless it predicts their labels.")
    ] = ()
    hold_out_anyway: Annotated[
        tuple[str, ...], _columns("A column to publish about held-out stimuli even if it predicts their labels.")
    ] = ()
    analysis: Annotated[
        bool, Option(help="Analyse the published ratings, for the card, the tables and the figures.")
    ] = True
    figures: Annotated[bool, Option(help="Draw the figures of the analysis.")] = True
    layouts: Annotated[
        tuple[str, ...] | None,
        Option(
            help="A layout to write, such as huggingface, webdataset, csv, published; huggingface and csv if left out.",
            flags=("--layout",),
            metavar="NAME",
        ),
    ] = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.k >= 2, f"k must be at least 2, not {self.k}.", "Use 5, or what your ethics board asks for.")
        require(self.l >= 1, f"l must be at least 1, not {self.l}.", "Use 2 or more; 1 asks for no diversity.")
        require(
            self.l <= self.k, f"l = {self.l} needs groups of at least {self.l} raters.", f"Use k = {self.l} or more."
        )
        require(
            self.hold_out is not None or not (self.hold_out_columns or self.hold_out_anyway),
            "Columns about held-out stimuli are named, and no part is held out.",
            f"Name the part with {written(self, 'hold_out')}.",
        )
        for name, weight in self.weights.items():
            require(
                0 <= weight < float("inf"),
                f"The weight of '{name}' is {weight:g}.",
                "Use 0 or more; 1 is usual, 3 keeps a column three times as dearly.",
            )
        check(self)
        require(
            self.people == "all" or bool(self.earlier),
            f"people: {self.people} needs an earlier release.",
            f"Name it with {written(self, 'earlier')}.",
        )
        require(self.seconds >= 0, "seconds cannot be negative.", "Use 0 to publish no answer times.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositOptions:
    """How a release is sent."""

    dry_run: Annotated[
        bool, Option(help="List what would be sent, and its size; send nothing, for which no token is needed.")
    ] = False
    make_public: Annotated[
        bool, Option(help="Show it to everybody; if left out, it stays private (hub) or a draft (Zenodo).")
    ] = False
    private: Annotated[
        Path | None, Option(help="The private folder of the release; OUT-private if left out.", metavar="DIR")
    ] = None
    details: Details | None = None
    """Title, authors and licence, for services that ask for them; those of ``CITATION.cff`` if left out."""
