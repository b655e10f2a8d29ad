"""`make fuzz`: damaged code objects, random code, kernargs and grids for a while; writes out/fuzz.json.

    python -m bench.fuzz [--seconds 600] [--first NUMBER]

A trial may run or end in one of our own errors. Anything else stops the run with the trial's number, with which
``--first NUMBER --seconds 0`` repeats it. Exit status 1: such a trial, or a process that died in one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from tests.sim.fuzzing import trial

OUT = Path("out")
_HANG_SECONDS = 60.0
_MEMORY_BYTES = 4 << 30


def _work(pipe: Connection, first: int, seconds: float) -> None:
    """Trials one after another; of each its number before it starts, and how it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    end, number = time.monotonic() + seconds, first
    while True:
        pipe.send((number, None))
        try:
            pipe.send((number, trial(number)))
        except BaseException:
            pipe.send((number, "defect: " + traceback.format_exc()))
            return
        number += 1
        if time.monotonic() > end:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_work, args=(theirs, options.first, options.seconds))
    process.start()
    theirs.close()
    outcomes: Counter[str] = Counter()
    number, defect, running, start = options.first, "", False, time.monotonic()
    try:
        while ours.poll(_HANG_SECONDS):
            number, outcome = ours.recv()
            running = outcome is None
            if outcome is not None:
                outcomes[outcome.partition(":")[0]] += 1
                defect = outcome if outcome.startswith("defect") else defect
            if sys.stdout.isatty():
                print(f"\rtrial {number}", end="", flush=True)
        defect = f"a trial took more than {_HANG_SECONDS:g} s"
        process.kill()
    except EOFError:
        process.join()
        if running:
            defect = f"the process died with exit status {process.exitcode}"
    report = {
        "trials": outcomes.total(), "first": options.first, "seconds": time.monotonic() - start,
        "outcomes": dict(outcomes.most_common()), "defect": defect and f"trial {number}: {defect}",
    }  # fmt: skip
    OUT.mkdir(exist_ok=True)
    (OUT / "fuzz.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"\r{report['trials']} trials:", ", ".join(f"{code} {count}" for code, count in outcomes.most_common()))
    print(report["defect"] or f"no defects; figures: {OUT / 'fuzz.json'}")
    return 1 if defect else 0


if __name__ == "__main__":
    sys.exit(main())
