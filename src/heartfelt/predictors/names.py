"""What a stimulus is called where only a name is sent: its file's name, made unique where files of one name lie in many
folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.predictor import Ask, Case


def stem_of(case: Case, ask: Ask) -> str:
    """The stimulus's stem: of EmoLia's levels ``{stem}__{DIM}_{level}_{polarity}``; folders are joined with ``__``."""
    stem = _cut(case.stimulus)[0]
    place = [ask.about[name] for name in ("dimension", "level", "polarity") if name in ask.about]
    if len(place) == 3:
        return f"{PurePosixPath(stem).name}__{'_'.join(place)}"
    return stem.replace("/", "__")


def file_name_of(case: Case, ask: Ask, *, unique: bool = True) -> str:
    """The stimulus's file name; ``unique=False`` leaves out the folders, as EmoLia's own client does."""
    stem, ending = _cut(case.stimulus)
    if not ending and case.media is not None:
        ending = case.media.path.suffix
    return (stem_of(case, ask) if unique else PurePosixPath(stem).name) + ending


def _cut(name: str) -> tuple[str, str]:
    ending = PurePosixPath(name).suffix
    return (name[: -len(ending)], ending) if ending.lower() in AUDIO | IMAGES else (name, "")


class Names:
    """Stimuli by any unmistakable form of their name: with or without folder and extension."""

    def __init__(self, stimuli: Iterable[str]) -> None:
        self._exact = dict.fromkeys(stimuli)
        self._forms: dict[str, str | None] = {}
        for stimulus in self._exact:
            for form in set(_forms(stimulus)):
                self._forms[form] = None if form in self._forms else stimulus

    def find(self, name: str) -> str | None:
        """The stimulus of that name; None where there is none, or more than one."""
        if name in self._exact:
            return name
        return next((found for form in _forms(name) if (found := self._forms.get(form))), None)


def _forms(name: str) -> tuple[str, ...]:
    stem = _cut(name)[0]
    return name, stem, PurePosixPath(name).name, PurePosixPath(stem).name
