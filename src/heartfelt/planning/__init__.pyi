from .design import PlannedDesign
from .options import PlanOptions
from .pilot import Pilot, estimate_pilot
from .plan import plan_study
from .results import DesignForecast, QuestionForecast, StudyForecast, StudyPlan

__all__ = [
    "DesignForecast",
    "Pilot",
    "PlanOptions",
    "PlannedDesign",
    "QuestionForecast",
    "StudyForecast",
    "StudyPlan",
    "estimate_pilot",
    "plan_study",
]
