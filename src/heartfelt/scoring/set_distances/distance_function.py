"""``heartfelt.distances``: set-level metrics in a notebook, with options as plain keywords."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heartfelt.arguments import notebook_function

if TYPE_CHECKING:
    from heartfelt.progress import Progress
    from heartfelt.scoring.set_distances.systems import SystemDistances


@notebook_function
def distances(
    source: object,
    embedding: str,
    *,
    reference: str | Path = "leave-one-out",
    metrics: Sequence[str] = (),
    group: str = "auto",
    components: int | None = None,
    correction: Literal["jackknife", "extrapolation", "none"] = "jackknife",
    questions: Sequence[str] | None = None,
    policy: str = "flag-only",
    seed: int = 0,
    progress: Progress | None = None,
) -> SystemDistances:
    """Measure how far each system's stimuli lie from a reference set, and whether people's system means follow.

    Parameters
    ----------
    source : Snapshot, Panel, path or table
        What has stimuli with systems and media files; or a folder with a subfolder per system, without ratings.
    embedding : str
        What files are embedded with, such as ``music`` or ``picture``.
    reference : str or Path
        ``leave-one-out`` (for each system, the stimuli of the others), ``system=NAME``, or a folder or data.
    metrics : sequence of str
        ``fad``, ``kad``, ``fid``, ``kid``; the two of the medium if empty.
    group : str
        The column whose stimuli belong together; ``auto`` is the prompt where there are ten or more, ``none`` none.
    components : int, optional
        Compare in this many leading principal components of all stimuli.
    correction : str
        How Fréchet distances are corrected for the number of stimuli.
    questions : sequence of str, optional
        Correlate with these only.
    policy : str
        The screening behind people's means.
    seed : int
        Of all resampling.
    progress : callable, optional
        Called with what is being done, the steps done and the steps in all.

    Returns
    -------
    Distances
        ``distances.systems`` has every distance with its interval, ``distances.closeness`` the correlations with people's means
        beside the ceiling; ``heartfelt.report.pages.distances.write_distances(distances, folder)`` writes the report.
    """
    from heartfelt.formats import read
    from heartfelt.scoring.set_distances.stimulus_sets import is_data
    from heartfelt.scoring.set_distances.systems import DistanceOptions, distances
    from heartfelt.screening import Panel, screen
    from heartfelt.snapshot import Snapshot

    options = DistanceOptions(
        embedding=embedding,
        reference=str(reference),
        metrics=tuple(metrics),
        group=group,
        components=components,
        correction=correction,
        questions=None if questions is None else tuple(questions),
        seed=seed,
    )
    folder = Path(source) if isinstance(source, str | Path) else None
    if folder is not None and not (folder.exists() and is_data(folder)):
        return distances(folder, options, progress)
    if isinstance(source, Panel):
        source = source.snapshot()
    snapshot = source if isinstance(source, Snapshot) else read(source)
    if policy != "flag-only":
        snapshot = screen(snapshot, policy).snapshot()
    return distances(snapshot, options, progress)
