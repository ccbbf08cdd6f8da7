"""Formulas of docstrings, which are plain text, become TeX."""

from __future__ import annotations

import importlib
import inspect
import re
import sys

import pytest
from pages import DOCS


@pytest.fixture
def extension(monkeypatch):
    """Import one of the site's own extensions, without Sphinx."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield importlib.import_module
    for name in ("plain_math", "docstrings", "api_pages"):
        sys.modules.pop(name, None)


def compact(text):
    """The TeX without its spaces."""
    return re.sub(r"\\[, ]|\s", "", text)


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("w(x) = exp(theta'f(x)) r(x) ,", r"w(x)=\operatorname{exp}(\theta^{\top}f(x))r(x),"),
        ("(1/nM) sum_k 1[t_q^k >= x]", r"\frac{1}{nM}\sum_{k}\mathbf{1}[t_{q}^{k}\gex]"),
        ("2/(n(n-1)M) sum_{k<l} x", r"\frac{2}{n(n-1)M}\sum_{k<l}x"),
        ("|V_true - V_hat|^2", r"\left\vertV_{\mathrm{true}}-\hat{V}\right\vert^{2}"),
        ("reg ||f||^2", r"\mathrm{reg}\left\Vertf\right\Vert^{2}"),
        ("P(y | x)", r"P(y\midx)"),
        ("(H + reg I)^-1 h", r"(H+\mathrm{reg}I)^{-1}h"),
        ("sqrt(log(2 M) / M)", r"\sqrt{\operatorname{log}(2M)/M}"),
        ("b_g't_q", r"b_{g}^{\top}t_{q}"),
        ("mean of w f(x)", r"\text{meanof}wf(x)"),
        ("sample's share of it", r"\text{sample'sshareofit}"),
        ("(c_i^2 - c_{i-1}^2)", r"(c_{i}^{2}-c_{i-1}^{2})"),
        ("F(x)^(1/2)", r"F(x)^{1/2}"),
    ],
)
def test_a_formula_becomes_tex(extension, plain, tex):
    assert compact(extension("plain_math").tex(f"    {plain}")) == tex


def test_two_lines_are_aligned_at_their_relations(extension):
    found = extension("plain_math").tex("    a   = b ,\n    c^2 = d .")
    assert compact(found) == r"\begin{aligned}a&=b,\\c^{2}&=d.\end{aligned}"


@pytest.mark.parametrize("text", [">>> f(x)", "f(x", "a | b|", 'name = "x"', "", "x) + (y"])
def test_what_is_no_formula_stays_as_it_is(extension, text):
    assert extension("plain_math").tex(text) is None


def test_every_formula_on_a_page_of_the_api_is_typeset(extension, monkeypatch):
    api, prepare = extension("api_pages"), extension("docstrings").prepare
    monkeypatch.setattr(api, "MODULES", [name for name in api.MODULES if name != "torch"])
    typeset = 0
    for name in (name for names in api.public_names().values() for name in names):
        lines = (inspect.getdoc(name.value) or "").splitlines()
        prepare(None, "", name.full, name.value, None, lines)
        assert not any(line.strip() == "::" for line in lines), name.full
        typeset += sum(line.strip() == ".. math::" for line in lines)
    assert typeset >= 30
