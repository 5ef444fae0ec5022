"""The systems of the study, each as a function from a task to its fits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.extmath import safe_sparse_dot

from capo import SVMPerfClassifierCV, measures
from capo.baselines import (
    C45Classifier,
    CoreVectorMachine,
    CostSVMClassifier,
    PublishedCAPOClassifier,
    RBFNetworkClassifier,
)
from capo.engine import CuttingPlane, augment
from capo.estimators import SVMPERF_CS, BaseAdaptedClassifier
from capo.kernels import KernelExpansion, factorize_kernel, make_kernel

from ..data import Table, load_paper
from ..quality.systems import Models, TableScorer, stack
from .published import PUBLISHED
from .store import Fit, Store
from .tasks import AUXILIARIES, CAPO, MEASURES, READINGS, Task
from .weka import initial_centers

#: SVMperf's grid in our units, and the value that stands for its C = 1.
CS, C_ONE = SVMPERF_CS, 100.0
BS = tuple((2.0 ** np.arange(-7, 8)).tolist())
KERNELS = ("rbf", "poly", "laplacian", "inverse_distance", "inverse_squared_distance")
#: Widths of the fifty from which five are selected, in units of the default one.
WIDTHS = tuple((1.5 ** np.arange(-0.5, 4.5, 0.5)).tolist())
#: LibCVM's default width, in units of ours, and the tolerance of our core sets.
CVM_WIDTH, CVM_TOL = 2.0, 3e-4
#: Tolerances among which is the one that gives the paper's own machine: it stopped LibCVM early, with
#: -e 0.001, by other samples of rows than ours.
TOLERANCES = tuple(1e-3 * share for share in (0.2, 0.3, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0))
FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
#: Rank of the kernel in cross-validation and in the figures, and in last fits.
CV_RANK, RANK = 300, 1000
#: Rows on which the cost models are chosen, and steps of their last fit.
COST_ROWS, COST_STEPS = 1500, 200_000
#: Fewer values for a quick look.
QUICK_CS = (CS[1], CS[7], CS[13])


Pairs = list[tuple[str, Any]]


class Problem(NamedTuple):
    """Features of the training rows, what weights of them say of the test rows, and auxiliary columns."""

    phi: Any
    on_test_rows: Callable[[np.ndarray], np.ndarray]
    columns: np.ndarray | None = None
    columns_test: np.ndarray | None = None


class Study:
    """The data, what is trained on it once, and how much of the grids is wanted."""

    def __init__(self, data: Path, cache_folder: Path, *, quick: bool = False) -> None:
        self.data, self.memory, self.quick = data, Memory(cache_folder, verbose=0), quick
        self.Cs = QUICK_CS if quick else CS

    def run(self, task: Task) -> list[Fit]:
        """All fits of a task."""
        table = _load(self.data, task.data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work = {
                "auxiliaries": self._auxiliary,
                "tolerance": self._over_tolerance,
                "performance": self._performance,
                **dict.fromkeys(READINGS, self._other_reading),
                "five": self._five,
                "c": self._over_c,
                "b": self._over_b,
                "rows": self._over_rows,
            }[task.experiment]
            return list(work(task, table))

    def _auxiliary(self, task: Task, table: Table) -> Iterator[Fit]:
        """The figure of one auxiliary by itself, and that of its labels, which are what CAPO is given."""
        model, seconds = self._trained(task, task.system, table)
        labels = np.where(model.predict(table.X_test), 1.0, -1.0)
        by_labels = measures.get(task.measure).score(table.y_test, labels)
        yield Fit(_score(task.measure, model, table), seconds=seconds, raw=by_labels)

    def _trained(self, task: Task, name: str, table: Table) -> tuple[Any, float]:
        """An auxiliary as the paper has it, trained once, and its CPU seconds."""
        return self.memory.cache(_train)(self._auxiliary_of(task, name, table), table.X, table.y)

    def _auxiliary_of(self, task: Task, name: str, table: Table) -> Any:
        """An auxiliary as the paper has it, not trained."""
        if name == "dt":
            return C45Classifier()
        if name == "nn":
            return RBFNetworkClassifier(init=initial_centers)
        gamma = make_kernel("rbf", table.X).gamma
        if task.experiment == "words":
            return _machine("rbf", gamma, 1e-3)
        if task.experiment == "fixed":
            return _machine("rbf", CVM_WIDTH * gamma)
        return self._published_machine(task.data, table, CVM_WIDTH * gamma)

    def _published_machine(self, data: str, table: Table, gamma: float) -> CoreVectorMachine:
        """The machine whose accuracy and F1 by itself are nearest to those that the paper has for its own."""
        theirs = PUBLISHED["auxiliary_raw_performance"][data]

        def distance(machine: CoreVectorMachine) -> float:
            ours = self.memory.cache(_by_itself)(machine, table)
            return sum(abs(ours[name] - theirs[name]["cvm"]) for name in ("accuracy", "f1"))

        return min((_machine("rbf", gamma, tol) for tol in TOLERANCES), key=distance)

    def _over_tolerance(self, task: Task, table: Table) -> Iterator[Fit]:
        gamma = CVM_WIDTH * make_kernel("rbf", table.X).gamma
        for tol in TOLERANCES:
            ours = self.memory.cache(_by_itself)(_machine("rbf", gamma, tol), table)
            yield Fit(ours[task.measure], gamma=gamma, tol=tol)

    def _its_auxiliaries(self, task: Task, table: Table) -> Pairs:
        """The auxiliaries of CAPO with one, or with all three."""
        names = AUXILIARIES if task.system == "capo_star" else (task.system.removeprefix("capo_"),)
        return [(name, self._auxiliary_of(task, name, table)) for name in names]

    def _machines(self, table: Table, factors: tuple[float, ...] = (1.0,)) -> Pairs:
        """Core vector machines with the five kernels, for each factor of the default width."""
        default, train = CVM_WIDTH * make_kernel("rbf", table.X).gamma, self.memory.cache(_train)
        return [
            (
                f"{kernel} {factor:.3g}",
                FrozenEstimator(train(_machine(kernel, factor * default), table.X, table.y)[0]),
            )
            for kernel in KERNELS
            for factor in factors
        ]

    def _performance(self, task: Task, table: Table) -> Iterator[Fit]:
        """One cell of the table of all systems."""
        if task.system in CAPO:
            yield _adapted(self._published_capo(task, self._its_auxiliaries(task, table)), table)
        elif task.system.startswith("svmperf"):
            yield self._svmperf(task, table)
        elif task.system.startswith("svmlight"):
            yield self._svmlight(task, table)
        else:
            yield self._new(task, table)

    def _other_reading(self, task: Task, table: Table) -> Iterator[Fit]:
        """CAPO as published, with other choices where the paper leaves them open."""
        auxiliaries = self._its_auxiliaries(task, table)
        if task.experiment == "frozen":
            auxiliaries = [
                (name, FrozenEstimator(self._trained(task, name, table)[0])) for name, _ in auxiliaries
            ]
        outputs = "scores" if task.experiment == "scores" else "labels"
        model = self._published_capo(task, auxiliaries, outputs=outputs)
        fit = _adapted(model, table)
        yield fit._replace(raw=_score(task.measure, next(iter(model.auxiliaries_.values())), table))

    def _published_capo(self, task: Task, auxiliaries: Pairs, **params: Any) -> PublishedCAPOClassifier:
        """In-sample labels -1/+1, the raw columns as features, no prior, a threshold of 0."""
        settings = {
            "auxiliaries": auxiliaries,
            "delta": FunctionTransformer(accept_sparse=True),
            "C": list(self.Cs),
            "extend_grid": not self.quick,
            "memory": self.memory,
            "random_state": 0,
        }
        return PublishedCAPOClassifier(task.measure, **{**settings, **params})

    def _svmperf(self, task: Task, table: Table) -> Fit:
        linear = task.system == "svmperf_lin"
        model = SVMPerfClassifierCV(
            task.measure,
            Cs=self.Cs,
            kernel="linear" if linear else "rbf",
            extend_grid=not self.quick,
            cv_rank=RANK if task.data == "splice" else CV_RANK,
            max_rank=RANK,
            random_state=0,
        )
        start = time.process_time()
        model.fit(table.X, table.y)
        seconds = time.process_time() - start - model.selection_seconds_
        best = model.best_estimator_.solution_
        return Fit(
            model.score(table.X_test, table.y_test),
            model.C_,
            model.gamma_,
            selection_seconds=model.selection_seconds_,
            seconds=seconds,
            n_iter=best.n_iter,
            oracle_calls=best.n_oracle_calls,
            gap=best.gap / best.C,
        )

    def _svmlight(self, task: Task, table: Table) -> Fit:
        model = CostSVMClassifier(
            task.measure,
            kernel="linear" if task.system == "svmlight_lin" else "rbf",
            Cs=[2.0**-3, 1.0, 2.0**3] if self.quick else None,
            costs=[0.5, 1.0, 4.0] if self.quick else None,
            max_rows=COST_ROWS,
            max_iter=COST_STEPS,
            memory=self.memory,
            random_state=0,
        )
        start = time.process_time()
        model.fit(table.X, table.y)
        return Fit(
            model.score(table.X_test, table.y_test),
            model.C_,
            model.gamma_,
            model.cost_,
            selection_seconds=model.selection_seconds_,
            seconds=time.process_time() - start,
        )

    def _new(self, task: Task, table: Table) -> Fit:
        """What the paper does not have: the default, the non-linear delta, the stack."""
        models = Models(table, 0, self.memory)
        measure = measures.get(task.measure)
        if task.system == "stack":
            start = time.process_time()
            row = stack(TableScorer(task.measure, measure, table), models.outputs)
            return Fit(row.score, seconds=time.process_time() - start)
        model = models.capo(measure)
        if task.system == "capo_rbf_delta":
            model.set_params(delta="rbf")
        return _adapted(model, table)

    def _five(self, task: Task, table: Table) -> Iterator[Fit]:
        """Five core vector machines: with a delta function, without, and selected from fifty."""
        selected = task.system == "capo5_selected"
        models = (
            self._machines(table, WIDTHS[1::4] if self.quick else WIDTHS)
            if selected
            else self._machines(table)
        )
        params: dict[str, Any] = {"memory": None, "max_auxiliaries": 5 if selected else None}
        if task.system == "ensemble":
            params["delta"] = None
        model = self._published_capo(task, models, **params)
        fit = _adapted(model, table)
        own = [_score(task.measure, each, table) for each in model.auxiliaries_.values()]
        yield fit._replace(raw=float(np.mean(own)))

    def _outputs(self, task: Task, table: Table) -> tuple[Any, Any]:
        """The -1/+1 columns of a system's auxiliaries for training and test rows."""
        if task.system == "capo_star":
            models = [self._trained(task, name, table)[0] for name in AUXILIARIES]
        else:
            models = [model for _, model in self._machines(table)[: 1 if task.system == "capo1" else 5]]
        return tuple(
            np.column_stack([np.where(model.predict(X), 1.0, -1.0) for model in models])
            for X in (table.X, table.X_test)
        )

    def _problem(self, task: Task, table: Table) -> Problem:
        """Features and auxiliary columns of the training and the test rows."""
        if task.system == "svmperf_rbf":
            return _kernel_problem(table)
        problem = Problem(table.X, partial(safe_sparse_dot, table.X_test))
        if task.system == "svmperf_lin":
            return problem
        columns, columns_test = self._outputs(task, table)
        return problem._replace(columns=columns, columns_test=columns_test)

    def _over_c(self, task: Task, table: Table) -> Iterator[Fit]:
        problem = self._problem(task, table)
        for C in self.Cs:
            yield _solve(task.measure, table, problem, C, 1.0)

    def _over_b(self, task: Task, table: Table) -> Iterator[Fit]:
        problem = self._problem(task, table)
        Bs = BS if task.system.startswith("capo") else (1.0,)
        for B in Bs[::7] if self.quick else Bs:
            yield _solve(task.measure, table, problem, C_ONE, B)

    def _over_rows(self, task: Task, table: Table) -> Iterator[Fit]:
        for fraction in FRACTIONS[:2] if self.quick else FRACTIONS:
            part = _part(table, fraction)
            problem = self._problem(task, part)
            yield _solve(task.measure, part, problem, C_ONE, 1.0)


@cache
def _load(data: Path, name: str) -> Table:
    return load_paper(data, name)


def _machine(kernel: str, gamma: float, tol: float = CVM_TOL) -> CoreVectorMachine:
    return CoreVectorMachine(kernel, gamma=gamma, tol=tol, random_state=0)


def _train(model: Any, X: Any, y: np.ndarray) -> tuple[Any, float]:
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def _by_itself(model: Any, table: Table) -> dict[str, float]:
    """All measures of a classifier trained on the table."""
    trained, _ = _train(clone(model), table.X, table.y)
    return {measure: _score(measure, trained, table) for measure in MEASURES}


def _score(measure: str, model: Any, table: Table) -> float:
    """The measure of an auxiliary: by its labels, or for rankings by its scores."""
    if measure in ("accuracy", "f1"):
        scores = np.where(model.predict(table.X_test), 1.0, -1.0)
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(table.X_test)
    else:
        scores = model.predict_proba(table.X_test)[:, 1]
    return measures.get(measure).score(table.y_test, scores)


def _adapted(model: BaseAdaptedClassifier, table: Table) -> Fit:
    """A fit of CAPO: seconds of the adaptation, nearly all for the choice of C, and of the auxiliaries."""
    model.fit(table.X, table.y)
    solution = model.solution_
    return Fit(
        model.score(table.X_test, table.y_test),
        model.C_,
        B=model.get_params().get("B", 1.0),
        selection_seconds=model.timings_["adaptation"] + model.timings_["delta"],
        training_seconds=sum(
            taken for name, taken in model.timings_.items() if name.startswith("auxiliary ")
        ),
        n_iter=model.n_iter_,
        oracle_calls=solution.n_oracle_calls if solution else 0,
        gap=model.gap_ / model.C_ if solution else 0.0,
    )


def _kernel_problem(table: Table) -> Problem:
    """Coordinates in the span of some rows."""
    factor = factorize_kernel(make_kernel("rbf", table.X), table.X, RANK, np.random.RandomState(0))

    def on_test_rows(w: np.ndarray) -> np.ndarray:
        return KernelExpansion(factor.kernel, factor.pivots, factor.dual_coef(w))(table.X_test)

    return Problem(factor.rows, on_test_rows)


def _solve(name: str, table: Table, problem: Problem, C: float, B: float) -> Fit:
    """One problem from a cold start."""
    phi, on_test_rows, columns, columns_test = problem
    measure = measures.get(name)
    start = time.process_time()
    solution = CuttingPlane(augment(phi, auxiliary=columns, B=B), measure.oracle(table.y)).solve(C=C)
    seconds = time.process_time() - start
    k = 0 if columns is None else columns.shape[1]
    scores = np.asarray(on_test_rows(solution.v[k:-1])).ravel() + solution.v[-1]
    if columns is not None:
        scores = scores + columns_test @ (solution.v[:k] / np.sqrt(B))
    return Fit(
        measure.score(table.y_test, scores),
        C,
        B=None if columns is None else B,
        rows=len(table.y),
        seconds=seconds,
        n_iter=solution.n_iter,
        oracle_calls=solution.n_oracle_calls,
        gap=solution.gap / C,
    )


def _part(table: Table, fraction: float) -> Table:
    if fraction == 1.0:
        return table
    rows, _ = train_test_split(np.arange(len(table.y)), train_size=fraction, stratify=table.y, random_state=0)
    return table._replace(X=table.X[rows], y=table.y[rows])


def run_batch(data: Path, folder: Path, store: Store, batch: list[Task], quick: bool) -> float:
    """Do some tasks, keep each as soon as it is done, and return the seconds.

    A new process can import this function, unlike those of a package's `__main__`.
    """
    start = time.perf_counter()
    study = Study(data, folder, quick=quick)
    for task in batch:
        store.put(task, study.run(task))
    return time.perf_counter() - start
