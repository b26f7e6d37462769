"""A run in a process of its own: ``python -m jumpbench.tables.runs FOLDER``."""

import argparse
import logging
import sys
import time
from pathlib import Path

from jumpbench.tables.runs.attempt import attempt, make_here
from jumpbench.tables.runs.children import end_with_parent
from jumpbench.tables.runs.job import SAVE_SECONDS, STOPPED, Job, Outcome

PATIENT_SECONDS = 5.0


def main() -> int:
    """``python -m jumpbench.tables.runs FOLDER``: attempt a planned run.

    Its folder holds ``config.yaml`` and ``labels.json``. Distributed training repeats this command
    line in every process, which a table's cannot be; ``--held`` says that the caller holds the
    run's lock, ``--patient`` to wait while another process is making the run, ``--spent`` how many
    seconds of its time limit are over, and ``--saving`` how many it has to save when it is stopped.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--patient", action="store_true")
    parser.add_argument("--spent", type=float, default=0.0)
    parser.add_argument("--saving", type=float, default=SAVE_SECONDS)
    words = parser.parse_args()
    logging.captureWarnings(True)
    job = Job.planned(words.folder.resolve(), words.spent, words.saving)
    try:
        if words.held:
            end_with_parent()
            ended = make_here(job)
        else:
            ended = attempt(job)
            while words.patient and ended.outcome is Outcome.HELD:
                time.sleep(PATIENT_SECONDS)
                ended = attempt(job)
    except KeyboardInterrupt:
        return STOPPED
    if ended.outcome is Outcome.HELD:
        print("error: another process is making this run", file=sys.stderr)
    elif ended.outcome is Outcome.FAILED:
        print(f"error: {ended.message}", file=sys.stderr)
    return 0 if ended.outcome is Outcome.FINISHED else 1


if __name__ == "__main__":
    sys.exit(main())
