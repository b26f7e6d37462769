"""Commands that show, record and check what there is."""

import contextlib

from jumpbench.cli import arguments
from jumpbench.cli.commandline import Call
from jumpbench.errors import UserError


def status(call: Call) -> int:
    tables = arguments.tables(call)
    selection, as_json = arguments.selection(call), "--json" in call.flags
    if "--watch" in call.flags:
        from jumpbench.tables.commands.following import follow

        if as_json:
            raise UserError("--watch is for people; leave out --json")
        return 0 if follow(tables, selection) else 1
    from jumpbench.tables.commands.status import print_status

    return 0 if all([print_status(table, selection, as_json) for table in tables]) else 1


def list_tables(call: Call) -> int:
    tables = arguments.tables(call) if call.names else None
    from jumpbench.tables.commands.listing import print_list

    print_list("--json" in call.flags, tables)
    return 0


def plan(call: Call) -> int:
    tables, selection = arguments.tables(call), arguments.selection(call)
    from jumpbench.tables.commands.preview import print_plan, print_plans
    from jumpbench.tables.price.machines import gpu

    machine = gpu(call.keys["devices"]) if "devices" in call.keys else None
    recorded = arguments.flag(call, "recorded")
    if "within" in call.keys:
        from jumpbench.tables.commands.within import print_choice, seconds_of

        print_choice(tables, selection, seconds_of(call.keys["within"]), machine, recorded)
        return 0
    if len(tables) > 1:
        return 0 if print_plans(tables, selection, machine, recorded) else 1
    print_plan(tables[0], selection, machine, recorded)
    return 0


def experiments(call: Call) -> int:
    from jumpbench.tables.commands.preview import print_experiments

    print_experiments()
    return 0


def show(call: Call) -> int:
    from jumpbench.tables.commands import show

    keys, as_json = dict(call.keys), "--json" in call.flags
    if experiment := keys.pop("experiment", None):
        scales = [f"scale={keys.pop('scale')}"] if "/" in keys.get("scale", "") else []
        if keys or call.names:
            raise UserError("give show an experiment, or a table with row=, column= and scale=")
        show.show_experiment(experiment, [*scales, *call.overrides], as_json)
        return 0
    tables = arguments.tables(call)
    if len(tables) > 1:
        raise UserError(f"show takes one table; these are {', '.join(tables)}")
    cell = show.CellNames(keys.get("row"), keys.get("column"), keys.get("metric"))
    show.show_cell(tables[0], cell, arguments.selection(call), as_json)
    return 0


def report(call: Call) -> int:
    flags = call.flags
    if "--serve" in flags and len(flags) > 1:
        raise UserError("--serve stands alone")
    if {"--record", "--unchanged"} <= set(flags):
        raise UserError("give --record or --unchanged, not both")
    if "port" in call.keys and "--serve" not in flags:
        raise UserError("port= belongs to --serve")
    if "--record" in flags:
        from jumpbench.tables.commands.recording import record

        for table in arguments.tables(call):
            print(f"recorded: {record(table, arguments.selection(call))}")
    elif "--unchanged" in flags:
        from jumpbench.tables.commands.unchanged import unchanged

        for table in arguments.tables(call):
            print(unchanged(table, arguments.selection(call)), flush=True)
    elif call.names or call.overrides or set(call.keys) - {"port"}:
        raise UserError("report takes a table and its keys with --record or --unchanged only")
    if "--readme" in flags:
        from jumpbench.tables.commands.report import readmes

        for path in readmes():
            print(f"renewed: {path}")
    if "--serve" in flags:
        _serve(call.keys.get("port", "8765"))
    elif not flags:
        from jumpbench.tables.commands.report_page import write_page

        print(f"written: {write_page()}")
    return 0


def _serve(port: str) -> None:
    from jumpbench.tables.commands.page_server import server

    if not (port.isascii() and port.isdigit()):
        raise UserError(f"port={port[:20]}: give a number")
    with server(int(port)) as serving:
        print(f"http://127.0.0.1:{serving.server_port} (stop with Ctrl-C)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            serving.serve_forever()


def dashboard(call: Call) -> int:
    tables = arguments.tables(call)
    from jumpbench.tables.commands.dashboard import dashboard

    keys = call.keys
    place = (keys.get("project", "jumpbench"), keys.get("entity", ""))
    for table in tables:
        print(dashboard(table, keys.get("scale", "small"), *place, "--report" in call.flags))
    return 0


def data(call: Call) -> int:
    from jumpbench.tables.commands.datasets import print_data

    return 0 if print_data(call.names, call.overrides) else 1


def models(call: Call) -> int:
    from jumpbench.tables.commands.model_cards import check, print_models

    if not call.names:
        print_models()
        return 0
    if call.names[0] != "check":
        raise UserError("models takes nothing, or check and names of models")
    return 0 if check(call.names[1:]) else 1


def completion(call: Call) -> int:
    from jumpbench.cli.completion import SCRIPTS

    if len(call.names) != 1 or call.names[0] not in SCRIPTS:
        raise UserError(f"completion of which shell? give one of: {', '.join(SCRIPTS)}")
    print(SCRIPTS[call.names[0]], end="")
    return 0
