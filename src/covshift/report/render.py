"""From facts and pictures to the text of one HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from ..exceptions import import_extra
from ..show.notes import plain
from ..show.words import signed

# Control characters, halves of characters, and those that turn the direction of what follows.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff"
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_CONTENTS = "<!-- contents -->"
_SECTION = re.compile('<h2 class="section" id="([^"]+)">(.*?)</h2>')  # names are escaped there
_MANY = 7  # sections of which a page has no list
_PACKAGES = ("covshift", "numpy", "scipy", "scikit-learn", "matplotlib")


def render(template: str, *, numbers: dict[str, Any], **facts: Any) -> str:
    """Fill one of the templates beside this file; every name is shown as text.

    ``numbers`` stand in the page as JSON, for those who want to read them by a program.
    """
    script, versions = _text("tables.js"), _versions()
    page = _template(template).render(
        script=script,
        script_hash=_hash(script),
        style=_text("style.css"),
        versions=versions,
        numbers=_json({**numbers, "versions": versions}),
        **facts,
    )
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], str(page))


@cache
def _template(name: str) -> Any:
    """Compile a template, once."""
    return _environment().get_template(name)


@cache
def _environment() -> Any:
    jinja2 = import_extra("jinja2", extra="report", needed_by="covshift.report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "signed": signed,
        "sort_key": _sort_key,
        "with_contents": _with_contents,
    }
    return environment


def _json(numbers: dict[str, Any]) -> str:
    """Write JSON that may stand in a page: no character ends the element or the page.

    >>> _json({"name": "</script>", "value": float("inf")})
    '{"name":"\\\\u003c/script\\\\u003e","value":null}'
    """
    text = json.dumps(plain(numbers), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _text(name: str) -> str:
    return files("covshift.report").joinpath(name).read_text(encoding="utf-8")


def _sort_key(value: float | None) -> str:
    """A number as a script reads it, empty where there is none."""
    return "" if value is None else repr(float(value)).replace("inf", "Infinity")


def _with_contents(main: str) -> str:
    """Put a list of the sections before them, where these are many.

    >>> _with_contents('<h2 id="a">One</h2>')
    '<h2 id="a">One</h2>'
    """
    sections = _SECTION.findall(main)
    if len(sections) <= _MANY:
        return main
    lines = (f'<li><a href="#{anchor}">{name}</a></li>' for anchor, name in sections)
    contents = f'<nav class="contents" aria-label="Contents"><ol>{"".join(lines)}</ol></nav>'
    return type(main)(str(main).replace(_CONTENTS, contents, 1))


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


@cache
def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found
