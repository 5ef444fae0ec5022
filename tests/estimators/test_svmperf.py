"""SVMPerfClassifier as its users meet it."""

import logging
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import SVMPerfClassifier, measures, svmperf_path
from capo.engine import ChunkedDesign, as_design
from capo.exceptions import InterruptedFitWarning, InvalidInputError, TrivialSolutionWarning
from capo.measures import Measure

pd = pytest.importorskip("pandas")
X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
RARE = make_classification(
    2000, n_features=10, n_informative=6, weights=[0.95], class_sep=0.7, flip_y=0.01, random_state=0
)


@parametrize_with_checks(
    [SVMPerfClassifier(), SVMPerfClassifier("accuracy"), SVMPerfClassifier("mcc", C=10.0)]
)
@pytest.mark.filterwarnings("ignore::capo.exceptions.TrivialSolutionWarning")  # some train on noise
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", [*measures.names(), "own"])
def test_every_measure_can_be_trained_for(name):
    measure = (lambda tp, fp, fn, tn: 5 * tp - fp) if name == "own" else name
    model = SVMPerfClassifier(measure, C=100.0).fit(X, Y)
    assert isinstance(model.measure_, Measure)
    assert model.gap_ <= 100.0 * 1e-3
    assert model.primal_ - model.dual_ == pytest.approx(model.gap_)
    assert model.n_iter_ == model.solution_.n_iter == len(model.solution_.history)
    assert np.mean(model.predict(X) == Y) > (0.4 if name.endswith("_at_k") else 0.9)
    assert model.score(X, Y) == pytest.approx(model.measure_.score(Y, model.decision_function(X)))


def test_training_for_f1_beats_the_default_learner_on_a_rare_class():
    X, y = RARE
    default = f1_score(y, LogisticRegression().fit(X, y).predict(X))
    tuned = f1_score(y, SVMPerfClassifier("f1", C=1000.0).fit(X, y).predict(X))
    assert tuned > default + 0.05


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("prbep", {}, Y.sum()),
        ("roc_auc", {}, Y.sum()),
        ("average_precision", {}, Y.sum()),
        ("precision_at_k", {"k": 40}, 40),
        ("recall_at_k", {"k": 0.25}, round(0.25 * len(Y))),
    ],
)
def test_predictions_have_the_number_of_positives_that_fits_the_measure(name, params, expected):
    model = SVMPerfClassifier(measures.get(name, **params), C=100.0).fit(X, Y)
    assert model.predict(X).sum() == expected
    raw = X @ model.coef_[0] + model.intercept_[0] + model.threshold_
    np.testing.assert_allclose(raw, X @ model.solution_.v[:-1] + model.solution_.v[-1])


def test_predictions_keep_the_floor():
    model = SVMPerfClassifier(measures.get("recall_at_precision", floor=0.99), C=1000.0).fit(X, Y)
    predicted = model.predict(X) == 1
    assert (Y[predicted] == 1).mean() >= 0.99
    assert predicted.sum() > 0.8 * Y.sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_kinds_of_input_give_the_same_model(fit_intercept):
    reference = SVMPerfClassifier(C=100.0, fit_intercept=fit_intercept).fit(X, Y)
    for kind in (np.asfortranarray, sparse.csr_array, sparse.csc_matrix):
        model = SVMPerfClassifier(C=100.0, fit_intercept=fit_intercept).fit(kind(X), Y)
        np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-9)
    small = SVMPerfClassifier(C=100.0, fit_intercept=fit_intercept).fit(X.astype(np.float32), Y)
    assert small.dual_ <= reference.primal_ * (1 + 1e-6)
    assert reference.dual_ <= small.primal_ * (1 + 1e-6)
    assert (reference.intercept_[0] + reference.threshold_ == 0) is not fit_intercept


def test_a_frame_gives_the_same_model():
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(30)])
    model, reference = (SVMPerfClassifier(C=100.0).fit(each, Y) for each in (frame, X))
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-9)
    assert model.feature_names_in_.tolist() == list(frame.columns)


def test_labels_of_any_kind():
    names = np.where(Y == 1, "benign", "malignant")
    model = SVMPerfClassifier("f1", C=100.0).fit(X, names)
    assert list(model.classes_) == ["benign", "malignant"]
    assert set(model.predict(X)) == {"benign", "malignant"}
    assert model.score(X, names) == pytest.approx(f1_score(names, model.predict(X), pos_label="malignant"))


def test_weights_of_whole_numbers_are_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 4, len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    for name in ("f1", "roc_auc", "average_precision"):
        weighted = SVMPerfClassifier(name, C=50.0, tol=1e-5).fit(X, Y, sample_weight=counts)
        repeated = SVMPerfClassifier(name, C=50.0, tol=1e-5).fit(X[rows], Y[rows])
        assert weighted.dual_ <= repeated.primal_ + 1e-9
        assert repeated.dual_ <= weighted.primal_ + 1e-9


def test_inside_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), SVMPerfClassifier("f1"))
    search = GridSearchCV(pipeline, {"svmperfclassifier__C": [1.0, 100.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.95  # the measure itself, by the estimator's own score
    assert cross_val_score(SVMPerfClassifier("roc_auc", C=10.0), X, Y, cv=3).min() > 0.98
    model = SVMPerfClassifier(measures.get("fbeta", beta=2), C=10.0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).measure == model.measure
    assert "fbeta(beta=2)" in repr(model)


def test_same_input_same_model():
    one, other = (SVMPerfClassifier("f1", C=100.0).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_a_fit_that_stops_short_says_so_with_its_numbers():
    with pytest.warns(
        ConvergenceWarning, match=r"limit on iterations was reached.* gap .* after 2 iterations"
    ) as caught:
        model = SVMPerfClassifier(C=1e4, max_iter=2).fit(X, Y)
    assert caught[0].filename == __file__
    assert "Raise max_iter or tol" in str(caught[0].message)
    assert model.gap_ > 1e4 * 1e-3
    assert np.isfinite(model.coef_).all()


def test_ctrl_c_keeps_the_best_solution():
    def interrupt(state):
        if state.number == 4:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning, match="interrupted from the keyboard"):
        model = SVMPerfClassifier(C=1e4, callback=interrupt).fit(X, Y)
    assert model.predict(X).any()
    assert model.gap_ > 0


def test_an_optimum_of_zero_is_not_silent():
    with pytest.warns(TrivialSolutionWarning, match="all rows get the same score"):
        SVMPerfClassifier("f1", C=10.0).fit(np.zeros((20, 2)), [0, 1] * 10)


@pytest.mark.parametrize("name", ["f1", "roc_auc", "prbep", "average_precision", "partial_auc"])
def test_constant_features_are_not_an_error(name):
    with pytest.warns(TrivialSolutionWarning):
        SVMPerfClassifier(name, fit_intercept=False).fit(np.zeros((6, 2)), [0, 1] * 3)
    with pytest.warns(TrivialSolutionWarning):
        SVMPerfClassifier(name).fit(np.ones((6, 1)), [0, 1] * 3)


def test_scoring_with_labels_it_was_not_trained_on():
    model = SVMPerfClassifier(C=10.0).fit(X, np.where(Y, "yes", "no"))
    with pytest.raises(InvalidInputError, match=r"label 'No', which .* 'no', 'yes'"):
        model.score(X, np.where(Y, "Yes", "No"))


@pytest.mark.slow
def test_verbose_writes_without_any_setting_up():
    script = (
        "from sklearn.datasets import load_iris; from capo import SVMPerfClassifier;"
        "X, y = load_iris(return_X_y=True); SVMPerfClassifier(C=10.0, verbose=2).fit(X, y == 1)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "iteration 1: primal" in done.stderr


def test_progress_goes_to_the_current_standard_error_and_leaves_no_handler(capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a session without pytest
    logger = logging.getLogger("capo")
    for _ in range(2):
        SVMPerfClassifier(C=10.0, verbose=2).fit(X, Y)
        assert capsys.readouterr().err.count("iteration 1: primal") == 1
    assert logger.handlers == []
    assert logger.level == logging.NOTSET


def test_a_tiny_C_still_tells_the_rows_apart():
    model = SVMPerfClassifier("prbep", C=1e-3).fit(X, Y)
    assert model.coef_.any()
    assert model.score(X, Y) > 0.9


def test_progress_is_logged_when_asked_for(caplog):
    with caplog.at_level(logging.INFO, logger="capo"):
        SVMPerfClassifier(C=100.0).fit(X, Y)
        assert not caplog.records
        SVMPerfClassifier(C=100.0, verbose=2).fit(X, Y)
    assert "iteration 1: primal" in caplog.text


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.where(np.arange(60).reshape(20, 3) == 7, np.nan, 1.0), [0, 1] * 10, "NaN"),
        (np.where(np.arange(60).reshape(20, 3) == 7, np.inf, 1.0), [0, 1] * 10, "infinity"),
        (np.ones((20, 3)), [1] * 20, "y has only one class, 1"),
        (np.ones((20, 3)), [0, 1, 2, 3] * 5, "Only binary classification is supported: y has 4 classes"),
        (np.ones((20, 3)), np.linspace(0, 1, 20), "Unknown label type"),
        (np.ones((0, 3)), [], "0 sample"),
        (np.ones((20, 0)), [0, 1] * 10, "0 feature"),
        (np.ones((20, 3)), [0, 1] * 9, "inconsistent numbers of samples"),
        (np.ones(20), [0, 1] * 10, "Expected 2D array"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        SVMPerfClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "The 'C' parameter"),
        ({"C": -1.0}, "The 'C' parameter"),
        ({"tol": 0}, "The 'tol' parameter"),
        ({"max_iter": 0}, "The 'max_iter' parameter"),
        ({"measure": "f11"}, "Did you mean 'f1'"),
        ({"measure": 3}, "The 'measure' parameter"),
        (
            {"measure": measures.get("precision_at_k", k=100_000)},
            "k=100000 is larger than the number of rows",
        ),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        SVMPerfClassifier(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(len(Y)), "must not be negative"),
        (np.zeros(len(Y)), "zero"),
        (Y.astype(float), "only one class: no negative row with a weight above 0"),
        (np.ones(3), "sample_weight"),
        (np.full(len(Y), np.nan), "NaN"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        SVMPerfClassifier().fit(X, Y, sample_weight=weight)


def test_path_is_the_solutions_one_by_one():
    Cs = [1.0, 10.0, 100.0]
    path = svmperf_path(X, Y, measure="f1", Cs=Cs, tol=1e-4)
    for C, solution in zip(Cs, path, strict=True):
        model = SVMPerfClassifier("f1", C=C, tol=1e-4).fit(X, Y)
        assert max(model.dual_, solution.dual) <= min(model.primal_, solution.primal)
    with pytest.raises(InvalidInputError, match="C must be a finite number above 0"):
        svmperf_path(X, Y, measure="f1", Cs=[1.0, -1.0])
    with pytest.warns(ConvergenceWarning, match="limit on iterations"):
        svmperf_path(X, Y, measure="f1", Cs=[1e4], max_iter=1)
    with pytest.raises(ValueError, match="The 'max_iter' parameter"):
        svmperf_path(X, Y, measure="f1", Cs=[1.0], max_iter=-3)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit on memory is Linux's")
def test_out_of_core(tmp_path):
    """A table four times the memory that the process may take, with the same solution as in memory."""
    n, d, limit = 800_000, 80, 120 * 2**20
    file = tmp_path / "table.npy"
    table = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(n, d))
    rng = np.random.default_rng(0)
    w = rng.normal(size=d)
    y = np.empty(n, dtype=bool)
    for start in range(0, n, 20_000):
        block = rng.normal(size=(20_000, d))
        table[start : start + 20_000] = block
        y[start : start + 20_000] = block @ w + 5 * rng.normal(size=20_000) > 12
    table.flush()
    assert table.nbytes >= 4 * limit
    np.save(tmp_path / "y.npy", y)
    script = textwrap.dedent(
        f"""
        import resource, numpy as np
        from capo import SVMPerfClassifier
        X = np.load({str(file)!r}, mmap_mode="r")
        y = np.load({str(tmp_path / "y.npy")!r})
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        used = int(status["VmData"].split()[0]) * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (used + {limit}, used + {limit}))
        try:
            np.ones(X.shape)
        except MemoryError:
            model = SVMPerfClassifier("f1", C=10.0, tol=0.01).fit(X, y)
            print(model.primal_, model.dual_)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    primal, dual = map(float, done.stdout.split())
    inside = SVMPerfClassifier("f1", C=10.0, tol=0.01).fit(np.asarray(table), y)
    assert primal - dual <= 10.0 * 0.01
    assert max(dual, inside.dual_) <= min(primal, inside.primal_)


def in_blocks(X):
    return ChunkedDesign(lambda: (X[i : i + 100] for i in range(0, len(X), 100)), X.shape)


DESIGNS = {"operator": aslinearoperator, "design": as_design, "blocks": in_blocks}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", DESIGNS.values(), ids=DESIGNS)
def test_designs_and_operators_give_the_same_model_as_the_array(kind, fit_intercept):
    reference = SVMPerfClassifier(C=100.0, fit_intercept=fit_intercept).fit(X, Y)
    model = SVMPerfClassifier(C=100.0, fit_intercept=fit_intercept).fit(kind(X), Y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-9)
    assert max(model.dual_, reference.dual_) <= min(model.primal_, reference.primal_)
    assert model.n_features_in_ == X.shape[1]
    assert not hasattr(model, "feature_names_in_")
    for rows in (X, kind(X)):
        np.testing.assert_allclose(model.decision_function(rows), reference.decision_function(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(kind(X[:150])), model.predict(X[:150]))
    assert model.score(kind(X), Y) == model.score(X, Y)


def test_designs_with_weights_are_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 4, len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    weighted = SVMPerfClassifier(C=50.0, tol=1e-5).fit(aslinearoperator(X), Y, sample_weight=counts)
    repeated = SVMPerfClassifier(C=50.0, tol=1e-5).fit(X[rows], Y[rows])
    assert max(weighted.dual_, repeated.dual_) <= min(weighted.primal_, repeated.primal_) + 1e-9


@pytest.mark.parametrize("kind", DESIGNS.values(), ids=DESIGNS)
def test_path_of_a_design(kind):
    Cs = [1.0, 100.0]
    for solution, reference in zip(svmperf_path(kind(X), Y, Cs=Cs), svmperf_path(X, Y, Cs=Cs), strict=True):
        np.testing.assert_allclose(solution.v, reference.v, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (
            lambda model: model.set_params(kernel="rbf").fit(in_blocks(X), Y),
            "kernel='rbf' needs the rows of X, and X is a ChunkedDesign, .* Use kernel='linear'",
        ),
        (lambda model: model.fit(in_blocks(X), Y[:100]), r"inconsistent numbers of samples: \[569, 100\]"),
        (lambda model: model.fit(in_blocks(X), Y, np.ones(3)), "sample_weight"),
        (lambda model: model.fit(in_blocks(X), np.where(Y, np.nan, 1.0)), "NaN"),
        (lambda model: model.fit(in_blocks(X), Y[:, None] * [1, 1]), "1d array"),
        (lambda model: model.fit(in_blocks(X), np.ones(len(Y))), "only one class"),
        (
            lambda model: model.fit(as_design(X[:, :0]), Y),
            r"got DenseDesign of shape \(569, 0\)",
        ),
        (lambda model: model.fit(as_design(X * np.where(X > 2, np.nan, 1)), Y), "returned NaN or infinity"),
        (lambda model: model.fit(aslinearoperator(X * 1j), Y), "must be a real matrix"),
        (
            lambda model: model.fit(LinearOperator(X.shape, matvec=lambda v: X @ v), Y),
            "does not implement rmatvec",
        ),
        (
            lambda model: model.fit(X, Y).predict(in_blocks(X[:, :5])),
            "X has 5 features, but SVMPerfClassifier is expecting 30",
        ),
        (
            lambda model: model.set_params(kernel="rbf").fit(X, Y).predict(in_blocks(X)),
            "kernel='rbf' needs the rows of X",
        ),
    ],
)
def test_bad_designs(fit, message):
    with pytest.raises(ValueError, match=message):
        fit(SVMPerfClassifier())


def fails_at_iteration_2(state):
    if state.number == 2:
        raise RuntimeError("the callback failed")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("params", "X", "y", "weight", "error"),
    [
        ({}, X[:, :4], Y, -np.ones(len(Y)), "must not be negative"),
        ({}, X[:, :4], np.ones(len(Y)), None, "only one class"),
        ({}, X[:, :4], Y[:9], None, "inconsistent numbers"),
        ({}, X[:, :4] * 1j, Y, None, "Complex"),
        ({"measure": "f11"}, X[:, :4], Y, None, "Did you mean"),
        (
            {"measure": measures.get("precision_at_k", k=10**6)},
            X[:, :4],
            Y,
            None,
            "is larger than the number",
        ),
        (
            {"callback": fails_at_iteration_2, "C": 1e4},
            pd.DataFrame(X[:, :4]).add_prefix("x"),
            Y,
            None,
            "callback",
        ),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, X[:, :4], Y, None, "kernel"),
    ],
)
def test_a_refit_that_fails_leaves_the_fitted_model(kernel, params, X, y, weight, error):
    table = pd.DataFrame(scale(load_breast_cancer().data)).add_prefix("feature")
    model = SVMPerfClassifier("prbep", kernel=kernel, C=10.0)
    model.fit(table, np.where(Y, "yes", "no"))
    before, scores = dict(vars(model)), model.decision_function(table)
    with pytest.raises((ValueError, RuntimeError), match=error):
        model.set_params(**params).fit(X, y, sample_weight=weight)
    model.set_params(**{name: before[name] for name in params})
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.decision_function(table), scores)


def test_a_refit_keeps_nothing_of_the_earlier_fit():
    table = pd.DataFrame(X).add_prefix("feature")
    model = SVMPerfClassifier(kernel="rbf", C=10.0).fit(table, Y)
    assert {"feature_names_in_", "dual_coef_", "kernel_residual_"} <= vars(model).keys()
    model.set_params(kernel="linear").fit(X, Y)
    assert vars(model).keys() == vars(SVMPerfClassifier().fit(X, Y)).keys()


def test_nothing_warns_on_ordinary_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVMPerfClassifier().fit(X, Y).predict(X)
