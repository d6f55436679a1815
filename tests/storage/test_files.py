"""Only regular files are read and replaced; a replaced file keeps its mode and its owner."""

import os
import stat
import subprocess
import sys

import pytest

from timesurf import Network
from timesurf.datasets import sentences, sources
from timesurf.io import npz
from timesurf.storage.atomic import replacing
from timesurf.storage.kinds import check_input, check_output

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    return tmp_path / "pipe.npz"


@pytest.fixture
def device(tmp_path):
    """A device node of our own, so that nothing is lost if it is replaced."""
    try:
        os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    return tmp_path / "null"


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def test_a_device_is_not_replaced(device):
    with pytest.raises(OSError, match="it is a device, which is never replaced"):
        write(device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert os.listdir(device.parent) == ["null"]


def test_a_pipe_is_neither_read_nor_written(pipe):
    with pytest.raises(OSError, match=r"Cannot write .*it is a pipe"):
        write(pipe)
    with pytest.raises(OSError, match=r"Cannot read .*it is a pipe"):
        check_input(pipe)
    for read in (npz.read, sources.load, Network.load):
        with pytest.raises(OSError, match="it is a pipe"):
            read(pipe)


def test_a_link_is_followed_to_what_it_names(tmp_path, pipe):
    (tmp_path / "to-pipe").symlink_to(pipe)
    with pytest.raises(OSError, match="it is a pipe"):
        check_output(tmp_path / "to-pipe")
    (tmp_path / "whole").write_bytes(b"old")
    (tmp_path / "to-file").symlink_to("whole")
    write(tmp_path / "to-file")
    assert (tmp_path / "to-file").is_symlink()
    assert (tmp_path / "whole").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/1", "/dev/null"])
def test_open_files_of_a_process_are_refused(name, tmp_path):
    code = "import sys; from timesurf.storage.kinds import check_output; check_output(sys.argv[1])"
    with open(tmp_path / "out", "w", encoding="utf-8") as out:  # a regular file behind the name
        done = subprocess.run([sys.executable, "-c", code, name], stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert f"Cannot write {name}" in done.stderr


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(mode)
    write(tmp_path / "a")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    os.chown(tmp_path / "a", 1234, 4321)
    (tmp_path / "a").chmod(0o640)
    write(tmp_path / "a")
    about = (tmp_path / "a").stat()
    assert (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)) == (1234, 4321, 0o640)


def test_a_camera_file_is_replaced_in_the_same_way(tmp_path, pipe):
    camera = pytest.importorskip("timesurf.io.camera")
    pytest.importorskip("faery")
    data = sentences.make(1, seed=0, duration="1 ms")
    (tmp_path / "a.es").write_bytes(b"old")
    (tmp_path / "a.es").chmod(0o600)
    camera.write(tmp_path / "a.es", data)
    assert stat.S_IMODE((tmp_path / "a.es").stat().st_mode) == 0o600
    pipe.rename(tmp_path / "b.es")
    with pytest.raises(OSError, match="it is a pipe"):
        camera.write(tmp_path / "b.es", data)
    with pytest.raises(OSError, match="it is a pipe"):
        camera.read(tmp_path / "b.es")
