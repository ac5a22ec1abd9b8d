"""Another user of the same machine neither reads amplitudes nor has a say in what a run computes."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from qsim_ex import CircuitBuilder, Simulator, StateVector
from qsim_ex.comm import descriptors
from qsim_ex.devices.cpu import shared
from qsim_ex.errors import SavedStateError
from qsim_ex.files.written import written
from qsim_ex.kernels import cache_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone is two users")

NOBODY = 65534


def as_nobody(attempt: Callable[[], object]) -> str:
    """Try something in a process of the user nobody; return the name of the error that it raises, or "done"."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there may be other threads, which the child does not need
        child = os.fork()
    if not child:
        said = "failed"
        with suppress(BaseException):
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                attempt()
                said = "done"
            except OSError as error:
                said = type(error).__name__
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as file:
        return file.read()


@pytest.fixture
def common(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may write to, as the one of temporary files, for which it stands."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", name)
        monkeypatch.setattr(cache_folder, "_warned", set())
        yield Path(name)


def test_mapped_amplitudes_are_not_read() -> None:
    """The memory that ranks map has no name in /dev/shm, and neither its descriptor nor the process can be opened."""
    before = set(Path("/dev/shm").iterdir())
    try:
        file = shared.make(1 << 12)
    except OSError:
        file = os.memfd_create("qsim-ex")  # this system makes no huge pages for it
    process = os.getpid()
    try:
        assert set(Path("/dev/shm").iterdir()) == before
        attempts: dict[str, Callable[[], object]] = {
            "its link": lambda: os.open(f"/proc/{process}/fd/{file}", os.O_RDONLY),
            "pidfd": lambda: descriptors.fetched(process, [file]),
            "memory": lambda: os.open(f"/proc/{process}/mem", os.O_RDONLY),
        }
        assert {name: as_nobody(attempt) for name, attempt in attempts.items()} == dict.fromkeys(
            attempts, "PermissionError"
        )
    finally:
        os.close(file)


def test_descriptors_of_another_user_are_not_taken(common: Path) -> None:
    """Nobody else enters the folder of a rank's socket; and were it open to all, what others send would be closed."""
    with descriptors._Inbox((1,)) as inbox:
        path = Path(inbox.asked.path)
        assert common in path.parents

        def send() -> None:
            descriptors._send(str(path), 1, [0])

        assert as_nobody(send) == "PermissionError"
        path.parent.chmod(0o777)
        path.chmod(0o777)
        assert as_nobody(send) == "done"
        assert inbox.received() == {}


def test_kernels_of_another_user_are_not_loaded(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others do not write to the folder of kernels, and one that they have made, or a link of theirs, is not used."""
    mine = common / "qsim-ex-0"
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(mine))
    made = cache_folder.made("kernels")
    assert made == mine / "kernels"
    assert as_nobody(lambda: (mine / "kernels" / "a.cubin").write_bytes(b"")) == "PermissionError"
    assert as_nobody(lambda: mine.rename(common / "away")) == "PermissionError"
    for theirs in (common / "folder", common / "link"):
        monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(theirs))
        attempt = theirs.mkdir if theirs.name == "folder" else lambda path=theirs: path.symlink_to(mine)
        assert as_nobody(attempt) == "done"
        with pytest.warns(RuntimeWarning, match=rf"{theirs} is not used: it belongs to another user \(number {NOBODY}"):
            assert cache_folder.made("kernels") is None


def test_a_folder_that_others_can_replace_is_not_used(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of kernels is not used where everybody may give its name to another folder."""
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(common / "cache"))
    common.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=f"{common} is not used: others may replace what is in it"):
        assert cache_folder.made("kernels") is None
    common.chmod(0o1777)
    assert cache_folder.made("kernels") == common / "cache" / "kernels"


def test_a_link_of_another_user_is_not_written_through(common: Path) -> None:
    """Whatever another user has put at the name of a file, it is replaced by ours, or an error says what it is."""
    victim, path = common / "victim", common / "state"
    victim.write_text("before")
    assert as_nobody(lambda: path.symlink_to(victim)) == "done"
    with written(path) as file:
        file.write(b"mine")
        part = next(one for one in common.iterdir() if one.suffix == ".part")
        assert as_nobody(part.unlink) == "PermissionError"
        assert as_nobody(lambda: part.write_bytes(b"theirs")) == "PermissionError"
    assert (victim.read_text(), path.read_text(), path.is_symlink()) == ("before", "mine", False)
    path.unlink()
    assert as_nobody(lambda: os.mkfifo(path)) == "done"
    with pytest.raises(SavedStateError, match="expected a file, got a folder or a device"):
        StateVector.load(path, device="cpu")


def test_a_run_opens_no_socket() -> None:
    """A run opens no socket, which another user could connect to."""
    before = _sockets()
    circuit = CircuitBuilder(3, 3).gate("h", [0]).measure([0], [0]).build()
    with Simulator(device="cpu", virtual_peers=2).state(CircuitBuilder(3).gate("h", [0]).build()):
        Simulator(device="cpu", virtual_peers=2).run(circuit, shots=5, seed=1)
        assert _sockets() == before


def _sockets() -> set[str]:
    """Return the sockets that this process has open."""
    links = [os.path.realpath(one) for one in Path("/proc/self/fd").iterdir()]
    return {link for link in links if "socket:" in link}
