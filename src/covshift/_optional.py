"""Extras: imported by the module that owns them, with an install hint when they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from .exceptions import MissingExtraError


def import_extra(module: str, *, extra: str, needed_by: str) -> ModuleType:
    """Import ``module``, or say which extra of covshift brings it.

    >>> import_extra("a_missing_module", extra="plot", needed_by="covshift.plot")
    Traceback (most recent call last):
    covshift.exceptions.MissingExtraError: covshift.plot needs a_missing_module, which is ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{needed_by} needs {package}, which is not installed. Install it with: "
            f'pip install {package}, or install covshift with its extra "{extra}"'
        ) from error
