"""Atomic writes of files."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from capo.exceptions import OutputError
from capo.io.atomic import atomic_write, check_writable


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "new.txt"
    with atomic_write(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert [each.name for each in tmp_path.iterdir()] == ["new.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "old.txt"
    path.write_bytes(b"old")

    def fail():
        with atomic_write(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "old.txt", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        with atomic_write(tmp_path / "fresh") as file:
            file.write(b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o644


def test_paths_that_cannot_be_written_raise_an_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path, message in [
        (tmp_path / "absent" / "x", "its folder does not exist"),
        (tmp_path, "it is a folder"),
        (tmp_path / "file" / "x", "its folder is a file"),
    ]:
        with pytest.raises(OutputError, match=message), atomic_write(path) as file:
            file.write(b"x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_raises_an_error():
    with pytest.raises(OutputError, match="the disk is full"), atomic_write("/dev/full") as file:
        file.write(b"x" * 2**20)


LIMITED = """
import resource, signal, sys
from capo.exceptions import OutputError
from capo.io.atomic import atomic_write
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    with atomic_write(sys.argv[1]) as file:
        file.write(b"x" * 100_000)
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_a_file_that_cannot_be_completed_leaves_the_old_one(tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: it would exceed the maximum file size" in done.stdout
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


KILLED = """
import os, signal, sys
from capo.io.atomic import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_while_writing(path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and locks")


@needs_signals
def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    kill_while_writing(path)
    assert path.read_bytes() == b"old"


@needs_signals
def test_the_next_write_removes_what_a_killed_process_left(tmp_path):
    kill_while_writing(tmp_path / "model")
    (left,) = tmp_path.iterdir()
    for age, is_left in ((0, True), (3600, False)):
        os.utime(left, times=(time.time() - age,) * 2)
        with atomic_write(tmp_path / "other") as file:
            file.write(b"new")
        assert left.exists() == is_left
    assert [each.name for each in tmp_path.iterdir()] == ["other"]


@needs_signals
def test_the_temporary_file_of_a_running_process_is_kept(tmp_path):
    with atomic_write(tmp_path / "slow") as slow:
        slow.write(b"slow")
        slow.flush()
        (temporary,) = tmp_path.iterdir()
        os.utime(temporary, times=(0, 0))
        with atomic_write(tmp_path / "fast") as fast:
            fast.write(b"fast")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"slow": b"slow", "fast": b"fast"}


def test_check_writable(tmp_path):
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="its folder does not exist"):
        check_writable(tmp_path / "absent" / "new")
    with pytest.raises(OutputError, match="it is a folder"):
        check_writable(tmp_path)


def test_a_pipe_is_written_to_directly():
    code = "from capo.io.atomic import atomic_write as w\nwith w('/dev/stdout') as file: file.write(b'there')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"there"


def test_a_name_of_maximum_length(tmp_path):
    path = tmp_path / ("模" * 82 + ".capo")
    check_writable(path)
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"
    with pytest.raises(OutputError, match="File name too long"):
        check_writable(tmp_path / ("x" * 300))
