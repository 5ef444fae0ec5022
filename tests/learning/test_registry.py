"""The documentation of the auxiliaries that can be given by name."""

import re
from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.pipeline import Pipeline

from capo.exceptions import MissingExtraError
from capo.learning.auxiliaries import AUXILIARY_SETS, auxiliary_names, make_auxiliaries
from capo.tables.schema import infer_schema

PAGE = Path(__file__).parents[2] / "docs" / "guide.md"
NAMES = [name for name in auxiliary_names() if name not in AUXILIARY_SETS]


def test_the_page_lists_every_name():
    section = PAGE.read_text().partition("### Auxiliaries by name")[2]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_documented_estimator_is_the_one_that_is_made(name):
    X = np.zeros((10, 3))
    X = csr_matrix(X) if name == "latent" else X
    try:
        ((_, model),) = make_auxiliaries(name, X, infer_schema(X))
    except MissingExtraError:
        pytest.skip("not installed")
    last = model[-1] if isinstance(model, Pipeline) else model
    (line,) = re.findall(rf"^\| `{name}` \| `(\w+)\(([^)]*)\)`", PAGE.read_text(), re.MULTILINE)
    assert line[0] == type(last).__name__
    for param in filter(None, re.split(r", ", line[1])):
        key, _, value = param.rpartition("=")
        found = (
            last.get_params()[key]
            if key
            else next(
                last.get_params()[each]
                for each in ("n_estimators", "n_neighbors")
                if each in last.get_params()
            )
        )
        assert found == literal_eval(value)
    assert re.search(rf"- {name}: `[\w.]+\.{type(last).__name__}`", auxiliary_names.__doc__)
