"""Without a cluster, partitions are in temporary files during a fit."""

import os

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array

from capo.dask import DaskSVMPerfClassifier
from capo.exceptions import OutputError

pytestmark = pytest.mark.usefixtures("synchronous")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)).round(1)
    y = X[:, 0] + rng.normal(size=1200) > 1
    chunks = (500, 0, 700)
    return da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=(chunks,))


@pytest.mark.parametrize("to_block", [np.asarray, csr_array])
def test_a_fit_from_files_is_the_fit_to_partitions_that_are_computed_again(
    rows, to_block, monkeypatch, tmp_path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, y = rows[0].map_blocks(to_block), rows[1]
    n_files = []

    def count_files(state):
        n_files.append(sum(path.is_file() for path in tmp_path.glob("capo-*/*")))

    expected = DaskSVMPerfClassifier("f1", C=10.0, persist=False, callback=count_files).fit(X, y)
    assert set(n_files) == {0}
    n_files.clear()
    found = DaskSVMPerfClassifier("f1", C=10.0, callback=count_files).fit(X, y)
    assert set(n_files) == {3}
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.threshold_ == expected.threshold_
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_written_are_an_error_that_names_their_folder(rows, monkeypatch):
    def fail(value, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("joblib.dump", fail)
    message = r"temporary files cannot be written to .*No space left on device. Set the environment variable"
    with pytest.raises(OutputError, match=message):
        DaskSVMPerfClassifier().fit(*rows)
