"""The models of all labels, from raw outputs of the auxiliaries."""

import numpy as np
import pytest

from capo.learning.labels import LabelData, fit_label_models
from capo.measures import multilabel


@pytest.mark.parametrize("seed", [5, 21, 22, 29, 37, 38])
def test_a_label_of_noise_does_not_spoil_the_others(seed):
    """Its stack is constant in some folds and not in others."""
    rng = np.random.default_rng(seed)
    signal, folds = rng.normal(size=100), np.arange(100) % 5
    positive = np.column_stack((signal + 0.5 * rng.normal(size=100) > 0, rng.random(100) < 0.4))
    raw = np.column_stack((signal, rng.normal(size=100)))[:, None]
    fitted = fit_label_models(
        multilabel.get("f1_micro"), LabelData(raw, None, positive, None, folds), 0.0, 1e-3
    )
    assert np.abs(fitted["oof_log_odds_"]).max() < 15
    log_odds = fitted["label_models_"][0].combination.log_odds(raw[:, :, 0].T, None)
    assert np.corrcoef(log_odds, signal)[0, 1] > 0.9
