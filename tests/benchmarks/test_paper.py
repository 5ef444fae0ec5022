"""The paper's study on made-up data: files in LIBSVM's format, tasks, resumption, the page."""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_classification

from benchmarks.data import fingerprint, load_paper
from benchmarks.paper import __main__ as command
from benchmarks.paper.frames import published
from benchmarks.paper.page import write_page
from benchmarks.paper.published import PUBLISHED
from benchmarks.paper.store import HEADER, Fit, Store
from benchmarks.paper.systems import Study
from benchmarks.paper.tasks import BASELINES, CAPO, EXPERIMENTS, MEASURES, NEW, READINGS, Task, tasks


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a small splice, in LIBSVM's format."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "paper").mkdir()
    X, y = make_classification(400, 10, n_informative=5, flip_y=0.1, random_state=0)
    y = np.where(y == 1, 1, -1)
    dump_svmlight_file(X[:200], y[:200], str(folder / "paper" / "splice"))
    dump_svmlight_file(X[200:], y[200:], str(folder / "paper" / "splice.t"))
    return folder


def test_files_in_libsvms_format_are_read(data):
    table = load_paper(data, "splice")
    assert table.X.shape == table.X_test.shape == (200, 10)
    assert not sparse.issparse(table.X)
    assert table.y.dtype == bool
    assert 0 < table.y.sum() < 200


def test_digits_become_two_classes_and_reuters_stays_sparse(tmp_path):
    (tmp_path / "paper").mkdir()
    X = np.eye(10)
    for part in ("", ".t"):
        dump_svmlight_file(X, np.arange(1, 11), str(tmp_path / "paper" / f"usps{part}"))
        dump_svmlight_file(X, np.repeat((-1, 1), 5), str(tmp_path / "paper" / f"reuters{part}"))
    assert load_paper(tmp_path, "usps").y.tolist() == [False] * 5 + [True] * 5
    assert sparse.issparse(load_paper(tmp_path, "reuters").X)


def test_what_is_not_there_is_said_with_where_to_get_it(tmp_path):
    with pytest.raises(SystemExit, match=r"(?s)splice.*LIBSVM"):
        load_paper(tmp_path, "splice")
    (tmp_path / "paper").mkdir()
    for part in ("", ".t"):
        (tmp_path / "paper" / f"splice{part}").write_text("not numbers\n")
    with pytest.raises(SystemExit, match=r"Cannot read .*splice"):
        load_paper(tmp_path, "splice")


def test_the_tasks_are_those_of_the_paper():
    every = list(tasks(set(EXPERIMENTS), set(PUBLISHED["data"])))
    performance = [task for task in every if task.experiment == "performance"]
    assert len(performance) == 5 * 4 * len(CAPO + BASELINES + NEW)
    assert len(set(every)) == len(every)
    assert published("performance")[[*CAPO, *BASELINES]].isna().sum().sum() == 35


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_page_is_written_from_a_part_of_the_study(tmp_path, experiment):
    lines = [[*task, *Fit(0.8, 100.0, B=1.0, rows=100, selection_seconds=1.0, seconds=1.0, n_iter=3, raw=0.7)]
             for task in tasks({experiment}, {"usps", "ijcnn1"})]  # fmt: skip
    with (tmp_path / "fits.csv").open("w", newline="") as out:
        csv.writer(out).writerows([HEADER, *lines])
    assert "## In one minute" in write_page(tmp_path / "fits.csv", tmp_path).read_text()


def test_other_results_stay_when_a_part_is_run_again(tmp_path):
    one, other = Task("c", "usps", "capo1", "f1"), Task("c", "usps", "capo1", "prbep")
    first, second = Store(tmp_path / "first"), Store(tmp_path / "second")
    first.put(one, [Fit(0.5), Fit(0.6)])
    first.gather(tmp_path / "fits.csv", [one, other])
    second.put(other, [Fit(0.7)])
    second.gather(tmp_path / "fits.csv", [one, other])
    rows = pd.read_csv(tmp_path / "fits.csv")
    assert rows["score"].tolist() == [0.5, 0.6, 0.7]


def test_results_of_another_form_are_read_by_name(tmp_path):
    task, file = Task("c", "usps", "capo1", "f1"), tmp_path / "fits.csv"
    file.write_text(
        "experiment,data,system,measure,score,n_iter,C,forgotten\nc,usps,capo1,f1,0.5,7,100.0,x\n"
    )
    Store(tmp_path / "done").gather(file, [task])
    rows = pd.read_csv(file)
    assert tuple(rows.columns) == HEADER
    assert rows.loc[0, ["score", "n_iter", "C"]].tolist() == [0.5, 7, 100.0]


def test_another_table_of_the_same_name_is_another_task(data, tmp_path):
    task = Task("auxiliaries", "splice", "dt", "f1")
    Store(tmp_path, {"splice": fingerprint(data, "splice")}).put(task, [Fit(0.5)])
    assert task not in Store(tmp_path, {"splice": "another"})


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
@pytest.mark.parametrize(
    ("experiment", "system"),
    [
        ("auxiliaries", "cvm"),
        ("auxiliaries", "nn"),
        ("tolerance", "cvm"),
        ("performance", "capo_star"),
        *((reading, "capo_cvm") for reading in READINGS),
        ("performance", "svmperf_rbf"),
        ("performance", "svmlight_lin"),
        ("five", "ensemble"),
        ("five", "capo5_selected"),
        ("c", "svmperf_rbf"),
        ("b", "capo5"),
        ("rows", "capo1"),
    ],
)
def test_every_kind_of_task_gives_sensible_fits(data, tmp_path, experiment, system, measure):
    fits = Study(data, tmp_path, quick=True).run(Task(experiment, "splice", system, measure))
    assert fits
    assert all(0.5 < fit.score <= 1.0 for fit in fits)
    assert all(fit.gap is None or fit.gap <= 1.1e-3 for fit in fits)
    if experiment == "five":
        assert fits[0].raw > 0.5
    if experiment == "rows":
        assert [fit.rows for fit in fits] == sorted({fit.rows for fit in fits})


@pytest.mark.parametrize(
    ("shown", "experiments"), [("table2", {"auxiliaries", "performance"}), ("figure4", {"b"})]
)
def test_tables_and_figures_are_asked_for_by_name(data, tmp_path, monkeypatch, shown, experiments):
    asked = []
    monkeypatch.setattr(command, "run_all", lambda data, cache, wanted, **_: asked.extend(wanted) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        command.main(["--data", str(data), "--cache", str(tmp_path), "--only", shown])
    assert {task.experiment for task in asked} == experiments


def test_what_no_data_set_has_is_told(data, tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(
            ["--data", str(data), "--cache", str(tmp_path), "--only", "figure5", "--data-set", "splice"]
        )
    assert "figure5 is of ijcnn1" in capsys.readouterr().err


def test_a_stopped_run_goes_on_where_it_was(data, tmp_path, capsys):
    wanted = list(tasks({"auxiliaries"}, {"splice"}))
    store = Store(tmp_path / "done", {"splice": fingerprint(data, "splice")})
    store.put(wanted[0], [Fit(0.123)])
    command.run_all(data, tmp_path, wanted, jobs=1, quick=True)
    assert f"{len(wanted) - 1} of {len(wanted)} tasks to do" in capsys.readouterr().err
    store.gather(tmp_path / "fits.csv", wanted)
    rows = pd.read_csv(tmp_path / "fits.csv")
    assert len(rows) == len(wanted) == 12
    assert rows["score"][0] == 0.123  # kept, not done twice
    command.run_all(data, tmp_path, wanted, jobs=1, quick=True)
    assert "0 of 12 tasks to do" in capsys.readouterr().err
    assert not list(tmp_path.glob("**/*.part"))


def test_a_task_is_there_wholly_or_not_at_all(tmp_path, monkeypatch):
    store, task = Store(tmp_path), Task("c", "usps", "capo1", "f1")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        store.put(task, [Fit(0.5)])
    assert task not in store


def test_tasks_that_share_auxiliaries_are_done_by_one_process():
    wanted = list(tasks({"performance", "five"}, {"splice", "ijcnn1"}))
    batches = command.batches(wanted)
    assert sorted(task for batch in batches for task in batch) == sorted(wanted)
    new = [batch for batch in batches if batch[0].system in NEW]
    assert all(len(batch) == len(NEW) * len(MEASURES) for batch in new)
    assert batches[0][0].data == "ijcnn1"


@pytest.mark.slow
def test_the_page_is_written_from_any_fits(tmp_path):
    """Made-up fits for one data set: the tables hold ours and the paper's figures."""
    rng = np.random.default_rng(0)
    lines = []
    for task in tasks(set(EXPERIMENTS), {"usps", "ijcnn1"}):
        steps = (78.125, 100.0, 12800.0) if task.experiment in ("c", "b", "rows") else (100.0,)
        for number, C in enumerate(steps):
            fit = Fit(float(rng.uniform(0.6, 0.9)), C, B=C, rows=100 * (number + 1), selection_seconds=1.0)
            times = {"seconds": 0.1 * (number + 1), "n_iter": 10}
            fit = fit._replace(**times, gap=0.01, raw=0.7, tol=1e-3 * (number + 1))
            lines.append([*task, *fit])
    fits = tmp_path / "fits.csv"
    with fits.open("w", newline="") as out:
        csv.writer(out).writerows([HEADER, *lines])
    text = write_page(fits, tmp_path).read_text()
    assert "| adaptation improves on the auxiliary |" in text
    assert "/ 0.8473 |" in text  # CAPO dt, F1 on ijcnn1, in the paper
    assert "/ n/a |" in text
    for name in ("iterations", "over_c", "over_b", "rows", "selection"):
        assert (tmp_path / "paper" / f"{name}.svg").stat().st_size < 300_000
        assert f"paper/{name}.svg" in text
