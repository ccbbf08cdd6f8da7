"""The report in a real browser: loaded from disk, read, sorted, on a phone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from covshift import diagnose, report
from covshift.comparison import Comparison
from covshift.comparison.result import empty_row

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script></style></title><img src=x onerror='window.hacked = 2'>",
    "$x_{",
    "\"quotes\" & 'more'",
    "längst 名前 " + "very_long_name_" * 12,
    "plain",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with hostile names, labels and a comparison, as a file."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(300, 6)), rng.normal(0.4, 1.0, size=(200, 6))
    rows = [
        {
            "method": name,
            "kind": "weights",
            "risk": risk,
            "standard_error": 0.01,
            "true_risk": None,
            "effective_sample_size": size,
            "smd_before": 0.4,
            "smd_after": 0.1,
            "seconds": 1.0,
            "note": "<b>bold</b>",
        }
        for name, risk, size in [("b", 0.2, 9.0), ("a", 0.3, 100.0), ("<c>", 0.1, None)]
    ]
    found = Comparison([empty_row("", "") | row for row in rows], 2.0, learner="linear")
    path = tmp_path_factory.mktemp("report") / "report.html"
    shift = diagnose(*(pd.DataFrame(part, columns=HOSTILE) for part in (X, T)))
    report.write(path, shift, found, title=HOSTILE[1], command="x")
    return path


@pytest.fixture
def opened(browser, page):
    """The report, opened afresh, with empty logs before."""
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(page.as_uri())
    return browser


def test_it_loads_without_messages_and_without_requests(opened, page):
    assert opened.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [params["request"]["url"] for params in sent] == [page.as_uri()]
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_hostile_names_stay_text(opened):
    assert opened.execute_script("return window.hacked") is None
    assert opened.execute_script("return document.scripts.length") == 2
    assert opened.execute_script("return document.images.length") == 0
    cells = opened.execute_script(
        "return [...document.querySelectorAll('table.features tbody th')].map(c => c.textContent)"
    )
    assert sorted(cells) == sorted(HOSTILE)
    assert opened.title == HOSTILE[1]


def test_every_picture_has_a_text_alternative_of_its_own(opened):
    pictures = opened.execute_script(
        """return [...document.querySelectorAll('svg')].map(svg => [
            svg.getAttribute('role'),
            svg.getAttribute('aria-labelledby').split(' ')
              .map(id => document.getElementById(id).textContent).join(' | '),
            svg.getBoundingClientRect().height])"""
    )
    assert len(pictures) >= 9
    assert {role for role, _, _ in pictures} == {"img"}
    assert all(len(text) > 40 and height > 100 for _, text, height in pictures)
    assert len({text for _, text, _ in pictures}) == len(pictures)
    doubles = opened.execute_script(
        """const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
           return ids.filter((id, at) => ids.indexOf(id) !== at)"""
    )
    assert doubles == []


def column(browser, table, at):
    return browser.execute_script(
        f"return [...document.querySelectorAll('table.{table} tbody tr')]"
        f".map(row => row.cells[{at}].textContent)"
    )


def test_tables_sort_when_a_heading_is_clicked(opened):
    buttons = opened.find_elements("css selector", "table.methods thead button")
    buttons[0].click()
    assert column(opened, "methods", 0) == ["<c>", "a", "b"]
    buttons[3].click()
    assert column(opened, "methods", 3) == ["9", "100", ""]  # as numbers; empty ones last
    buttons[3].click()
    assert column(opened, "methods", 3) == ["100", "9", ""]
    heads = opened.find_elements("css selector", "table.methods thead th")
    assert [head.get_attribute("aria-sort") for head in heads].count("descending") == 1
    opened.find_elements("css selector", "table.features thead button")[1].click()
    differences = [float(text) for text in column(opened, "features", 1)]
    assert differences == sorted(differences)


def test_tables_can_be_copied_as_csv(opened):
    opened.execute_script(
        "navigator.clipboard.writeText = async (words) => { window.copied = words; }"
    )
    table = opened.find_element("css selector", "table.methods")
    button = table.find_element("xpath", "../following-sibling::button[1]")
    button.click()
    copied = opened.execute_script("return window.copied").split("\r\n")
    assert copied[0] == "method,risk,std. error,eff. rows,SMD left,seconds"
    assert copied[1:] == [
        "b,0.2,0.01,9.0,0.1,1.0",
        "a,0.3,0.01,100.0,0.1,1.0",
        "<c>,0.1,0.01,,0.1,1.0",
        "",
    ]


def test_pages_and_pictures_are_dark_where_the_reader_is(opened):
    colours = (
        "return [document.body, document.querySelector('svg text')].map(e => getComputedStyle(e))"
    )
    colours += ".map((s, k) => k ? s.fill : s.backgroundColor)"
    light = opened.execute_script(colours)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        paper, ink = (
            [int(part) for part in colour[4:-1].split(",")]
            for colour in opened.execute_script(colours)
        )
        assert light[0] == "rgb(255, 255, 255)"
        assert max(paper) < 60 < 180 < min(ink)
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", **dark})
        assert opened.execute_script(colours) == light  # paper is white
        shown = "return getComputedStyle(document.querySelector('button.copy')).display"
        assert opened.execute_script(shown) == "none"
    finally:
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_no_number_is_cut_and_no_row_is_tall_on_a_desk(opened):
    size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        wide = "return [...document.querySelectorAll('.scroll')]"
        wide += ".map(e => e.scrollWidth - e.clientWidth)"
        assert max(opened.execute_script(wide)) <= 0
        tall = "return [...document.querySelectorAll('table.methods tr')].map(e => e.clientHeight)"
        assert max(opened.execute_script(tall)) < 60
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width", [320, 390, 800])
def test_the_page_does_not_scroll_sideways(opened, width):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        inner, content = opened.execute_script(
            "return [window.innerWidth, document.documentElement.scrollWidth]"
        )
        assert inner == width
        assert content <= width
        widest = opened.execute_script(
            "return Math.max(...[...document.querySelectorAll('svg')]"
            ".map(svg => svg.getBoundingClientRect().right))"
        )
        assert widest <= width
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_prints(opened):
    printed = opened.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert printed.startswith("JVBERi")  # %PDF, in base 64
