"""Kernel machines on the V-loss."""

from .classifier import VSVC
from .leave_one_out import LeaveOneOutClassifier, LeaveOneOutRegressor
from .regressor import VSVR

__all__ = ["VSVC", "VSVR", "LeaveOneOutClassifier", "LeaveOneOutRegressor"]
