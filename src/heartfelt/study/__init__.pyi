from .answer import Scale
from .design import Design
from .load import load_study, parse_study, study_text
from .model import Question
from .scale import SCALES
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
