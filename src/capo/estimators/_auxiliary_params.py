"""What estimators with auxiliaries share: nested parameters, metadata routing, the auxiliaries' outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import VisualBlock, routing_enabled
from .._typing import FloatArray
from ..auxiliary import (
    AUXILIARY_SETS,
    Auxiliary,
    CrossFitResult,
    RawOutput,
    bind_sample_weight,
    name_auxiliaries,
    predict_block,
    resolve_auxiliaries,
    set_random_states,
)
from ..exceptions import AuxiliaryError, InvalidInputError
from ..model_selection import normalize_weights
from ..preprocessing import (
    DemandedKind,
    FeatureSchema,
    check_features,
    describe_mismatch,
    infer_schema,
    is_dataframe,
)
from ._base import TableInputMixin
from ._progress import StepTimer


class AuxiliaryMetaEstimatorMixin(TableInputMixin, BaseEstimator):
    """Parameters, metadata routing, outputs, tags and diagram of an estimator with `auxiliaries`."""

    auxiliaries: Any
    delta: Any
    cv: Any
    #: Not a parameter of all estimators.
    column_kinds: Mapping[str, DemandedKind] | None = None
    auxiliaries_: dict[str, Any]
    delta_: Any
    schema_: FeatureSchema
    classes_: NDArray[Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of the auxiliaries under their names."""
        params = super().get_params(deep=deep)
        if deep and isinstance(self.auxiliaries, list | tuple):
            for name, estimator in self._slots():
                params[name] = estimator
                if hasattr(estimator, "get_params"):
                    inner = estimator.get_params(deep=True)
                    params.update((f"{name}__{key}", value) for key, value in inner.items())
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the auxiliaries under their names."""
        if "auxiliaries" in params:
            self.auxiliaries = params.pop("auxiliaries")
        if any(name in params for name, _ in self._slots()):
            self.auxiliaries = [
                (name, params.pop(name, estimator)) for name, estimator in self._named_auxiliaries()
            ]
        return super().set_params(**params)

    def _slots(self) -> list[tuple[str, Any]]:
        """The auxiliaries that are parameters: all but sets of them; none if `fit` would refuse them."""
        try:
            pairs = self._named_auxiliaries()
        except InvalidInputError:
            return []
        return [(name, estimator) for name, estimator in pairs if name not in AUXILIARY_SETS]

    def _inner_estimators(self) -> list[tuple[str, Any]]:
        """The user's own estimators under their names."""
        return [(name, estimator) for name, estimator in self._slots() if not isinstance(estimator, str)]

    def _named_auxiliaries(self) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, registered names in the place of their estimators."""
        if not isinstance(self.auxiliaries, list | tuple):
            return []
        return name_auxiliaries(self.auxiliaries, {*self._get_param_names(), "splitter", "method_mapping"})

    def _auxiliaries_for(self, X: Any) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, names of sets among them."""
        auxiliaries = self.auxiliaries
        return [(auxiliaries,) * 2] if isinstance(auxiliaries, str) else self._named_auxiliaries()

    def _bind_auxiliaries(
        self,
        X: Any,
        weight: FloatArray | None,
        random: np.random.RandomState | None,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> tuple[list[Auxiliary], dict[str, Any]]:
        """Return the auxiliaries with the parameters of their `fit`, and the parameters of the splitter.

        The weights of the built-in ones have a mean of 1: their penalties and samples are meant for that.
        """
        self.schema_ = infer_schema(X, self.column_kinds if is_dataframe(X) else None)
        resolved = resolve_auxiliaries(self._auxiliaries_for(X), X, self.schema_)
        pairs = [(name, set_random_states(estimator, random)) for name, estimator in resolved]
        own = {name for name, _ in self._inner_estimators()}
        normalized = None if weight is None else normalize_weights(len(weight), weight)
        if not routing_enabled():
            unknown = sorted(set(params) - {"groups"})
            if unknown:
                raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}; it takes groups.")
            weights = [weight if name in own else normalized for name, _ in pairs]
            return [
                bind_sample_weight(*pair, each) for pair, each in zip(pairs, weights, strict=True)
            ], params
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        bound = [
            Auxiliary(name, estimator, dict(routed[name].fit))
            if name in own
            else bind_sample_weight(name, estimator, normalized)
            for name, estimator in pairs
        ]
        return bound, routed.splitter.split

    @property
    @abstractmethod
    def _raw_output(self) -> RawOutput:
        """What is taken of a fitted auxiliary."""

    @property
    def _auxiliary_labels(self) -> NDArray[Any]:
        """The user's labels in the order of the labels 0, 1, ... that auxiliaries are trained on."""
        return self.classes_

    def _store_models(
        self, auxiliaries: Sequence[Auxiliary], fitted: CrossFitResult, timer: StepTimer
    ) -> list[str]:
        """Store the trained auxiliaries, their outputs and the times; return their names."""
        names = [each.name for each in auxiliaries]
        self.auxiliaries_ = dict(zip(names, fitted.models, strict=True))
        self.auxiliary_outputs_ = fitted.raw_outputs
        self.timings_ = timer.with_auxiliaries(names, fitted)
        return names

    def auxiliary_outputs(self, X: Any) -> FloatArray:
        """Return the raw output of each auxiliary for each row, before calibration.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_auxiliaries), or (n_samples, n_auxiliaries, n_classes)
            Log-odds, log-probabilities or margins, in the order of `auxiliaries_`; with many classes or
            labels, one for each, in the order of `classes_`.
        """
        check_is_fitted(self, "auxiliaries_")
        X = self._check_X(X, reset=False)
        return np.stack(list(self._raw_outputs(self.auxiliaries_, X).values()), axis=1)

    def _raw_outputs(self, names: Iterable[str], X: Any) -> dict[str, FloatArray]:
        """Return the raw outputs of some auxiliaries; an error names the auxiliary."""
        models = {name: self.auxiliaries_[name] for name in names}
        return predict_block(
            models, X, self._raw_output, self._auxiliary_labels, lambda name: self._name_errors(name, X)
        )

    @contextmanager
    def _name_errors(self, name: str, X: Any) -> Iterator[None]:
        """Raise errors of an auxiliary with its name."""
        try:
            yield
        except Exception as error:
            self._raise_mismatch(X, error)
            raise AuxiliaryError(
                f"the auxiliary {name!r} failed to predict: {type(error).__name__}: {error}"
            ) from error

    def _transform_delta(self, X: Any) -> Any:
        """Return the features of the delta function."""
        try:
            return check_features(self.delta_.transform(X))
        except Exception as error:
            self._raise_mismatch(X, error)
            raise

    def _raise_mismatch(self, X: Any, error: Exception) -> None:
        """Raise a clear error if X differs from the training table."""
        if message := describe_mismatch(X, self.schema_):
            raise InvalidInputError(message) from error

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator, each auxiliary's `fit` and the splitter request."""
        # By name: scikit-learn 1.7 copies its owner, which may hold a generator of folds.
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        fit = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in self._named_auxiliaries():
            if not isinstance(estimator, str):
                router.add(**{name: estimator}, method_mapping=fit)
        splitter = self.cv if hasattr(self.cv, "get_n_splits") else StratifiedGroupKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _auxiliaries_block(self) -> VisualBlock:
        """The auxiliaries side by side in the estimator's diagram."""
        try:
            pairs = self._auxiliaries_for(None)
        except InvalidInputError:
            pairs = [("auto", "auto")]
        names, estimators = zip(*pairs, strict=True)
        return VisualBlock("parallel", estimators, names=names, dash_wrapped=False)

    def _sk_visual_block_(self) -> VisualBlock:
        delta = self.delta if self.delta is not None else "passthrough"
        phi = VisualBlock("parallel", [delta], names=["delta"], dash_wrapped=False)
        return VisualBlock("serial", (self._auxiliaries_block(), phi), dash_wrapped=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [
            get_tags(each).input_tags
            for _, each in self._inner_estimators()
            if isinstance(each, BaseEstimator)
        ]
        tags.input_tags.sparse = all(each.sparse for each in inner)
        tags.input_tags.allow_nan = all(each.allow_nan for each in inner)
        return tags
