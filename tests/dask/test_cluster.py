"""Fits on a cluster of processes: the same result, also if workers are lost on the way."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

from capo import SVMPerfClassifier
from capo.dask import DaskSVMPerfClassifier

N_ROWS, CHUNKS = 4000, ((1500, 0, 1000, 700, 800),)


def make_block(block_info=None):
    """Rows that are made on the workers, so that they can be made again."""
    start, stop = block_info[None]["array-location"][0]
    rng = np.random.default_rng(start)
    X = rng.normal(size=(stop - start, 4))
    X[:, 0] = (
        np.where(rng.random(stop - start) < 0.3, 1.0, -1.0) if start else 1.0
    )  # a partition of one class
    X[:, 1] += X[:, 0]
    return X


def make_rows():
    table = da.map_blocks(make_block, chunks=(*CHUNKS, (4,)), dtype=float)
    return table[:, 1:], table[:, 0] > 0


def test_the_current_client_and_a_given_one_are_used():
    with (
        dask.config.set(scheduler="synchronous"),
        distributed.LocalCluster(1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        model = DaskSVMPerfClassifier(C=5.0, client=client).fit(*make_rows())
        steps = {name.rsplit("-", 5)[0] for name in cluster.scheduler.task_prefixes}
        assert {"make_block", "score_rows", "sum_slope"} <= steps
        expected = DaskSVMPerfClassifier(C=5.0).fit(*make_rows())
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.threshold_ == expected.threshold_


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.mark.slow
def test_processes_and_two_fits_at_once_have_the_result_of_one_process(cluster):
    with dask.config.set(scheduler="synchronous"):
        expected = {name: DaskSVMPerfClassifier(name, C=5.0).fit(*make_rows()) for name in ("f1", "roc_auc")}
    with distributed.Client(cluster) as client, ThreadPoolExecutor(2) as pool:
        fits = {
            name: pool.submit(DaskSVMPerfClassifier(name, C=5.0, client=client).fit, *make_rows())
            for name in expected
        }
        for name, fit in fits.items():
            np.testing.assert_array_equal(fit.result().coef_, expected[name].coef_)
    X, y = (part.compute(scheduler="synchronous") for part in make_rows())
    for name, model in expected.items():
        assert abs(model.primal_ - SVMPerfClassifier(name, C=5.0).fit(X, y).primal_) <= 5.0 * 1e-3


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(cluster):
    with dask.config.set(scheduler="synchronous"):
        expected = DaskSVMPerfClassifier("f1", C=50.0).fit(*make_rows())
    with distributed.Client(cluster) as client:
        killed = []

        def kill_once(state):
            if state.number == 2 and not killed:
                killed.append(min(client.run(os.getpid).values()))
                # In the middle of the next pass.
                threading.Timer(0.05, os.kill, (killed[0], signal.SIGKILL)).start()

        model = DaskSVMPerfClassifier("f1", C=50.0, callback=kill_once).fit(*make_rows())
        assert len(killed) == 1
        assert killed[0] not in client.run(os.getpid).values()
    assert model.primal_ == pytest.approx(expected.primal_, abs=1e-9)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9)
