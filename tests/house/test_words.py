"""What people read is plain English: counts are "per row", and no phrase is archaic or our own."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import covshift

PACKAGE = Path(covshift.__file__).parent
ROOT = Path(__file__).parents[2]
NAMES = ["index", "start", "tutorial", "estimate", "evaluate", "predict", "correct", "when_not"]
NAMES += ["why", "professions", "assistants", "glossary", "margins", "diagnosis", "weights"]
NAMES += ["weights_in_survey_software", "pipelines", "files", "validation", "scaling", "extending"]
NAMES += ["other_learners", "theory", "tables", "explain", "plan", "errors", "coming_from"]
NAMES += ["datasets", "comparing_with_r"]
NAMES += ["estimate_tutorial", "evaluate_tutorial", "predict_tutorial", "correct_tutorial"]
PAGES = ("README.md", *(f"docs/{name}.md" for name in NAMES))
UNITS = (
    "row|column|feature|fold|class|thread|leaf|view|level|block|step|bin|round|partition|cell|"
    "coordinate|threshold|category|point"
)
A_FOR_PER = re.compile(
    rf"\b(?:one|a|an)\s+(?!of\b|in\b|at\b|for\b|with\b)[a-z]+\s+an?\s+"
    rf"(?:training\s+|target\s+|text\s+)?(?:{UNITS})\b"
)


def test_counts_are_per_row_and_not_a_row():
    found = [
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in (".py", ".html")
        for match in A_FOR_PER.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_rule_finds_what_it_forbids():
    wrong = ["one weight a row", "a task a partition", "one weight a training row"]
    right = ["one weight per row", "the last one of a view", "takes a row of a column"]
    assert all(A_FOR_PER.search(text) for text in wrong)
    assert not any(A_FOR_PER.search(text) for text in right)


# What a native reader stumbled over, and what is written instead.
ODD = {
    r"(?:shows?|says?|tells?) nothing\b": "has no information about, does not matter",
    r"\bwhoever\b": "people who",
    r"\bis none(?:\.| of )": "is not one of",
    r"(?<!here )\b(?:is|are) no (?:feature|numbers?|metrics?|labels?|array|probabil)": "is not a",
    r"\b(?:is|are) no (?:group|coverage|dict|pair|date|ISO|JSON|Excel|schema|text)\b": "is not a",
    r"\b(?:is|are) no (?:table|data frame|plain|column|encoding)\b": "is not a",
    r"have like outcomes": "the same outcomes on average",
    r"has none of this name": "has no such column",
    r"\b(?:written|spelled?|Spell \w+) alike\b": "spelled the same way",
    r"\btakes? them elsewhere\b": "exports them",
    r"\b(?:given|known) beforehand\b": "in advance",
    r"\brows enough\b": "enough rows",
    r"\bso it is, too\b": "the same happens",
    r"\bof which the (?:scale|features)\b": "whose",
    r"\bby turns\b": "one at a time",
    r"\bunseen reason": "unobserved factor",
    r"\bno (?:feature|margin|column)s? tells?\b": "no margin covers",
    r"\bfit (?:never )?saw\b": "fit was given",
    r"\b(?:told|says?) otherwise\b": "by default, overrides this",
    r"\bis another one\b": "differs",
    r"\bseen from the target\b": "within the target's reach",
    r"\bhas not\.": "does not have",
    r"\b(?:spell|make) \w+ alike\b": "in the same way",
    r"\bnothing mends\b": "no correction repairs",
    r"\d %(?!\w)(?!<!--)": "a per cent sign follows its number",
}


def odd(text: str) -> list[str]:
    """Return the phrases of a text that have a plainer form, each with it."""
    text = " ".join(text.split())
    return [
        f"{match.group()!r}: {better}"
        for phrase, better in ODD.items()
        for match in re.finditer(phrase, text)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_pages_that_people_read_first_are_in_plain_english(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert odd(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)) == []


def texts(path: Path) -> tuple[list[str], list[str]]:
    """Return what a module may say to a user, and its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {ast.get_docstring(n) for n in ast.walk(tree) if isinstance(n, documented)}
    said = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            words = (v.value if isinstance(v, ast.Constant) else "X" for v in node.values)
            said.append("".join(map(str, words)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said.append(node.value)
    docstrings.discard(None)
    return [text for text in said if inspect.cleandoc(text) not in docstrings], list(docstrings)


ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ["*.py", *(f"{room}/**/*.py" for room in ROOMS)])
def test_errors_and_notes_are_in_plain_english(room):
    found = {
        f"{path.relative_to(PACKAGE)}: {phrase}"
        for path in sorted(PACKAGE.glob(room))
        for text in texts(path)[0]
        for phrase in odd(text)
    }
    assert not found


def test_docstrings_are_in_plain_english():
    public = re.compile(
        r"unseen reason|(?:says?|tells?) nothing|told otherwise|fit saw|(?:is|are) no feature"
        r"|seen from the target|\d %(?!\w)"
    )
    found = {
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in texts(path)[1]
        for match in public.finditer(" ".join(text.split()))
    }
    assert found <= {"files/spelling.py: 5 %"}  # a cell that a user may have


def test_the_list_of_odd_phrases_finds_them():
    wrong = "The sample shows nothing of it; 'x' is none of the features, at 95 %. An unseen reason"
    assert len(odd(wrong)) == 4
    assert odd("None of them is known, and there are no features.") == []
