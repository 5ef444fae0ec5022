"""A long vector is used again only when nobody refers to it."""

import copy
import pickle

import numpy as np
import pytest

from capo._accel import threads as _buffers
from capo._accel.threads import VectorPool


@pytest.fixture(autouse=True)
def _pool_short_vectors(monkeypatch):
    monkeypatch.setattr(_buffers, "MIN_LENGTH", 2)


def test_a_vector_without_references_is_used_again():
    pool = VectorPool(4, size=1)
    first = pool.take()
    address = first.ctypes.data
    del first
    assert pool.take().ctypes.data == address


@pytest.mark.parametrize("keep", [lambda vector: vector, lambda vector: vector[1:], lambda vector: [vector]])
def test_a_vector_or_view_that_is_kept_is_not(keep):
    pool = VectorPool(4, size=2)
    vector = pool.take()
    vector[:] = 1.0
    kept = keep(vector)
    del vector
    for _ in range(3):
        pool.take()[:] = 2.0
    assert np.all(np.concatenate([np.ravel(kept)]) == 1.0)


def test_no_more_vectors_are_kept_than_the_size():
    pool = VectorPool(4, size=2)
    taken = [pool.take() for _ in range(5)]
    assert len({vector.ctypes.data for vector in taken}) == 5
    assert len(pool._vectors) == 2


def test_short_vectors_are_not_kept(monkeypatch):
    monkeypatch.setattr(_buffers, "MIN_LENGTH", 5)
    pool = VectorPool(4, size=2)
    assert pool.take().shape == (4,)
    assert not pool._vectors


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
def test_a_copy_is_an_empty_pool(duplicate):
    pool = VectorPool(4, size=2)
    pool.take()
    other = duplicate(pool)
    assert (other.length, other.size, other._vectors) == (4, 2, [])
