"""Models written under other releases of scikit-learn give the outputs that they gave there."""

from pathlib import Path

import numpy as np
import pytest

from . import releases

#: Folders by release, which `make model-files` writes.
FOLDERS = sorted(Path(__file__).with_name("written_by").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_models_of_each_release_give_the_same_outputs(folder):
    results = list(releases.read(folder))
    assert [name for name, _, _ in results] == list(releases.SMALL)
    for _, (scores, labels), (new_scores, new_labels) in results:
        np.testing.assert_allclose(new_scores, scores, rtol=1e-9, atol=1e-9)  # processors round differently
        assert new_labels == labels
