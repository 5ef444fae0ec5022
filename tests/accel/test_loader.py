"""When compiled kernels are used, and that a fit never depends on them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from capo._accel import loader
from capo.exceptions import CapoWarning


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """Forget what was loaded, and what the environment says."""
    monkeypatch.delenv("CAPO_NUMBA", raising=False)
    cached = loader._import_kernels, loader._warn_once
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


def test_large_problems_are_compiled():
    pytest.importorskip("numba")
    kernels = loader.load_kernels(loader.MIN_STEPS)
    kernels.take(np.array([10.0, 20.0]), np.array([1, 0], np.int32), np.empty(0), out := np.empty(2))
    assert out.tolist() == [20.0, 10.0]


def test_a_kernel_takes_write_protected_arrays_but_no_other_types():
    pytest.importorskip("numba")
    take = loader.load_kernels(loader.MIN_STEPS).take
    table, slots = np.array([1.0, 2.0]), np.array([1, 1], np.int32)
    table.flags.writeable = False
    take(table, slots, table, out := np.empty(2))
    assert out.tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="No matching definition"):
        take(table.astype(np.float32), slots, table, out)


def test_small_problems_are_not_compiled():
    pytest.importorskip("numba")
    assert loader.load_kernels(loader.MIN_STEPS - 1) is None


def test_small_problems_do_not_import_numba():
    code = (
        "import sys; from capo._accel import loader\n"
        "assert loader.load_kernels(1) is None and 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("value", ["0", " 0", "false", "OFF", "no"])
def test_the_switch_turns_kernels_off(monkeypatch, value):
    monkeypatch.setenv("CAPO_NUMBA", value)
    assert loader.load_kernels(loader.MIN_STEPS) is None


def test_kernels_are_not_run_in_python(monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert loader.load_kernels(loader.MIN_STEPS) is None


def test_a_numba_that_cannot_be_found_out_about_is_not_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", type(sys)("numba"))  # it has no __spec__
    with pytest.warns(CapoWarning, match="__spec__"):
        assert loader.load_kernels(loader.MIN_STEPS) is None


def test_small_problems_do_not_report_a_broken_numba(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(loader, "_import_kernels", lambda: (None, "broken"))
    with warnings.catch_warnings(action="error"):
        assert loader.load_kernels(1) is None


def test_numpy_is_used_without_numba(monkeypatch):
    monkeypatch.setattr(loader, "find_spec", lambda name: None)
    with warnings.catch_warnings(action="error"):
        assert loader.load_kernels(loader.MIN_STEPS) is None


@pytest.mark.parametrize(
    "error",
    [
        ImportError("Numba needs NumPy 2.3 or less"),
        OSError("Could not find/load shared object file 'libllvmlite.so'"),
        RuntimeError("cannot cache function 'dot': no locator available"),
    ],
)
def test_a_broken_numba_is_reported_once_and_numpy_is_used(monkeypatch, error):
    def fail(name):
        raise error

    monkeypatch.setattr(loader, "find_spec", lambda name: True)
    monkeypatch.setattr(loader, "import_module", fail)
    with pytest.warns(CapoWarning, match="NumPy is used") as found:
        assert [loader.load_kernels(loader.MIN_STEPS) for _ in range(3)] == [None] * 3
    assert len(found) == 1
    assert str(error) in str(found[0].message)


def test_a_cache_that_cannot_be_written_is_reported(tmp_path, monkeypatch):
    """Numba finds no folder for its cache; without one it would compile in every process."""
    pytest.importorskip("numba")
    code = (
        "import sys, warnings\n"
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from capo._accel import loader\n"
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    assert loader.load_kernels(1e12) is None\n"
        "assert 'NUMBA_CACHE_DIR' in str(found[0].message), found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
