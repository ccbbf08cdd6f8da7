"""Model files of earlier versions, as they were committed, still load and predict the same.

Format 2 ends with the digest of its manifest alone, format 3 with a seal of all bytes. A change
that cannot read one of them raises `OLDEST` in ``covshift.persistence.seal`` and says so in the
changelog.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import covshift
from covshift.exceptions import InputError
from covshift.persistence import seal

FOLDER = Path(__file__).parent / "data" / "models"
FILES = sorted(FOLDER.glob("format-*/*.covshift"))


def said(path):
    """The rows, and what the model said about them when it was saved."""
    known = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))
    return np.array(known["rows"]), known["answers"][path.stem]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_of_an_earlier_version_predicts_what_it_did(path):
    model, (rows, expected) = covshift.load(path), said(path)
    for method, answer in expected.items():
        found, answer = np.asarray(getattr(model, method)(rows)), np.array(answer)
        if answer.dtype.kind == "f":
            np.testing.assert_allclose(found, answer, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, answer)


def test_every_format_that_is_read_has_committed_files():
    formats = {path.parent.name for path in FILES}
    assert formats == {f"format-{n}" for n in range(seal.OLDEST, seal.VERSION + 1)}


def test_damage_is_noticed_in_files_of_the_oldest_format(tmp_path):
    path = FOLDER / f"format-{seal.OLDEST}" / "kliep.covshift"
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
