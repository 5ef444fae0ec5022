"""Fixtures that make small problems use what only large ones use."""

import pytest


@pytest.fixture
def small_tasks(monkeypatch):
    """Divide computations over rows into tasks of a few thousand rows."""
    monkeypatch.setattr("capo.engine._designs.TASK_SIZE", 10_000)
    monkeypatch.setattr("capo.engine._line_search.MAX_UNDIVIDED", 1000)
    monkeypatch.setattr("capo.engine._line_search.BLOCK_LENGTH", 3000)
    monkeypatch.setattr("capo.measures._binned.TASK_ROWS", 3000)
    monkeypatch.setattr("capo.measures._binned.MIN_TASK_ROWS_PER_BIN", 0)
    monkeypatch.setattr("capo.measures._linear.TASK_ROWS", 3000)


@pytest.fixture
def use_threads(monkeypatch):
    """Return a function that sets the number of threads."""

    def use(n_threads):
        monkeypatch.setattr("capo._accel.threads.count_threads", lambda: n_threads)

    return use
