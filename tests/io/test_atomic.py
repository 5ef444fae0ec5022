"""Files that are there whole or not at all."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from capo.exceptions import OutputError
from capo.io import atomic_write, check_writable


def test_nothing_is_there_before_all_is_written(tmp_path):
    place = tmp_path / "new.txt"
    with atomic_write(place) as file:
        file.write(b"half")
        file.flush()
        assert not place.exists()
    assert place.read_bytes() == b"half"
    assert [each.name for each in tmp_path.iterdir()] == ["new.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, error):
    place = tmp_path / "old.txt"
    place.write_bytes(b"old")

    def fail():
        with atomic_write(place) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert place.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_rights_and_links_are_kept(tmp_path):
    place, link = tmp_path / "old.txt", tmp_path / "link"
    place.write_bytes(b"old")
    place.chmod(0o640)
    link.symlink_to(place)
    with atomic_write(link) as file:
        file.write(b"new")
    assert place.read_bytes() == b"new"
    assert link.is_symlink()
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        with atomic_write(tmp_path / "fresh") as file:
            file.write(b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o644


def test_what_cannot_be_written_gets_a_sentence(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place, sentence in [
        (tmp_path / "absent" / "x", "its folder does not exist"),
        (tmp_path, "it is a folder"),
        (tmp_path / "file" / "x", "its folder is a file"),
    ]:
        with pytest.raises(OutputError, match=sentence), atomic_write(place) as file:
            file.write(b"x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_gets_a_sentence():
    with pytest.raises(OutputError, match="the disk is full"), atomic_write("/dev/full") as file:
        file.write(b"x" * 2**20)


LIMITED = """
import resource, signal, sys
from capo.exceptions import OutputError
from capo.io import atomic_write
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
    place = tmp_path / "old.txt"
    place.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(place)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: it would be larger than files may be" in done.stdout
    assert place.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_place_is_tried_before_the_work(tmp_path):
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="its folder does not exist"):
        check_writable(tmp_path / "absent" / "new")
    with pytest.raises(OutputError, match="it is a folder"):
        check_writable(tmp_path)


def test_a_pipe_is_written_to_as_it_is():
    code = "from capo.io import atomic_write\nwith atomic_write('/dev/stdout') as file: file.write(b'there')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"there"


def test_a_name_as_long_as_names_can_be(tmp_path):
    place = tmp_path / ("模" * 82 + ".capo")
    check_writable(place)
    with atomic_write(place) as file:
        file.write(b"x")
    assert place.read_bytes() == b"x"
    with pytest.raises(OutputError, match="File name too long"):
        check_writable(tmp_path / ("x" * 300))
