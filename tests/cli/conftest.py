import pytest


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Bootstrap intervals from a few resamples; the tests of `inspection` are about their coverage."""
    monkeypatch.setattr("capo.inspection._bootstrap.N_RESAMPLES", 10)


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
    from .cases import fit_model

    return fit_model(folder / "train.csv", folder / "model.capo", "-t", "y", "--id", "id")
