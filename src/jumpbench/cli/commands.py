"""Every command of ``jumpbench``: what runs it, and the keys that it takes."""

from jumpbench.cli import making, showing
from jumpbench.cli.commandline import Command

_SELECTED = ("scale", "seeds", "rows", "columns")
_EVERY_RUN = "a Hydra override for every run (trainer.accelerator=gpu, logger=wandb)"
_JSON = {"--json": "for programs"}
_MAKES_NONE = dict.fromkeys(
    ("launcher", "fresh"), "this command makes no run; leave out launcher= and fresh="
)
_ONE_RUN = {
    key: f"a run has no {key}; use jumpbench table SLUG/TABLE {{}}" for key in ("rows", "columns")
}

COMMANDS = {
    "table": Command(
        making.table, "make what is missing of a table and show it beside the published numbers",
        "SLUG/TABLE ...", (*_SELECTED, "launcher", "fresh", "recorded", "notes"), _EVERY_RUN,
        more="SLUG/TABLE may be a pattern ('sgdd/*', all); jumpbench list shows all tables.",
    ),
    "status": Command(
        showing.status,
        "which runs of a table are done, running, failed, missing", "SLUG/TABLE ...",
        _SELECTED, _EVERY_RUN, {**_JSON, "--watch": "follow them until all have ended"},
        _MAKES_NONE,
    ),
    "plan": Command(
        showing.plan,
        "what of a table is still to run, and about how long that takes", "SLUG/TABLE ...",
        (*_SELECTED, "devices", "within", "recorded"), _EVERY_RUN, refused=_MAKES_NONE,
        more="example: jumpbench plan all scale=paper within=8h devices=8xH100",
    ),
    "gpu": Command(
        making.gpu,
        "ten minutes on a GPU: does it agree with the CPU, how fast is it, one paper's run",
        "[SLUG/TABLE ...]", ("device", "scale"),
        more="scale= is that of speed and run (default paper); the report shows the result.",
    ),
    "show": Command(
        showing.show,
        "the configuration of a run or behind a cell, with the line that says each value",
        "[SLUG/TABLE]", ("experiment", "row", "column", "metric", "scale", "seeds"), _EVERY_RUN,
        _JSON, _MAKES_NONE,
        "examples: jumpbench show experiment=dasbs/ising target.beta=0.6\n"
        "          jumpbench show dasbs/table2 row=DASBS column=*low* scale=smoke",
    ),
    "list": Command(
        showing.list_tables, "every table: scales, cost, data, what is recorded",
        "[SLUG/TABLE ...]", flags=_JSON,
    ),
    "run": Command(
        making.run, "one run of an experiment, or one for each of several seeds", "",
        ("experiment", "seeds", "launcher", "fresh"),
        "a Hydra override (method.bias=0.3), or scale=PAPER/METHOD/SCALE",
        refused=_ONE_RUN,
    ),
    "sweep": Command(
        making.sweep, "runs of an experiment at several values, as a table", "",
        ("experiment", "metric", "seeds", "launcher", "fresh"),
        "a Hydra override; key=a,b,c is swept (the last such key gives the columns)",
        refused=_ONE_RUN,
        more="example: jumpbench sweep experiment=dasbs/exact method.n_steps=10,20 metric=tv@5",
    ),
    "compare": Command(
        making.compare,
        "all samplers of the leaderboard on a target of your own, with their errors", "",
        ("budget", "reference", "seeds", "rows", "launcher"),
        "target=mine.MyEnergy (a class in this folder), target.KEY=value, trainer.accelerator=",
        refused={"fresh": "compare makes what is missing; leave out fresh="},
        more="example: jumpbench compare target=mine.MyEnergy budget=60 rows=Gibbs,Parallel*",
    ),
    "check": Command(
        making.check,
        "a sampler of your own against exact laws: stationarity, weights, seeds, cost",
        "MODULE.SAMPLER", overrides="an argument of its constructor",
        more="example: jumpbench check mine.MyKernel step=0.2; exit status 1 if an oracle fails.",
    ),
    "experiments": Command(showing.experiments, "what run and sweep take"),
    "report": Command(
        showing.report, "one web page of all tables, made here and recorded", "[SLUG/TABLE]",
        (*_SELECTED, "port"), "--unchanged: what shortens the runs; --record refuses them",
        {
            "--serve": "serve the page on this machine; it follows running tables",
            "--record": "record a whole table from the runs there are (same scale= and seeds=)",
            "--unchanged": "compare a record's code with today's: does it give the same numbers?",
            "--readme": "renew RESULTS.md and the README files from recorded results",
        },
        _MAKES_NONE,
    ),
    "dashboard": Command(
        showing.dashboard, "a workspace of W&B for the runs of a table that logger=wandb mirrored",
        "SLUG/TABLE ...", ("scale", "project", "entity"),
        flags={"--report": "a report instead: claims, numbers beside the paper's, panels"},
    ),
    "data": Command(
        showing.data, "verify datasets, fetch what is missing", "[NAME ...] [NAME=PATH ...]",
        overrides="verify a folder or file at another place, as that dataset (key is its name)",
        more="gosai, lakh_pianoroll, celeba and binarized_mnist are large: fetched only if named.",
    ),
    "models": Command(
        showing.models, "trained models to draw from; check draws and compares with their cards",
        "[check [NAME ...]]",
    ),
    "completion": Command(
        showing.completion, "what makes a shell complete commands, tables and keys", "bash|zsh",
        more='bash: eval "$(jumpbench completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc',
    ),
}  # fmt: skip
