"""Pages of the documentation run from top to bottom and print what they show.

Words must agree exactly, numbers nearly: the last digits may depend on versions of other libraries,
and so may the mixture of outcome models, whose lines are left out. Lines of a console block that
call covshift run in their place, in a temporary folder. The page writes the files that they read,
in an example that the reader sees or in a comment ``<!-- files ... -->`` of Python code.

    python tests/pages.py docs/estimate.md README.md    # writes what the examples print today
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from command import covshift

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(
    r"^```(python|text|console)\n(.*?)^```$|^<!-- files\n(.*?)^-->$", flags=re.DOTALL | re.MULTILINE
)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


def page(name: str) -> str:
    """Return the text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def check_page(
    name: str, *, atol: float = 0.02, rtol: float = 0.05, shows_all: bool = True
) -> dict[str, Any]:
    """Run a page's examples in one namespace, and compare what they print with the page."""
    return check_text(name, page(name), atol=atol, rtol=rtol, shows_all=shows_all)


def check_text(
    name: str, text: str, *, atol: float, rtol: float, shows_all: bool = True
) -> dict[str, Any]:
    """Do so with a text. If it shows all, an example without an output must print nothing."""
    text = re.sub(r"^```py\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    blocks = [(kind or "files", code or files) for kind, code, files in BLOCK.findall(text)]
    # A fence of another kind would be an example that nobody runs.
    fenced = [kind for kind, _ in blocks if kind != "files"]
    assert 2 * len(fenced) == len(re.findall(r"^```", text, flags=re.MULTILINE)) > 0
    namespace: dict[str, Any] = {"__name__": name}
    with _folder(text):
        for (kind, block), (following, output) in pairwise([*blocks, ("end", "")]):
            if kind == "text":
                assert following != "text", "an output without its code"
            elif kind == "console":
                run_console(block)
            elif kind == "files":
                exec(compile(block, name, "exec"), namespace)
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block, name, "exec"), namespace)
                if following == "text" or shows_all:
                    expected = output if following == "text" else ""
                    check_agrees(printed.getvalue(), expected, atol=atol, rtol=rtol)
    return namespace


@contextlib.contextmanager
def _folder(text: str) -> Iterator[None]:
    """A folder of its own for a page whose commands read and write files."""
    if not any(commands_of(block) for kind, block, _ in BLOCK.findall(text) if kind == "console"):
        yield
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def commands_of(block: str) -> list[tuple[str, str]]:
    """Lines of a console block that call covshift, and what the page shows below each."""
    found = []
    for step in re.split(r"^(?=\$ |covshift )", block.replace("\\\n", ""), flags=re.MULTILINE):
        line, _, shown = step.removeprefix("$ ").removeprefix(".venv/bin/").partition("\n")
        if line.startswith("covshift "):
            found.append((line, shown if step.startswith("$ ") else ""))
    return found


def check_commands(name: str) -> None:
    """Run a page's commands in order, in a temporary folder."""
    namespace: dict[str, Any] = {"__name__": name}
    with _folder(page(name)):
        for kind, code, files in BLOCK.findall(page(name)):
            if files:
                exec(compile(files, name, "exec"), namespace)
            elif kind == "console":
                run_console(code)


def run_console(block: str) -> None:
    """Run the lines of a console block that call covshift; words that the page shows must agree."""
    for line, shown in commands_of(block):
        _, *argv = shlex.split(line, comments=True)
        result = covshift(*argv)
        assert result.code == 0, f"{line}\n{result.err}"
        if shown.strip():
            check_words(result.out, shown)


def run_notebook(notebook: dict[str, Any], *, atol: float = 0.02, rtol: float = 0.05) -> None:
    """Run the cells of a notebook in order, and compare what they print with what they show."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        code = "".join(cell["source"])
        shown = "".join("".join(output["text"]) for output in cell["outputs"])
        if code.startswith("%%bash\n"):
            for line in code.splitlines()[1:]:
                program, *options = shlex.split(line)
                assert program == "covshift"
                result = covshift(*options)
                assert result.code == 0, result.err
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, cell["id"], "exec"), namespace)
            check_agrees(printed.getvalue(), shown, atol=atol, rtol=rtol)


def check_agrees(printed: str, shown: str, *, atol: float = 0.02, rtol: float = 0.05) -> None:
    """Compare words exactly and numbers nearly."""
    printed, shown = _without_models(printed), _without_models(shown)
    assert _words(printed) == _words(shown)
    np.testing.assert_allclose(_numbers(printed), _numbers(shown), rtol=rtol, atol=atol)


def check_pictures(name: str) -> None:
    """Find the files of a page's pictures."""
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page(name))
    assert pictures
    for picture in pictures:
        assert (DOCS / picture).exists(), picture


def check_words(printed: str, shown: str) -> None:
    """Compare words alone, where the numbers are seconds."""
    assert _words(printed) == _words(shown)


def _words(text: str) -> str:
    return " ".join(NUMBER.sub("N", text).split())


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def _without_models(text: str) -> str:
    return re.sub(r"^Outcome model: .*(?:\n  .*)*$", "", text, flags=re.MULTILINE)


def renewed(name: str, text: str) -> str:
    """Return a page whose outputs are what its examples print."""
    namespace: dict[str, Any] = {"__name__": name}

    def run(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found["code"], name, "exec"), namespace)
        lines = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
        output = f"{found['between']}```text\n{lines}\n```" if found["between"] else ""
        return f"```python\n{found['code']}```{output}"

    example = r"^```python\n(?P<code>.*?)^```$(?:(?P<between>\s+)^```text\n.*?^```$)?"
    return re.sub(example, run, text, flags=re.DOTALL | re.MULTILINE)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        before = path.read_text(encoding="utf-8")
        after = renewed(path.name, before)
        path.write_text(after, encoding="utf-8")
        print(path, "as it was" if after == before else "renewed")
