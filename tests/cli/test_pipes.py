"""The command line in a shell: pipes, full disks, signals."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from capo.io.atomic import atomic_write

from .cases import FAST, table


def shell(line):
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env, check=False)


@pytest.mark.slow
def test_pipes_on_both_sides(folder, model):
    done = shell(f"gzip -c {folder}/test.csv | capo predict {model} - --quiet | head -3")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "id,label,score,threshold"


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(folder, model, tmp_path):
    many = pl.concat([table(80, seed=1)] * 200)
    many.write_csv(tmp_path / "many.csv")
    done = shell(f"capo predict {model} {tmp_path}/many.csv --quiet | head -1; echo ${{PIPESTATUS[0]}}")
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


@pytest.mark.slow
def test_pipes_as_files(folder, tmp_path):
    line = f"capo fit <(cat {folder}/train.csv) -t y {' '.join(FAST)} -o {tmp_path}/m.capo --quiet"
    done = shell(f"{line} && capo evaluate {tmp_path}/m.capo <(head -90 {folder}/train.csv)")
    assert done.returncode == 0
    assert "too optimistic" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_behind_the_standard_output(folder, model):
    assert shell("capo --help > /dev/full").returncode == 2
    for command in (f"predict {model} {folder}/test.csv", "measures"):
        done = shell(
            f"capo {command} --json > /dev/full" if command == "measures" else f"capo {command} > /dev/full"
        )
        assert done.returncode == 2
        assert "standard output cannot be written: No space left on device" in done.stderr


@pytest.mark.slow
def test_letters_that_a_terminal_lacks():
    done = shell("PYTHONIOENCODING=ascii capo measures")
    assert done.returncode == 0
    assert "fbeta" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_program_that_is_ended_leaves_no_half_file(number, code, model, tmp_path):
    """The table never ends, so that the command is in its midst."""
    old = tmp_path / "p.csv"
    old.write_bytes(b"old")
    command = [
        sys.executable,
        "-c",
        "from capo.cli import main; main()",
        "predict",
        str(model),
        "-",
        "-o",
        str(old),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(table(50_000).write_csv().encode())
    process.stdin.flush()  # returns when most of it has been read, after the output was opened
    time.sleep(0.2)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in err
    assert (b"no output file was changed" in err) == (number != signal.SIGKILL)
    assert old.read_bytes() == b"old"
    for left in tmp_path.glob(".capo-*.part"):  # a killed process cannot remove its temporary file
        assert number == signal.SIGKILL
        os.utime(left, (0, 0))
    with atomic_write(tmp_path / "next.csv") as file:
        file.write(b"new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["next.csv", "p.csv"]
