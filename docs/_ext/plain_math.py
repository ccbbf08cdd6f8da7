"""Formulas of docstrings, which are plain text there, as TeX.

    theta = sum_q s_q h(t_q) + (1/N) sum_i w_i |y_i - h(x_i)|^2 ,   w >= 0

reads well in an editor, and as well as TeX can set it on a page. Names of one letter and of Greek
letters are symbols, ``V_hat`` has a hat, ``'`` transposes, ``1[...]`` is an indicator, ``(1/N)`` is
a fraction, and other words stay words. Columns are parted by three spaces.
"""

from __future__ import annotations

import re

GREEK = {
    "alpha",
    "beta",
    "gamma",
    "kappa",
    "lambda",
    "mu",
    "phi",
    "pi",
    "psi",
    "rho",
    "sigma",
    "tau",
    "theta",
    "Psi",
}
FUNCTIONS = {"exp", "log", "max", "min", "erf", "Pr", "argmin", "argmax"}
NAMES = {
    "reg",
    "se",
    "Var",
    "std",
    "scale",
    "rscales",
    "high",
    "low",
    "coverage",
    "confidence",
    "true",
    "views",
}
WORDS = {
    "of",
    "in",
    "is",
    "by",
    "to",
    "or",
    "it",
    "at",
}  # of two letters, which otherwise are two symbols
SIGNS = {">=": r"\ge ", "<=": r"\le ", "{": r"\{", "}": r"\}"}
SIGNS |= {"sum": r"\sum ", "prod": r"\prod ", "eps": r"\varepsilon "}

TOKEN = re.compile(
    r"""(?P<gap>\ {3,}) | (?P<space>\ +) | (?P<fraction>\((?P<top>\w+)/(?P<bottom>\w+(?:\^\d)?)\)
    | (?P<over>\d)/(?=\()) | (?P<ones>1(?=\[)) | (?P<number>\d+(?:\.\d+)?)
    | (?P<words>(?:[A-Za-z]+'s|[A-Za-z]{2,})(?:\ (?:[A-Za-z]+'s|[A-Za-z]{2,})(?![\w(]))*)
    | (?P<letter>[A-Za-z]) | (?P<hat>_hat\b) | (?P<script>[_^]) | (?P<transposed>')
    | (?P<sign>>=|<=|\|\||.)""",
    flags=re.VERBOSE,
)


def tex(block: str) -> str | None:
    """A formula of one line or several as TeX; None for what is no formula, such as code."""
    lines = [line.rstrip() for line in block.strip("\n").splitlines()]
    if not block.strip() or re.search(r'>>>|["`#\\]', block) or not all(map(_balanced, lines)):
        return None
    if len(lines) == 1:
        return _formula(lines[0].strip())
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    rows = [_row(line[margin:]) for line in lines]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _row(line: str) -> str:
    """A line, with an & where it is aligned: at its first relation, else after its first gap."""
    place = re.search(r" (?:=|<=|>=) |(?<=\S) {3,}", line)
    if place is None or line.startswith(" "):
        return r"& \quad " + _formula(line.strip())
    return _formula(line[: place.start()]) + " & " + _formula(line[place.start() :].strip())


def _balanced(line: str) -> bool:
    depth = 0
    for character in line:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0 and line.replace(" | ", "").count("|") % 2 == 0


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at ``start`` is closed."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place
    raise ValueError(text)


def _formula(text: str) -> str:
    out, place, inside = [], 0, False
    while place < len(text):
        found = TOKEN.match(text, place)
        kind, said, place = found.lastgroup, found.group(), found.end()
        if found["over"] or said in ("sqrt", "^", "_"):  # they take what follows
            inner, place = _argument(text, place)
            if found["over"]:
                out.append(rf"\frac{{{said[0]}}}{{{inner}}}")
            else:
                out.append((r"\sqrt" if said == "sqrt" else said) + f"{{{inner}}}")
        elif found["fraction"]:
            out.append(rf"\frac{{{_formula(found['top'])}}}{{{_formula(found['bottom'])}}}")
        elif kind == "gap":
            out.append(r" \qquad ")
        elif kind == "hat":
            out[-1] = rf"\hat{{{out[-1]}}}"
        elif kind == "ones":
            out.append(r"\mathbf{1}")
        elif kind == "transposed":
            out.append(r"^{\top}")
        elif kind == "words":
            script = said not in (*SIGNS, *GREEK) and text[place : place + 1] == "_"  # as of a mean
            apart = re.match(r" {1,2}[\w(|]", text[place:])
            out.append((rf"\mathrm{{{said}}}" if script else _words(said)) + r"\," * bool(apart))
        elif text[place - 2 : place + 1] == " | ":
            out.append(r" \mid ")
        elif said in ("|", "||"):
            inside = not inside
            out.append(
                (r"\left" if inside else r"\right") + (r"\vert " if len(said) == 1 else r"\Vert ")
            )
        else:
            out.append(SIGNS.get(said, said))
    return "".join(out).replace(r"(\ \text", r"(\text").replace(r"}\ )", "})")


def _argument(text: str, place: int) -> tuple[str, int]:
    """What a script or a root is about, as TeX, and where it ends."""
    if text[place] in "({":
        end = _closing(text, place)
        return _formula(text[place + 1 : end]), end + 1
    end = re.compile(r"-?\d+|[A-Za-z]+|\S").match(text, place).end()
    return _formula(text[place:end]), end


def _words(said: str) -> str:
    """Names, functions and products of letters as symbols, and other words as words."""
    out: list[str] = []
    for word in said.split(" "):
        if word in SIGNS:
            out.append(SIGNS[word])
        elif word in GREEK:
            out.append(f"\\{word} ")
        elif word in FUNCTIONS:
            out.append(rf"\operatorname{{{word}}}")
        elif word in NAMES:
            out.append(rf"\mathrm{{{word}}}")
        elif len(word) == 2 and word not in WORDS:
            out.append(word)
        elif out and out[-1].startswith(r"\ \text"):
            out[-1] = out[-1].removesuffix(r"}\ ") + rf" {word}}}\ "
        else:
            out.append(rf"\ \text{{{word}}}\ ")
    return " ".join(out)
