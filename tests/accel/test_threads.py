"""Threads of capo and of libraries, and long vectors that are used again."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from capo._accel import threads


def count_library_threads(user_api):
    return {each["num_threads"] for each in ThreadpoolController().select(user_api=user_api).info()}


@pytest.mark.parametrize("user_api", ["blas", "openmp"])
def test_small_tables_have_one_thread(user_api):
    with threadpool_limits(2):
        with threads.library_threads_for(threads.MIN_DIVIDED_SIZE - 1, find_libraries=True):
            assert count_library_threads(user_api) == {1}
        assert count_library_threads(user_api) == {2}
        with threads.library_threads_for(threads.MIN_DIVIDED_SIZE):
            assert count_library_threads(user_api) == {2}


def test_limits_are_restored_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ValueError, match="stop"), threads.library_threads_for(1):
            raise ValueError("stop")
        assert count_library_threads("blas") == {2}


def test_the_limit_of_blas_lasts_until_the_last_thread_leaves():
    both_inside, one_left = Barrier(2), Barrier(2)

    def leave_first(_):
        with threads.library_threads_for(1):
            both_inside.wait()
        one_left.wait()

    def leave_last(_):
        with threads.single_threaded_blas:
            both_inside.wait()
            one_left.wait()
            return count_library_threads("blas")

    with threadpool_limits(2), ThreadPoolExecutor(2) as pool:
        first, last = pool.submit(leave_first, 0), pool.submit(leave_last, 0)
        first.result()
        assert last.result() == {1}
        assert count_library_threads("blas") == {2}


def test_threads_are_limited_as_those_of_openmp():
    with threadpool_limits(1):
        assert threads.count_threads() == 1
    assert threads.count_threads() >= 1


def test_errors_in_threads_are_raised(use_threads):
    def fail(item):
        raise ValueError(f"item {item}")

    use_threads(2)
    with pytest.raises(ValueError, match="item 0"):
        threads.map_in_threads(fail, [0, 1, 2])


def test_each_item_is_done_once_and_results_are_in_their_order(use_threads):
    use_threads(3)
    done = []

    def square(item):
        done.append(item)
        return item * item

    assert threads.map_in_threads(square, range(200)) == [item * item for item in range(200)]
    assert sorted(done) == list(range(200))


def test_threads_stop_after_an_error(use_threads):
    use_threads(2)
    done = []

    def fail_first(item):
        if item == 0:
            raise ValueError("first")
        time.sleep(0.01)
        done.append(item)

    with pytest.raises(ValueError, match="first"):
        threads.map_in_threads(fail_first, range(1000))
    assert len(done) < 500


# --- vectors that are used again


@pytest.fixture(autouse=True)
def _keep_short_vectors(monkeypatch):
    monkeypatch.setattr(threads, "MIN_LENGTH", 2)


def test_a_vector_without_references_is_used_again():
    pool = threads.VectorPool(4, size=1)
    first = pool.take()
    address = first.ctypes.data
    del first
    assert pool.take().ctypes.data == address


@pytest.mark.parametrize("keep", [lambda vector: vector, lambda vector: vector[1:], lambda vector: [vector]])
def test_a_vector_or_view_that_is_kept_is_not(keep):
    pool = threads.VectorPool(4, size=2)
    vector = pool.take()
    vector[:] = 1.0
    kept = keep(vector)
    del vector
    for _ in range(3):
        pool.take()[:] = 2.0
    assert np.all(np.concatenate([np.ravel(kept)]) == 1.0)


def test_no_more_vectors_are_kept_than_the_size():
    pool = threads.VectorPool(4, size=2)
    taken = [pool.take() for _ in range(5)]
    assert len({vector.ctypes.data for vector in taken}) == 5
    assert len(pool._vectors) == 2


def test_short_vectors_are_not_kept(monkeypatch):
    monkeypatch.setattr(threads, "MIN_LENGTH", 5)
    pool = threads.VectorPool(4, size=2)
    assert pool.take().shape == (4,)
    assert not pool._vectors


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
def test_a_copy_is_an_empty_pool(duplicate):
    pool = threads.VectorPool(4, size=2)
    pool.take()
    other = duplicate(pool)
    assert (other.length, other.size, other._vectors) == (4, 2, [])
