import pytest


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """A folder with tables."""
    from .cases import table  # needs optional packages

    path = tmp_path_factory.mktemp("cli")
    table().write_csv(path / "train.csv")
    table(80, seed=1).write_csv(path / "test.csv")
    return path


@pytest.fixture(scope="package")
def model(folder):
    """A model of the table."""
    from .cases import FAST, exit_code

    path = folder / "model.capo"
    assert exit_code("fit", folder / "train.csv", "-t", "y", "--id", "id", *FAST, "-o", path) == 0
    return path
