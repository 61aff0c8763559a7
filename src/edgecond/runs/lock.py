"""A lock on the directory of a run, so that two trainings never write to the same one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edgecond.errors import CheckpointError

AGAIN = "EDGECOND_AGAIN"
"""Set in the environment of a training whose node was lost: the lock of the one before may outlive it for a while."""
_held: set[int] = set()  # descriptors of the directories that this process has locked


@contextmanager
def locked(directory: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock the directory of a run, which is created; it is an error if another process trains in it.

    The kernel releases the lock when the process ends, however it ends. The directory is removed again if nothing was
    written to it. Without a lock, because the directory cannot be created or the file system has none, the run goes on:
    what it cannot write is reported when it is written.

    Args:
        directory: The directory.
        wait: Whether to wait for another process that has locked it, instead of the error.
    """
    created = [path for path in (directory, *directory.parents) if not os.path.lexists(path)]
    descriptor = _lock(directory, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty
            for path in created:
                path.rmdir()
        if descriptor is not None:
            _held.discard(descriptor)
            os.close(descriptor)


def _lock(directory: Path, operation: int) -> int | None:
    """Return the descriptor of the locked directory."""
    while True:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, operation)
        except BlockingIOError:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise CheckpointError(
                f"{directory} must be used by one training at a time: {holder} trains in it. "
                "Wait until it ends, stop it, or name another directory."
            ) from None
        except OSError:  # some network drives have no locks
            os.close(descriptor)
            return None
        if _is_at(directory, descriptor):
            _held.add(descriptor)
            return descriptor
        os.close(descriptor)  # another process removed it, empty, before it was locked


def _is_at(directory: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(directory.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    """Return the process that has locked a directory, by its number where Linux lists it."""
    about = os.fstat(descriptor)
    place = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text("utf-8").splitlines():
            fields = line.split()  # 1: FLOCK ADVISORY WRITE 4711 08:01:262146 0 EOF
            if fields[1] == "FLOCK" and fields[5] == place and int(fields[4]) > 0:
                return f"process {fields[4]}"
    return "another process"


def _release_in_child() -> None:
    """Close the directories in a forked process, which may outlive the one that trains."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)
