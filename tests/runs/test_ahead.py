"""Batches are built ahead by worker processes, which end with the process that reads them."""

import multiprocessing
import os
import select
import signal

from edgecond.runs.ahead import Ahead


class Large:
    """Batches that fill the pipe between worker and parent."""

    def __len__(self):
        return 100

    def batch(self, epoch, number):
        return bytes(1 << 20)


def take_one(said: int) -> None:
    batches = Ahead(Large(), workers=2).run(0, 0, 1)
    os.write(said, b"%d" % len(next(batches)))
    signal.pause()


def test_workers_end_with_a_killed_process_though_nobody_reads_what_they_built():
    """The process and its workers hold the pipe open; it closes when the last of them has ended."""
    ours, theirs = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=take_one, args=(theirs,))
    process.start()
    os.close(theirs)
    assert os.read(ours, 100) == b"%d" % (1 << 20)

    process.kill()
    process.join()

    ended, _, _ = select.select([ours], [], [], 120)
    assert ended
    assert os.read(ours, 100) == b""
    os.close(ours)
