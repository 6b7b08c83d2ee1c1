"""How predictions are scored, and which items count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from heartfelt.errors import InputError, require, suggestion
from heartfelt.options import Option, check

if TYPE_CHECKING:
    import polars as pl

LEAVE_ONE_OUT = "leave-one-out"
SET_METRICS: Mapping[str, str] = {
    "fad": "Fréchet audio distance",
    "kad": "kernel audio distance",
    "fid": "Fréchet inception distance",
    "kid": "kernel inception distance",
}


def _reference(reference: str | Path) -> str:
    return str(reference)


_items = partial(Option, panel="Which items")
_scoring = partial(Option, panel="Scoring")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSelection:
    """Which items are scored; by default all that have a label. ``limit`` draws from ``seed``, among those of ``questions``."""

    full_coverage: Annotated[int | None, _items("Only items with N raters or more.", low=1, metavar="N")] = None
    unanimous: Annotated[bool, _items("Only items whose raters all agree.")] = False
    exclude_flagged: Annotated[bool, _items("Leave out flagged items.")] = False
    limit: Annotated[
        int | None, _items("Sample this many items, balanced over questions, systems and intents (see seed).", low=1)
    ] = None
    seed: Annotated[int, Option(help="Seed of all resampling.", panel="Scoring")] = 0
    questions: Annotated[tuple[str, ...] | None, _items("Ask only this question.", flags=("--question",))] = None

    def __post_init__(self) -> None:
        for name in ("full_coverage", "limit"):
            if (getattr(self, name) or 1) < 1:
                raise InputError(f"{name} must be at least 1.", "Leave it out to take all items.")

    def apply(self, items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The items that count, and a ledger of those that do not."""
        import polars as pl

        from heartfelt.tables import LEDGER

        drop_reason = pl.lit(None, dtype=pl.String)
        if self.exclude_flagged:
            _require(items, "flagged", "flags on its items")
            flagged = pl.col("flagged").cast(pl.Boolean, strict=False).fill_null(False)
            drop_reason = pl.when(flagged).then(pl.lit("flagged")).otherwise(drop_reason)
        if self.unanimous:
            _require(items, "unanimous", "votes to agree on")
            agree = pl.col("unanimous").fill_null(False)
            drop_reason = pl.when(drop_reason.is_null() & ~agree).then(pl.lit("not unanimous")).otherwise(drop_reason)
        if self.full_coverage is not None:
            raters = pl.col("n").fill_null(0)
            reason = pl.format("{} of {} raters", raters, pl.lit(self.full_coverage))
            drop_reason = (
                pl.when(drop_reason.is_null() & (raters < self.full_coverage)).then(reason).otherwise(drop_reason)
            )
        marked = items.with_columns(drop_reason.alias("_why"))
        if self.limit is not None:
            marked = self._sampled(marked)
        dropped = marked.filter(pl.col("_why").is_not_null()).select(
            pl.lit("item").alias("what"),
            pl.lit(None, dtype=pl.String).alias("rater"),
            "stimulus",
            "question",
            pl.col("_why").alias("reason"),
            pl.lit("score").alias("stage"),
        )
        return marked.filter(pl.col("_why").is_null()).drop("_why"), LEDGER.check(dropped, "selection")

    def _sampled(self, marked: pl.DataFrame) -> pl.DataFrame:
        """Mark what is not among ``limit`` items drawn from those still in."""
        import polars as pl

        from heartfelt.predictors.task import balanced_sample

        assert self.limit is not None
        among = pl.col("_why").is_null()
        if self.questions is not None:
            among = among & pl.col("question").is_in(list(self.questions))
        sample = balanced_sample(marked.filter(among), self.limit, self.seed)
        sample = sample.with_columns(pl.lit(True).alias("_drawn"))
        marked = marked.join(sample, on=["stimulus", "question"], how="left", maintain_order="left")
        reason = f"not in the sample of {self.limit:,} items (seed {self.seed})"
        outside = pl.col("_why").is_null() & pl.col("_drawn").is_null()
        drop_reason = pl.when(outside).then(pl.lit(reason)).otherwise("_why")
        return marked.with_columns(drop_reason.alias("_why")).drop("_drawn")


def _require(items: pl.DataFrame, column: str, noun: str) -> None:
    if column not in items.columns or not items[column].is_not_null().any():
        raise InputError(f"The source has no {noun}.", f"Do not select by '{column}'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How predictions are scored."""

    threshold: Annotated[float, _scoring("Scores above it mean yes, or present.")] = 0.0
    folds: int = 5
    """Of the threshold that is chosen on other stimuli."""
    seed: Annotated[int, _scoring("Seed of all resampling.")] = 0
    resamples: Annotated[int, _scoring("Resamples of BLEU and calibration intervals, and of tests against chance.")] = (
        10_000
    )
    confidence: float = field(default=0.95, metadata={"formerly": "level"})
    slices: Annotated[
        tuple[str, ...] | None,
        _scoring(
            "Slice by this column, by all that the data have if left out; numbers are cut into thirds.",
            flags=("--slice",),
        ),
    ] = field(default=None, metadata={"skip": True})
    selection: ItemSelection = ItemSelection()
    ties: Annotated[
        Literal["missing", "lowest"], _items("Tied votes: missing (no label) or lowest (the smaller label).")
    ] = "missing"
    part: Annotated[
        str | None,
        _items(
            "Only this part of a benchmark or of the published split, such as test.",
            flags=("--part", "--split"),
            metavar="NAME",
        ),
    ] = None
    systems: Mapping[str, Mapping[str, float]] | None = field(default=None, metadata={"skip": True})
    """Each question's truth by system, where it is not the mean of the scored clips."""
    systems_from: str = field(default="the scored clips", metadata={"formerly": "system_truth"})
    """The origin of ``systems``."""
    ceilings: bool = field(default=True, metadata={"skip": True})
    interval_confidence: Annotated[
        float,
        _scoring("Confidence that predictors' own intervals claim, where a model does not say.", low=0.01, high=0.999),
    ] = 0.9
    claimed: Mapping[str, float] = field(default_factory=dict, metadata={"skip": True})
    """That confidence by model."""

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise InputError(f"folds must be at least 2; got {self.folds}.", "Use 5.")
        if self.resamples < 100:
            raise InputError(f"resamples must be at least 100; got {self.resamples}.", "Use 10,000.")
        if not 0 < self.confidence < 1:
            raise InputError("The confidence must lie between 0 and 1.", "Use 0.95.")
        for name, claim in {"": self.interval_confidence, **self.claimed}.items():
            if not 0 < claim < 1:
                of_model = f" of {name}" if name else ""
                raise InputError(
                    f"The confidence of predicted intervals{of_model} must lie between 0 and 1.", "Use 0.9."
                )
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceOptions:
    """How distances of systems from a reference set are computed."""

    embedding: Annotated[str, Option(help="The embedding, such as music or picture.", metavar="NAME", positional=True)]
    reference: Annotated[
        str,
        Option(
            help="leave-one-out (the stimuli of the other systems), system=NAME, or a folder or data.",
            metavar="REFERENCE",
            parse=_reference,
        ),
    ] = LEAVE_ONE_OUT
    metrics: Annotated[
        tuple[str, ...],
        Option(
            help="fad, kad, fid or kid; separate several by commas. By default both of the medium.",
            flags=("--metric",),
            metavar="NAME",
            separator=",",
        ),
    ] = ()
    group: Annotated[
        str,
        Option(
            help="The column whose stimuli belong together: auto (the prompt, if there are ten or more), none, or its name.",
            metavar="COLUMN",
        ),
    ] = "auto"
    components: Annotated[
        int | None, Option(help="Compare in this many leading principal components.", low=1, metavar="N")
    ] = None
    correction: Annotated[
        Literal["jackknife", "extrapolation", "none"],
        Option(help="How Fréchet distances are corrected for the number of stimuli."),
    ] = "jackknife"
    questions: Annotated[
        tuple[str, ...] | None, Option(help="Correlate with this question only.", flags=("--question",))
    ] = None
    confidence: float = 0.95
    seed: Annotated[int, Option(help="Seed of all resampling.")] = 0

    def __post_init__(self) -> None:
        for name in self.metrics:
            if name not in SET_METRICS:
                raise InputError(f"There is no distance '{name}'.", suggestion(name, SET_METRICS, "Distances"))
        check(self)
        require(0 < self.confidence < 1, f"confidence = {self.confidence} is not between 0 and 1.", "Use 0.95.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordOptions:
    """Which texts are counted, and how they are compared with references."""

    fields: Annotated[
        tuple[str, ...],
        Option(help="A text question, a field, a text column of the stimuli or of the table.", flags=("--field",)),
    ] = ()
    against: Annotated[tuple[str, ...], Option(help="A field with reference texts for the same stimuli or rows.")] = ()
    bert: Annotated[
        str | None,
        Option(help="A text encoder of Transformers for BERTScore: a folder or a hub name.", metavar="MODEL"),
    ] = None
    layer: Annotated[int | None, Option(help="The layer BERTScore reads; the last if left out.")] = None
    tools: Annotated[
        Path | None, Option(help="A folder with meteor-1.5.jar and spice-1.0.jar and their files.", metavar="DIR")
    ] = None
    window: Annotated[int, Option(help="Words in a window of MATTR.")] = 100
    draws: Annotated[int, Option(help="Words that HD-D draws.")] = 42

    def __post_init__(self) -> None:
        if self.against and len(self.fields) != 1:
            raise InputError("References belong to one field.", "Name one field next to its references.")
