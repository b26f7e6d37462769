"""What the words of a command line are: names, our keys, Hydra overrides, flags; help for each."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from jumpbench.errors import UserError

_OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w./@-]*(=.*)?", re.DOTALL)

KEYS = {
    "scale": "smoke, small, medium or paper (default small)",
    "seeds": "3: a number of seeds, [0,2]: these seeds",
    "rows": "names or patterns, separated by commas: a part of a table is a table",
    "columns": "as rows",
    "row": "one row of the table, by its name or a pattern that fits it alone",
    "column": "as row",
    "launcher": "where runs are made: serial (default), ray or slurm; options are launcher.KEY=",
    "fresh": "true: make the selected runs again, whatever is finished (not what they need)",
    "recorded": "true: do not make runs that the table's record has; report --record keeps both",
    "notes": "true: print claims and notes too, not only numbers",
    "experiment": "SLUG/NAME; 'jumpbench experiments' shows all",
    "metric": "names of what a run measures (show: of what a table shows), separated by commas",
    "devices": "GPUs that the runs are for, not this machine: A100, 8xH100",
    "device": "cuda (default), or cpu: the same checks of the CPU against itself",
    "within": "8h, 90min: choose the tables that decide most open claims in that time",
    "project": "of W&B (default jumpbench)",
    "entity": "of W&B (default: that of the key)",
    "budget": "seconds of every sampler: 60, or 5,20,80 for curves",
    "reference": "seconds of the reference run of a law too large to enumerate (default 5 budgets)",
    "port": "of --serve (default 8765; 0: a free one)",
}
"""What every key of ours says."""


@dataclass(frozen=True)
class Call:
    """The words of one command line, sorted."""

    names: list[str]
    keys: dict[str, str]
    overrides: list[str]
    flags: frozenset[str]
    options: list[str] = field(default_factory=list)  # of the launcher: launcher.KEY=VALUE


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Args:
        run: called with what is given; its result is the exit status.
        names: what stands behind the command, for the help; empty if nothing does.
        keys: of :data:`KEYS`.
        overrides: what other ``key=value`` are; empty if there may be none.
        flags: {flag: what it does}.
        refused: {key of another command: why it is not one of this}; ``{}`` is what was given.
        more: further lines of the help.
    """

    run: Callable[[Call], int]
    summary: str
    names: str = ""
    keys: tuple[str, ...] = ()
    overrides: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    more: str = ""

    def parser(self, name: str) -> argparse.ArgumentParser:
        keys = "[key=value ...]" if self._takes_keys else ""
        words = [self.names, keys, *(f"[{flag}]" for flag in self.flags)]
        usage = " ".join(filter(None, ["jumpbench", name, *words]))
        lines = [f"  {key + '=':<12}{KEYS[key]}" for key in self.keys]
        lines += [f"  {'key=value':<12}{self.overrides}"] if self.overrides else []
        parser = _Parser(
            prog=f"jumpbench {name}", usage=usage,
            description=self.summary, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="\n".join(["keys:", *lines] if lines else []) + f"\n\n{self.more}".rstrip(),
        )  # fmt: skip
        parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
        for flag, does in self.flags.items():
            parser.add_argument(flag, action="store_true", help=does)
        return parser

    @property
    def _takes_keys(self) -> bool:
        return bool(self.keys or self.overrides)

    def parsed(self, name: str, words: Sequence[str]) -> Call | None:
        """The words of one call, or None after ``--help``.

        Raises:
            UserError: an option that there is not, a key given twice, misspelled or without a
                value, a word that is neither a name nor key=value.
        """
        parser = self.parser(name)
        if {"-h", "--help"} & set(words):
            parser.print_help()
            return None
        arguments = parser.parse_intermixed_args(list(words))
        typed = vars(arguments)
        flags = frozenset(f for f in self.flags if typed[f.strip("-").replace("-", "_")])
        names: list[str] = []
        keys: dict[str, str] = {}
        overrides: list[str] = []
        options: list[str] = []
        for word in arguments.words:
            key, equals, value = word.partition("=")
            if equals and key in self.keys:
                if key in keys:
                    raise UserError(f"{key} is given twice")
                if not value:
                    raise UserError(f"{key}= has no value")
                keys[key] = value
            elif equals or word.startswith(("~", "+")):
                if not _OVERRIDE.fullmatch(word):
                    raise UserError(f"{word[:60]!r} is not key=value")
                if key in self.refused:
                    raise UserError(self.refused[key].format(word[:60]))
                if key.startswith("launcher."):
                    if "launcher" not in self.keys:
                        raise UserError(f"{name} makes no run; leave out {word[:60]}")
                    options.append(word)
                    continue
                self._no_misspelling(name, key)
                overrides.append(word)
            else:
                names.append(word)
        self._fits(name, names, overrides)
        return Call(names, keys, overrides, flags, options)

    def _no_misspelling(self, name: str, key: str) -> None:
        near = get_close_matches(key, self.keys, n=1, cutoff=0.75)
        if near and key not in ("seed", "scale"):  # the run's own seed; a scale file
            raise UserError(f"{name} has no key '{key[:60]}'; did you mean '{near[0]}'?")

    def _fits(self, name: str, names: Sequence[str], overrides: Sequence[str]) -> None:
        for i, word in enumerate(names):
            if word in self.keys:
                value = names[i + 1][:60] if i + 1 < len(names) else "..."
                raise UserError(f"{word} is a key of {name}; write {word}={value}")
        if names and not self.names:
            takes = "keys only" if self._takes_keys else "no arguments"
            flags = f" but {', '.join(self.flags)}" if self.flags else ""
            meant = f"; write experiment={names[0][:60]}" * ("experiment" in self.keys)
            raise UserError(f"{name} takes {takes}{flags}, not {names[0][:60]!r}{meant}")
        if overrides and not self.overrides:
            known = ", ".join(f"{key}=" for key in self.keys)
            words = f"its keys are {known}" if known else "it takes no key=value"
            raise UserError(f"{name}: {overrides[0][:60]!r}: {words}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        if unrecognized := re.match(r"unrecognized arguments: (\S+)", message):
            raise UserError(f"unknown option {unrecognized[1][:60]!r}; keys are written key=value")
        raise UserError(message)
