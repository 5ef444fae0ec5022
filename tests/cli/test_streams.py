"""Standard streams that are closed, full, or no longer read."""

import shutil
import subprocess
import sys

import pytest

import capo

from .cases import FAST

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with redirections")


def run_in_shell(redirection, *arguments):
    """Run a command with a redirection; its exit code, and what it writes nevertheless."""
    script = f'set -o pipefail; "$@" {redirection}'
    words = [sys.executable, "-m", "capo", *map(str, arguments)]
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirection",
    [
        "<&- >&- 2>&-",
        "2>&1 >/dev/null | head -c 0",
        "2>/dev/full",
    ],
)
def test_a_fit_without_its_streams_writes_the_model(redirection, folder, tmp_path):
    path = tmp_path / "m.capo"
    code, _ = run_in_shell(redirection, "fit", folder / "train.csv", "-t", "y", *FAST, "-o", path)
    assert code == 0
    assert capo.load(path).measure_.name == "f1"
    assert [each.name for each in tmp_path.iterdir()] == ["m.capo"]


@pytest.mark.parametrize(
    ("redirection", "arguments"),
    [
        ("| head -c 0", ["--help"]),
        ("| head -c 0", ["fit", "--help"]),
        (">&-", ["--version"]),
        pytest.param(">&-", ["measures"], marks=pytest.mark.slow),
        pytest.param("| head -c 0", ["measures"], marks=pytest.mark.slow),
        pytest.param("2>&-", ["measures"], marks=pytest.mark.slow),
    ],
)
def test_output_that_nobody_reads_is_no_error(redirection, arguments):
    code, text = run_in_shell(redirection, *arguments)
    assert code == 0
    assert "capo:" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("redirection", ["2>&1 | head -c 0", "2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    "arguments", [["no-command"], pytest.param(["show", "no.capo"], marks=pytest.mark.slow)]
)
def test_bad_input_keeps_its_exit_code_without_messages(redirection, arguments):
    assert run_in_shell(redirection, *arguments)[0] == 2


@pytest.mark.slow
def test_closed_input_is_empty(tmp_path):
    code, text = run_in_shell("<&-", "fit", "-", "-t", "y", "-o", tmp_path / "m.capo")
    assert code == 2
    assert text == "capo: standard input is empty.\n"
