"""The ``jumpbench`` command. Imports nothing heavy before it knows what is asked."""

import contextlib
import os
import sys
from collections.abc import Sequence

from jumpbench.cli.commands import COMMANDS
from jumpbench.errors import UserError, innermost, printable

HEAD = """\
jumpbench: regenerate the tables of five papers on discrete-state generative modelling

usage: jumpbench COMMAND [...] [key=value ...]
       jumpbench COMMAND --help

"""
TAIL = """
environment: JUMPBENCH_DATA (datasets), JUMPBENCH_OUTPUTS (results), JUMPBENCH_MODELS (trained
models), JUMPBENCH_CACHE, and of your own JUMPBENCH_MODULES (importable modules), JUMPBENCH_CONF and
JUMPBENCH_REPRODUCE (experiments, tables: folders as in PATH, searched first)
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
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; call again to go on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader left (`| head`); nothing more to say
        from jumpbench.tables.views.console import quiet_stdout

        quiet_stdout()
        return 0
    except Exception as error:
        if os.environ.get("JUMPBENCH_DEBUG"):
            raise
        cause = innermost(error)
        words = printable(f"{type(cause).__name__}: {cause}".splitlines()[0])
        print(f"error: {words} (JUMPBENCH_DEBUG=1 shows where)", file=sys.stderr)
        return 1


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
        from jumpbench.version import __version__

        print(__version__)
        return 0
    name, *rest = arguments
    if name == "--complete":
        from jumpbench.cli.completion import candidates

        print("\n".join(candidates(rest, COMMANDS)))
        return 0
    if name not in COMMANDS:
        from jumpbench.names import no_such

        raise no_such("command", name, COMMANDS)
    call = COMMANDS[name].parsed(name, rest)
    return 0 if call is None else COMMANDS[name].run(call)


if __name__ == "__main__":
    sys.exit(main())
