"""Model files: what is saved comes back, and nothing else can be loaded."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from model_files import Lazy, members_of, npy, write_members, write_sealed
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from covshift import VSVC, VSVR, Kernel, VBoostClassifier, VBoostRegressor
from covshift.encoding import Feature
from covshift.exceptions import InputError
from covshift.files.encoding import Encoding
from covshift.persistence import Model, archive, load, save

rng = np.random.default_rng(0)
X, T = rng.normal(size=(40, 3)), rng.normal(0.5, 1, size=(30, 3))
TWO = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NUMBER = X[:, 0] ** 2

SMALL = {"n_estimators": 3, "min_samples_leaf": 3}
FITTED = Lazy(
    {
        "exact classifier": lambda: VSVC(
            kernel=Kernel("rbf", width="scale", coordinates="none")
        ).fit(X, TWO, X_target=T),
        "found kernel": lambda: VSVC(fast=True).fit(X, TWO, X_target=T),
        "classifier on landmarks": lambda: VSVC(
            solver="primal", n_components=9, random_state=0
        ).fit(X, THREE, X_target=T),
        "bounded classifier": lambda: VSVC(probability="qp").fit(X, TWO, X_target=T),
        "Laplacian kernel": lambda: VSVC(kernel=Kernel("laplacian", width=2.0)).fit(
            X, THREE, X_target=T
        ),
        "regressor": lambda: VSVR().fit(X, NUMBER, X_target=T),
        "polynomial regressor": lambda: VSVR(kernel=Kernel("poly", degree=2)).fit(
            X, NUMBER, X_target=T
        ),
        "logistic regression": lambda: LogisticRegression().fit(X, TWO),
        "multinomial regression": lambda: LogisticRegression().fit(X, THREE),
        "ridge regression": lambda: Ridge().fit(X, NUMBER),
        "boosted classifier": lambda: VBoostClassifier(**SMALL).fit(X, TWO, X_target=T),
        "boosted classes": lambda: VBoostClassifier(**SMALL).fit(X, THREE, X_target=T),
        "boosted regressor": lambda: VBoostRegressor(**SMALL).fit(X, NUMBER, X_target=T),
    }
)

ENCODING = Encoding.of(
    [
        Feature("age", "number", fill=1.5),
        Feature("town", "category", ("u", "<script>")),
        Feature("ill", "boolean", fill=0.0),
    ]
)


def model_of(estimator):
    task = "classification" if hasattr(estimator, "classes_") else "regression"
    return Model(
        estimator,
        ENCODING,
        np.array([1.0, 0.0, 0.5]),
        np.array([2.0, 1.0, 3.0]),
        task,
        "outcome",
        "vsvm",
        "blended",
        "kg",
        {"covshift": "0.1.0", "id": None},
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("name", list(FITTED))
def test_what_is_saved_comes_back_to_the_last_bit(tmp_path, name):
    model = model_of(FITTED[name])
    save(model, tmp_path / "m.covshift")
    again = load(tmp_path / "m.covshift")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if model.task == "classification":
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.encoding.to_list() == model.encoding.to_list()
    for field in ("task", "label", "learner", "method", "unit", "about", "classes"):
        assert getattr(again, field) == getattr(model, field)


def test_the_arrays_can_be_seen_with_numpy_alone(tmp_path):
    save(model_of(FITTED["regressor"]), tmp_path / "m.covshift")
    with np.load(tmp_path / "m.covshift", allow_pickle=False) as arrays:
        assert arrays["_f.Z"].shape == (40, 3)


def test_what_cannot_be_saved_leaves_no_file(tmp_path):
    trees = HistGradientBoostingClassifier(max_iter=2).fit(X, TWO)
    with pytest.raises(InputError, match=r"HistGrad.* cannot be saved.*can be saved: .*VSVC"):
        save(model_of(trees), tmp_path / "m.covshift")
    called = VSVC(kernel=lambda a, b: float(a @ b)).fit(X, TWO, X_target=T)
    with pytest.raises(InputError, match=r"VSVC\.kernel is a function"):
        save(model_of(called), tmp_path / "m.covshift")
    assert list(tmp_path.iterdir()) == []


# Files that must not be believed


@pytest.fixture
def saved(tmp_path):
    save(model_of(FITTED["exact classifier"]), tmp_path / "good.covshift")
    return tmp_path / "good.covshift"


def test_every_truncation_is_noticed(saved, tmp_path):
    data = saved.read_bytes()
    path = tmp_path / "cut.covshift"
    for length in [0, 1, 4, 30, *range(100, len(data), 997), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(InputError):
            load(path)


def test_a_changed_byte_anywhere_is_noticed_or_harmless(saved, tmp_path):
    data, good = saved.read_bytes(), load(saved)
    path = tmp_path / "changed.covshift"
    for place in np.random.default_rng(1).choice(len(data), 150, replace=False):
        changed = bytearray(data)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            found = load(path)
        except InputError:
            continue
        np.testing.assert_array_equal(found.predict_proba(X), good.predict_proba(X))


def test_tampered_arrays_and_manifests_fail_their_checksums(saved, tmp_path):
    members, path = members_of(saved), tmp_path / "t.covshift"
    write_sealed(path, {**members, "_f.c.npy": members["_f.c.npy"][:-1] + b"\1"})
    with pytest.raises(InputError, match=r"the checksum of '_f\.c\.npy' is wrong"):
        load(path)
    path.write_bytes(saved.read_bytes().replace(b"outcome", b"0utcome"))
    with pytest.raises(InputError, match="its checksum is wrong"):
        load(path)


def test_a_newer_format_asks_for_an_upgrade(saved, tmp_path):
    members = members_of(saved)
    members["manifest.json"] = members["manifest.json"].replace(b'"version": 4', b'"version": 5')
    write_members(tmp_path / "new.covshift", members)
    with pytest.raises(InputError, match=r"newer covshift \(format 5.*Upgrade"):
        load(tmp_path / "new.covshift")


def test_an_older_format_asks_for_a_new_fit(saved, tmp_path):
    members = members_of(saved)
    members["manifest.json"] = members["manifest.json"].replace(b'"version": 4', b'"version": 1')
    write_members(tmp_path / "old.covshift", members)
    with pytest.raises(InputError, match=r"older covshift \(format 1.*Fit the model again"):
        load(tmp_path / "old.covshift")


def test_nothing_is_decompressed(saved, tmp_path):
    members = members_of(saved)
    members["bomb.npy"] = bytes(50_000_000)
    write_sealed(tmp_path / "bomb.covshift", members, zipfile.ZIP_DEFLATED)
    assert (tmp_path / "bomb.covshift").stat().st_size < 200_000
    with pytest.raises(InputError, match="is compressed"):
        load(tmp_path / "bomb.covshift")


def test_files_beyond_the_limit_are_not_opened(saved):
    with pytest.raises(InputError, match="more than the 1,000 that a model file may have"):
        load(saved, max_bytes=1000)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("_f.Z.npy", npy(np.array([{"a": 1}], dtype=object)), "unexpected type"),
        ("_f.c.npy", npy(np.zeros(1), shape=(b"(1,)", b"(9,)")), "another size than it says"),
        ("_f.c.npy", npy(np.array([np.nan])), "NaN or inf"),
        ("_f.c.npy", npy(np.zeros(2)), "do not fit together"),
        ("_f.coef.npy", npy(np.zeros((7, 1))), "do not fit together"),
        ("_columns.npy", npy(np.array([0, 1, 5])), "do not fit together"),
        ("table.scale.npy", npy(np.zeros(3)), "do not fit together"),
        ("_f.c.npy", b"not an array", "is not an array"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(saved, tmp_path, name, data, message):
    members = members_of(saved)
    write_members(tmp_path / "t.covshift", {**members, name: data})
    with pytest.raises(InputError, match=message):
        load(tmp_path / "t.covshift")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"class": "vsvm:classifier"', b'"class": "os:system"', "unknown kind 'os:system'"),
        (b'"class": "vsvm:classifier"', b'"class": "forest:classifier"', "unknown kind"),
        (b'"class": "vsvm:classifier"', b'"class": "vsvm:regressor"', "no parameter 'probability'"),
        (b'"name": "rbf",\n       "w', b'"name": "exec",\n       "w', "kernel='exec' must be"),
        (b'"name": "rbf",\n      "p', b'"name": "exec",\n      "p', "name='exec' must be"),
        (b'"class": "covshift:Kernel"', b'"class": "covshift:Importance"', "no parameter"),
        (b'"task": "classification"', b'"task": "dance"', "unknown task"),
        (b'"task": "classification"', b'"task": "regression"', "without its classes"),
        (b'"yes"', b'"no"', "classes are not distinct"),
        (b'"params": {', b'"width": 1e999, "params": {', "not finite"),
        (b'"params": {', b'"width": 0, "params": {', "width=0 does not fit kernel='rbf'"),
        (b'"params": {', b'"width": null, "params": {', "width=None does not fit kernel='rbf'"),
        (b'"coef0": 1,\n       "params"', b'"coef0": 1e999,\n       "params"', "not finite"),
        (b'"n_features_in_": 3', b'"n_features_in_": 2', "beyond the 2"),
        (b'"reg_": ', b'"predict": 1, "reg_": ', "not declared"),
        (b'"intercept_": "', b'"n_features_in_": "', "intercept_ is missing"),
        (b'"fill": 1.5', b'"fill": 1e999', "not finite"),
        (b'"kind": "number"', b'"kind": "poem"', "feature of unknown kind"),
        (b'"features"', b'"nothing"', "other parts"),
        (b'"label": "outcome"', b'"label": 1', "not text"),
        (b'"about": {', b'"about": {"x": [1], ', "facts of unknown kind"),
        (b'"fill": 1.5', b'"more": 1.5', "unexpected keyword"),
        (b"covshift-model", b"another-model", "is not a model file"),
        (b'"version": 4', b'"version": "x"', "format version"),
        (b'"version": 4', b'"version": 2', "older covshift"),
    ],
)
def test_manifests_that_do_not_fit_are_refused(saved, tmp_path, old, new, message):
    members = members_of(saved)
    assert old in members["manifest.json"]
    changed = members["manifest.json"].replace(old, new)
    write_members(tmp_path / "t.covshift", {**members, "manifest.json": changed})
    with pytest.raises(InputError, match=message):
        load(tmp_path / "t.covshift")


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left", 0, 0),  # round in circles
        ("right", 0, 10**6),
        ("feature", 0, 3),
        ("output", 0, 1),
        ("starts", 0, 1),
        ("starts", -1, 10**6),
    ],
)
def test_trees_that_lead_nowhere_are_refused(tmp_path, name, place, value):
    path = tmp_path / "t.covshift"
    save(model_of(FITTED["boosted regressor"]), path)
    members = members_of(path)
    array = np.load(io.BytesIO(members[f"ensemble_.{name}.npy"])).copy()
    array[place] = value
    write_members(path, {**members, f"ensemble_.{name}.npy": npy(array)})
    with pytest.raises(InputError, match="do not fit together"):
        load(path)


def test_a_deep_or_long_manifest_is_refused(saved, tmp_path, monkeypatch):
    members = members_of(saved)
    write_sealed(tmp_path / "t.covshift", {**members, "manifest.json": b"[" * 200_000})
    with pytest.raises(InputError, match="not JSON"):
        load(tmp_path / "t.covshift")
    monkeypatch.setattr(archive, "_MAX_MANIFEST", 100)
    with pytest.raises(InputError, match="longer than 100 bytes"):
        load(saved)


def test_other_files_are_named_as_such(tmp_path):
    (tmp_path / "p.pkl").write_bytes(b"\x80\x04\x95")
    with pytest.raises(InputError, match="is not a model file of covshift"):
        load(tmp_path / "p.pkl")
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(InputError, match="does not end as a model file"):
        load(tmp_path / "z.zip")
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)


def test_an_interrupted_save_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(model_of(FITTED["regressor"]), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]
