"""Damage the files of all readers at random, a million times: `python -m benchmarks.fuzz --mutations 1000000`.

Readers and files are those of `tests.readers`. Each mutation must be read, or refused by an error of ours, within 20
seconds and 2 GiB. Files are read in forked processes, so that a crash is seen and the search goes on behind it. What
escapes is printed with the command that repeats it, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzzing import Reader

LIMIT = 2**31  # bytes of memory
SECONDS = 20.0
MEMORY = Path("/dev/shm")  # where files are in memory
SHOWN = 5  # escapes of a reader that are printed; more are counted


class Escapes:
    """What happened to the mutations of one reader."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, tuple[int, str]] = {}  # number of the first mutation, and what it gave

    def add(self, number: int, what: str) -> None:
        summary = what.strip().splitlines()[-1]
        place = [line.strip() for line in what.splitlines() if "/src/edgecond/" in line][-1:]
        key = " ".join([summary[:120], *place])
        self.counts[key] += 1
        self.examples.setdefault(key, (number, what))


def fuzz(reader: Reader, name: str, numbers: range, folder: Path) -> Escapes:
    """Read the mutations with these numbers, each in a process that may crash."""
    reader.prepare(folder)
    reader.mutation(name, numbers.start)  # what it derives from whole files is computed once
    escapes, place = Escapes(), mmap.mmap(-1, 8)
    next_number = numbers.start
    while next_number < numbers.stop:
        place[:] = next_number.to_bytes(8, "little")
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.close(ours)
            _read_all(reader, name, range(next_number, numbers.stop), folder, place, theirs)
        os.close(theirs)
        for number, what in _reports(ours, child, place):
            escapes.add(number, what)
        _, status = os.waitpid(child, 0)
        at = int.from_bytes(place[:], "little")
        if status:
            code = os.waitstatus_to_exitcode(status)
            what = f"more than {SECONDS:g} seconds" if code == -signal.SIGKILL else f"the process ended with {code}"
            escapes.add(at, what)
        next_number = at + 1
    return escapes


def _read_all(reader: Reader, name: str, numbers: range, folder: Path, place: mmap.mmap, pipe: int) -> None:
    """Read mutations in a forked process, and write what escapes into the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)  # RDKit prints a line for each text that is no molecule
    for number in numbers:
        place[:] = number.to_bytes(8, "little")
        try:
            reader.read(folder, reader.mutation(name, number))
        except Exception:
            text = "\n".join(line[:200] for line in traceback.format_exc().splitlines()).encode("utf-8", "replace")
            os.write(pipe, number.to_bytes(8, "little") + len(text).to_bytes(8, "little") + text)
    os._exit(0)


def _reports(pipe: int, child: int, place: mmap.mmap) -> Iterator[tuple[int, str]]:
    """Yield what the process reports until it ends; it is killed if it stays at one mutation."""
    buffer, last, since = b"", b"", time.monotonic()
    with open(pipe, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], 1.0)
            if ready:
                data = stream.read(2**16)
                if not data:
                    return
                buffer += data
                while len(buffer) >= 16 and len(buffer) >= 16 + (size := int.from_bytes(buffer[8:16], "little")):
                    yield int.from_bytes(buffer[:8], "little"), buffer[16 : 16 + size].decode()
                    buffer = buffer[16 + size :]
            now = place[:]
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > SECONDS:
                os.kill(child, signal.SIGKILL)
                since = time.monotonic()


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: a process of several threads must not be forked
    from tests.readers import READERS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=100_000, help="number of all mutations")
    parser.add_argument("--reader", action="append", choices=READERS, metavar="NAME", help="a reader; all by default")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation of each reader")
    options = parser.parse_args()
    names = options.reader or list(READERS)
    each = -(-options.mutations // len(names))
    began, total, escaped = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        os.environ["EDGECOND_CACHE"] = f"{directory}/cache"
        for number, name in enumerate(names):
            folder, start = Path(directory) / str(number), time.monotonic()
            folder.mkdir()
            escapes = fuzz(READERS[name], name, range(options.first, options.first + each), folder)
            seconds = time.monotonic() - start
            total, escaped = total + each, escaped + escapes.counts.total()
            print(f"{name}: {each:,} mutations, {1000 * seconds / each:.2f} ms each, {escapes.counts.total()} escaped")
            for key, count in escapes.counts.most_common(SHOWN):
                first, what = escapes.examples[key]
                repeat = f'python -m benchmarks.fuzz --reader "{name}" --first {first} --mutations 1'
                print(f"  {count} times, first: {repeat}\n{what}")
            sys.stdout.flush()
    hours = (time.monotonic() - began) / 3600
    print(f"{total:,} mutations of {len(names)} files in {hours:.2f} hours: {escaped} escaped")
    sys.exit(bool(escaped))


if __name__ == "__main__":
    main()
