"""Fitted estimators in files that are safe to load: no pickle, no code."""

from .files import MAX_BYTES, load, save
from .model import Model

__all__ = ["MAX_BYTES", "Model", "load", "save"]
