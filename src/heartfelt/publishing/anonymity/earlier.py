"""Earlier releases of the same people: who is in both, and what is known of them from both together.

Whoever has two releases can join them: by pseudonyms under the same key, by how people rated under another. So everybody belongs
to a group that shares what the earlier releases say of them, or that they are new, and what is published now is coarsened within
these groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.publishing.anonymity.check import known_of_raters
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.generalisation.information import Floats
from heartfelt.publishing.anonymity.generalisation.people import facts_of
from heartfelt.publishing.anonymity.key import private_folder_of, pseudonyms, read_key
from heartfelt.publishing.anonymity.texts.wishes import without_people
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release.release import ReleaseStep
from heartfelt.snapshot import Snapshot, load
from heartfelt.wording import plural

_SAME = 0.9
"""The share of a person's earlier answers that has to be the same for two raters to be taken for one."""
_FEWEST_ANSWERS = 3
_AT_ONCE = 500
NEW = "(new)"
EARLIER = "earlier"
"""The column with what earlier releases say of a rater."""


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """An earlier release and who of this one is in it."""

    folder: Path
    statements: pl.DataFrame
    """``rater`` (as in this release) and ``EARLIER``: everything the earlier release says of them, as one text."""
    by_answers: bool
    """Whether people were found by how they rated, because no key of the earlier release is at hand."""
    absent: tuple[int, int]
    """Raters of the earlier release who are not in this one, and the fewest of them who share what it says of them."""


def with_earlier(
    draft: Draft, people: pl.DataFrame, key: bytes, options: PublishOptions
) -> tuple[Draft, pl.DataFrame | None]:
    """Only the people who are to be in this release, and what each is known by already (``rater``, ``EARLIER``).

    ``draft`` is under the pseudonyms that ``people`` gives for every id. An ``InputError`` where too few share that.
    """
    if not options.earlier:
        return draft, None
    linked = [_linked(Path(folder), draft, people, key, options) for folder in options.earlier]
    joined = draft.tables["raters"].select("rater")
    for number, release in enumerate(linked):
        joined = joined.join(
            release.statements.rename({EARLIER: f"{EARLIER}{number}"}), on="rater", how="left", maintain_order="left"
        )
    names = [pl.col(name).fill_null(NEW) for name in joined.columns[1:]]
    published_before = joined.select("rater", pl.concat_str(names, separator="\n").alias(EARLIER))
    new = pl.all_horizontal(pl.col(name).is_null() for name in joined.columns[1:])
    newcomers = joined.filter(new)["rater"].to_list()
    steps = [_step(release, draft) for release in linked]
    if options.people != "all":
        stay = set(newcomers) if options.people == "new" else set(joined["rater"]) - set(newcomers)
        gone = sorted(set(joined["rater"]) - stay)
        reason = {"new": "is in an earlier release", "earlier": "is not in an earlier release"}[options.people]
        about = f"{plural(len(gone), 'rater')} left out as asked (--people {options.people}): who {reason}."
        draft = without_people(draft, gone, "earlier", about, reason)
        published_before = published_before.filter(pl.col("rater").is_in(sorted(stay)))
    _check(published_before, options, len(newcomers))
    return draft.changed(*steps), published_before


def _check(published_before: pl.DataFrame, options: PublishOptions, newcomers: int) -> None:
    """Refuse where people stand out by being in one release and not in another, whatever is published of them now."""
    if not published_before.height:
        raise InputError("Nobody is left to be published.", "Use --people all.")
    small = published_before.group_by(EARLIER).len().filter(pl.col("len") < options.k)
    everybody_new = "\n".join([NEW] * len(options.earlier))
    fresh = small.filter(pl.col(EARLIER) == everybody_new)
    if fresh.height:
        raise InputError(
            f"{plural(newcomers, 'rater')} new since the earlier release, fewer than k = {options.k}: whoever has both releases"
            " knows which rows are theirs.",
            "Leave them out until there are more (--people earlier).",
        )
    if small.height:
        concerned = int(small["len"].sum())
        raise InputError(
            f"{plural(concerned, 'rater')} of an earlier release would stand out: those who stayed share what it says of them"
            f" with fewer than k = {options.k} others who stayed (the fewest: {min(small['len'].to_list())}).",
            "Publish only new people (--people new), or withdraw the earlier release and publish without --earlier.",
        )


def _linked(folder: Path, draft: Draft, people: pl.DataFrame, key: bytes, options: PublishOptions) -> Linked:
    try:
        snapshot = load(folder / "snapshot")
    except (HeartfeltError, OSError) as error:
        raise InputError(f"{folder} is not a release.", "Give the folder that 'heartfelt publish' wrote.") from error
    names = pl.DataFrame()
    theirs = snapshot.raters["rater"].to_list()
    keys = [key, *read_key(private_folder_of(folder))]
    for release_key in keys:
        candidates = pseudonyms(release_key, "person", people["id"].to_list()).rename({"pseudonym": "theirs"})
        names = candidates.filter(pl.col("theirs").is_in(theirs))
        if names.height:
            break
    by_answers = not names.height
    if by_answers:
        pairs = linked_by_answers(draft.tables["ratings"], snapshot.ratings)
    else:
        pairs = names.join(people, on="id", maintain_order="left").select(pl.col("pseudonym").alias("rater"), "theirs")
    statements = _statements(snapshot, options)
    published_before = pairs.join(statements, on="theirs", maintain_order="left").select("rater", EARLIER)
    unlinked = statements.filter(~pl.col("theirs").is_in(pairs["theirs"].to_list())).group_by(EARLIER).len()
    fewest = min(unlinked["len"].to_list(), default=0)
    return Linked(folder, published_before, by_answers, (int(unlinked["len"].sum()), fewest))


def _statements(snapshot: Snapshot, options: PublishOptions) -> pl.DataFrame:
    """Everything that a release says of its raters, as one text each."""
    facts, _ = facts_of(Draft.of(snapshot), options)
    table, names = known_of_raters(snapshot, facts)
    texts = [pl.format("{}: {}", pl.lit(name), pl.col(name).cast(pl.String).fill_null("")) for name in names]
    statements = pl.concat_str(texts, separator="; ") if texts else pl.lit("in it")
    return table.select(pl.col("rater").alias("theirs"), statements.alias(EARLIER))


def linked_by_answers(ratings: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """``rater, theirs``: raters of two releases who gave the same answers about the same stimuli, as anybody could find out."""
    keys = [
        name
        for name in ("stimulus", "question", "repeat", "value")
        if {name} <= {*ratings.columns} & {*earlier.columns}
    ]
    both = [frame.select("rater", *keys).drop_nulls() for frame in (ratings, earlier)]
    cells = pl.concat([frame.select(keys) for frame in both]).unique().with_row_index("cell")
    (ours, names), (theirs, their_names) = (_answer_matrix(frame, keys, cells) for frame in both)
    pairs: list[tuple[str, str]] = []
    if names and their_names:
        answers: Floats = np.asarray(theirs.sum(axis=1), dtype=np.float64).ravel()
        for start in range(0, len(names), _AT_ONCE):
            shares = (ours[start : start + _AT_ONCE] @ theirs.T).toarray() / answers
            # One or two answers may be the same by chance.
            shares[:, answers < _FEWEST_ANSWERS] = 0.0
            pairs += [
                (names[start + row], their_names[best])
                for row, best in enumerate(shares.argmax(axis=1).tolist())
                if shares[row, best] >= _SAME
            ]
    frame = pl.DataFrame(pairs, schema={"rater": pl.String, "theirs": pl.String}, orient="row")
    return frame.filter(frame["theirs"].is_unique())


def _answer_matrix(
    ratings: pl.DataFrame, keys: Sequence[str], cells: pl.DataFrame
) -> tuple[sparse.csr_array, list[str]]:
    """A row per rater with a one for every answer, and the raters' names."""
    frame = ratings.join(cells, on=keys, maintain_order="left").select("rater", "cell")
    names = frame["rater"].unique().sort().to_list()
    codes = frame["rater"].rank("dense").to_numpy().astype(np.int64) - 1
    cell_numbers = frame["cell"].to_numpy()
    shape = (len(names), cells.height)
    return sparse.csr_array((np.ones(frame.height), (codes, cell_numbers)), shape=shape), names


def _step(linked: Linked, draft: Draft) -> ReleaseStep:
    raters, count = draft.tables["raters"].height, linked.statements.height
    how = "by how they rated, as anybody could, for its key is not at hand" if linked.by_answers else "by its key"
    about = (
        f"Checked together with an earlier release: {plural(count, 'rater')} of {raters:,} are in it too (found {how}),"
        f" {raters - count:,} are new. What both releases say of somebody is shared by k raters of both, what this one says of"
        " somebody new by k new ones."
    )
    if linked.absent[0]:
        about += (
            f" {plural(linked.absent[0], 'rater')} of the earlier release {'is' if linked.absent[0] == 1 else 'are'} not in this"
            f" one, in groups of {linked.absent[1]} or more: withdraw the earlier one if they should not be known to have left."
        )
    return ReleaseStep(kind="earlier", table="raters", column=None, about=about, rows=count)
