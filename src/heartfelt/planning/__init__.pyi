from .options import PlanOptions
from .pilots.pilot import Pilot, estimate_pilot
from .plan import plan_study
from .results import DesignForecast, QuestionForecast, StudyForecast, StudyPlan
from .simulated.design import PlannedDesign

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
