"""What raters agree to before anything else, and what they are told in the end."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from heartfelt.errors import InputError, StudyError
from heartfelt.files import inside
from heartfelt.study.model import ExtendedPart, Id, Part, Text, say

DOCUMENT_TYPES = {".pdf": "application/pdf", ".html": "text/html; charset=utf-8"}
_LARGEST = 20 * 2**20


class ConsentBox(Part):
    """A box to tick below the consent text."""

    id: Id
    text: Text
    required: bool = Field(default=True, description="whether it must be ticked to take part")


class Consent(ExtendedPart, Part):
    """What raters agree to before anything else."""

    later_keys: ClassVar[tuple[str, ...]] = ("boxes", "document")
    text: Text
    required: bool = True
    version: str = "1"
    boxes: list[ConsentBox] = Field(default=[], description="boxes to tick below the text")
    document: Text | None = Field(
        default=None, description="a PDF or HTML file in the study folder; one, or one per language"
    )

    @model_validator(mode="after")
    def _possible(self) -> Consent:
        ids = [box.id for box in self.boxes]
        doubled = [name for name in ids if ids.count(name) > 1]
        if doubled:
            raise ValueError(f"two boxes are called '{doubled[0]}'")
        _check_type(self.document)
        return self


class Debriefing(Part):
    """What raters read once their session has ended, above their code."""

    text: Text
    document: Text | None = Field(default=None, description="a PDF or HTML file in the study folder")
    shown_to: list[Literal["complete", "partial", "left", "screened-out"]] = Field(
        default=["complete", "partial"],
        min_length=1,
        description="the endings after which it is shown; complete includes review",
    )
    withdraw: bool = Field(
        default=False, description="whether raters may withdraw there: everything about them is erased"
    )

    @model_validator(mode="after")
    def _possible(self) -> Debriefing:
        _check_type(self.document)
        return self

    def is_shown_after(self, ending: str) -> bool:
        return ("complete" if ending == "review" else ending) in self.shown_to


def _check_type(document: Text | None) -> None:
    for name in file_names(document):
        if PurePosixPath(name).suffix.lower() not in DOCUMENT_TYPES:
            raise ValueError(f"'{name}' is neither a .pdf nor an .html file. Save it as one of them")


def file_names(text: Text | None) -> list[str]:
    """The files a key names: one for everybody, or one per language."""
    return [] if text is None else [text] if isinstance(text, str) else list(text.values())


def document_file(folder: Path, document: Text, language: str) -> Path:
    """The file of a document in a language; refused where it is missing, too large or outside the folder."""
    name = say(document, language)
    fix = "Put the file into the study folder, or correct its name in study.yaml."
    try:
        path = inside(folder, name, "study.yaml, document")
        size = path.stat().st_size
    except InputError as error:
        raise StudyError(error.problem, error.fix) from error
    except OSError as error:
        raise StudyError(f"study.yaml names the document '{name}', which cannot be read.", fix) from error
    if size > _LARGEST:
        raise StudyError(f"The document '{name}' is larger than {_LARGEST // 2**20} MiB.", "Make it smaller.")
    return path


def document_hash(path: Path) -> str:
    status = path.stat()
    return _hash(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=100)
def _hash(path: Path, _changed: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
