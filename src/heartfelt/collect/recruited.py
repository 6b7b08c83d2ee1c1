"""Who was recruited for a study, by the recruiter's own ids: never to be published."""

from __future__ import annotations

from pathlib import Path

from heartfelt.collect.stored import has_collected
from heartfelt.extras import require_extra


def recruiters_ids(folder: Path | str) -> tuple[str, ...]:
    """The recruiter's ids of everybody in a study folder's store; none in any other folder, for which no database is needed."""
    if not has_collected(folder):
        return ()
    require_extra("serve")
    from heartfelt.collect.collection import Collection

    with Collection.watch(Path(folder)) as collection:
        people = collection.participants()
    columns = [people[name].drop_nulls().to_list() for name in ("participant", "session", "assignment")]
    return tuple(dict.fromkeys(text for column in columns for text in column))
