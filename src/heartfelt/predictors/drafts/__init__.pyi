from .choosing import Assignment, assign
from .drafting import draft, draft_from_pixels
from .options import DraftOptions
from .planning import DraftPlan, PlannedDrafter, plan_drafts
from .result import DrafterRun, Drafting, FieldDrafts

__all__ = [
    "Assignment", "DraftOptions", "DraftPlan", "DrafterRun", "Drafting", "FieldDrafts", "PlannedDrafter", "assign", "draft",
    "draft_from_pixels", "plan_drafts",
]  # fmt: skip
