"""Results in temporary files."""

import gc
import os
import pickle
from pathlib import Path

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from scipy.sparse import csr_array

from capo.dask import Block, DaskSVMPerfClassifier, SpillFolder, StoredResult, load_result, store_result
from capo.exceptions import OutputError


@pytest.fixture
def folder(monkeypatch):
    monkeypatch.setattr("capo.dask._partitions.MIN_STORED_BYTES", 100)
    return SpillFolder()


def test_arrays_come_back_and_their_files_go_with_them(folder):
    rng = np.random.default_rng(0)
    dense = Block(np.asfortranarray(rng.normal(size=(7, 3))), rng.random(7) < 0.5, None)
    sparse = Block(csr_array(np.round(dense.X)), dense.positive, rng.random(7))
    stored = [store_result(value, folder) for value in (dense, sparse, dense.X)]
    assert all(isinstance(each, StoredResult) for each in stored)
    assert len(os.listdir(folder.path)) == 3
    found = [load_result(each) for each in stored]
    np.testing.assert_array_equal(found[0].X, dense.X)
    np.testing.assert_array_equal(found[0].positive, dense.positive)
    assert found[0].weight is None
    np.testing.assert_array_equal(found[1].X.toarray(), sparse.X.toarray())
    np.testing.assert_array_equal(found[2], dense.X)
    stored.clear()
    gc.collect()
    assert os.listdir(folder.path) == []
    np.testing.assert_array_equal(found[2], dense.X)  # while a task still uses it


def test_another_process_gets_the_arrays_and_makes_a_file_of_its_own(folder):
    array = np.arange(1000.0)
    stored = store_result(array, folder)
    copy = pickle.loads(pickle.dumps(stored))
    assert copy.path.parent != stored.path.parent
    del stored
    gc.collect()
    assert os.listdir(folder.path) == []
    np.testing.assert_array_equal(load_result(copy), array)


def test_workers_keep_the_features_in_files(monkeypatch):
    monkeypatch.setattr("capo.dask._partitions.MIN_STORED_BYTES", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)).round()
    y = X[:, 0] + rng.normal(size=1200) > 1
    chunks = (500, 0, 700)
    arrays = da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=(chunks,))
    with dask.config.set(scheduler="synchronous"):
        expected = DaskSVMPerfClassifier("f1", C=10.0, persist="disk").fit(*arrays)
    n_files = []
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        folders = [Path(worker.local_directory) for worker in cluster.workers.values()]

        def count_files(state):
            n_files.append(sum(path.is_file() for each in folders for path in each.glob("capo-*/*")))

        model = DaskSVMPerfClassifier("f1", C=10.0, persist="disk", callback=count_files, client=client)
        model.fit(*arrays)
        sparse = DaskSVMPerfClassifier("f1", C=10.0, persist="disk", client=client)
        sparse.fit(arrays[0].map_blocks(csr_array), arrays[1])
    assert set(n_files) == {2}  # the empty partition has none
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert abs(sparse.primal_ - expected.primal_) <= 10.0 * 1e-3


def test_small_results_and_models_stay_in_memory(folder):
    small, model = (np.arange(3), None), {"coef": np.ones(1000)}
    assert store_result(small, folder) is small
    assert store_result(model, folder) is model
    assert load_result(small) is small
    not_picklable = (np.ones(1000), lambda: None)
    assert store_result(not_picklable, folder) is not_picklable


def test_a_folder_that_cannot_be_written_is_named(folder, monkeypatch):
    os.rmdir(folder.path)
    with pytest.raises(OutputError, match=r"temporary files cannot be written to .* Set the environment"):
        store_result(np.ones(1000), folder)


def test_a_fit_from_files_is_the_fit_in_memory(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = X[:, 0] + rng.normal(size=1200) > 1
    chunks = (500, 0, 700)
    arrays = da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=(chunks,))
    with dask.config.set(scheduler="synchronous"):
        expected = DaskSVMPerfClassifier("f1", C=10.0).fit(*arrays)
        monkeypatch.setattr("capo.dask._partitions.MIN_STORED_BYTES", 100)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        found = DaskSVMPerfClassifier("f1", C=10.0).fit(*arrays)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.threshold_ == expected.threshold_
    gc.collect()
    assert os.listdir(tmp_path) == []
