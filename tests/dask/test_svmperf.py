"""The classifier on Dask: the result of the one in memory, whatever the partitions and the scheduler are."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed
from scipy.sparse import csr_array

from capo import SVMPerfClassifier, measures
from capo import load as load_model
from capo import save as save_model
from capo.dask import DaskSVMPerfClassifier
from capo.exceptions import ExhaustiveSearchWarning, InvalidInputError

pytestmark = pytest.mark.usefixtures("synchronous")

C, TOL = 5.0, 2e-3


def make_rows(seed=0, n=400):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    X = rng.normal(size=(n, 3)) + 1.5 * y[:, None] * np.array([1.0, 0.5, 0.0])
    return X, y


def random_chunks(n, rng):
    """Some partitions, with an empty one and one of a single row."""
    ends = np.sort(rng.integers(0, n, 4))
    ends = np.concatenate([[0], ends, [ends[-1]], [n - 1, n]])
    return tuple(np.diff(np.sort(ends)).tolist())


def to_dask(X, *vectors, chunks):
    return da.from_array(X, chunks=(chunks, X.shape[1])), *(
        da.from_array(v, chunks=(chunks,)) for v in vectors
    )


def assert_same_solution(model, local, X):
    """Both are within their gaps of the minimum, which bounds the distance of their scores."""
    assert model.gap_ <= model.C * model.tol
    assert abs(model.primal_ - local.primal_) <= model.C * model.tol
    assert max(model.dual_, local.dual_) <= min(model.primal_, local.primal_)
    reach = np.sqrt(2 * model.gap_) + np.sqrt(2 * local.gap_)
    scores, expected = (m.decision_function(X) + m.threshold_ for m in (model, local))
    bound = reach * np.sqrt((X**2).sum(axis=1) + 1.0) + 1e-9
    assert (np.abs(scores - expected) <= bound).all()
    clear = np.abs(expected - local.threshold_) > bound + abs(model.threshold_ - local.threshold_)
    assert (model.predict(X) == local.predict(X))[clear].all()


#: One of each family; `make test-all` takes the others.
FAMILIES = [
    "accuracy",
    "average_precision",
    "f1",
    "kld",
    "mcc",
    "partial_auc",
    "prbep",
    "roc_auc",
    "tpr_at_fpr",
]


@pytest.mark.parametrize(
    "name",
    [name if name in FAMILIES else pytest.param(name, marks=pytest.mark.slow) for name in measures.names()],
)
def test_every_measure_has_the_solution_in_memory(name, recwarn):
    X, y = make_rows()
    chunks = random_chunks(len(y), np.random.default_rng(len(name)))
    params = {"C": 20.0 if "_at_" in name else C, "tol": TOL}
    local = SVMPerfClassifier(name, **params).fit(X, y)
    model = DaskSVMPerfClassifier(name, **params).fit(*to_dask(X, y, chunks=chunks))
    assert_same_solution(model, local, X)
    assert model.measure_.score(y, model.decision_function(X)) == pytest.approx(model.score(X, y))
    # The same warnings: some measures have the trivial solution.
    assert len(recwarn) % 2 == 0


@pytest.mark.parametrize(
    "function", [lambda tp, fp, fn, tn: 10 * tp - 2 * fp - fn, lambda tp, fp, fn, tn: -np.abs(fn - fp)]
)
@pytest.mark.filterwarnings("ignore::capo.exceptions.TrivialSolutionWarning")
def test_functions_of_the_confusion_matrix(function):
    X, y = make_rows(n=60)
    monotone = function(1, 1, 1, 0) <= function(1, 0, 1, 1)
    fits = []
    for model, rows in (
        (SVMPerfClassifier(function, C=C, tol=TOL), (X, y)),
        (DaskSVMPerfClassifier(function, C=C, tol=TOL), to_dask(X, y, chunks=(20, 40))),
    ):
        if monotone:
            fits.append(model.fit(*rows))
        else:
            with pytest.warns(ExhaustiveSearchWarning, match="confusion matrices"):
                fits.append(model.fit(*rows))
    assert_same_solution(fits[1], fits[0], X)


def test_whole_weights_are_copies_and_others_are_those_in_memory():
    X, y = make_rows(1, n=200)
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 3, len(y))
    repeated = SVMPerfClassifier("f1", C=C).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    model = DaskSVMPerfClassifier("f1", C=C).fit(*to_dask(X, y, copies, chunks=(50, 150)))
    assert_same_solution(model, repeated, X)
    weight = rng.uniform(0.1, 2.0, len(y))
    local = SVMPerfClassifier("roc_auc", C=C).fit(X, y, weight)
    model = DaskSVMPerfClassifier("roc_auc", C=C).fit(*to_dask(X, y, weight, chunks=(50, 150)))
    assert_same_solution(model, local, X)


def test_the_threshold_is_the_best_on_the_training_rows():
    X, y = make_rows(2, n=1500)
    for name in ("f1", "prbep", "balanced_accuracy"):
        model = DaskSVMPerfClassifier(name, C=C).fit(*to_dask(X, y, chunks=(700, 800)))
        scores = X @ model.coef_[0] + model.solution_.v[-1]
        best = model.measure_.threshold(y, scores)
        predicted = scores > model.threshold_
        np.testing.assert_array_equal(predicted, scores > best)


def test_sums_do_not_depend_on_the_order_in_which_partitions_finish():
    X, y = make_rows(3)
    rows = to_dask(X, y, chunks=(40,) * 10)
    model = DaskSVMPerfClassifier("accuracy", C=C).fit(*rows)
    with dask.config.set(scheduler="threads", num_workers=4):
        again = DaskSVMPerfClassifier("accuracy", C=C).fit(*rows)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert model.primal_ == again.primal_
    assert model.threshold_ == again.threshold_


def test_sparse_blocks_single_precision_and_no_intercept():
    X, y = make_rows(4)
    X[np.abs(X) < 0.5] = 0.0
    dense, labels = to_dask(X, y, chunks=(150, 250))
    local = SVMPerfClassifier("accuracy", C=C, fit_intercept=False).fit(X, y)
    sparse = dense.map_blocks(csr_array)
    for rows in (sparse, dense.astype(np.float32)):
        model = DaskSVMPerfClassifier("accuracy", C=C, fit_intercept=False, persist=False).fit(rows, labels)
        assert model.coef_.shape == (1, 3)
        assert_same_solution(model, local, X)


def test_the_local_classifier_predicts_saves_and_pickles_alike(tmp_path):
    X, y = make_rows(5)
    labels = np.where(y, "yes", "no")
    model = DaskSVMPerfClassifier("f1", C=C).fit(*to_dask(X, labels, chunks=(100, 300)))
    model.client = object()
    local = model.to_local()
    assert type(local) is SVMPerfClassifier
    assert local.get_params()["C"] == C
    assert local.gap_ == model.gap_
    np.testing.assert_array_equal(local.predict(X), model.predict(X))
    pytest.importorskip("skops")
    save_model(local, tmp_path / "model.capo")
    np.testing.assert_array_equal(load_model(tmp_path / "model.capo").predict(X), local.predict(X))
    copy = pickle.loads(pickle.dumps(model))
    assert copy.client is None
    np.testing.assert_array_equal(copy.predict(X), local.predict(X))


def test_the_solver_is_the_same_when_stopped():
    X, y = make_rows()
    seen = []
    model = DaskSVMPerfClassifier(C=100.0, callback=lambda state: seen.append(state) or len(seen) == 2)
    model.fit(*to_dask(X, y, chunks=(200, 200)))
    assert model.n_iter_ == 2
    assert model.gap_ == seen[-1].primal + (model.primal_ - seen[-1].primal) - model.dual_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X, y: (X.compute(), y),
            "X must be a dask array, .* or a list of delayed parts: got ndarray",
        ),
        (lambda X, y: (X, y[:300]), "X has 400 rows, y has 300"),
        (lambda X, y: (X, y[da.arange(400, chunks=y.chunks) > 0]), "of X has 100 rows, and that of y has 99"),
        (lambda X, y: (da.where(X > 2.0, np.nan, X), y), "partition . of X: Input X contains NaN"),
        (lambda X, y: (da.where(X > 2.0, 1e101, X), y), "partition . of X: column . of X .counted from 0. "),
        (lambda X, y: (X, da.zeros_like(y)), "only one class"),
        (lambda X, y: (X, da.arange(400, chunks=y.chunks)), "y has 10 or more classes"),
        (lambda X, y: (X, da.where(y, 1.0, np.nan)), "y contains NaN"),
    ],
)
def test_bad_rows_are_refused(change, message):
    X, y = to_dask(*make_rows(), chunks=(100, 200, 100))
    with pytest.raises((InvalidInputError, ValueError), match=message):
        DaskSVMPerfClassifier().fit(*change(X, y))


def parts_of(values, *changes):
    """The halves of an array as delayed parts, each of them changed."""
    middle = len(values) // 2
    halves = values[:middle], values[middle:]
    return [delayed(change(half), traverse=False) for change, half in zip(changes, halves, strict=True)]


def as_is(values):
    return values


@pytest.mark.parametrize(
    ("tables", "labels", "message"),
    [
        ((as_is, lambda X: X[:, :2]), (as_is, as_is), "different columns: 3 without names and 2 without"),
        ((as_is, lambda X: X.astype(str)), (as_is, lambda y: y.astype(str)), "text in some partitions of y"),
        ((as_is, lambda X: np.full(X.shape, "a")), (as_is, as_is), "partition 1 of X: could not .* encode"),
        ((lambda X: X[:0],) * 2, (lambda y: y[:0],) * 2, "X and y have no rows"),
    ],
)
def test_partitions_of_different_kinds_are_refused(tables, labels, message):
    X, y = make_rows()
    with pytest.raises(InvalidInputError, match=message):
        DaskSVMPerfClassifier().fit(parts_of(X, *tables), parts_of(y, *labels))


def test_data_frames_with_columns_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = parts_of(y, as_is, as_is)
    swapped = parts_of(frame, as_is, lambda part: part[["b", "a", "c"]])
    with pytest.raises(InvalidInputError, match="different columns: a, b, c and b, a, c"):
        DaskSVMPerfClassifier(C=C).fit(swapped, labels)


def test_bad_parameters_and_weights_are_refused():
    X, y = to_dask(*make_rows(), chunks=(400,))
    for params, message in (
        ({"C": -1.0}, "C"),
        ({"persist": "memory"}, "persist"),
        (
            {"client": "tcp://host:8786"},
            "client.* must be an instance of .*Client.* or None. Got 'tcp://host:8786'",
        ),
        ({"measure": measures.get("cost", cost_fp=np.ones(400))}, "cost_fp of single rows cannot"),
        ({"measure": measures.get("recall_at_precision", confidence=0.9)}, "confidence"),
    ):
        with pytest.raises(ValueError, match=message):
            DaskSVMPerfClassifier(**params).fit(X, y)
    with pytest.raises(InvalidInputError, match="partition 0 has 400 rows and weights"):
        DaskSVMPerfClassifier().fit(X, y, da.full(400, -1.0, chunks=400))
    with pytest.raises(InvalidInputError, match="weights are 0 for all rows of the class True"):
        DaskSVMPerfClassifier().fit(X, y, da.where(y, 0.0, 1.0))
