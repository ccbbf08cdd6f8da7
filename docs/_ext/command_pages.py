"""One page per command, made from the parser that the command line uses.

The pages are written to ``docs/commands/`` before the build and are not kept in the repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from api_pages import write

from covshift.cli.parser import COMMANDS, build_parser

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser of one command, with its options."""
    found = build_parser(command)
    choices = next(a for a in found._actions if isinstance(a, argparse._SubParsersAction))
    return choices.choices[command]


def option_line(action: argparse.Action) -> list[str]:
    """An option with its metavar, as a definition."""
    if action.option_strings:
        value = "" if action.nargs == 0 else f" {_metavar(action)}"
        term = ", ".join(f"``{flag}{value}``" for flag in action.option_strings)
    else:
        more = " ..." if action.nargs in ("*", "+", argparse.REMAINDER) else ""
        term = f"``{_metavar(action)}{more}``"
    return [term, f"   {_escaped(_help(action))}", ""]


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar:
        return action.metavar
    if action.choices:
        return "{" + ",".join(str(choice) for choice in action.choices) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def _help(action: argparse.Action) -> str:
    said = action.help or ""
    values = {**vars(action), "prog": "covshift"}
    said = said % values if "%" in said else said
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "?")) else ".")


def _escaped(text: str) -> str:
    for character in "\\*`|_":
        text = text.replace(character, "\\" + character)
    return text


def command_page(command: str, about: str) -> str:
    """Usage, what it does, and every option, group by group."""
    parser = parser_of(command)
    title = f"covshift {command}"
    needed = [_metavar(action) for action in parser._actions if not action.option_strings]
    usage = " ".join([title, "[options]", *needed])
    said = _escaped((parser.description or about).replace("%%", "%"))
    lines = [title, "=" * len(title), "", said, "", ".. code-block:: text", ""]
    lines += [f"   {usage}", ""]
    for group in parser._action_groups:
        shown = [a for a in group._group_actions if a.dest != "help"]
        if shown:
            name = (group.title or "options").capitalize().replace("Positional a", "A")
            lines += [name, "-" * len(name), ""]
            for action in shown:
                lines += option_line(action)
    return "\n".join(lines)


def generate(app: Sphinx, config: Config) -> None:
    """Write the page of every command, and their list."""
    folder = Path(app.srcdir) / "commands"
    folder.mkdir(exist_ok=True)
    about = {name: command.about for name, command in COMMANDS.items()}
    for name, words in about.items():
        write(folder / f"{name}.rst", command_page(name, words))
    for path in folder.glob("*.rst"):
        if path.stem not in about:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages as soon as the configuration is there."""
    app.connect("config-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
