"""An estimator that holds others by name: their parameters, what they are told, how they are drawn."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from .._sklearn_compat import VisualBlock
from ..auxiliary import name_auxiliaries
from ..exceptions import InvalidInputError


class AuxiliaryMetaEstimatorMixin(BaseEstimator):
    """What scikit-learn asks of an estimator with parameters `auxiliaries`, `delta` and `cv`."""

    auxiliaries: Any
    delta: Any
    cv: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, with `deep` those of the auxiliaries under their names."""
        params = super().get_params(deep=deep)
        if deep and isinstance(self.auxiliaries, list | tuple):
            for name, estimator in self._inner():
                params[name] = estimator
                if hasattr(estimator, "get_params"):
                    inner = estimator.get_params(deep=True)
                    params.update((f"{name}__{key}", value) for key, value in inner.items())
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the auxiliaries under their names."""
        if "auxiliaries" in params:
            self.auxiliaries = params.pop("auxiliaries")
        if set(params) - set(super().get_params(deep=True)):
            pairs = self._inner()
            if any(name in params for name, _ in pairs):
                self.auxiliaries = [(name, params.pop(name, estimator)) for name, estimator in pairs]
        return super().set_params(**params)

    def _inner(self) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, none if `fit` would refuse them."""
        try:
            return self._named()
        except InvalidInputError:
            return []

    def _named(self) -> list[tuple[str, Any]]:
        """The auxiliaries that the user gave, under their names."""
        if not isinstance(self.auxiliaries, list | tuple):
            return []
        return name_auxiliaries(self.auxiliaries, {*self._get_param_names(), "splitter", "method_mapping"})

    def get_metadata_routing(self) -> MetadataRouter:
        """Who may be told what: this estimator, each auxiliary's `fit`, the splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        fit = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in self._named():
            router.add(**{name: estimator}, method_mapping=fit)
        splitter = self.cv if hasattr(self.cv, "get_n_splits") else StratifiedKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _sk_visual_block_(self) -> VisualBlock:
        pairs = self._inner() or [("auto", "auto")]
        names, estimators = zip(*pairs, strict=True)
        auxiliaries = VisualBlock("parallel", estimators, names=names, dash_wrapped=False)
        delta = self.delta if self.delta is not None else "passthrough"
        phi = VisualBlock("parallel", [delta], names=["delta"], dash_wrapped=False)
        return VisualBlock("serial", (auxiliaries, phi), dash_wrapped=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inner = [get_tags(each).input_tags for _, each in self._inner() if isinstance(each, BaseEstimator)]
        tags.input_tags.sparse = all(each.sparse for each in inner)
        tags.input_tags.allow_nan = all(each.allow_nan for each in inner)
        return tags
