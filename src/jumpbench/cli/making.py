"""Commands that make runs."""

import sys
from dataclasses import replace

from jumpbench.cli import arguments
from jumpbench.cli.commandline import Call
from jumpbench.errors import UserError, printable


def table(call: Call) -> int:
    tables = arguments.tables(call)
    from jumpbench.tables.commands.preview import announcement
    from jumpbench.tables.commands.reproduction import reproduce

    selection, fresh = arguments.selection(call), arguments.fresh(call)
    recorded, notes = arguments.flag(call, "recorded"), arguments.flag(call, "notes")
    if fresh and recorded:
        raise UserError("fresh= makes runs again and recorded= makes none that is known; give one")
    launcher = arguments.launcher(call)
    if len(tables) == 1:
        return 0 if reproduce(tables[0], selection, launcher, fresh, notes, recorded) else 1
    print(announcement(tables, selection, recorded), file=sys.stderr, flush=True)
    done = []
    for table in tables:
        try:
            done.append(reproduce(table, selection, launcher, fresh, notes, recorded))
        except UserError as error:  # one of many does not stop the others
            print(f"error: {table}: {printable(str(error))}", file=sys.stderr)
            done.append(False)
    return 0 if all(done) else 1


def run(call: Call) -> int:
    _refuse_scales_of_tables(call)
    if "experiment" not in call.keys:
        raise UserError("which run? give experiment=SLUG/NAME and any key=value")
    from jumpbench.tables.commands.single import make_runs

    keys = call.keys
    done = make_runs(
        keys["experiment"], call.overrides, keys.get("seeds"), arguments.launcher(call),
        arguments.fresh(call),
    )  # fmt: skip
    return 0 if done else 1


def _refuse_scales_of_tables(call: Call) -> None:
    """A run takes scale=PAPER/METHOD/SCALE, one of conf/scale; a table has a scale of its own."""
    for override in call.overrides:
        key, _, name = override.partition("=")
        if key == "scale" and "/" not in name:
            from jumpbench.tables.planning.scalefiles import scales_of

            paper = call.keys.get("experiment", "").partition("/")[0]
            there = [s for s in scales_of(paper) if s.endswith(f"/{name}")] or scales_of(paper)
            known = f", here {', '.join(there)}" if there else ""
            raise UserError(
                f"{override} is for tables (jumpbench table SLUG/TABLE {override}); a run takes "
                f"scale=PAPER/METHOD/SCALE{known}"
            )


def sweep(call: Call) -> int:
    _refuse_scales_of_tables(call)
    if "experiment" not in call.keys:
        raise UserError("which runs? give experiment=SLUG/NAME and key=value,value")
    from jumpbench.tables.commands.sweep import sweep

    keys = call.keys
    done = sweep(
        keys["experiment"], call.overrides, keys.get("metric"), keys.get("seeds"),
        arguments.launcher(call), arguments.fresh(call),
    )  # fmt: skip
    return 0 if done else 1


def compare(call: Call) -> int:
    keys = call.keys
    if "budget" not in keys:
        raise UserError("how long? give budget=60, the seconds of every sampler")
    from jumpbench.tables.commands.compare import compare

    done = compare(
        call.overrides, keys["budget"], keys.get("reference"), keys.get("seeds"),
        keys.get("rows"), arguments.launcher(call),
    )  # fmt: skip
    return 0 if done else 1


def check(call: Call) -> int:
    if len(call.names) != 1:
        raise UserError("which sampler? give one: jumpbench check mine.MySampler")
    from jumpbench.tables.commands.check import check

    return 0 if check(call.names[0], call.overrides) else 1


def gpu(call: Call) -> int:
    tables = arguments.tables(call if call.names else replace(call, names=["all"]))
    from jumpbench.tables.commands.gpu.check import check_gpu

    keys = call.keys
    return 0 if check_gpu(tables, keys.get("device", "cuda"), keys.get("scale", "paper")) else 1
