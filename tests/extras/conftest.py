"""Tests of the optional extras: skipped where one is missing, unless the run demands them all."""

from __future__ import annotations

import os
import shutil
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


FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def find(*names):
    """First program of these that is installed; skip without, or fail where extras are a must."""
    for name in names:
        if found := shutil.which(name):
            return found
    reason = f"none of {', '.join(names)} is installed"
    if os.environ.get("COVSHIFT_REQUIRE_EXTRAS"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium with an empty profile, its console and its requests recorded."""
    webdriver = require("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = find("chromium", "chromium-browser", "google-chrome")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(find("chromedriver")))
    yield driver
    driver.quit()
