"""Threads of libraries: limited for small tables, and restored for everyone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from capo._accel.threads import MIN_DIVIDED_SIZE, library_threads_for, single_threaded_blas


def count_library_threads(user_api):
    return {each["num_threads"] for each in ThreadpoolController().select(user_api=user_api).info()}


@pytest.mark.parametrize("user_api", ["blas", "openmp"])
def test_small_tables_have_one_thread(user_api):
    with threadpool_limits(2):
        with library_threads_for(MIN_DIVIDED_SIZE - 1, find_libraries=True):
            assert count_library_threads(user_api) == {1}
        assert count_library_threads(user_api) == {2}
        with library_threads_for(MIN_DIVIDED_SIZE):
            assert count_library_threads(user_api) == {2}


def test_limits_are_restored_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ValueError, match="stop"), library_threads_for(1):
            raise ValueError("stop")
        assert count_library_threads("blas") == {2}


def test_the_limit_of_blas_lasts_until_the_last_thread_leaves():
    both_inside, one_left = Barrier(2), Barrier(2)

    def leave_first(_):
        with library_threads_for(1):
            both_inside.wait()
        one_left.wait()

    def leave_last(_):
        with single_threaded_blas():
            both_inside.wait()
            one_left.wait()
            return count_library_threads("blas")

    with threadpool_limits(2), ThreadPoolExecutor(2) as pool:
        first, last = pool.submit(leave_first, 0), pool.submit(leave_last, 0)
        first.result()
        assert last.result() == {1}
        assert count_library_threads("blas") == {2}
