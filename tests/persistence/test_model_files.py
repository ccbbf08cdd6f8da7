"""Damaged and edited model files: refused in words, or they predict exactly what they did."""

from __future__ import annotations

import copy
import io
import json
import struct
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_files import Lazy, members_of, npy, parts_of, resealed, write_parts, write_sealed
from sklearn.linear_model import LogisticRegression, Ridge

import covshift
from covshift import VSVC, Kernel, Reweighted, VBoostRegressor
from covshift.conformal import ConformalRegressor
from covshift.exceptions import InputError
from covshift.files.writing import atomic_file
from covshift.persistence import archive, load
from covshift.weights import KLIEP, CDFWeights

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
X, T, NEW = (rng.normal(size=(count, 2)) for count in (16, 12, 5))
CLASS = np.where(X[:, 0] > 0, "yes", "no")
MODELS = Lazy(
    {
        "kliep": lambda: KLIEP(random_state=0).fit(X, X_target=T),
        "cdf": lambda: CDFWeights().fit(X, X_target=T),
        "machine": lambda: VSVC(kernel=Kernel("rbf", width=1.0)).fit(X, CLASS, X_target=T),
        "trees": lambda: VBoostRegressor(n_estimators=2, min_samples_leaf=3).fit(
            X, X[:, 0], X_target=T
        ),
        "reweighted": lambda: Reweighted(LogisticRegression()).fit(X, CLASS, X_target=T),
        "intervals": lambda: ConformalRegressor(Ridge(), random_state=0).fit(
            X, X[:, 0], X_target=T
        ),
    }
)
METHODS = ("predict", "predict_proba", "predict_weights", "predict_interval")


def answers(model):
    return [np.asarray(getattr(model, name)(NEW)) for name in METHODS if hasattr(model, name)]


def assert_refused_or_same(path, data, expected):
    """Whether a file was refused; one that is not predicts the same."""
    path.write_bytes(data)
    try:
        model = load(path)
    except InputError:
        return True
    for found, known in zip(answers(model), expected, strict=True):
        np.testing.assert_array_equal(found, known)
    return False


@cache
def bytes_of(name):
    with tempfile.TemporaryDirectory() as folder:
        covshift.save(MODELS[name], f"{folder}/m.covshift")
        return Path(f"{folder}/m.covshift").read_bytes()


def write_model(path, name):
    """Write the file of a model, and return its parts."""
    path.write_bytes(bytes_of(name))
    return parts_of(path)


@pytest.fixture(params=MODELS)
def saved(request, tmp_path):
    path = tmp_path / "m.covshift"
    path.write_bytes(bytes_of(request.param))
    return path


def flipped(data, places, mask):
    for place in places:
        changed = bytearray(data)
        changed[place] ^= mask
        yield changed


def test_every_byte_counts(saved):
    """All of them at once by their digest; some by loading, in every part of the file."""
    data = saved.read_bytes()
    refused = [
        assert_refused_or_same(saved, changed, [])
        for changed in flipped(data, range(0, len(data), 97), 0x01)
    ]
    refused += [
        assert_refused_or_same(saved, changed, [])
        for changed in flipped(data, range(len(data) - 120, len(data)), 0x10)
    ]
    assert all(refused)


def test_every_length_counts(saved):
    data = saved.read_bytes()
    lengths = [*range(0, len(data), 101), *range(len(data) - 110, len(data))]
    assert all(assert_refused_or_same(saved, data[:length], []) for length in lengths)
    assert assert_refused_or_same(saved, data + b"\0", [])


@pytest.mark.thorough
@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_single_byte_changed_is_refused(saved, mask):
    data = saved.read_bytes()
    changed = flipped(data, range(len(data)), mask)
    assert all(assert_refused_or_same(saved, each, []) for each in changed)


@pytest.mark.thorough
def test_every_single_length_is_refused(saved):
    data = saved.read_bytes()
    assert all(assert_refused_or_same(saved, data[:n], []) for n in range(len(data)))


@pytest.mark.thorough
@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_byte_changed_under_a_new_seal_is_refused_or_harmless(saved, mask):
    """The archive's own headers, without the help of the seal: no raw error, no other answer."""
    expected, data = answers(load(saved)), saved.read_bytes()
    for changed in flipped(data, range(len(data) - len(archive.EMPTY)), mask):
        assert_refused_or_same(saved, resealed(bytes(changed)), expected)


ARCHIVES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@ARCHIVES
@given(data=st.data())
def test_bytes_changed_under_a_new_seal_are_refused_or_harmless(tmp_path, data):
    name = data.draw(st.sampled_from(list(MODELS)))
    path = tmp_path / "m.covshift"
    path.write_bytes(bytes_of(name))
    content = bytearray(path.read_bytes())
    expected = answers(MODELS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1 - len(archive.EMPTY)))
        content[place] = data.draw(st.integers(0, 255))
    assert_refused_or_same(path, resealed(bytes(content)), expected)


def places_of(data, path=()):
    """The path of every value in plain data."""
    yield path
    if isinstance(data, dict):
        for key in data:
            yield from places_of(data[key], (*path, key))
    elif isinstance(data, list):
        for k in range(min(len(data), 4)):
            yield from places_of(data[k], (*path, k))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tuple", "dict", "texts", "array", "float", "estimator", "class"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


@ARCHIVES
@given(data=st.data())
def test_whatever_stands_in_a_manifest_is_refused_or_loads(tmp_path, data):
    """With right digests, as who edits a file would make them: never a raw error from `load`."""
    name = data.draw(st.sampled_from(list(MODELS)))
    path = tmp_path / "m.covshift"
    manifest, arrays = write_model(path, name)
    place = data.draw(st.sampled_from([p for p in places_of(manifest) if p and p[0] != "sha256"]))
    changed = copy.deepcopy(manifest)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = data.draw(JSON)
    write_parts(path, changed, arrays)
    with suppress(InputError):
        load(path)


@ARCHIVES
@given(data=st.data())
def test_whatever_stands_in_an_array_is_refused_or_loads(tmp_path, data):
    name = data.draw(st.sampled_from(list(MODELS)))
    path = tmp_path / "m.covshift"
    manifest, arrays = write_model(path, name)
    member = data.draw(st.sampled_from(sorted(arrays)))
    array = np.load(io.BytesIO(arrays[member])).copy()
    value = data.draw(st.sampled_from([0, 1, -1, 7, 2**31, np.nan, np.inf, -1e308, 1e-308]))
    with np.errstate(all="ignore"):
        array.flat[data.draw(st.integers(0, array.size - 1)) if array.size else 0] = np.asarray(
            value
        ).astype(array.dtype)
    write_parts(path, manifest, {**arrays, member: npy(array)})
    with suppress(InputError):
        answers(load(path))


# What was found once


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"'shape': (", b"'shape': [("),
        (b"'shape': (", b"'shape': (('"),
        (b"'descr': '<f8'", b"'descr': \"\"\"f8'"),  # a tokenizer would search the end of it
        (b"'descr': '<f8'", b"'descr': '<f9'"),
        (b"'fortran_order': False", b"'fortran_order': __imp"),
        (b"'shape': (", b"'shape': (-"),
        (b"'shape': (", b"'shape': (99999999999999999999"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x03"),
        (b"}", b" "),
    ],
)
def test_headers_of_arrays_are_not_evaluated(tmp_path, old, new):
    path = tmp_path / "m.covshift"
    manifest, arrays = write_model(path, "kliep")
    data = arrays["centers_.npy"]
    assert old in data
    write_parts(path, manifest, {**arrays, "centers_.npy": data.replace(old, new)})
    with pytest.raises(InputError, match="centers_"):
        load(path)


def test_names_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "m.covshift"
    path.write_bytes(bytes_of("kliep"))
    data = bytearray(path.read_bytes())  # names are said to be UTF-8, and one is not
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark, data.find(mark) + 1)
        data[at + flags + 1] |= 0x08
    name = data.rfind(b"weights_.npy")
    data[name] = 0xFF
    path.write_bytes(resealed(bytes(data)))
    with pytest.raises(InputError, match="damaged"):
        load(path)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("_scale", -1, "above 0"),
        ("_scale", {"float": "nan"}, "not finite"),
        ("_most", 0, "above 0"),
        ("width_", 0, "above 0"),
        ("width_", -2.5, "above 0"),
        ("width_", True, "not a finite number"),
        ("width_", 2**70, "64 bits"),
        ("effective_sample_size_", -1.0, "at least 0"),
        ("n_features_in_", 2**40, "not a size"),
    ],
)
def test_numbers_out_of_their_range_are_refused(tmp_path, place, value, words):
    path = tmp_path / "m.covshift"
    manifest, arrays = write_model(path, "kliep")
    assert place in manifest["estimator"]["fitted"]
    manifest["estimator"]["fitted"][place] = value
    write_parts(path, manifest, arrays)
    with pytest.raises(InputError, match=words):
        load(path)


@pytest.mark.parametrize("member", ["weights_", "coef_", "_proportions"])
def test_weights_below_zero_are_refused(tmp_path, member):
    path = tmp_path / "m.covshift"
    manifest, arrays = write_model(path, "kliep")
    array = np.load(io.BytesIO(arrays[f"{member}.npy"])).copy()
    array[0] = -1e-3
    write_parts(path, manifest, {**arrays, f"{member}.npy": npy(array)})
    with pytest.raises(InputError, match="below 0"):
        load(path)


def test_parameters_that_no_fit_takes_are_neither_loaded_nor_saved(tmp_path):
    path = tmp_path / "m.covshift"
    manifest, arrays = write_model(path, "machine")
    manifest["estimator"]["parameters"]["n_folds"] = -3
    write_parts(path, manifest, arrays)
    with pytest.raises(InputError, match="n_folds=-3 must be"):
        load(path)
    changed = copy.deepcopy(MODELS["machine"]).set_params(n_folds=-3)
    with pytest.raises(InputError, match="no file does: n_folds=-3"):
        covshift.save(changed, tmp_path / "other.covshift")
    inner = copy.deepcopy(MODELS["reweighted"])
    inner.estimator_.set_params(C=-1.0)
    with pytest.raises(InputError, match=r"estimator_ has a parameter.*'C'"):
        covshift.save(inner, tmp_path / "other.covshift")
    assert [p.name for p in tmp_path.iterdir()] == ["m.covshift"]


# Size


def test_a_long_manifest_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    path = tmp_path / "m.covshift"
    path.write_bytes(bytes_of("kliep"))
    members = members_of(path)
    many = b'{"a":' + b"[" + b"{}," * (1 << 22) + b"{}]}"
    write_sealed(path, {**members, "manifest.json": many})
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    with pytest.raises(InputError, match="manifest is longer than 8,388,608 bytes"):
        load(path)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="end as a model file"):
        load(path)


def test_what_load_would_refuse_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_MANIFEST", 500)
    with pytest.raises(InputError, match=r"at most 500 of them. Merge rare categories"):
        covshift.save(MODELS["kliep"], tmp_path / "m.covshift")
    assert list(tmp_path.iterdir()) == []


def test_a_long_directory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "m.covshift"
    write_sealed(path, {f"{k}.npy": b"" for k in range(archive.MAX_MEMBERS + 1)})
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("read"))
    with pytest.raises(InputError, match="too many members"):
        load(path)


def test_a_directory_of_the_wide_form_is_counted_too(tmp_path):
    path = tmp_path / "m.covshift"
    path.write_bytes(bytes_of("kliep"))
    data = path.read_bytes()
    end = len(data) - len(archive.EMPTY) - 22
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 5000, 5000, 1 << 40, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    path.write_bytes(resealed(data[:end] + wide + locator + data[end:]))
    with pytest.raises(InputError, match="too many members"):
        load(path)


def test_pipes_and_devices_are_no_model_files():
    with pytest.raises(InputError, match="is a pipe or a device"):
        load("/dev/zero")


def test_models_can_be_written_to_devices(tmp_path):
    with atomic_file("/dev/null") as file:
        file.write(b"x")
    covshift.save(MODELS["kliep"], "/dev/null")
