"""Equations that code can cite and that render without a script from elsewhere.

An equation labelled like ``2.1`` is numbered by its label, so that "theory, eq. 2.1" in a docstring
stays true when another equation is added before it. TeX becomes MathML at build time.
"""

import re
from typing import Any, NoReturn

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.util import logging

logger = logging.getLogger(__name__)


class NumberedByLabel(MathDomain):
    """The math domain, with the label as number where the label is one."""

    def note_equation(self, docname: str, labelid: str, location: Any = None) -> None:
        super().note_equation(docname, labelid, location)
        if re.fullmatch(r"\d+\.\d+", labelid):
            self.equations[labelid] = (docname, labelid)


def mathml(node: nodes.Element, *, block: bool) -> str:
    """The node's TeX as MathML, or as code with a warning where docutils cannot read it."""
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logger.warning("cannot read %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_inline(self: Any, node: nodes.math) -> NoReturn:
    """Write a formula within a line."""
    self.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> NoReturn:
    """Write a formula on its own line, with its number and a link."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(mathml(node, block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the domain and the renderer."""
    app.add_domain(NumberedByLabel, override=True)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
