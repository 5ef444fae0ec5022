"""``--cluster``: workers read the files to train, predict and evaluate."""

import json
import signal
import socketserver
import subprocess
import sys
import threading
import time

import distributed
import numpy as np
import polars as pl
import pytest

from capo.io.model_file import open_model

from .cases import FAST, exit_code, predictions, run, table


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
    assert open_model(model)[1].training["rows"] == 1500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster", "local:no"), "--cluster takes local, local:4 or the address of a scheduler"),
        (("--cluster", "tcp://127.0.0.1:9"), "no Dask scheduler answers at tcp://127.0.0.1:9"),
        (("--cluster", "nonsense"), "no Dask scheduler answers at nonsense: missing port number"),
        (("--cluster", "tls://127.0.0.1:9"), "no Dask scheduler answers at tls://127.0.0.1:9: "),
        (("--cluster", "local", "--group", "word"), "--cluster cannot be combined with --group"),
        (("--cluster", "local", "--cost-fn", "5"), "cannot be combined with --cost-fp, --cost-fn"),
        (("--out-of-core", "maybe"), "--out-of-core must be auto, yes or no"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(place, arguments, message, capsys, monkeypatch):
    monkeypatch.setattr("capo.cli.inputs.CONNECTION_TIMEOUT", 0.5)
    code, _, err = run(
        capsys, "fit", place / "part-*.parquet", "-t", "y", *FAST, *arguments, "-o", place / "no.capo"
    )
    assert code != 0
    assert message in " ".join(err.split())
    assert not (place / "no.capo").exists()


def test_an_address_of_something_else_is_refused(place, capsys):
    with socketserver.TCPServer(("127.0.0.1", 0), Greeter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        code, _, err = run(
            capsys,
            "fit",
            place / "part-*.parquet",
            "-t",
            "y",
            *FAST,
            "--cluster",
            address,
            "-o",
            place / "no",
        )
        server.shutdown()
    assert code == 2
    message = f"no Dask scheduler answers at {address}: the server at this address is not a Dask scheduler."
    assert message in " ".join(err.split())


def test_a_scheduler_without_workers_is_waited_for(place, capsys):
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(1, **options) as cluster:
        cluster.scale(0)
        while cluster.scheduler.workers:
            time.sleep(0.1)

        def start_worker():
            while not cluster.scheduler.tasks:
                time.sleep(0.1)
            cluster.scale(1)

        thread = threading.Thread(target=start_worker)
        thread.start()
        arguments = ("-t", "y", *FAST, "--cluster", cluster.scheduler_address, "--sample-size", "400")
        code, _, err = run(capsys, "fit", place / "part-0.parquet", *arguments, "-o", place / "late.capo")
        thread.join()
    assert code == 0, err
    assert "has no workers yet: waiting for them." in " ".join(err.split())


@pytest.mark.slow
def test_an_interrupted_command_says_so_and_nothing_else(place):
    with distributed.LocalCluster(
        1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0", silence_logs=50
    ) as cluster:
        cluster.scale(0)
        while cluster.scheduler.workers:
            time.sleep(0.1)
        options = ["-t", "y", *FAST, "--cluster", cluster.scheduler_address, "-o", str(place / "no.capo")]
        command = [sys.executable, "-m", "capo", "fit", str(place / "part-0.parquet"), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not cluster.scheduler.tasks:  # which wait for workers
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "interrupted: no output file was changed." in err
    assert "Traceback" not in err
    assert not (place / "no.capo").exists()


class Greeter(socketserver.BaseRequestHandler):
    """Sends the first line of a web server."""

    def handle(self):
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.slow
def test_a_cluster_of_processes_is_started_and_closed(place, capsys):
    arguments = ("-t", "y", *FAST, "--cluster", "local:2", "--sample-size", "400", "-o", place / "two.capo")
    code, out, err = run(capsys, "fit", place / "part-*.parquet", *arguments)
    assert code == 0, err
    assert "1,500 rows" in out


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def model(place):
    """A model of the first file."""
    path = place / "local.capo"
    assert exit_code("fit", place / "part-0.parquet", "-t", "y", "--id", "id", *FAST, "-o", path, "-q") == 0
    return path


@pytest.fixture(scope="module")
def folder(place):
    """The three files, an empty one, and one that is no table."""
    folder = place / "folder"
    folder.mkdir()
    for i in range(3):
        pl.read_parquet(place / f"part-{i}.parquet").write_parquet(folder / f"part-{i}.parquet")
    pl.read_parquet(place / "part-0.parquet")[:0].write_parquet(folder / "part-1-empty.parquet")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_workers_predict_in_the_order_of_the_rows(model, folder, address, ending, capsys):
    here, there = folder / f"here.{ending}.out.{ending}", folder / f"there.out.{ending}"
    arguments = ("predict", model, folder / "part-*.parquet", "--json")
    expected = run(capsys, *arguments, "-o", here)
    found = run(capsys, *arguments, "--cluster", address, "--partition-rows", "130", "-o", there)
    assert (expected[0], found[0]) == (0, 0), found[2]
    assert here.read_bytes() == there.read_bytes()
    assert expected[1] == found[1]  # what differs from the training rows
    rows = pl.read_csv(there) if ending == "csv" else pl.read_parquet(there)
    assert rows["id"].to_list() == list(range(1500))


def test_workers_evaluate_all_rows(model, folder, address, capsys):
    arguments = ("evaluate", model, folder / "part-*.parquet", "--all", "--json")
    expected, found = (json.loads(run(capsys, *arguments, *more)[1]) for more in ((), ("--cluster", address)))
    assert found["rows"] == 1500
    assert found["confusion"] == expected["confusion"]
    assert found["max_error"] < 1e-9  # bins of single rows
    for one, other in zip(expected["measures"], found["measures"], strict=True):
        assert one["name"] == other["name"]
        assert abs(one["value"] - other["value"]) <= found["max_error"] + 1e-12


@pytest.mark.parametrize("command", ["predict", "evaluate", "fit"])
def test_a_part_that_cannot_be_used_is_named_and_nothing_is_written(
    model, place, address, command, capsys, tmp_path
):
    rows = pl.read_parquet(place / "part-0.parquet")
    for name, damaged in (("lacks", rows.drop("x")), ("text", rows.with_columns(x=pl.lit("much")))):
        folder = tmp_path / name
        folder.mkdir()
        rows.write_parquet(folder / "part-0.parquet")
        damaged.write_parquet(folder / "part-1.parquet")
    (tmp_path / "broken").mkdir()
    rows.write_parquet(tmp_path / "broken" / "part-0.parquet")
    (tmp_path / "broken" / "part-1.parquet").write_bytes(b"PAR1 and no more")
    output = tmp_path / ("out.capo" if command == "fit" else "out.csv")
    for name in ("lacks", "text", "broken"):
        options = {
            "predict": (model, tmp_path / name, "-o", output),
            "evaluate": (model, tmp_path / name),
            "fit": (tmp_path / name, "-t", "y", *FAST, "-o", output),
        }[command]
        code, _, err = run(capsys, command, *options, "--cluster", address)
        assert code == 2
        assert "part-1.parquet" in err
        assert not output.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "z"), "trained without --weight"),
        (("--cost-fn", "5", "--cost-fp", "z"), "models of two classes without prices"),
    ],
)
def test_models_that_workers_cannot_evaluate_are_refused(place, address, options, message, capsys, tmp_path):
    table = tmp_path / "t.csv"
    rows = pl.read_parquet(place / "part-0.parquet")
    rows.with_columns(z=pl.col("z").abs()).write_csv(table)
    assert exit_code("fit", table, "-t", "y", *FAST, *options, "-o", tmp_path / "m.capo", "-q") == 0
    code, _, err = run(capsys, "evaluate", tmp_path / "m.capo", table, "--cluster", address)
    assert code == 2
    assert message in " ".join(err.split())


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_table_in_parts_gives_the_model_of_a_cluster(place, address, jobs, capsys):
    arguments = ("fit", place / "part-*.parquet", "-t", "y", "--id", "id", *FAST, "--sample-size", "400")
    found = []
    for name, more in (("cluster", ("--cluster", address)), ("here", ("--out-of-core", "yes", "-j", jobs))):
        model = place / f"{name}-{jobs}.capo"
        code, out, err = run(capsys, *arguments, *more, "-o", model)
        assert code == 0, err
        assert "learned from 1,100 rows" in out
        found.append(run(capsys, "predict", model, place / "test.csv", "-q")[1])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "note", "title"),
    [
        ((), "read in parts, and the auxiliaries are trained on a sample of 300 rows", "DaskCAPOClassifier"),
        (("--out-of-core", "no"), "", "CAPOClassifier"),
        (("--group", "word"), "cannot be read in parts because of --group", "CAPOClassifier"),
    ],
)
def test_a_table_that_is_too_large_for_the_memory_is_read_in_parts(
    place, options, note, title, capsys, monkeypatch
):
    monkeypatch.setattr("capo.cli.training_data.MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr("capo.cli.training_data.available_memory", lambda: 100_000)
    arguments = ("-t", "y", "--drop", "id", *FAST, "--sample-size", "300", "-o", place / "auto.capo")
    code, out, err = run(capsys, "fit", place / "part-0.parquet", *arguments, *options)
    assert code == 0, err
    assert note in " ".join(err.split())
    assert ("GB are available" in err) == bool(note)
    assert out.startswith(title)


def test_the_memory_suffices_for_a_small_table(place, capsys, monkeypatch):
    monkeypatch.setattr("capo.cli.training_data.MIN_CHECKED_BYTES", 0)
    arguments = ("-t", "y", "--drop", "id", *FAST, "-o", place / "small.capo")
    code, out, err = run(capsys, "fit", place / "part-0.parquet", *arguments)
    assert code == 0
    assert "available" not in err
    assert out.startswith("CAPOClassifier")


#: Fits to a small file, limits the memory to what that took and some more, and fits to a large file.
FIT_WITH_LIMITED_MEMORY = """
import re, resource, sys
from pathlib import Path
from capo.cli import main

def fit(path, *more):
    sys.argv = ["capo", "fit", path, *options, *more, "-o", path + ".capo"]
    try:
        main()
    except SystemExit as end:
        assert not end.code

mode, limit, small, large, *options = sys.argv[1:]
fit(small, "--out-of-core", "yes")
used = 1024 * int(re.search(r"VmData:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_DATA, (used + int(limit),) * 2)
fit(large, "--out-of-core", mode)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA limits all memory on Linux only")
def test_a_table_of_four_times_the_memory_is_fitted(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 40))
    block = pl.DataFrame(X).with_columns(y=pl.Series((X[:, 0] + rng.normal(size=len(X)) > 1).astype(int)))
    paths = [tmp_path / "one-block.parquet", tmp_path / "forty-blocks.parquet"]
    for path, n_blocks in zip(paths, (1, 40), strict=True):
        rows = pl.concat([block] * n_blocks, rechunk=False)
        rows.write_parquet(path, row_group_size=12_500, compression="uncompressed")
    limit = 40 * X.nbytes // 4
    options = ("-t", "y", *FAST, "--sample-size", "2000", "--partition-rows", "12500")
    fits = {}
    for mode in ("yes", "no"):
        arguments = (mode, str(limit), *map(str, paths), *options)
        command = [sys.executable, "-c", FIT_WITH_LIMITED_MEMORY, *arguments]
        fits[mode] = subprocess.run(command, capture_output=True, text=True, check=False)
    assert fits["yes"].returncode == 0, fits["yes"].stderr
    assert "learned from 998,000 rows" in fits["yes"].stdout
    assert fits["no"].returncode != 0  # the limit is one


@pytest.mark.slow
def test_parts_that_are_sorted_by_the_label_can_be_used(place, capsys, tmp_path):
    table = tmp_path / "sorted.csv"
    rows = pl.concat([pl.read_parquet(place / f"part-{i}.parquet") for i in range(3)]).sort("y")
    rows.write_csv(table)
    parts = ("--out-of-core", "yes", "--sample-size", "400", "--partition-rows", "150")
    arguments = ("fit", table, "-t", "y", "--drop", "id", *FAST, *parts, "-o", tmp_path / "m.capo")
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    assert "learned from 1,100 rows" in out
    rows.filter(pl.col("y") == "no").write_csv(table)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert "the target 'y' is 'no' in every row" in err
