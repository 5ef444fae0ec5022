"""``capo fit --cluster``: training on files that workers read."""

import subprocess
import sys

import distributed
import numpy as np
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


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_the_rows_of_one_file_give_the_model_of_as_many_files(place, address, suffix, capsys):
    frames = [pl.read_parquet(place / f"part-{i}.parquet") for i in range(3)]
    folder = place / suffix
    folder.mkdir()
    for i, frame in enumerate([*frames, pl.concat(frames)]):
        path = folder / (f"file-{i}.{suffix}" if i < 3 else f"all.{suffix}")
        frame.write_parquet(path) if suffix == "parquet" else frame.write_csv(path)
    arguments = ("-t", "y", "--drop", "id", *FAST, "--cluster", address, "--sample-size", "400")
    found = []
    for name, more in (("file-*", ()), ("all", ("--partition-rows", "500"))):
        model = folder / f"{name.strip('-*')}.capo"
        code, out, err = run(capsys, "fit", folder / f"{name}.{suffix}", *arguments, *more, "-o", model)
        assert code == 0, err
        found.append((out, run(capsys, "predict", model, place / "test.csv", "-q")[1]))
    assert "learned from 1,100 rows" in found[0][0]
    assert found[0][1] == found[1][1]


def test_the_row_of_a_wrong_value_is_that_of_the_file(place, address, capsys):
    rows = pl.concat([pl.read_parquet(place / f"part-{i}.parquet") for i in range(3)])
    texts = rows["x"].cast(pl.String).to_list()
    texts[1234] = "much"
    rows.with_columns(x=pl.Series(texts)).write_csv(place / "wrong.csv")
    arguments = ("-t", "y", *FAST, "--cluster", address, "--partition-rows", "500", "-o", place / "no.capo")
    code, _, err = run(capsys, "fit", place / "wrong.csv", *arguments)
    assert code != 0
    assert "row 1,235" in " ".join(err.split())
    assert "Traceback" not in err


#: Fits to each of the files in one process, which prints its peak memory in bytes after each fit.
FIT_AND_PRINT_MEMORY = """
import resource, sys
import distributed
from capo.cli import main

with distributed.LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
    options, paths = sys.argv[1].split(), sys.argv[2:]
    options += ["--cluster", cluster.scheduler_address]
    for path in paths:
        sys.argv = ["capo", "fit", path, *options, "-o", path + ".capo"]
        try:
            main()
        except SystemExit as end:
            assert not end.code
        print("peak", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit or is missing")
def test_a_large_file_is_never_in_memory_as_a_whole(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 40))
    block = pl.DataFrame(X).with_columns(y=pl.Series((X[:, 0] + rng.normal(size=len(X)) > 1).astype(int)))
    paths = [tmp_path / "one-block.parquet", tmp_path / "thirty-blocks.parquet"]
    for path, n_blocks in zip(paths, (1, 30), strict=True):
        rows = pl.concat([block] * n_blocks, rechunk=False)
        rows.write_parquet(path, row_group_size=len(X), compression="uncompressed")
    options = f"-t y {' '.join(FAST)} --sample-size 2000 --partition-rows 12500"
    command = [sys.executable, "-c", FIT_AND_PRINT_MEMORY, options, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "learned from 748,000 rows" in done.stdout
    small, large = (int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("peak"))
    # The client, the scheduler and the worker together.
    assert large - small < 30 * X.nbytes / 4
