"""``capo fit --cluster``: training on files that workers read."""

import distributed
import polars as pl
import pytest

from capo.io.model_files import open_model

from .cases import FAST, predictions, run, table


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Three files of 500 rows, and rows to predict."""
    place = tmp_path_factory.mktemp("cluster")
    rows = table(2000, seed=0)
    for i in range(3):
        rows[500 * i : 500 * (i + 1)].write_parquet(place / f"part-{i}.parquet")
    rows[1500:].write_csv(place / "test.csv")
    return place


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def test_a_model_of_many_files_predicts_and_says_what_it_was_trained_on(place, address, capsys):
    model = place / "m.capo"
    arguments = ("-t", "y", "--id", "id", *FAST, "--cluster", address, "--sample-size", "400", "-o", model)
    code, out, err = run(capsys, "fit", place / "part-*.parquet", *arguments)
    assert code == 0, err
    assert "DaskCAPOClassifier for f1: 1,500 rows" in out
    assert "the values above are those of a sample of 400 rows" in out
    assert "learned from 1,100 rows" in out
    labels = predictions(run(capsys, "predict", model, place / "test.csv", "-q")[1])["label"]
    actual = pl.read_csv(place / "test.csv")["y"]
    assert (labels == actual).mean() > 0.65
    assert open_model(model).manifest.training["rows"] == 1500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster", "local:no"), "--cluster takes local, local:4 or the address of a scheduler"),
        (("--cluster", "tcp://127.0.0.1:9"), "no Dask scheduler answers at tcp://127.0.0.1:9"),
        (("--cluster", "local", "--group", "word"), "--cluster cannot be combined with --group"),
        (("--cluster", "local", "--cost-fn", "5"), "cannot be combined with --cost-fp, --cost-fn"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(place, arguments, message, capsys, monkeypatch):
    monkeypatch.setattr("capo.cli.commands._cluster_fit.CONNECTION_TIMEOUT", 0.5)
    code, _, err = run(
        capsys, "fit", place / "part-*.parquet", "-t", "y", *FAST, *arguments, "-o", place / "no.capo"
    )
    assert code != 0
    assert message in " ".join(err.split())
    assert not (place / "no.capo").exists()


@pytest.mark.slow
def test_a_cluster_of_processes_is_started_and_closed(place, capsys):
    arguments = ("-t", "y", *FAST, "--cluster", "local:2", "--sample-size", "400", "-o", place / "two.capo")
    code, out, err = run(capsys, "fit", place / "part-*.parquet", *arguments)
    assert code == 0, err
    assert "1,500 rows" in out
