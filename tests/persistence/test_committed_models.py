"""Model files, as they were committed, still load and predict the same.

A change that cannot read them raises `VERSION` in ``covshift.persistence.archive``, says so in the
changelog, and commits new ones (``tests/recorded/make_models.py``).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import covshift
from covshift.exceptions import InputError
from covshift.persistence import archive

FOLDER = Path(__file__).parents[1] / "recorded" / "models"
FILES = sorted(FOLDER.glob("format-*/*.covshift"))


def said(path):
    """The rows, and what the model said about them when it was saved."""
    known = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))
    return np.array(known["rows"]), known["answers"][path.stem]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_committed_file_predicts_what_it_did(path):
    model, (rows, expected) = covshift.load(path), said(path)
    for method, answer in expected.items():
        found, answer = np.asarray(getattr(model, method)(rows)), np.array(answer)
        if answer.dtype.kind == "f":
            np.testing.assert_allclose(found, answer, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, answer)


def test_the_format_that_is_read_has_committed_files():
    assert {path.parent.name for path in FILES} == {f"format-{archive.VERSION}"}


def test_damage_is_noticed_in_committed_files(tmp_path):
    path = FOLDER / f"format-{archive.VERSION}" / "kliep.covshift"
    data, (rows, expected) = path.read_bytes(), said(path)
    for place in range(0, len(data), 23):
        changed = bytearray(data)
        changed[place] ^= 0xFF
        (tmp_path / "m.covshift").write_bytes(changed)
        try:
            found = covshift.load(tmp_path / "m.covshift")
        except InputError:
            continue
        np.testing.assert_allclose(found.predict_weights(rows), expected["predict_weights"])
