import pytest


@pytest.fixture
def synchronous():
    """All tasks run in this thread."""
    import dask  # an optional package

    with dask.config.set(scheduler="synchronous"):
        yield
