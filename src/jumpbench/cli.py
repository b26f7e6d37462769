"""The ``jumpbench`` command. Imports nothing heavy before it knows what is asked."""

import contextlib
import os
import re
import sys
from collections.abc import Sequence

from jumpbench.errors import UserError

HELP = """\
jumpbench: regenerate the tables of five papers on discrete-state generative modelling

usage: jumpbench COMMAND [...] [key=value ...]

  table SLUG/TABLE    make what is missing of a table and show it beside the published numbers;
                      SLUG/TABLE may be a pattern ('sgdd/*', all)
  status SLUG/TABLE   which runs are done, running, failed, missing
  plan SLUG/TABLE     what is still to run, and about how long that takes
  list                every table: scales, cost, data it needs, what is recorded
                      (list and status take --json)
  run experiment=SLUG/NAME
                      one run
  experiments         what run takes
  report              one web page of all tables made so far; --record SLUG/TABLE records a whole
                      table from the runs there are (same scale= and seeds=), --readme renews
                      RESULTS.md and the README files from recorded results
  data [NAME]         verify datasets, fetch what is missing

keys of table, status and plan
  scale=smoke|small|medium|paper   default small
  seeds=3 or seeds=[0,2]    a number of seeds, or the seeds
  rows=... columns=...      names or patterns, separated by commas: a part of a table is a table
  launcher=serial           where runs are made (ray, slurm: later versions)
  fresh=true                make the selected runs again, whatever is finished (not their needs)
  any other key=value       a Hydra override for every run (trainer.accelerator=gpu, logger=wandb)

environment: JUMPBENCH_DATA (datasets), JUMPBENCH_OUTPUTS (results), and for experiments and
tables of your own JUMPBENCH_CONF and JUMPBENCH_REPRODUCE (folders as in PATH, searched first)
exit status: 0 if every asked cell has a number, 1 if some have none, 2 for bad input
"""

_OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w./@-]*(=.*)?", re.DOTALL)


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
        words = _printable(f"{type(error).__name__}: {error}".splitlines()[0])
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
        print(HELP, end="")
        return 0
    if arguments[0] == "--version":
        from jumpbench import __version__

        print(__version__)
        return 0
    commands = {
        "table": _table, "status": _status, "list": _list,
        "run": _run, "report": _report, "data": _data, "plan": _plan,
        "experiments": _experiments,
    }  # fmt: skip
    name, *rest = arguments
    if name not in commands:
        from jumpbench.tables.names import no_such

        raise no_such("command", name, commands)
    if {"-h", "--help"} & set(rest):
        print(HELP, end="")
        return 0
    return commands[name](rest)


def _keys(arguments: Sequence[str], known: Sequence[str]) -> tuple[list[str], dict, list[str]]:
    """Positional names, our keys, and Hydra overrides.

    Raises:
        UserError: an option, a key given twice, or a word that is neither name nor key=value.
    """
    names: list[str] = []
    keys: dict[str, str] = {}
    overrides: list[str] = []
    for word in arguments:
        key, equals, value = word.partition("=")
        if word.startswith("-"):
            raise UserError(f"unknown option {word[:60]!r}; keys are written key=value")
        if equals and key in known:
            if key in keys:
                raise UserError(f"{key} is given twice")
            if not value:
                raise UserError(f"{key}= has no value")
            keys[key] = value
        elif equals or word.startswith(("~", "+")):
            if not _OVERRIDE.fullmatch(word):
                raise UserError(f"{word[:60]!r} is not key=value")
            overrides.append(word)
        else:
            names.append(word)
    return names, keys, overrides


def _selected(arguments: Sequence[str]) -> tuple[list[str], dict, list[str]]:
    from jumpbench.tables.names import select
    from jumpbench.tables.spec import available

    known = ("scale", "seeds", "rows", "columns", "launcher", "fresh")
    names, keys, overrides = _keys(arguments, known)
    if not names:
        raise UserError("which table? give SLUG/TABLE; 'jumpbench list' shows all")
    if any(override.split("=")[0] == "seed" for override in overrides):
        raise UserError("a table takes seeds=3 or seeds=[0,2], not seed=")
    found: dict[str, None] = {}
    for name in names:
        chosen = available() if name == "all" else select("table", name, available())
        found |= dict.fromkeys(chosen)
    return list(found), keys, overrides


def _selection(keys: dict[str, str], overrides: Sequence[str]):
    from jumpbench.tables.grid import Selection

    return Selection(
        keys.get("scale", "small"), keys.get("seeds"), keys.get("rows"), keys.get("columns"),
        tuple(overrides),
    )  # fmt: skip


def _table(arguments: Sequence[str]) -> int:
    tables, keys, overrides = _selected(arguments)
    from jumpbench.tables.reproduction import reproduce

    selection, fresh = _selection(keys, overrides), _fresh(keys)
    launcher = keys.get("launcher", "serial")
    done = [reproduce(table, selection, launcher, fresh) for table in tables]
    return 0 if all(done) else 1


def _fresh(keys: dict[str, str]) -> bool:
    """Whether what is finished is to be made again."""
    if (value := keys.get("fresh", "false")) not in ("true", "false"):
        raise UserError(f"fresh={value[:40]}: give true or false")
    return value == "true"


def _status(arguments: Sequence[str]) -> int:
    tables, keys, overrides = _selected([word for word in arguments if word != "--json"])
    from jumpbench.tables.overview import print_status

    selection, as_json = _selection(keys, overrides), "--json" in arguments
    return 0 if all([print_status(table, selection, as_json) for table in tables]) else 1


def _list(arguments: Sequence[str]) -> int:
    names, _, overrides = _keys([word for word in arguments if word != "--json"], ())
    if names or overrides:
        raise UserError("list takes no arguments but --json")
    from jumpbench.tables.overview import print_list

    print_list("--json" in arguments)
    return 0


def _plan(arguments: Sequence[str]) -> int:
    tables, keys, overrides = _selected(arguments)
    if {"launcher", "fresh"} & set(keys):
        raise UserError("plan makes no run; leave out launcher= and fresh=")
    from jumpbench.tables.preview import print_plan

    for table in tables:
        print_plan(table, _selection(keys, overrides))
    return 0


def _experiments(arguments: Sequence[str]) -> int:
    if arguments:
        raise UserError("experiments takes no arguments")
    from jumpbench.tables.preview import print_experiments

    print_experiments()
    return 0


def _run(arguments: Sequence[str]) -> int:
    for_tables = ("scale", "seeds", "rows", "columns")
    names, keys, overrides = _keys(arguments, ("experiment", "launcher", "fresh", *for_tables))
    if wrong := [key for key in for_tables if key in keys]:
        raise UserError(
            f"a run has no {wrong[0]}; use jumpbench table SLUG/TABLE {wrong[0]}={keys[wrong[0]]}"
            + (", or seed= for one run" if wrong[0] == "seeds" else "")
        )
    if names or "experiment" not in keys:
        raise UserError("which run? give experiment=SLUG/NAME and any key=value")
    from jumpbench.tables.overview import make_run

    launcher = keys.get("launcher", "serial")
    return 0 if make_run(keys["experiment"], overrides, launcher, _fresh(keys)) else 1


def _report(arguments: Sequence[str]) -> int:
    from jumpbench.tables import report

    flags = [word for word in arguments if word in ("--readme", "--record")]
    rest = [word for word in arguments if word not in flags]
    if "--record" in flags:
        tables, keys, overrides = _selected(rest)
        if {"launcher", "fresh"} & set(keys):
            raise UserError("report makes no run; leave out launcher= and fresh=")
        for table in tables:
            print(f"recorded: {report.record(table, _selection(keys, overrides))}")
    elif rest:
        raise UserError("report takes --readme, or --record SLUG/TABLE scale=..., and nothing else")
    if "--readme" in flags:
        for path in report.readmes():
            print(f"renewed: {path}")
    if not flags:
        print(f"written: {report.page()}")
    return 0


def _data(arguments: Sequence[str]) -> int:
    names, _, overrides = _keys(arguments, ())
    if overrides:
        raise UserError("data takes names of datasets, and nothing else")
    from jumpbench.tables.overview import print_data

    return 0 if print_data(names) else 1


if __name__ == "__main__":
    sys.exit(main())
