"""What is asked, about which stimuli, of whom: a folder with a ``study.yaml``."""

from heartfelt.study.answer import Scale
from heartfelt.study.design import Design
from heartfelt.study.load import load_study, parse_study, study_text
from heartfelt.study.model import Question
from heartfelt.study.scale import SCALES
from heartfelt.study.study import Intent, Prompt, Study, System, json_schema

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
