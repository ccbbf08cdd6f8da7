"""A report full of hostile names, in Chromium: it is text, nothing runs, and no request leaves."""

from __future__ import annotations

import http.server
import json
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from covshift import compare, diagnose, report
from covshift.comparison.result import empty_row

MARKUP = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    "</title></style></textarea><img src=x onerror='window.hacked = 3'>",
    "<svg onload=window.hacked=4>",
    '" onmouseover="window.hacked=5" autofocus onfocus="window.hacked=6" x="',
    "' onclick='window.hacked=7' x='",
    "javascript:window.hacked=8",
    "<a href=javascript:window.hacked=9>click</a>",
    "<iframe srcdoc='<script>parent.hacked=10</script>'></iframe>",
    "<style>@import url(LEAK/a.css); body { background: url(LEAK/b.png) }</style>",
    "}</style><link rel=stylesheet href=LEAK/c.css>",
    "<meta http-equiv=refresh content='0; url=LEAK/d'>",
    "<base href=LEAK/>",
    "<form action=LEAK/e><input name=x autofocus></form>",
    "<object data=LEAK/f></object><embed src=LEAK/g><video src=LEAK/h></video>",
    "]]><!-- --> <![CDATA[ <script>window.hacked=11</script>",
    "{{ 7 * 7 }} {% raw %} ${7*7} $x_{",
    "&lt;script&gt;window.hacked=12&lt;/script&gt;",
    "\u202egpj.exe \u2066x\u2069 \u200f",
    "url(LEAK/i) ; color: expression(window.hacked=13)",
]
ELEMENTS = "img, iframe, object, embed, video, link, base, form, input, a[href^='javascript' i]"


@pytest.fixture(scope="module")
def server():
    """A server that counts who asks it for something; nobody should."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_address[1]}", asked
    found.shutdown()
    found.server_close()


@pytest.fixture(scope="module")
def hostile(server):
    return [words.replace("LEAK", server[0]) for words in MARKUP]


@pytest.fixture(scope="module")
def page(tmp_path_factory, hostile):
    """A report whose names, labels, files, title, command and notes are all hostile."""
    rng = np.random.default_rng(0)
    n = len(hostile)
    X, T = rng.normal(size=(200, n)), rng.normal(0.4, 1.0, size=(150, n))
    y = np.where(X[:, 0] > 0, hostile[1], hostile[2])
    row = {
        "standard_error": 0.01,
        "true_risk": None,
        "effective_sample_size": 9.0,
        "smd_before": 0.4,
        "smd_after": 0.1,
        "seconds": 1.0,
    }
    methods = {"none": hostile[0], **{words: words for words in hostile}}
    rows = [
        empty_row(name, "weights", note=note) | row | {"risk": 0.1}
        for name, note in methods.items()
    ]
    found = compare(X, y, T, learner="linear", methods=[])  # its labels are in a caption
    found = replace(found, rows=rows, loss=hostile[3])
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    report.write(
        path,
        diagnose(*(pd.DataFrame(part, columns=hostile) for part in (X, T))),
        found,
        title=hostile[1],
        names={"train": hostile[2], "target": hostile[9], "outcome": hostile[0]},
        command=hostile[1],
    )
    return path


def load(browser, path):
    """Open a page with empty logs; return what was logged and what was asked for."""
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(path.as_uri())
    return browser


def requests(browser):
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        m["params"]["request"]["url"]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    ]


def test_hostile_names_are_text_and_nothing_runs_or_leaves(browser, page, server, hostile):
    load(browser, page)
    assert browser.execute_script(f'return document.querySelectorAll("{ELEMENTS}").length') == 0
    assert browser.execute_script("return document.scripts.length") == 2
    handlers = """return [...document.querySelectorAll('*')].flatMap(e => [...e.attributes])
        .filter(a => a.name.startsWith('on')).map(a => a.name)"""
    assert browser.execute_script(handlers) == []
    for button in browser.find_elements("css selector", "button"):
        browser.execute_script("arguments[0].click()", button)
    for event in ("mouseover", "focus", "click"):
        browser.execute_script(
            "document.querySelectorAll('*').forEach(e => e.dispatchEvent("
            f"new Event('{event}', {{bubbles: true}})))"
        )
    assert browser.execute_script("return window.hacked") is None
    assert browser.get_log("browser") == []  # no message, so no violation of the policy either
    assert requests(browser) == [page.as_uri()]
    assert server[1] == []


def test_every_hostile_name_can_be_read(browser, page, hostile):
    load(browser, page)
    shown = browser.execute_script("return document.body.textContent")
    for words in hostile[:-2]:
        assert words in shown
    assert "\\u202egpj.exe" in shown
    assert not set("\u202e\u2066\u2069\u200f") & set(shown)


def test_the_policy_holds_even_where_markup_gets_through(browser, page, server, hostile):
    """As if a name were not escaped: the content policy alone stops scripts and requests."""
    raw = page.read_text(encoding="utf-8")
    more = [
        f"<img src={server[0]}/k><audio src={server[0]}/l autoplay></audio>",
        f"<p style='background: url({server[0]}/m)'>x</p>",
        f"<iframe src={server[0]}/n></iframe><a id=link href=javascript:window.hacked=14>x</a>",
        f"<form id=form action={server[0]}/o><button>x</button></form>",
        f"<script src={server[0]}/p></script>",
        f"<script>window.hacked=15; fetch('{server[0]}/q')</script>",
    ]
    markup = "".join(words for words in [*hostile, *more] if "http-equiv=refresh" not in words)
    broken = page.with_name("broken.html")
    broken.write_text(raw.replace("<main>", f"<main>{markup}", 1), encoding="utf-8")
    load(browser, broken)
    browser.execute_script("document.getElementById('link')?.click()")
    browser.execute_script("document.getElementById('form')?.submit()")
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.images.length") > 0  # it did get through
    assert server[1] == []
    assert any(
        "Content Security Policy" in entry["message"] for entry in browser.get_log("browser")
    )
