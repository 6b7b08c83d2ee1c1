from .design import PlannedDesign
from .options import PlanOptions
from .pilot import Pilot, estimate_pilot
from .plan import plan_study
from .results import DesignForecast, Forecast, Plan, QuestionForecast

__all__ = [
    "DesignForecast",
    "Forecast",
    "Pilot",
    "Plan",
    "PlanOptions",
    "PlannedDesign",
    "QuestionForecast",
    "estimate_pilot",
    "plan_study",
]
