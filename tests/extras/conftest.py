"""Tests of the optional extras: skipped where one is missing, unless the run demands them all."""

from __future__ import annotations

import os
from importlib import import_module

import pytest


def require(module: str):
    """Import an extra; skip without it, or fail where COVSHIFT_REQUIRE_EXTRAS is set."""
    try:
        return import_module(module)
    except ImportError:
        if os.environ.get("COVSHIFT_REQUIRE_EXTRAS"):
            raise
        pytest.skip(f"{module} is not installed", allow_module_level=True)


@pytest.fixture(scope="session")
def torch():
    """PyTorch and the array API namespace that covshift uses for it."""
    require("array_api_compat")
    return require("torch")
