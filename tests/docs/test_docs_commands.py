"""The commands that pages show run, with the files that the pages make."""

from __future__ import annotations

import re

import pytest
from pages import BLOCK, DOCS, check_commands, commands_of, page

SHOWN = {
    path.name
    for path in DOCS.glob("*.md")
    if any(commands_of(code) for kind, code, _ in BLOCK.findall(page(path.name)) if kind)
}
WITH_PYTHON = {name for name in SHOWN if re.search("^```python$", page(name), re.MULTILINE)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(SHOWN - WITH_PYTHON))
def test_the_commands_of_a_page_run_and_print_what_it_shows(name):
    for module in ("pandas", "jinja2", "matplotlib", "openpyxl"):
        pytest.importorskip(module)
    check_commands(name)


def test_no_command_is_shown_outside_a_console_block():
    """`check_page` runs those of pages that have examples in Python, in their place."""
    for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        text = BLOCK.sub("", path.read_text(encoding="utf-8"))
        text = re.sub(r"^```\w+\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert not re.findall(r"^ {4,}covshift .*", text, re.MULTILINE), path.name
