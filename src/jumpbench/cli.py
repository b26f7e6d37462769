"""The ``jumpbench`` command. Imports nothing heavy before it knows what is asked."""

import contextlib
import os
import re
import sys
from collections.abc import Sequence

from jumpbench.commandline import Command, Given
from jumpbench.errors import UserError, innermost

HEAD = """\
jumpbench: regenerate the tables of five papers on discrete-state generative modelling

usage: jumpbench COMMAND [...] [key=value ...]
       jumpbench COMMAND --help

"""
TAIL = """
environment: JUMPBENCH_DATA (datasets), JUMPBENCH_OUTPUTS (results), and for experiments and
tables of your own JUMPBENCH_CONF and JUMPBENCH_REPRODUCE (folders as in PATH, searched first)
exit status: 0 if every asked cell has a number, 1 if some have none, 2 for bad input
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is returned, never raised."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _printable_streams()
    try:
        try:
            os.getcwd()
        except FileNotFoundError:
            line = "the working folder no longer exists; change to one that does"
            raise UserError(line) from None
        status = _dispatch(arguments)
        sys.stdout.flush()
        return status
    except UserError as error:
        print(f"error: {_printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; call again to go on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader left (`| head`); nothing more to say
        from jumpbench.tables.console import quiet_stdout

        quiet_stdout()
        return 0
    except Exception as error:
        if os.environ.get("JUMPBENCH_DEBUG"):
            raise
        cause = innermost(error)
        words = _printable(f"{type(cause).__name__}: {cause}".splitlines()[0])
        print(f"error: {words} (JUMPBENCH_DEBUG=1 shows where)", file=sys.stderr)
        return 1


def _printable(text: str) -> str:
    text = " ".join(text.split()).encode("utf-8", "backslashreplace").decode()
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda c: c[0].encode("unicode_escape").decode(), text)


def _printable_streams() -> None:
    """Standard streams that take any text: closed ones lead nowhere, unknown letters become '?'."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="replace")


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS))
        print(HEAD + "\n".join(f"  {n:<{width}} {c.summary}" for n, c in COMMANDS.items()))
        print(TAIL, end="")
        return 0
    if arguments[0] == "--version":
        from jumpbench import __version__

        print(__version__)
        return 0
    name, *rest = arguments
    if name == "--complete":
        from jumpbench.completion import candidates

        print("\n".join(candidates(rest, COMMANDS)))
        return 0
    if name not in COMMANDS:
        from jumpbench.tables.names import no_such

        raise no_such("command", name, COMMANDS)
    given = COMMANDS[name].given(name, rest)
    return 0 if given is None else COMMANDS[name].run(given)


def _tables(given: Given) -> list[str]:
    """The tables that are named, by name or pattern."""
    from jumpbench.tables.names import select
    from jumpbench.tables.spec import available, sweeps

    if not given.names:
        raise UserError("which table? give SLUG/TABLE; 'jumpbench list' shows all")
    if any(override.split("=")[0] == "seed" for override in given.overrides):
        raise UserError("a table takes seeds=3 or seeds=[0,2], not seed=")
    found: dict[str, None] = {}
    for name in given.names:
        known = [*available(), *sweeps()] if name.startswith("sweep/") else available()
        found |= dict.fromkeys(known if name == "all" else select("table", name, known))
    return list(found)


def _selection(given: Given):
    from jumpbench.tables.grid import Selection

    keys = given.keys
    return Selection(
        keys.get("scale", "small"), keys.get("seeds"), keys.get("rows"), keys.get("columns"),
        tuple(given.overrides),
    )  # fmt: skip


def _launcher(given: Given):
    from jumpbench.tables.launchers import launcher

    return launcher(given.keys.get("launcher", "serial"), given.options)


def _fresh(given: Given) -> bool:
    """Whether what is finished is to be made again."""
    if (value := given.keys.get("fresh", "false")) not in ("true", "false"):
        raise UserError(f"fresh={value[:40]}: give true or false")
    return value == "true"


def _table(given: Given) -> int:
    tables = _tables(given)
    from jumpbench.tables.preview import estimate
    from jumpbench.tables.reproduction import reproduce

    selection, fresh = _selection(given), _fresh(given)
    launcher = _launcher(given)
    if len(tables) == 1:
        return 0 if reproduce(tables[0], selection, launcher, fresh) else 1
    print(estimate(tables, selection), file=sys.stderr, flush=True)
    done = []
    for table in tables:
        try:
            done.append(reproduce(table, selection, launcher, fresh))
        except UserError as error:  # one of many does not stop the others
            print(f"error: {table}: {_printable(str(error))}", file=sys.stderr)
            done.append(False)
    return 0 if all(done) else 1


def _status(given: Given) -> int:
    tables = _tables(given)
    from jumpbench.tables.overview import print_status

    selection, as_json = _selection(given), "--json" in given.flags
    return 0 if all([print_status(table, selection, as_json) for table in tables]) else 1


def _list(given: Given) -> int:
    from jumpbench.tables.overview import print_list

    print_list("--json" in given.flags)
    return 0


def _plan(given: Given) -> int:
    tables = _tables(given)
    from jumpbench.tables.preview import print_plan

    for table in tables:
        print_plan(table, _selection(given))
    return 0


def _experiments(given: Given) -> int:
    from jumpbench.tables.preview import print_experiments

    print_experiments()
    return 0


def _run(given: Given) -> int:
    scales = [o for o in given.overrides if o.startswith("scale=") and "/" not in o]
    if scales:  # scale=SLUG/NAME is a file of conf/scale
        raise UserError(f"a run has no scale; use jumpbench table SLUG/TABLE {scales[0]}")
    if "experiment" not in given.keys:
        raise UserError("which run? give experiment=SLUG/NAME and any key=value")
    from jumpbench.tables.single import make_runs

    keys = given.keys
    launcher = _launcher(given)
    done = make_runs(
        keys["experiment"], given.overrides, keys.get("seeds"), launcher, _fresh(given)
    )
    return 0 if done else 1


def _sweep(given: Given) -> int:
    if "experiment" not in given.keys:
        raise UserError("which runs? give experiment=SLUG/NAME and key=value,value")
    from jumpbench.tables.sweep import sweep

    keys = given.keys
    launcher = _launcher(given)
    done = sweep(
        keys["experiment"], given.overrides, keys.get("metric"), keys.get("seeds"), launcher,
        _fresh(given),
    )  # fmt: skip
    return 0 if done else 1


def _report(given: Given) -> int:
    flags = given.flags
    if "--serve" in flags and len(flags) > 1:
        raise UserError("--serve stands alone")
    if "--record" in flags:
        from jumpbench.tables import report

        for table in _tables(given):
            print(f"recorded: {report.record(table, _selection(given))}")
    elif given.names or given.overrides or set(given.keys) - {"port"}:
        raise UserError("report takes a table and its keys with --record only")
    if "--readme" in flags:
        from jumpbench.tables import report

        for path in report.readmes():
            print(f"renewed: {path}")
    if "port" in given.keys and "--serve" not in flags:
        raise UserError("port= belongs to --serve")
    if "--serve" in flags:
        _serve(given.keys.get("port", "8765"))
    elif not flags:
        from jumpbench.tables.report_page import write_page

        print(f"written: {write_page()}")
    return 0


def _serve(port: str) -> None:
    from jumpbench.tables.report_page import server

    if not (port.isascii() and port.isdigit()):
        raise UserError(f"port={port[:20]}: give a number")
    with server(int(port)) as serving:
        print(f"http://127.0.0.1:{serving.server_port} (stop with Ctrl-C)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            serving.serve_forever()


def _data(given: Given) -> int:
    from jumpbench.tables.overview import print_data

    return 0 if print_data(given.names) else 1


def _completion(given: Given) -> int:
    from jumpbench.completion import SCRIPTS

    if len(given.names) != 1 or given.names[0] not in SCRIPTS:
        raise UserError(f"completion of which shell? give one of: {', '.join(SCRIPTS)}")
    print(SCRIPTS[given.names[0]], end="")
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
        "SLUG/TABLE ...", (*_SELECTED, "launcher", "fresh"), _EVERY_RUN,
        more="SLUG/TABLE may be a pattern ('sgdd/*', all); jumpbench list shows all tables.",
    ),
    "status": Command(
        _status, "which runs of a table are done, running, failed, missing", "SLUG/TABLE ...",
        _SELECTED, _EVERY_RUN, _JSON, _MAKES_NONE,
    ),
    "plan": Command(
        _plan, "what of a table is still to run, and about how long that takes", "SLUG/TABLE ...",
        _SELECTED, _EVERY_RUN, refused=_MAKES_NONE,
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
    "data": Command(_data, "verify datasets, fetch what is missing", "[NAME ...]"),
    "completion": Command(
        _completion, "what makes a shell complete commands, tables and keys", "bash|zsh",
        more='bash: eval "$(jumpbench completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc',
    ),
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
