"""What each command of ``jumpbench`` does, and the keys that it takes."""

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from jumpbench.cli.commandline import Call, Command
from jumpbench.errors import UserError, printable

if TYPE_CHECKING:
    from jumpbench.tables.launchers import Launcher
    from jumpbench.tables.planning.grid import Selection


def _tables(call: Call) -> list[str]:
    """The tables that are named, by name or pattern."""
    from jumpbench.names import select
    from jumpbench.paths import MADE, made_tables
    from jumpbench.tables.language.spec import available

    if not call.names:
        raise UserError("which table? give SLUG/TABLE; 'jumpbench list' shows all")
    if any(override.split("=")[0] == "seed" for override in call.overrides):
        raise UserError("a table takes seeds=3 or seeds=[0,2], not seed=")
    chosen: dict[str, None] = {}
    for name in call.names:
        known = available()
        known += made_tables() if name.partition("/")[0] in MADE else []
        chosen |= dict.fromkeys(known if name == "all" else select("table", name, known))
    return list(chosen)


def _selection(call: Call) -> "Selection":
    from jumpbench.tables.planning.grid import Selection

    keys = call.keys
    return Selection(
        keys.get("scale", "small"), keys.get("seeds"), keys.get("rows"), keys.get("columns"),
        tuple(call.overrides),
    )  # fmt: skip


def _launcher(call: Call) -> "Launcher":
    from jumpbench.tables.launchers import launcher

    return launcher(call.keys.get("launcher", "serial"), call.options)


def _flag(call: Call, key: str) -> bool:
    if (value := call.keys.get(key, "false")) not in ("true", "false"):
        raise UserError(f"{key}={value[:40]}: give true or false")
    return value == "true"


def _fresh(call: Call) -> bool:
    """Whether what is finished is to be made again."""
    return _flag(call, "fresh")


def _table(call: Call) -> int:
    tables = _tables(call)
    from jumpbench.tables.commands.preview import announcement
    from jumpbench.tables.commands.reproduction import reproduce

    selection, fresh, notes = _selection(call), _fresh(call), _flag(call, "notes")
    recorded = _flag(call, "recorded")
    if fresh and recorded:
        raise UserError("fresh= makes runs again and recorded= makes none that is known; give one")
    launcher = _launcher(call)
    if len(tables) == 1:
        return 0 if reproduce(tables[0], selection, launcher, fresh, notes, recorded) else 1
    print(announcement(tables, selection), file=sys.stderr, flush=True)
    done = []
    for table in tables:
        try:
            done.append(reproduce(table, selection, launcher, fresh, notes, recorded))
        except UserError as error:  # one of many does not stop the others
            print(f"error: {table}: {printable(str(error))}", file=sys.stderr)
            done.append(False)
    return 0 if all(done) else 1


def _status(call: Call) -> int:
    tables = _tables(call)
    selection, as_json = _selection(call), "--json" in call.flags
    if "--watch" in call.flags:
        from jumpbench.tables.commands.following import follow

        if as_json:
            raise UserError("--watch is for people; leave out --json")
        return 0 if follow(tables, selection) else 1
    from jumpbench.tables.commands.overview import print_status

    return 0 if all([print_status(table, selection, as_json) for table in tables]) else 1


def _list(call: Call) -> int:
    from jumpbench.tables.commands.overview import print_list

    print_list("--json" in call.flags)
    return 0


def _plan(call: Call) -> int:
    tables, selection = _tables(call), _selection(call)
    from jumpbench.tables.commands.preview import print_plan, print_plans
    from jumpbench.tables.price.machines import gpu

    machine = gpu(call.keys["devices"]) if "devices" in call.keys else None
    if "within" in call.keys:
        from jumpbench.tables.commands.within import print_choice, seconds_of

        print_choice(tables, selection, seconds_of(call.keys["within"]), machine)
        return 0
    if len(tables) > 1:
        return 0 if print_plans(tables, selection, machine) else 1
    print_plan(tables[0], selection, machine)
    return 0


def _gpu(call: Call) -> int:
    tables = _tables(call if call.names else replace(call, names=["all"]))
    from jumpbench.tables.commands.gpu_check import check_gpu

    keys = call.keys
    return 0 if check_gpu(tables, keys.get("device", "cuda"), keys.get("scale", "paper")) else 1


def _experiments(call: Call) -> int:
    from jumpbench.tables.commands.preview import print_experiments

    print_experiments()
    return 0


def _show(call: Call) -> int:
    from jumpbench.tables.commands import show

    keys, as_json = dict(call.keys), "--json" in call.flags
    if experiment := keys.pop("experiment", None):
        scales = [f"scale={keys.pop('scale')}"] if "/" in keys.get("scale", "") else []
        if keys or call.names:
            raise UserError("give show an experiment, or a table with row=, column= and scale=")
        show.show_experiment(experiment, [*scales, *call.overrides], as_json)
        return 0
    tables = _tables(call)
    if len(tables) > 1:
        raise UserError(f"show takes one table; these are {', '.join(tables)}")
    cell = show.CellNames(keys.get("row"), keys.get("column"), keys.get("metric"))
    show.show_cell(tables[0], cell, _selection(call), as_json)
    return 0


def _run(call: Call) -> int:
    scales = [o for o in call.overrides if o.startswith("scale=") and "/" not in o]
    if scales:  # scale=PAPER/METHOD/SCALE is one of conf/scale
        raise UserError(f"a run has no scale; use jumpbench table SLUG/TABLE {scales[0]}")
    if "experiment" not in call.keys:
        raise UserError("which run? give experiment=SLUG/NAME and any key=value")
    from jumpbench.tables.commands.single import make_runs

    keys = call.keys
    launcher = _launcher(call)
    done = make_runs(keys["experiment"], call.overrides, keys.get("seeds"), launcher, _fresh(call))
    return 0 if done else 1


def _sweep(call: Call) -> int:
    if "experiment" not in call.keys:
        raise UserError("which runs? give experiment=SLUG/NAME and key=value,value")
    from jumpbench.tables.commands.sweep import sweep

    keys = call.keys
    launcher = _launcher(call)
    done = sweep(
        keys["experiment"], call.overrides, keys.get("metric"), keys.get("seeds"), launcher,
        _fresh(call),
    )  # fmt: skip
    return 0 if done else 1


def _compare(call: Call) -> int:
    from jumpbench.tables.commands.compare import compare

    keys = call.keys
    if "budget" not in keys:
        raise UserError("how long? give budget=60, the seconds of every sampler")
    done = compare(
        call.overrides, keys["budget"], keys.get("reference"), keys.get("seeds"),
        keys.get("rows"), _launcher(call),
    )  # fmt: skip
    return 0 if done else 1


def _check(call: Call) -> int:
    if len(call.names) != 1:
        raise UserError("which sampler? give one: jumpbench check mine.MySampler")
    from jumpbench.tables.commands.check import check

    return 0 if check(call.names[0], call.overrides) else 1


def _report(call: Call) -> int:
    flags = call.flags
    if "--serve" in flags and len(flags) > 1:
        raise UserError("--serve stands alone")
    if "--record" in flags:
        from jumpbench.tables.commands import report

        for table in _tables(call):
            print(f"recorded: {report.record(table, _selection(call))}")
    elif call.names or call.overrides or set(call.keys) - {"port"}:
        raise UserError("report takes a table and its keys with --record only")
    if "--readme" in flags:
        from jumpbench.tables.commands import report

        for path in report.readmes():
            print(f"renewed: {path}")
    if "port" in call.keys and "--serve" not in flags:
        raise UserError("port= belongs to --serve")
    if "--serve" in flags:
        _serve(call.keys.get("port", "8765"))
    elif not flags:
        from jumpbench.tables.commands.report_page import write_page

        print(f"written: {write_page()}")
    return 0


def _serve(port: str) -> None:
    from jumpbench.tables.commands.report_page import server

    if not (port.isascii() and port.isdigit()):
        raise UserError(f"port={port[:20]}: give a number")
    with server(int(port)) as serving:
        print(f"http://127.0.0.1:{serving.server_port} (stop with Ctrl-C)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            serving.serve_forever()


def _dashboard(call: Call) -> int:
    tables = _tables(call)
    from jumpbench.tables.commands.dashboard import dashboard

    keys = call.keys
    place = (keys.get("project", "jumpbench"), keys.get("entity", ""))
    for table in tables:
        print(dashboard(table, keys.get("scale", "small"), *place, "--report" in call.flags))
    return 0


def _data(call: Call) -> int:
    from jumpbench.tables.commands.overview import print_data

    return 0 if print_data(call.names, call.overrides) else 1


def _models(call: Call) -> int:
    if not call.names:
        from jumpbench.tables.planning.models import print_models

        print_models()
        return 0
    if call.names[0] != "check":
        raise UserError("models takes nothing, or check and names of models")
    from jumpbench.tables.commands.model_cards import check

    return 0 if check(call.names[1:]) else 1


def _completion(call: Call) -> int:
    from jumpbench.cli.completion import SCRIPTS

    if len(call.names) != 1 or call.names[0] not in SCRIPTS:
        raise UserError(f"completion of which shell? give one of: {', '.join(SCRIPTS)}")
    print(SCRIPTS[call.names[0]], end="")
    return 0


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
        _table, "make what is missing of a table and show it beside the published numbers",
        "SLUG/TABLE ...", (*_SELECTED, "launcher", "fresh", "recorded", "notes"), _EVERY_RUN,
        more="SLUG/TABLE may be a pattern ('sgdd/*', all); jumpbench list shows all tables.",
    ),
    "status": Command(
        _status, "which runs of a table are done, running, failed, missing", "SLUG/TABLE ...",
        _SELECTED, _EVERY_RUN, {**_JSON, "--watch": "follow them until all have ended"},
        _MAKES_NONE,
    ),
    "plan": Command(
        _plan, "what of a table is still to run, and about how long that takes", "SLUG/TABLE ...",
        (*_SELECTED, "devices", "within"), _EVERY_RUN, refused=_MAKES_NONE,
        more="example: jumpbench plan all scale=paper within=8h devices=8xH100",
    ),
    "gpu": Command(
        _gpu, "ten minutes on a GPU: does it agree with the CPU, how fast is it, one paper's run",
        "[SLUG/TABLE ...]", ("device", "scale"),
        more="scale= is that of speed and run (default paper); the report shows the result.",
    ),
    "show": Command(
        _show, "the configuration of a run or behind a cell, with the line that says each value",
        "[SLUG/TABLE]", ("experiment", "row", "column", "metric", "scale", "seeds"), _EVERY_RUN,
        _JSON, _MAKES_NONE,
        "examples: jumpbench show experiment=dasbs/ising target.beta=0.6\n"
        "          jumpbench show dasbs/table2 row=DASBS column=*low* scale=smoke",
    ),
    "list": Command(_list, "every table: scales, cost, data, what is recorded", flags=_JSON),
    "run": Command(
        _run, "one run of an experiment, or one for each of several seeds", "",
        ("experiment", "seeds", "launcher", "fresh"), "a Hydra override (method.bias=0.3)",
        refused=_ONE_RUN,
    ),
    "sweep": Command(
        _sweep, "runs of an experiment at several values, as a table", "",
        ("experiment", "metric", "seeds", "launcher", "fresh"),
        "a Hydra override; key=a,b,c is swept (the last such key gives the columns)",
        refused=_ONE_RUN,
        more="example: jumpbench sweep experiment=dasbs/exact method.n_steps=10,20 metric=kl",
    ),
    "compare": Command(
        _compare, "all samplers of the leaderboard on a target of your own, with their errors", "",
        ("budget", "reference", "seeds", "rows", "launcher"),
        "target=mine.MyEnergy (a class in this folder), target.KEY=value, trainer.accelerator=",
        refused={"fresh": "compare makes what is missing; leave out fresh="},
        more="example: jumpbench compare target=mine.MyEnergy budget=60 rows=Gibbs,Parallel*",
    ),
    "check": Command(
        _check, "a sampler of your own against exact laws: stationarity, weights, seeds, cost",
        "MODULE.SAMPLER", overrides="an argument of its constructor",
        more="example: jumpbench check mine.MyKernel step=0.2; exit status 1 if an oracle fails.",
    ),
    "experiments": Command(_experiments, "what run and sweep take"),
    "report": Command(
        _report, "one web page of all tables, made here and recorded", "[SLUG/TABLE]",
        (*_SELECTED, "port"), "refused: a table changed by overrides is not recorded",
        {
            "--serve": "serve the page on this machine; it follows running tables",
            "--record": "record a whole table from the runs there are (same scale= and seeds=)",
            "--readme": "renew RESULTS.md and the README files from recorded results",
        },
        _MAKES_NONE,
    ),
    "dashboard": Command(
        _dashboard, "a workspace of W&B for the runs of a table that logger=wandb mirrored",
        "SLUG/TABLE ...", ("scale", "project", "entity"),
        flags={"--report": "a report instead: claims, numbers beside the paper's, panels"},
    ),
    "data": Command(
        _data, "verify datasets, fetch what is missing", "[NAME ...] [NAME=PATH ...]",
        overrides="verify a folder or file at another place, as that dataset (key is its name)",
        more="Large archives (gosai, lakh_pianoroll, celeba) are fetched only if named.",
    ),
    "models": Command(
        _models, "trained models to draw from; check draws and compares with their cards",
        "[check [NAME ...]]",
    ),
    "completion": Command(
        _completion, "what makes a shell complete commands, tables and keys", "bash|zsh",
        more='bash: eval "$(jumpbench completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc',
    ),
}  # fmt: skip
