"""The documentation in a real browser, from disk: axe, search, keyboard and a phone's width.

Skipped where the pages are not built (`make docs`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import FLAGS, find, require

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
AXE = Path(require("axe_core_python").__file__).parent / "axe.min.js"
PAGES = [  # one of each kind
    "index",
    "estimate",
    "estimate_tutorial",
    "coming_from",
    "commands/estimate",
    "api",
    "api/covshift.estimate",
    "api/covshift.weights",
    "gallery/index",
    "gallery/predict/plot_06_sets",
    "reproduction",
    "search",
]
RUN_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(found => done(found.violations
    .filter(v => ["serious", "critical"].includes(v.impact))
    .map(v => v.id + ": " + v.nodes.map(node => node.html.slice(0, 120)).join(" | "))));
"""

pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no pages are built")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium with an empty profile."""
    webdriver = require("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = find("chromium", "chromium-browser", "google-chrome")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(find("chromedriver")))
    driver.set_script_timeout(300)
    yield driver
    driver.quit()


def read(browser, page, *, width=1200, colours="light"):
    """Open a page of the site at a width, in light or dark."""
    browser.set_window_size(width, 1000)
    address = (SITE / f"{page}.html").as_uri()
    browser.get(address)
    browser.execute_script(
        "localStorage.setItem('mode', arguments[0]); localStorage.setItem('theme', arguments[0]);",
        colours,
    )
    browser.get(address)
    shown = browser.execute_script("return document.documentElement.dataset.theme")
    assert shown == colours


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(browser, page, colours):
    read(browser, page, colours=colours)
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    assert browser.execute_async_script(RUN_AXE) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(browser, page):
    read(browser, page, width=400)
    widths = "return [document.documentElement.scrollWidth, window.innerWidth]"
    wide, window = browser.execute_script(widths)
    assert wide <= window


def test_the_search_finds_a_name_offline(browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((SITE / "search.html").as_uri() + "?q=ConformalRegressor")
    found = WebDriverWait(browser, 60).until(
        lambda b: b.find_elements(By.CSS_SELECTOR, "#search-results li a")
    )
    assert any("covshift.ConformalRegressor.html" in a.get_attribute("href") for a in found)


def test_the_keyboard_leads_past_the_navigation_and_shows_where_it_is(browser):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    read(browser, "estimate")
    shown = """
    const looks = [arguments[0], ...arguments[0].children].map(e => getComputedStyle(e));
    return looks.some(look => look.outlineStyle != "none" || look.boxShadow != "none");
    """
    for step in range(16):  # the skip link, the header, the first pages of the list
        ActionChains(browser).send_keys(Keys.TAB).perform()
        here = browser.switch_to.active_element
        if step == 0:
            assert here.get_attribute("textContent").strip() == "Skip to main content"
            assert here.get_attribute("href").endswith("#main-content")
        WebDriverWait(browser, 5).until(lambda _, here=here: here.rect["y"] >= 0)  # it slides in
        assert browser.execute_script(shown, here), here.get_attribute("outerHTML")


COPIED = """
Object.defineProperty(navigator, "clipboard", {configurable: true, value: {
    writeText: text => { window.copied = text; return Promise.resolve(); }}});
const block = [...document.querySelectorAll("div.copyable")]
    .find(block => block.querySelector("pre").textContent.startsWith(arguments[0]));
block.querySelector("button.copy").focus();
"""


@pytest.mark.parametrize(
    ("page", "block", "first"),
    [
        ("tutorial", "$ covshift estimate", "covshift estimate demo/survey.csv"),
        ("api/covshift.estimate", ">>> from", "from covshift import estimate"),
        ("index", "from covshift import estimate", "from covshift import estimate"),
        ("gallery/predict/plot_06_sets", "import matplotlib", "import matplotlib.pyplot as plt"),
    ],
)
def test_code_is_copied_without_prompts_and_output(browser, page, block, first):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    read(browser, page)
    browser.execute_script(COPIED, block)
    button = browser.switch_to.active_element
    assert button.accessible_name == "Copy"
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    WebDriverWait(browser, 5).until(lambda _: button.text == "Copied")
    lines = browser.execute_script("return window.copied").splitlines()
    assert lines[0].startswith(first)
    assert not any(line.startswith((">>>", "...", "$", "Sample:")) for line in lines)
    assert len(lines) > 1 or block.startswith("$")


def test_what_is_printed_has_no_copy_button(browser):
    read(browser, "index")
    counted = "return document.querySelectorAll('.highlight-text button').length"
    assert browser.execute_script(counted) == 0


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_home_page_shows_the_picture_for_its_colours(browser, colours):
    read(browser, "index", colours=colours)
    shown = """return [...document.querySelectorAll("article img")]
        .filter(image => image.offsetParent !== null).map(image => image.className)"""
    (name,) = browser.execute_script(shown)
    assert f"only-{colours}" in name
