"""What a model file may be: checked before skops, which builds the objects, sees it.

A model file is a zip archive of ``schema.json``, which names the parts, and of arrays. skops
imports and calls only types it is told to trust. Measured, it does not look at the sizes of members
and arrays before they are expanded, hangs on parts that refer to each other (40 of them mean 2^40
visits), and leaves the places in scikit-learn's trees to whoever reads the file. That is done here:

- no member is compressed, their number and sizes fit the file, and the header of every array fits
  the bytes that follow it;
- the schema has a bounded size and depth, and only the kinds of parts of `_KINDS`;
- parts with one identity are equal, so that nothing can be repeated without end;
- every tree of scikit-learn has its nodes, children and columns in range.
"""

from __future__ import annotations

import io
import json
import math
import struct
import sys
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_MEMBERS = 65_000  # of an archive: 65,535 and more need another kind of directory
_MAX_DIRECTORY = 1 << 23  # bytes
_MAX_SCHEMA = 1 << 26  # bytes; a forest of 500 trees has 20 MB
_MAX_ITEMS = 1 << 22  # in the schema, each up to a hundred bytes once it is read
_MAX_DEPTH = 120  # parts within parts, each a few calls deep
_END = struct.Struct("<4s4H2LH")  # the last record of an archive without a comment

_KINDS = {  # the parts that are built, and the one type of each where it has one
    "DTypeNode": "numpy.dtype",
    "DictNode": "builtins.dict",
    "FunctionNode": None,
    "JsonNode": "builtins.str",
    "ListNode": "builtins.list",
    "LossNode": None,
    "NdArrayNode": None,
    "ObjectNode": None,
    "RandomGeneratorNode": "numpy.random._generator.Generator",
    "RandomStateNode": "numpy.random.mtrand.RandomState",
    "SetNode": "builtins.set",
    "SliceNode": "builtins.slice",
    "TreeNode": "sklearn.tree._tree.Tree",
    "TupleNode": None,
    "TypeNode": None,
}
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")  # of random numbers
_KEYS = ("str", "int", "float", "str_", "int64", "float64")  # classes of the keys of a dictionary


class Damaged(Exception):
    """What is wrong with a file, in words."""


@dataclass
class Contents:
    """What stands in a file: its schema, and where each type is found first, by kind of part."""

    schema: dict[str, Any]
    types: dict[tuple[str, str], str] = field(default_factory=dict)  # (kind, type): path

    def local_function(self) -> str:
        """Where a function stands that no other session can import; empty without one."""
        for (kind, name), path in self.types.items():
            module, _, own = name.rpartition(".")
            if kind == "FunctionNode" and not hasattr(sys.modules.get(module), own):
                return f"{path} is a function ({own}) that cannot be imported"
        return ""


def read_contents(data: bytes) -> Contents:
    """Check the bytes of a file, and return what they hold; `Damaged` says what is wrong."""
    try:
        with _archive(data) as archive:
            arrays = {name: _array(archive, name) for name in archive.namelist()[:-1]}
            contents = Contents(_schema(archive))
        _Scan(contents, arrays).part(contents.schema, ())
    except (Exception, RecursionError) as error:
        if isinstance(error, Damaged):
            raise
        raise Damaged(f"its parts cannot be read ({short(error)})") from None
    return contents


def _archive(data: bytes) -> zipfile.ZipFile:
    """Open an archive whose directory is small enough and whose members are no longer than it."""
    end = data[-_END.size :]
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise Damaged("it does not end as a model file does: it may have been cut off")
    *_, members, length, _, comment = _END.unpack(end)
    if data[-_END.size - 20 : -_END.size].startswith(b"PK\x06\x07") or comment:
        raise Damaged("it ends in another way than a model file")
    if members > MAX_MEMBERS or length > _MAX_DIRECTORY:
        raise Damaged("it has too many members")
    archive = zipfile.ZipFile(io.BytesIO(data))
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if not names or names[-1] != "schema.json" or len(set(names)) < len(names):
        raise Damaged("its members are not those of a model file")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise Damaged(f"its member {info.filename[:50]!r} is compressed")
    if sum(info.file_size for info in infos) > len(data):
        raise Damaged("its members are longer than the file")
    return archive


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return an array whose header fits its bytes; nothing is reserved before that is known."""
    data = archive.read(name)
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise Damaged(f"{name[:50]!r} is an array of another format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    columns = [dtype] if dtype.names is None else [dtype[column] for column in dtype.names]
    kinds = {column.kind for column in columns}
    if dtype.hasobject or dtype.subdtype or not kinds <= set("biufSUMm"):
        raise Damaged(f"{name[:50]!r} is an array of {str(dtype)[:50]}")
    if dtype.itemsize * math.prod(shape) != len(data) - stream.tell() or min(shape, default=0) < 0:
        raise Damaged(f"{name[:50]!r} is an array of another size than it says")
    if not dtype.itemsize:
        raise Damaged(f"{name[:50]!r} is an array of nothing")
    values = np.frombuffer(data, dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


def _schema(archive: zipfile.ZipFile) -> dict[str, Any]:
    text = archive.read("schema.json")
    if len(text) > _MAX_SCHEMA or sum(map(text.count, (b"{", b"[", b","))) > _MAX_ITEMS:
        raise Damaged("its schema is too long")
    schema = json.loads(text)
    if type(schema) is not dict or type(schema.get("protocol")) is not int:
        raise Damaged("its schema is not that of a model file")
    if schema["protocol"] < 2:  # whose parts mean something else
        raise Damaged("its schema has an old protocol")
    return schema


class _Scan:
    """Every part of a schema, once."""

    def __init__(self, contents: Contents, arrays: dict[str, NDArray[Any]]) -> None:
        self.contents, self.arrays = contents, arrays
        self.seen: dict[Any, int] = {}  # the hash of a part by its identity

    def part(self, part: Any, path: tuple[str, ...]) -> int:
        """Check a part and those within it; return a hash of all that is built from it."""
        if len(path) > _MAX_DEPTH:
            raise Damaged("its parts are nested too deeply")
        kind, name = part["__loader__"], part["__module__"] + "." + part["__class__"]
        if kind not in _KINDS or _KINDS[kind] not in (None, name):
            raise Damaged(f"{_dotted(path)} is a part of unknown kind ({str(name)[:50]}, {kind})")
        self.contents.types.setdefault((kind, name), _dotted(path))
        inner = [self.part(child, (*path, str(key))) for key, child in _children(part, kind)]
        own = part.get("file") or part.get("content")
        if kind == "NdArrayNode" and part["type"] == "numpy":
            values = self.arrays[part["file"]]
            scalar = "" if values.ndim else f"numpy.{values.dtype.type.__name__}"
            if name not in ("numpy.ndarray", scalar):
                raise Damaged(f"{_dotted(path)} is not an array")
            own = f"{values.dtype} {values.shape} {hash(values.tobytes())}"
        elif kind == "NdArrayNode" and (name, part["type"]) != ("numpy.ndarray", "json"):
            raise Damaged(f"{_dotted(path)} is not an array")
        elif kind == "JsonNode":
            if type(json.loads(own)) not in (type(None), bool, int, float, str):
                raise Damaged(f"{_dotted(path)} is not a value")
        elif kind == "SliceNode":
            own = str([_index(part["content"][key]) for key in ("start", "stop", "step")])
        elif kind == "RandomGeneratorNode":
            bits = part["content"]["bit_generator"]["content"]["bit_generator"]
            if bits["__loader__"] != "JsonNode" or json.loads(bits["content"]) not in _GENERATORS:
                raise Damaged(f"{_dotted(path)} is not a generator of random numbers")
        elif kind == "TreeNode":
            self._check_tree(part, path)
        keys = tuple(part["content"]) if kind == "DictNode" else ()
        own = own if isinstance(own, str) else ""
        found = hash((kind, name, part.get("type"), own, keys, tuple(inner)))
        if self.seen.setdefault(part.get("__id__"), found) != found and "__id__" in part:
            raise Damaged(f"{_dotted(path)} has the identity of another part")
        return found

    def _check_tree(self, part: dict[str, Any], path: tuple[str, ...]) -> None:
        """Refuse a tree of scikit-learn that leads out of its arrays: it is walked unchecked."""
        n_features, n_classes, n_outputs = part["__reduce__"]["args"]["content"]
        state = part["content"]["content"]
        numbers = n_features, n_outputs, state["node_count"], state["max_depth"]
        arrays = n_classes, state["nodes"], state["values"]
        if any(number["__loader__"] != "JsonNode" for number in numbers) or any(
            (array["__loader__"], array["type"]) != ("NdArrayNode", "numpy") for array in arrays
        ):
            raise Damaged(f"{_dotted(path)} is a tree of other parts")
        n, outputs, count, depth = (json.loads(number["content"]) for number in numbers)
        classes, nodes, values = (self.arrays[array["file"]] for array in arrays)
        left, right, column = (nodes[key] for key in ("left_child", "right_child", "feature"))
        if (
            {type(number) for number in (n, outputs, count, depth)} != {int}
            or (classes.dtype, classes.shape) != (np.dtype(np.intp), (outputs,))
            or not (outputs > 0 and n > 0 and 0 < classes.min())
            or nodes.shape != (count,)
            or values.shape != (count, outputs, classes.max())
            or set(state) != {"max_depth", "node_count", "nodes", "values"}
        ):
            raise Damaged(f"{_dotted(path)} is a tree of other sizes")
        check_children(left != -1, left, right, column, n, np.full(count, count))
        if _depth(left, right) > depth or depth > count:
            raise Damaged(f"{_dotted(path)} is a tree of another depth")


def check_children(
    splits: NDArray[Any], left: Any, right: Any, column: Any, n: int, end: NDArray[Any]
) -> None:
    """Refuse nodes whose children do not come after them and before the ``end`` of their tree."""
    inner = np.flatnonzero(splits)
    for child in (left[inner], right[inner]):
        if not ((child > inner) & (child < end[inner])).all():
            raise Damaged("a node leads out of its tree")
    if not ((column[inner] >= 0) & (column[inner] < n)).all():
        raise Damaged("a tree splits a column that is not there")


def _depth(left: Any, right: Any) -> int:
    depth, level = 0, np.zeros(1, dtype=np.intp)
    while len(level := level[left[level] != -1]):
        level, depth = np.unique([left[level], right[level]]), depth + 1
    return depth


def _children(part: dict[str, Any], kind: str) -> Iterator[tuple[Any, Any]]:
    """Yield the parts within a part, with their names."""
    content = part.get("content")
    if kind == "DictNode":
        yield "keys", part["key_types"]
        types = part["key_types"]["content"]
        if part["key_types"]["__loader__"] != "ListNode" or any(
            t["__loader__"] != "TypeNode" or t["__class__"] not in _KEYS for t in types
        ):
            raise Damaged(f"it has keys of other types than {', '.join(_KEYS)}")
        yield from content.items()  # type: ignore[union-attr]
    elif kind in ("ListNode", "SetNode", "TupleNode") or part.get("type") == "json":
        yield from enumerate(content)  # type: ignore[arg-type]
        if kind == "NdArrayNode":
            yield "shape", part["shape"]
    elif kind == "RandomGeneratorNode":
        yield from content.items()  # type: ignore[union-attr]
    elif kind in ("DTypeNode", "LossNode", "RandomStateNode", "TreeNode"):
        yield "", content
        if kind in ("LossNode", "TreeNode"):
            yield "arguments", part["__reduce__"]["args"]
    elif kind == "ObjectNode" and content is not None:
        yield "", content


def _index(value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise Damaged("a slice of something else than places")
    return value


def _dotted(path: Collection[str]) -> str:
    return ".".join(filter(None, path))[:200] or "the file"


def short(error: BaseException) -> str:
    """What an error of another package says, in few words."""
    return f"{type(error).__name__}: {str(error)[:100]}"
