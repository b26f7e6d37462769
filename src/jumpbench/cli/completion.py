"""Completion of command lines in bash and zsh: the shell asks ``jumpbench --complete WORDS``."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from jumpbench.cli.commandline import Command
from jumpbench.errors import UserError
from jumpbench.names import select

SCRIPTS = {
    "bash": r"""_jumpbench() {
  local line="${COMP_LINE:0:COMP_POINT}" word found
  local -a given
  # without -r, so that "\ " is a space of the word
  read -a given <<< "$line"
  [[ $line == *" " && $line != *"\ " ]] && given+=("")
  word="${given[-1]}"
  COMPREPLY=()
  while IFS= read -r found; do
    [[ -n $found ]] || continue
    # bash breaks words at "=": what stands before the last one is there already
    [[ $word == *=* && $COMP_WORDBREAKS == *=* ]] && found="${found#"${word%"${word##*=}"}"}"
    [[ $found == *[\ \(\)\*]* ]] && found=$(printf %q "$found") && found="${found//\\,/,}"
    COMPREPLY+=("$found")
  done < <("${given[0]}" --complete "${given[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _jumpbench jumpbench
""",
    "zsh": r"""_jumpbench() {
  local -a found
  found=("${(@f)$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -S '' -- ${(M)found:#*=}
  compadd -- ${found:#*=}
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _jumpbench jumpbench
""",
}


def candidates(words: Sequence[str], commands: Mapping[str, Command]) -> list[str]:
    """What the last of ``words`` (all behind ``jumpbench``) can become."""
    *before, last = words or [""]
    if not before:
        known: Iterator[str] | Sequence[str] = list(commands)
    elif (command := commands.get(before[0])) is None:
        return []
    elif "=" in last:
        key = last.partition("=")[0]
        known = _assigned(last, before[1:]) if key in command.keys else ()
    else:
        keys = [
            f"{key}=" for key in command.keys if not any(w.startswith(f"{key}=") for w in before)
        ]
        known = [*_names(before[0], before[1:]), *keys, *command.flags]
    return [word for word in known if word.startswith(last)]


def _names(command: str, before: Sequence[str]) -> Sequence[str]:
    with contextlib.suppress(UserError):
        if command in _OF_TABLES:
            from jumpbench.paths import table_ids

            return table_ids()
        if command == "data":
            from jumpbench.data.catalog import datasets

            return list(datasets())
        if command == "completion":
            return list(SCRIPTS)
        if command == "models":
            from jumpbench.tables.planning.models import models

            return list(models()) if "check" in before else ["check"]
    return ()


_OF_TABLES = ("table", "status", "plan", "gpu", "show", "list", "report", "dashboard")


def _assigned(last: str, before: Sequence[str]) -> list[str]:
    """``key=value`` for every value; behind a comma those that the list has not yet."""
    key, _, typed = last.partition("=")
    values = _values(key, before)
    found = [f"{key}={value}" for value in values]
    if key not in _LISTS:
        return found
    # A name may have commas of its own: what stands before one is a list only if it is of names.
    for at in (i + 1 for i, letter in enumerate(typed) if letter == ","):
        with contextlib.suppress(UserError):
            chosen = select(key, typed[: at - 1], values)
            found += [f"{key}={typed[:at]}{value}" for value in values if value not in chosen]
    return found


_LISTS = ("rows", "columns", "metric")


def _values(key: str, words: Sequence[str]) -> Sequence[str]:
    with contextlib.suppress(UserError):
        tables = [word for word in words if "/" in word and "=" not in word]
        if key == "scale":
            return _scales(tables)
        if key == "launcher":
            return ("serial", "ray", "slurm")
        if key in ("fresh", "notes", "recorded"):
            return ("true",)
        if key == "experiment":
            from jumpbench.paths import experiment_names

            return experiment_names()
        part = {"row": "rows", "column": "columns", "metric": "metrics"}.get(key, key)
        if part in ("rows", "columns", "metrics") and len(tables) == 1:
            from jumpbench.tables.language.spec import load

            entries = getattr(load(tables[0]), part)
            return list(entries) if part == "metrics" else [entry.name for entry in entries]
    return ()


def _scales(tables: Sequence[str]) -> Sequence[str]:
    """Those of the tables that are named; all where none is, or a pattern."""
    from jumpbench.tables.language.scale import SCALES
    from jumpbench.tables.language.spec import load

    try:
        own = {scale for table in tables for scale in load(table).scales}
    except UserError:
        return SCALES
    return [scale for scale in SCALES if scale in own or not own]
