"""Made-up data with known truth, for examples and trials."""

from .generators import make_sigmoid_shift, sigmoid_probability
from .survey import make_survey, survey_probability

__all__ = ["make_sigmoid_shift", "make_survey", "sigmoid_probability", "survey_probability"]
