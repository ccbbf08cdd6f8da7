"""The verdict for a reader who knows no statistics."""

from __future__ import annotations

from ..diagnostics.verdict import Verdict

PLAIN: dict[Verdict, str] = {
    "no shift": "The sample looks like the target: there is nothing to correct.",
    "correctable": "The sample differs from the target, and weights can make up for it: rows of a "
    "kind that is too rare in the sample count more, the others less.",
    "strong": "The sample differs so much from the target that corrected numbers rest on few rows. "
    "Use them with care.",
    "no overlap": "Part of the target is unlike anything in the sample. Nothing that is computed "
    "from this sample can tell what happens there.",
}
