import pytest

from .cases import FAST, exit_code, table


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """A folder with tables."""
    path = tmp_path_factory.mktemp("cli")
    table().write_csv(path / "train.csv")
    table(80, seed=1).write_csv(path / "test.csv")
    return path


@pytest.fixture(scope="package")
def model(folder):
    """A model of the table."""
    path = folder / "model.capo"
    assert exit_code("fit", folder / "train.csv", "-t", "y", "--id", "id", *FAST, "-o", path) == 0
    return path
