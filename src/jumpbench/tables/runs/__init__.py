"""The life of one run, and the files of its folder.

1. *Planned* (:mod:`~jumpbench.tables.planning.plan`): a configuration, and a hash of what decides
   its result. Its folder is ``outputs/runs/SLUG/NAME-HASH``.
2. *Begun* (:mod:`~jumpbench.tables.runs.attempt`): a process takes the lock and writes who it is. A
   run on several devices, or with a time limit, is handed to a process of its own
   (:mod:`~jumpbench.tables.runs.children`, ``python -m jumpbench.tables.runs FOLDER``).
3. *Made* (:mod:`~jumpbench.tables.runs.execute`): data, method and trainer are constructed, then
   ``fit`` and ``test``. Training saves checkpoints (:mod:`~jumpbench.tables.runs.checkpoints`); the
   test stage leaves each batch of draws on disk (:mod:`jumpbench.methods.common.shards`).
4. *Stopped*, by a signal, a limit or a crash: the next attempt goes on from the last checkpoint
   and the draws that are there. What went wrong stays as the error, which the next attempt deletes.
   Whose code and time that was stays too (:mod:`~jumpbench.tables.runs.attempts`).
5. *Finished*: samples and provenance are written, and the metrics last, in one step. A folder
   with metrics is finished and never made again, unless
   :func:`~jumpbench.tables.runs.attempt.forget` takes them away.
"""

from jumpbench.paths import CHECKPOINTS, LAST_CHECKPOINT, SAMPLES

CONFIG = "config.yaml"  # what is constructed, folders of needed runs filled in
LABELS = "labels.json"  # table, row, column and scale that an experiment logger shows
LOCK = ".lock"  # held while a process makes the run
ATTEMPTS = "attempts.json"  # code, machine and seconds of each attempt, until it is finished
BEGUN = "begun.json"  # by whom; without the lock it is what a killed process left
PROGRESS = "progress.json"  # stage and step, for other processes
JOB = "job.json"  # the job of a cluster that makes it
LOG = "log.txt"  # warnings and tracebacks of all attempts
OUTPUT = "output.txt"  # what a process of its own printed
PREVIOUS_CHECKPOINT = "previous.ckpt"  # in CHECKPOINTS, until the next one is whole
STEP = "step.json"  # in CHECKPOINTS: the step of the last one, for readers without torch
TRAINING = "training"  # curves of the training
CURVES = "metrics.csv"  # in TRAINING
DRAWS = "draws"  # batches of the test stage, until the run is finished
FIGURES = "figures"  # drawn by the run itself
ERROR = "error.json"  # why the last attempt failed
PROVENANCE = "provenance.json"  # code, versions, hardware, seed, seconds, memory
MIRROR = "mirror.json"  # what a logger has of the finished run
METRICS = "metrics.json"  # written last: the run is finished
BY_SAMPLE = "by_sample"  # in METRICS, and an artifact: the numbers of single samples

__all__ = [
    "ATTEMPTS", "BEGUN", "BY_SAMPLE", "CHECKPOINTS", "CONFIG", "CURVES", "DRAWS", "ERROR",
    "FIGURES", "JOB", "LABELS", "LAST_CHECKPOINT", "LOCK", "LOG", "METRICS", "MIRROR", "OUTPUT",
    "PREVIOUS_CHECKPOINT", "PROGRESS", "PROVENANCE", "SAMPLES", "STEP", "TRAINING",
]  # fmt: skip
