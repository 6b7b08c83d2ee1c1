from .load import load_study, parse_study, study_text
from .model import Question
from .parts.design import Design
from .scales.answer import Scale
from .scales.scale import SCALES
from .study import Intent, Prompt, Study, System, json_schema

__all__ = [
    "SCALES",
    "Design",
    "Intent",
    "Prompt",
    "Question",
    "Scale",
    "Study",
    "System",
    "json_schema",
    "load_study",
    "parse_study",
    "study_text",
]
