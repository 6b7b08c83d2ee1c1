# Written by scripts/write_options.py from the options classes; run it again after changing an option.
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from heartfelt.analysis import Analysis
    from heartfelt.labels import Labels
    from heartfelt.predictors.execution.engines import Engine
    from heartfelt.predictors.interface.calls import Budget
    from heartfelt.predictors.interface.spec import PredictorLike
    from heartfelt.progress import Progress
    from heartfelt.publishing.publish import PublishedStudy
    from heartfelt.publishing.statements.details import Details
    from heartfelt.scoring.bench import Bench
    from heartfelt.scoring.bench.run import Models
    from heartfelt.scoring.set_distances.systems import SystemDistances
    from heartfelt.screening import Panel
    from heartfelt.screening.policy import Policy
    from heartfelt.training import Trained

METHODS: tuple[str, ...]

class Shortcuts:
    def screen(
        self,
        policy: Policy | str | Path = "default",
        *,
        seed: int = 0,
        exclude: Sequence[str] = (),
        restore: Sequence[str] = (),
        format: str | None = None,
        map: Mapping[str, object] = ...,
    ) -> Panel: ...
    def label(
        self,
        *,
        method: Literal["mean", "median", "mode", "p910", "dawid-skene"] | None = None,
        minimum_ratings: int | None = None,
        ties: Literal["missing", "lowest", "highest"] = "missing",
        confidence: float = 0.95,
        adjudicated: Literal["categories", "all", "none"] = "categories",
        format: str | None = None,
        map: Mapping[str, object] = ...,
    ) -> Labels: ...
    def analyze(
        self,
        *,
        policy: Policy | str | Path | Mapping[str, object] = "flag-only",
        seed: int = 0,
        resamples: int = 1000,
        covariates: Sequence[str] = (),
        by: str | None = None,
        preregistration: Path | str | None = None,
        future_raters: Literal["alike", "careless"] = "alike",
        smallest_effect: float | None = None,
        format: str | None = None,
        map: Mapping[str, object] = ...,
        figures: bool = True,
        layout: str | None = None,
        out: Path | str | None = None,
        progress: Progress | None = None,
    ) -> Analysis: ...
    def bench(
        self,
        models: Models,
        *,
        layout: str | None = None,
        questions: Sequence[str] | None = None,
        threshold: float = 0.0,
        seed: int = 0,
        resamples: int = 10000,
        slices: Sequence[str] | None = None,
        full_coverage: int | None = None,
        unanimous: bool = False,
        exclude_flagged: bool = False,
        limit: int | None = None,
        ties: Literal["missing", "lowest"] = "missing",
        part: str | None = None,
        interval_confidence: float = 0.9,
        engine: str | Engine = "local",
        address: str | None = None,
        workers: int | None = None,
        cpus: float | None = None,
        gpus: float | None = None,
        send_media: bool = False,
        at_once: int | None = None,
        batch: int | None = None,
        timeout: float | None = None,
        cache: bool | Path | str | None = None,
        budget: str | float | Budget | None = None,
        repeats: int = 1,
        format: str | None = None,
        map: Mapping[str, object] = ...,
        policy: str = "flag-only",
        systems: Mapping[str, Mapping[str, float]] | Path | str | None = None,
        folder: Path | str | None = None,
        progress: Progress | None = None,
    ) -> Bench: ...
    def distances(
        self,
        embedding: str,
        *,
        reference: str | Path = "leave-one-out",
        metrics: Sequence[str] = (),
        group: str = "auto",
        components: int | None = None,
        correction: Literal["jackknife", "extrapolation", "none"] = "jackknife",
        questions: Sequence[str] | None = None,
        seed: int = 0,
        format: str | None = None,
        map: Mapping[str, object] = ...,
        policy: str = "flag-only",
        out: Path | str | None = None,
        progress: Progress | None = None,
    ) -> SystemDistances: ...
    def predict(
        self,
        model: PredictorLike = "valence-arousal",
        *,
        questions: Sequence[str] | None = None,
        study: str | Path | None = None,
        prompt: str | Mapping[str, str] | None = None,
        reference: Path | str | None = None,
        engine: str | Engine = "local",
        address: str | None = None,
        workers: int | None = None,
        cpus: float | None = None,
        gpus: float | None = None,
        send_media: bool = False,
        at_once: int | None = None,
        batch: int | None = None,
        timeout: float | None = None,
        cache: bool | Path | str | None = None,
        budget: str | float | Budget | None = None,
        repeats: int = 1,
        folder: Path | str | None = None,
        progress: Progress | None = None,
    ) -> pl.DataFrame: ...
    def train(
        self,
        recipe: str = "va-audio",
        *,
        policy: str = "default",
        group: str = "auto",
        split: str = "",
        seed: int = 0,
        heads: Sequence[str] = (),
        embedding: str = "",
        confidence: float = 0.9,
        format: str | None = None,
        map: Mapping[str, object] = ...,
        out: Path | str | None = None,
        evaluate_only: bool = False,
        progress: Progress | None = None,
    ) -> Trained: ...
    def publish(
        self,
        out: Path | str,
        *,
        k: int = 5,
        l: int = 2,
        sensitive: Sequence[str] = (),
        open: Sequence[str] = (),
        drop: Sequence[str] = (),
        weights: Mapping[str, float] = ...,
        earlier: Sequence[Path | str] = (),
        people: Literal["all", "earlier", "new"] = "all",
        without_demographics: bool = False,
        times: Literal["day", "week", "month", "none"] = "day",
        seconds: float = 0.0,
        texts: Literal["search", "review", "drop"] | None = None,
        ner: Mapping[str, str] = ...,
        decisions: Path | str | None = None,
        private: Path | str | None = None,
        key: Path | str | None = None,
        allow: Sequence[str] = (),
        share_media: bool | None = None,
        split: Mapping[str, str] = ...,
        hold_out: str | None = None,
        hold_out_columns: Sequence[str] = (),
        hold_out_anyway: Sequence[str] = (),
        analysis: bool = True,
        figures: bool = True,
        layouts: Sequence[str] | None = None,
        format: str | None = None,
        map: Mapping[str, object] = ...,
        details: Details | Path | str | None = None,
        progress: Progress | None = None,
    ) -> PublishedStudy: ...
