"""Fits on a cluster of processes whose workers, client and partitions fail: nothing hangs."""

from __future__ import annotations

import threading
import time

import dask
import numpy as np
import pytest
from cluster_tasks import N, T, X, machine, parts, slow, unreadable, with_mask, y
from distributed import Client, LocalCluster

from covshift import distributed
from covshift.distributed import cluster as _cluster
from covshift.exceptions import InputError, SlowWarning
from covshift.weights import CDFWeights

pytestmark = [
    pytest.mark.thorough,  # tests/clusters/test_distributed.py has the same fits without processes
    pytest.mark.filterwarnings("ignore"),  # of workers and clients that end on purpose
]
CHUNKS = (250,) * 6
PATIENCE = 60  # seconds, after which a fit counts as one that hangs


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.comm.timeouts.connect": "5s",  # to a worker that is no more
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with dask.config.set(settings), LocalCluster(**options, processes=True) as cluster:
        yield cluster


def ended(call):
    """Return what the call returns or raise what it raises, and fail where it does neither."""
    found = {}

    def run():
        try:
            found["value"] = call()
        except Exception as error:
            found["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        pytest.fail(f"The fit has not ended after {PATIENCE} seconds.")
    if "error" in found:
        raise found["error"]
    return found["value"]


class AfterReading(threading.Thread):
    """Does something as soon as so many blocks are being read, or were."""

    def __init__(self, folder, count, action):
        super().__init__(daemon=True)
        self.folder, self.count, self.action, self.done = folder, count, action, False
        self.start()

    def run(self):
        until = time.monotonic() + PATIENCE
        while len(list(self.folder.iterdir())) < self.count:
            if time.monotonic() > until:
                return
            time.sleep(0.01)
        self.action()
        self.done = True


def kill_one(cluster):
    victim = next(iter(cluster.workers.values()))
    victim.process.process._process.kill()  # SIGKILL


def read_slowly(array, folder):
    return parts(array, CHUNKS).map_blocks(slow, folder=folder)


def test_workers_import_the_tasks_under_a_name_that_no_package_takes():
    assert {task.__module__ for task in (slow, unreadable, with_mask)} == {"cluster_tasks"}


# Blocks read when a worker dies. Machines read the partitions twice: survey, then sums. Weights
# read them once, and then work on codes that the workers keep.
STAGES = [
    pytest.param("machine", 1, id="machine, first block"),
    pytest.param("machine", 6, id="machine, last of the survey"),
    pytest.param("machine", 8, id="machine, sums"),
    pytest.param("machine", 12, id="machine, last sums"),
    pytest.param("weights", 1, id="weights, first block"),
    pytest.param("weights", 6, id="weights, kept codes"),
    pytest.param("target", 1, id="target, first block"),
    pytest.param("target", 8, id="target read, survey"),
]


@pytest.mark.parametrize(("kind", "count"), STAGES)
def test_a_worker_killed_in_mid_fit_changes_nothing(cluster, tmp_path, kind, count):
    killer = AfterReading(tmp_path, count, lambda: kill_one(cluster))
    target, options = T, {}
    if kind == "target":
        target, options = read_slowly(X + 0.2, tmp_path), {"target_bins": 50}
    rows = read_slowly(X, tmp_path)
    with Client(cluster) as client:
        given = {"client": client, **options}
        if kind == "weights":
            method, one = "predict_weights", CDFWeights(reg=1.0, solver="thresholds")
            one.fit(X, X_target=T)
            two = ended(lambda: distributed.fit(CDFWeights(reg=1.0), rows, None, target, **given))
        else:
            method = "predict"
            if kind == "target":  # without a cluster, and without harm
                with dask.config.set(scheduler="synchronous"):
                    plain = parts(X, CHUNKS), parts(y, CHUNKS), parts(X + 0.2, CHUNKS)
                    one = distributed.fit(machine(), *plain, **options)
            else:
                one = machine(solver="primal").fit(X, y, X_target=T)
            two = ended(lambda: distributed.fit(machine(), rows, parts(y, CHUNKS), target, **given))
        killer.join(PATIENCE)
        assert killer.done
        assert two.reg_ == one.reg_
        expected = getattr(one, method)(T)
        np.testing.assert_allclose(getattr(two, method)(T), expected, rtol=0, atol=1e-10)


def test_errors_inside_a_task_come_back_in_their_own_words(cluster):
    weights = np.ones(N)
    weights[700] = -1.0
    rows, outcomes = parts(X, CHUNKS), parts(y, CHUNKS)
    with Client(cluster) as client:

        def fit(X, sample_weight=None, estimator=None):
            model = machine() if estimator is None else estimator
            labels = None if isinstance(model, CDFWeights) else outcomes
            return ended(lambda: distributed.fit(model, X, labels, T, client, sample_weight))

        with pytest.raises(InputError, match=r"In partition 2 of X: .*weight.* negative"):
            fit(rows, parts(weights, CHUNKS))
        for estimator in (machine(), CDFWeights()):
            with pytest.raises(InputError, match=r"In partition \d of X: .*mask"):
                fit(rows.map_blocks(with_mask), estimator=estimator)
        with pytest.raises(FileNotFoundError, match="part 4 is not there"):
            fit(rows.map_blocks(unreadable, dtype=float, meta=X[:0]))


def test_a_client_that_went_away_is_reported(cluster):
    client = Client(cluster)
    client.close()
    with pytest.raises(RuntimeError, match="Connect a new Client"):
        distributed.fit(machine(), parts(X, (N,)), parts(y, (N,)), T, client)


@pytest.mark.parametrize("count", [1, 8])
def test_a_client_that_goes_away_in_mid_fit_is_reported(cluster, tmp_path, count):
    client, model = Client(cluster), machine()
    closer = AfterReading(tmp_path, count, client.close)
    rows = read_slowly(X, tmp_path)
    with pytest.raises(RuntimeError, match="lost its cluster"):
        ended(lambda: distributed.fit(model, rows, parts(y, CHUNKS), T, client))
    closer.join(PATIENCE)
    assert not hasattr(model, "reg_")  # nothing is half fitted


def test_a_cluster_without_workers_is_named_and_waited_for(monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.1)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    rows, outcomes = parts(X, (N,)), parts(y, (N,))
    with LocalCluster(n_workers=0, **options) as cluster, Client(cluster) as client:
        starter = threading.Timer(2.0, lambda: cluster.scale(1))
        starter.start()
        with pytest.warns(SlowWarning, match="no workers"):
            model = ended(lambda: distributed.fit(machine(reg=1.0), rows, outcomes, T, client))
        starter.join(PATIENCE)
    assert model.reg_ == 1.0
