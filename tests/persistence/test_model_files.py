"""Damaged and crafted model files: refused in words, or they answer, with finite numbers."""

from __future__ import annotations

import copy
import io
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covshift
from covshift import VSVC, Kernel, Reweighted, TableEncoder, VBoostRegressor, load
from covshift.conformal import ConformalRegressor
from covshift.exceptions import InputError
from covshift.persistence import Model
from covshift.persistence.new_rows import TrainingRange
from covshift.weights import KLIEP, CDFWeights, NearestNeighbors

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
X, T, NEW = (rng.normal(size=(count, 2)) for count in (16, 12, 5))
CLASS = np.where(X[:, 0] > 0, "yes", "no")
ENCODER = TableEncoder().fit(pd.DataFrame({"age": [1.5, 2.5, 3.5], "town": ["u", "v", "u"]}))
FITS = {
    "kliep": lambda: KLIEP(random_state=0).fit(X, X_target=T),
    "cdf": lambda: CDFWeights().fit(X, X_target=T),
    "neighbours": lambda: NearestNeighbors(2).fit(X, X_target=T),
    "machine": lambda: VSVC(kernel=Kernel("rbf", width=1.0)).fit(X, CLASS, X_target=T),
    "trees": lambda: VBoostRegressor(n_estimators=2, min_samples_leaf=3).fit(
        X, X[:, 0], X_target=T
    ),
    "pipeline": lambda: Reweighted(make_pipeline(StandardScaler(), LogisticRegression())).fit(
        X, CLASS, X_target=T
    ),
    "forest": lambda: RandomForestClassifier(3, random_state=0).fit(X, CLASS),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3).fit(
        X, CLASS
    ),
    "intervals": lambda: ConformalRegressor(Ridge(), random_state=0).fit(X, X[:, 0], X_target=T),
    "table": lambda: Model(
        Ridge().fit(X, X[:, 0]),
        ENCODER,
        np.zeros(2),
        np.ones(2),
        TrainingRange.of(X, None),
        "regression",
        "weight",
        "ridge",
        "none",
        about={"id": None},
    ),
}
METHODS = ("predict", "predict_proba", "predict_weights", "predict_interval")


@cache
def bytes_of(name):
    with tempfile.TemporaryDirectory() as folder:
        covshift.save(FITS[name](), f"{folder}/m.covshift")
        return Path(f"{folder}/m.covshift").read_bytes()


def parts_of(name):
    """The schema as data, and the bytes of every array by name."""
    with zipfile.ZipFile(io.BytesIO(bytes_of(name))) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def write(path, schema, members, compression=zipfile.ZIP_STORED):
    """Write an archive as skops does, with right checksums: who edits a file makes them too."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in {**members, "schema.json": text}.items():
            archive.writestr(name, data)
    return path


def npy(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def answers(model):
    function = model.estimator if isinstance(model, Model) else model
    names = [name for name in METHODS if hasattr(function, name)]
    return [np.asarray(getattr(model, name)(NEW)) for name in names]


def assert_refused_or_sound(path):
    """Load a file: an InputError or a model, whose probabilities are finite if it gives any."""
    with suppress(InputError):
        model = load(path)
        if hasattr(model, "predict_proba"):
            with suppress(Exception):
                assert np.isfinite(p := model.predict_proba(NEW)).all(), p


def nodes_of(part, path=()):
    """Every part of a schema, with where it stands."""
    if isinstance(part, dict):
        if "__loader__" in part:
            yield path, part
        for key, inner in part.items():
            yield from nodes_of(inner, (*path, key))
    elif isinstance(part, list):
        for key, inner in enumerate(part):
            yield from nodes_of(inner, (*path, key))


def attribute(schema, name):
    """The part of the first attribute of that name."""
    return next(part for path, part in nodes_of(schema) if path and path[-1] == name)


@pytest.fixture(params=FITS)
def name(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.covshift"


# Damage


@pytest.mark.part(3)
def test_a_changed_byte_is_refused_or_harmless(name, path):
    data = bytes_of(name)
    path.write_bytes(data)
    expected = answers(load(path))
    for place in np.random.default_rng(1).choice(len(data), 60, replace=False):
        changed = bytearray(data)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with suppress(InputError):
            for found, known in zip(answers(load(path)), expected, strict=True):
                np.testing.assert_array_equal(found, known)


@pytest.mark.part(3)
def test_a_file_that_was_cut_off_or_goes_on_is_refused(name, path):
    data = bytes_of(name)
    for length in [0, 1, 4, 30, *range(100, len(data), len(data) // 40), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(InputError):
            load(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(InputError, match="does not end as a model file"):
        load(path)


# Crafted schemas


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
ARCHIVES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@ARCHIVES
@given(data=st.data())
def test_whatever_stands_in_a_schema_is_refused_or_loads(path, data):
    """Parts change their content or type, swap, or go: never a raw error from `load`."""
    schema, members = parts_of(data.draw(st.sampled_from(list(FITS))))
    for _ in range(data.draw(st.integers(1, 2))):
        parts = [part for _, part in nodes_of(schema)]
        part, other = (parts[data.draw(st.integers(0, len(parts) - 1))] for _ in range(2))
        key = data.draw(st.sampled_from(sorted(part)))
        kind = data.draw(st.sampled_from(["json", "other", "gone", "content"]))
        if kind == "gone":
            del part[key]
        elif kind == "other":
            part[key] = copy.deepcopy(other.get(key))
        elif kind == "json":
            part[key] = data.draw(JSON)
        else:
            part["content"] = json.dumps(data.draw(JSON))
    assert_refused_or_sound(write(path, schema, members))


@ARCHIVES
@given(data=st.data())
def test_whatever_stands_in_an_array_is_refused_or_sound(path, data):
    schema, members = parts_of(data.draw(st.sampled_from(list(FITS))))
    member = data.draw(st.sampled_from(sorted(members)))
    array = np.load(io.BytesIO(members[member])).copy()
    kind = data.draw(st.sampled_from(["value", "longer", "shorter", "deeper", "text", "type"]))
    if kind == "value" and array.size and array.dtype.names is None:
        value = data.draw(st.sampled_from([0, 1, -1, 7, 2**31, np.nan, np.inf, -1e308, 1e-308]))
        with np.errstate(all="ignore"):
            array.flat[data.draw(st.integers(0, array.size - 1))] = np.asarray(value).astype(
                array.dtype
            )
    elif kind == "type":
        array = np.zeros(array.shape, data.draw(st.sampled_from(["f4", "i1", "?", "c16", "U3"])))
    elif kind != "value":
        array = {
            "longer": np.concatenate([np.ravel(array)] * 2),
            "shorter": array[:-1] if array.ndim else array,
            "deeper": array[..., None],
            "text": np.array(["text"]),
        }[kind]
    write(path, schema, {**members, member: npy(array)})
    assert_refused_or_sound(path)


def replaced(name, attribute_name, part):
    """The parts of a file in which an attribute is another part."""
    schema, members = parts_of(name)
    found = attribute(schema, attribute_name)
    found.clear()
    found.update(part)
    return schema, members


def call(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


TEXT = call("JsonNode", "builtins", "str", content='"echo"')
NOTHING = call("TupleNode", "builtins", "tuple", content=[TEXT])


@pytest.mark.parametrize(
    "part",
    [
        call("FunctionNode", "os", "system"),
        call("TypeNode", "os", "system"),
        call("FunctionNode", "covshift.weights.kliep", "KLIEP"),
        call("FunctionNode", "covshift", "save"),
        call("ObjectNode", "subprocess", "Popen", content=NOTHING),
        call("ObjectNode", "covshift.cli.run", "main"),
        call("ObjectNode", "sklearn.svm._classes", "SVC"),
        call("ConstructorFromReduceNode", "covshift.weights.kliep", "KLIEP", content=NOTHING),
        call("ListNode", "covshift.weights.kliep", "KLIEP", content=[]),
        call("DictNode", "collections", "OrderedDict", content={}, key_types=NOTHING),
        call("MethodNode", "os", "path", content={"obj": TEXT, "func": "join"}),
        call("PartialNode", "functools", "partial", content={}),
        call("OperatorFuncNode", "operator", "attrgetter", attrs=NOTHING),
        call("NdArrayNode", "numpy", "void", type="json", content=[], shape=NOTHING),
        call("NdArrayNode", "numpy", "ndarray", type="numpy", file="../../etc/passwd"),
        call("BytesNode", "builtins", "bytes", file="schema.json"),
        call("CachedNode", "builtins", "str"),
        call("SliceNode", "builtins", "slice", content={"start": [], "stop": 1, "step": 1}),
        call("JsonNode", "builtins", "str", content="[[1]]"),
        call("NoNode", "builtins", "str"),
    ],
    ids=lambda part: f"{part['__loader__']} {part['__module__']}.{part['__class__']}",
)
def test_parts_that_run_or_read_something_else_are_refused(part, path):
    write(path, *replaced("kliep", "width_", part))
    with pytest.raises(InputError, match=r"m\.covshift (is damaged|holds .*If you trust)"):
        load(path)


def test_parts_that_refer_to_each_other_without_end_are_refused(path):
    """Forty lists, each of the one before it twice, are 2^40 visits."""
    part = {**TEXT, "__id__": 1}
    for level in range(2, 42):
        again = {**call("ListNode", "builtins", "list", content=[]), "__id__": level - 1}
        part = {**call("ListNode", "builtins", "list", content=[part, again]), "__id__": level}
    write(path, *replaced("kliep", "width_", part))
    with pytest.raises(InputError, match="has the identity of another part"):
        load(path)
    inner = call("ListNode", "builtins", "list", content=[{**TEXT, "__id__": 7}])
    write(path, *replaced("kliep", "width_", {**inner, "__id__": 7}))
    with pytest.raises(InputError, match="has the identity of another part"):
        load(path)


def test_a_deep_long_or_broken_schema_is_refused(path):
    part = TEXT
    for _ in range(300):
        part = call("ListNode", "builtins", "list", content=[part])
    write(path, *replaced("kliep", "width_", part))
    with pytest.raises(InputError, match="nested too deeply"):
        load(path)
    for text in (b"[" * 200_000, b"{" * 200_000, b"3", b"\xff", b'{"protocol": 1e999}'):
        write(path, text, {})
        with pytest.raises(InputError, match="damaged"):
            load(path)
    write(path, b"[" + b"0," * (1 << 23) + b"0]", {})
    with pytest.raises(InputError, match="schema is too long"):
        load(path)


def test_a_generator_of_random_numbers_has_a_known_name(path):
    schema, members = parts_of("histogram")
    attribute(schema, "bit_generator").update(content={"bit_generator": {**TEXT}})
    write(path, schema, members)
    with pytest.raises(InputError, match="damaged"):
        load(path)
    schema, members = parts_of("histogram")
    state = attribute(schema, "bit_generator")["content"]
    state["bit_generator"].update(content='"seed"')
    write(path, schema, members)
    with pytest.raises(InputError, match="not a generator of random numbers"):
        load(path)


def test_data_do_not_take_the_place_of_methods(path):
    schema, members = parts_of("kliep")
    state = attribute(schema, "KLIEP")["content"]
    state["content"]["predict_weights"] = TEXT
    state["key_types"]["content"].append(call("TypeNode", "builtins", "str"))
    write(path, schema, members)
    with pytest.raises(InputError, match=r"data in place of KLIEP\.predict_weights"):
        load(path)


@pytest.mark.parametrize(
    ("model", "place", "value", "words"),
    [
        ("kliep", "width", "-2", "width=-2 must be"),
        ("machine", "n_folds", "-3", "n_folds=-3 must be"),
        ("kliep", "width_", "NaN", "no finite answer"),
        ("cdf", "n_features_in_", "3", "no finite answer"),
        ("forest", "n_features_in_", "3", "trees of other columns"),
        ("kliep", "n_features_in_", str(2**50), "no finite answer"),
        ("kliep", "format", "6", r"\(format 6\).*Upgrade covshift"),
    ],
)
def test_numbers_that_no_fit_gives_are_refused(model, place, value, words, path):
    schema, members = parts_of(model)
    part = attribute(schema, place)
    part.pop("__id__", None)
    part.update(__loader__="JsonNode", content=value)
    write(path, schema, members)
    with pytest.raises(InputError, match=words):
        load(path)


def member_of(schema, name):
    return attribute(schema, name)["file"]


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left", 0, 0),  # round in circles
        ("right", 0, 10**6),
        ("feature", 0, 3),
        ("starts", 0, 1),
        ("starts", -1, 10**6),
        ("output", 0, 1),
    ],
)
def test_trees_that_lead_nowhere_are_refused(name, place, value, path):
    schema, members = parts_of("trees")
    array = np.load(io.BytesIO(members[member_of(schema, name)])).copy()
    array[place] = value
    write(path, schema, {**members, member_of(schema, name): npy(array)})
    with pytest.raises(InputError, match="damaged"):
        load(path)


@pytest.mark.parametrize(
    ("column", "place", "value"),
    [
        ("left_child", 0, 10**6),
        ("right_child", 0, 0),
        ("left_child", 0, -7),
        ("feature", 0, 2),
        ("feature", 0, -1),
    ],
)
def test_trees_of_scikit_learn_are_checked_before_they_are_built(column, place, value, path):
    schema, members = parts_of("forest")
    array = np.load(io.BytesIO(members[member_of(schema, "nodes")])).copy()
    array[column][place] = value
    write(path, schema, {**members, member_of(schema, "nodes"): npy(array)})
    with pytest.raises(InputError, match=r"leads out of its tree|not there|other"):
        load(path)


@pytest.mark.parametrize(
    ("column", "value"),
    [("left", 10**6), ("right", 0), ("feature_idx", 2), ("is_categorical", 1), ("is_leaf", 0)],
)
def test_trees_of_histogram_boosting_are_checked_before_they_predict(column, value, path):
    schema, members = parts_of("histogram")
    array = np.load(io.BytesIO(members[member_of(schema, "nodes")])).copy()
    array[column][-1 if column == "is_leaf" else 0] = value
    write(path, schema, {**members, member_of(schema, "nodes"): npy(array)})
    with pytest.raises(InputError, match=r"leads out of its tree|not there|by categories"):
        load(path)


@pytest.mark.parametrize("key", ["node_count", "max_depth"])
def test_trees_of_scikit_learn_say_their_size(key, path):
    schema, members = parts_of("forest")
    for value in ("0", "1000000", "2.5", '"x"'):
        attribute(schema, key).update(content=value)
        write(path, schema, members)
        with pytest.raises(InputError, match="damaged"):
            load(path)


# Sizes


def header(shape, descr="'<f8'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "data",
    [
        header((10**12,)),
        header((-1,)) + bytes(8),
        header((3,), "'|V0'"),
        header((3,), "'<U0'"),
        header((1,), "'|O'") + bytes(8),
        header((1,), "[('a', '|O')]") + bytes(8),
        header((1,), "('<f8', (1000000,))") + bytes(8),
        header("__import__('os')") + bytes(8),
        header("(" * 3000) + bytes(8),
        npy(np.zeros(3)).replace(b"NUMPY\x01", b"NUMPY\x03"),
        npy(np.array([{"a": 1}], dtype=object)),
        b"not an array",
        b"",
    ],
)
def test_headers_of_arrays_that_do_not_fit_are_refused(data, path):
    schema, members = parts_of("kliep")
    write(path, schema, {**members, member_of(schema, "weights_"): data})
    with pytest.raises(InputError, match="damaged"):
        load(path)


def test_nothing_is_decompressed(path):
    schema, members = parts_of("kliep")
    write(path, schema, {"bomb.npy": bytes(50_000_000), **members}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 400_000
    with pytest.raises(InputError, match="is compressed"):
        load(path)


def test_a_long_directory_is_refused_before_it_is_read(path):
    path.write_bytes(b"PK\3\4" + bytes(60) + b"PK\5\6" + bytes(4) + b"\xff" * 12 + bytes(2))
    with pytest.raises(InputError, match="too many members"):
        load(path)
    data = bytes_of("kliep")
    path.write_bytes(data[:-22] + b"PK\6\7" + bytes(16) + data[-22:])
    with pytest.raises(InputError, match="ends in another way"):
        load(path)


def test_files_beyond_the_limit_are_not_opened(path):
    path.write_bytes(bytes_of("kliep"))
    with pytest.raises(InputError, match="more than the 1,000 that a model file may have"):
        load(path, max_bytes=1000)


# Other files


def test_a_file_of_the_old_format_says_who_wrote_it_and_what_to_do(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.comment = b"covshift-model 4 " + b"0" * 64
    with pytest.raises(InputError, match=r"covshift 0\.9 or older \(format 4\).*Fit the model aga"):
        load(path)


def test_other_files_are_named_as_such(tmp_path, path):
    path.write_bytes(b"\x80\x04\x95")
    with pytest.raises(InputError, match="is not a model file of covshift"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(InputError, match="members are not those of a model file"):
        load(path)
    write(path, {**TEXT, "protocol": 2}, {})
    with pytest.raises(InputError, match="is not a model file of covshift"):
        load(path)
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no devices")
def test_pipes_and_devices_are_no_model_files():
    with pytest.raises(InputError, match="is a pipe or a device"):
        load("/dev/zero")
