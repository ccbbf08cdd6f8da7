"""Kernel machines on the V-loss."""

from .classifier import VSVC
from .regressor import VSVR

__all__ = ["VSVC", "VSVR"]
