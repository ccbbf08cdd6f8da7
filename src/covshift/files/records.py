"""JSON: a list of records, columns of equal length, or one record a line."""

from __future__ import annotations

import json
import re
from typing import Any

from ..exceptions import InputError
from ..show.notes import Note
from .arrays import library, texts
from .encodings import Utf8
from .memory import check_size
from .values import Source

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*[\[{\]]|\{\s*[\"}])")
_FORMS = (
    "A table in JSON is a list of records, columns of equal length, or one record a line: "
    '[{"age": 41, "sex": "m"}, ...], {"age": [41, ...], "sex": ["m", ...]}.'
)


def looks_like_json(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of records or columns."""
    return _BEGINS.match(head) is not None


class JsonTable(Source):
    """The columns of a JSON file, and their rows in blocks; all of it is held in memory."""

    def __init__(self, title: str, text: Utf8, notes: list[Note]) -> None:
        self.title, self.notes = title, notes
        pieces = []
        held = 0
        while piece := text.read():
            pieces.append(piece)
            held += len(piece)
            check_size(title, 0, 4 * held)
        whole = b"".join(pieces).decode("utf-8").lstrip("\ufeff")
        columns = self._columns(self._parsed(whole))
        if not columns:
            raise InputError(f"{title} holds no rows. {_FORMS}")
        self.names = [*columns]
        cells = [self._array(name, part) for name, part in columns.items()]
        self.table = library().table(cells, names=self.names)

    def _parsed(self, whole: str) -> Any:
        """Return the one value of a text, or the list of the values of its lines."""
        try:
            return json.loads(whole, object_pairs_hook=self._record)
        except (json.JSONDecodeError, RecursionError) as error:
            fault = error
        values: list[Any] = []
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                if line.strip():
                    values.append(json.loads(line, object_pairs_hook=self._record))
            except (json.JSONDecodeError, RecursionError) as error:
                if values:  # lines of records, and one with a fault
                    raise self._no_json(number, error) from None
                break
        else:
            return values
        raise self._no_json(getattr(fault, "lineno", 1), fault)

    def _no_json(self, line: int, error: Exception) -> InputError:
        reason = getattr(error, "msg", "it is nested too deeply")
        return InputError(f"{self.title}, line {line} is not JSON: {reason}.")

    def _record(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{self.title}: a record names {twice!r} more than once. Rename one.")
        return record

    def _columns(self, value: Any) -> dict[str, list[Any]]:
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            names = dict.fromkeys(name for row in value for name in row)
            return {name: [row.get(name) for row in value] for name in names}
        if isinstance(value, dict) and value:
            parts = [*value.values()]
            if all(isinstance(part, dict) for part in parts):  # as pandas writes columns
                keys = [*parts[0]]
                if all([*part] == keys for part in parts):
                    return {name: [*part.values()] for name, part in value.items()}
            if all(isinstance(part, list) for part in parts):
                lengths = {name: len(part) for name, part in value.items()}
                if len(set(lengths.values())) > 1:
                    shown = ", ".join(f"{name!r} {size}" for name, size in [*lengths.items()][:5])
                    raise InputError(
                        f"{self.title}: its columns have different lengths ({shown}). {_FORMS}"
                    )
                return value
            if not any(isinstance(part, dict | list) for part in parts):
                return {name: [part] for name, part in value.items()}  # one line of records
        raise InputError(f"{self.title} is JSON, but not a table. {_FORMS}")

    def _array(self, name: str, cells: list[Any]) -> Any:
        """Return a column: truths, numbers, or else text."""
        kinds = {type(cell) for cell in cells} - {type(None)}
        odd = kinds - {bool, int, float, str}
        if odd:
            what = "lists" if list in odd else "records"
            raise InputError(
                f"{self.title}: column {name!r} holds {what}, which are neither numbers, text nor "
                "dates. Convert it, or remove it from the file."
            )
        arrow = library()
        if kinds == {int} and max(abs(cell) for cell in cells if cell is not None) < 2**63:
            return arrow.array(cells, arrow.int64())  # which may be too long for float64
        if kinds <= {int, float}:
            return arrow.array([None if c is None else _float(c) for c in cells], arrow.float64())
        if kinds == {bool}:
            return arrow.array(cells, arrow.bool_())
        words = [None if c is None else c if isinstance(c, str) else json.dumps(c) for c in cells]
        return texts(words)


def _float(cell: float) -> float:
    try:
        return float(cell)
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf") if cell > 0 else float("-inf")
