"""The demo prints what it promises."""

import contextlib
import io
import re
import time

import numpy as np
import pytest

from capo.cli import model as commands
from capo.inspection import METHODS


@pytest.fixture(scope="module")
def text():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        commands.demo()
    return out.getvalue()


@pytest.fixture(scope="module")
def adapted_service():
    """The second part on its own, and the CPU seconds that it took."""
    start = time.process_time()
    return commands.adapt_service(), time.process_time() - start


@pytest.mark.slow
def test_the_table_has_a_line_for_each_measure(text):
    for name in commands.DEMO_MEASURES:
        line = next(line for line in text.splitlines() if line.startswith(name))
        scores = [float(each) for each in re.findall(r"0\.\d{4}", line)]
        assert len(scores) == len(METHODS)
        assert scores[-1] >= scores[0] - 0.01
    assert "CAPOClassifier for f1" in text


@pytest.mark.slow
def test_the_parts_are_in_order(text, adapted_service):
    assert text.index("measure  ") < text.index(adapted_service[0]) < text.index("capo compare table.csv")


def test_the_adapted_service_is_fast(adapted_service):
    assert adapted_service[1] < 30


def test_the_values_are_those_of_the_splits(adapted_service):
    lines = re.findall(r"^(\S.*?) +(0\.\d{4})((?: +0\.\d{4})+)$", adapted_service[0], re.MULTILINE)
    found = {name: [float(each) for each in splits.split()] for name, _, splits in lines}
    again = commands.compare_with_service(1)
    assert list(found) == list(again)
    for name, mean, _ in lines:
        assert len(found[name]) == commands.N_SERVICE_SPLITS
        assert float(mean) == pytest.approx(np.mean(found[name]), abs=1e-4)
        assert found[name][1] == pytest.approx(again[name], abs=1e-4)


def test_the_service_matters(adapted_service):
    means = dict(re.findall(r"^(\S.*?) +(0\.\d{4})(?: +0\.\d{4})+$", adapted_service[0], re.MULTILINE))
    assert float(means["capo"]) > float(means["capo with a coin instead of the service"]) + 0.03


def test_the_service_sees_the_left_half_only():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, size=(200, 64)).astype(float)
    service = commands.train_service(X, X[:, 0] > 8)
    changed = X.reshape(-1, 8, 8).copy()
    changed[:, :, 4:] = 0
    np.testing.assert_array_equal(service.predict(X), service.predict(changed.reshape(-1, 64)))
    assert np.mean(service.predict(X) == (X[:, 0] > 8)) > 0.8
