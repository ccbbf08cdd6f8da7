"""Shifted problems with known truth, the paper's real data, and the ways it biases them."""

from covshift.datasets.biasing import (
    BiasedSplit,
    bias_by_acceptance,
    bias_by_feature,
    bias_by_norm,
)
from covshift.datasets.generators import (
    make_ringnorm,
    make_sigmoid_shift,
    make_twonorm,
    ringnorm_probability,
    sigmoid_probability,
    twonorm_probability,
)
from covshift.datasets.loaders import (
    DatasetNotFoundError,
    load_banknote,
    load_cancer,
    load_diabetes,
    load_ringnorm,
    load_twonorm,
)
from covshift.datasets.survey import make_survey, survey_probability

__all__ = [
    "BiasedSplit",
    "DatasetNotFoundError",
    "bias_by_acceptance",
    "bias_by_feature",
    "bias_by_norm",
    "load_banknote",
    "load_cancer",
    "load_diabetes",
    "load_ringnorm",
    "load_twonorm",
    "make_ringnorm",
    "make_sigmoid_shift",
    "make_survey",
    "make_twonorm",
    "ringnorm_probability",
    "sigmoid_probability",
    "survey_probability",
    "twonorm_probability",
]
