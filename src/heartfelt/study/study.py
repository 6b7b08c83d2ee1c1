"""The study itself: everything a ``study.yaml`` says, checked as a whole."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from heartfelt.study.consistency.references import check_references
from heartfelt.study.content import Intent, Prompt, StimuliSource, StudyContent, System
from heartfelt.study.parts.instrument import InstrumentUse

__all__ = ["Intent", "Prompt", "StimuliSource", "Study", "System", "json_schema"]


class Study(StudyContent):
    """A rating study."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Study:
        check_references(self)
        return self

    def changed(self, **parts: Any) -> Study:
        """The study with other ``parts``, checked again; a plain copy would keep the questions it spread out."""
        return Study(**{**{name: getattr(self, name) for name in Study.model_fields}, **parts})


def json_schema() -> dict[str, Any]:
    """The JSON Schema of ``study.yaml``, for editors."""
    schema = Study.model_json_schema()
    schema["$defs"]["InstrumentUse"] = InstrumentUse.model_json_schema()
    for form in ("before", "after"):
        listed = schema["properties"][form]
        listed["items"] = {"anyOf": [listed["items"], {"$ref": "#/$defs/InstrumentUse"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "heartfelt study",
        **{key: value for key, value in schema.items() if key != "title"},
    }
