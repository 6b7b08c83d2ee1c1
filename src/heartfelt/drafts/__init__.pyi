from .choosing import Assignment, assign
from .drafting import DraftOptions, draft
from .planning import DraftPlan, PlannedDrafter, plan_drafts
from .result import DrafterRun, Drafting, FieldDrafts

__all__ = [
    "Assignment", "DraftOptions", "DraftPlan", "DrafterRun", "Drafting", "FieldDrafts", "PlannedDrafter", "assign", "draft",
    "plan_drafts",
]  # fmt: skip
