"""Batches in threads: results in order, a bounded number of them, errors in their place."""

import time

import pytest

from capo.cli.rows import map_ahead


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_items(n_threads):
    def slower_first(item):
        time.sleep(0.02 if item == 0 else 0.0)
        return item * item

    assert list(map_ahead(slower_first, range(8), n_threads)) == [item * item for item in range(8)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_few_items_are_taken_ahead(n_threads):
    taken = []

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    for number, _ in enumerate(map_ahead(str, items(), n_threads)):
        assert len(taken) <= number + 1 + n_threads
    assert len(taken) == 20


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_is_raised_in_its_place(n_threads):
    results = map_ahead(lambda item: 1 / (item - 2), range(100), n_threads)
    assert [next(results), next(results)] == [-0.5, -1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)
