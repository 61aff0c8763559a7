"""A process of at most 2 GiB that reads files in forks of its own; each file may allocate what `budget` states.

Run as `python -m tests.crafted.process`: a line of stdin has the name of a reader and a path, separated by a tab, and
its answer is a line of JSON on stdout, in the same order. An empty line asks for the answers so far.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIMIT = 2**31
SECONDS = 20
"""Longest time of the processor that a file may take."""
TOGETHER = 20
"""Number of files that a fork reads: memory that one has freed is not charged to the next."""
PATIENCE = 120
"""Seconds after which a process that reads a file is ended, whether it computes or waits."""
MEMORY = ("memory", "allocate", "bad_alloc")
"""Words of an error that is no judgement of the file: the process ran into its limit."""


def attempt(reader: str, path: Path) -> dict[str, Any]:
    """Read a file within its budget: return what became of it and the sentence that refuses it, if one does."""
    from edgecond.data import budget
    from edgecond.errors import EdgecondError
    from tests.crafted.readers import COARSENERS, READERS

    files = [file for file in (path, *path.rglob("*")) if file.is_file()]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    allowed = budget.CONSTANT + budget.FACTOR * sum(file.stat().st_size for file in files)
    allowed += budget.COARSENING if reader in COARSENERS else 0
    resource.setrlimit(resource.RLIMIT_AS, (min(pages * resource.getpagesize() + allowed, LIMIT), LIMIT))
    start = time.process_time()
    outcome = {"end": "read", "sentence": ""}
    try:
        READERS[reader](path)
    except EdgecondError as error:
        causes, cause = [], error
        while cause is not None:
            causes.append(cause)
            cause = cause.__cause__ or cause.__context__
        short = any(isinstance(each, MemoryError) or any(word in str(each) for word in MEMORY) for each in causes)
        outcome = {"end": "ran out of memory" if short else "refused", "sentence": str(error)[:2000]}
    except BaseException as error:
        outcome = {"end": f"raised {type(error).__name__}", "sentence": str(error)[:2000]}
    return {**outcome, "seconds": time.process_time() - start}


def outcomes(work: list[tuple[str, Path]]) -> Iterator[dict[str, Any]]:
    """Yield the `attempt` of each file, or how the process ended that read it; forks read `TOGETHER` files each."""
    while work:
        receiving, sending = os.pipe()
        if not (child := os.fork()):
            try:
                for reader, path in work[:TOGETHER]:
                    os.write(sending, json.dumps(attempt(reader, path)).encode() + b"\n")
            finally:
                os._exit(0)
        os.close(sending)
        done = []
        with open(receiving, "rb", buffering=0) as answers:
            while select.select([answers], [], [], PATIENCE)[0] and (answer := answers.readline()):
                done.append(json.loads(answer))
        if len(done) < len(work[:TOGETHER]):
            os.kill(child, signal.SIGKILL)  # it may have ended by itself
            how = os.WTERMSIG(os.waitpid(child, 0)[1])
            done.append({"end": f"ended by signal {how}, or took {PATIENCE} s", "sentence": "", "seconds": 0})
        else:
            os.waitpid(child, 0)
        yield from done
        work = work[len(done) :]


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    from tests.crafted.readers import warm_up

    warm_up()
    work: list[tuple[str, Path]] = []
    for line in sys.stdin:
        reader, _, path = line.rstrip("\n").partition("\t")
        if reader:
            work.append((reader, Path(path)))
            continue
        for outcome in outcomes(work):
            print(json.dumps(outcome), flush=True)
        work = []


if __name__ == "__main__":
    main()
