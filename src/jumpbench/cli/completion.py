"""Completion of command lines in bash and zsh: the shell asks ``jumpbench --complete WORDS``."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from jumpbench.cli.commandline import Command
from jumpbench.errors import UserError

SCRIPTS = {
    "bash": r"""_jumpbench() {
  local line="${COMP_LINE:0:COMP_POINT}" word found
  local -a given
  read -ra given <<< "$line"
  [[ $line == *" " ]] && given+=("")
  word="${given[-1]}"
  COMPREPLY=()
  while IFS= read -r found; do
    [[ -n $found ]] || continue
    # bash breaks words at "=": what stands before the last one is there already
    [[ $word == *=* && $COMP_WORDBREAKS == *=* ]] && found="${found#"${word%"${word##*=}"}"}"
    [[ $found == *[\ \(\)\*]* ]] && found=$(printf %q "$found")
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
        known = (
            [f"{key}={value}" for value in _values(key, before[1:])] if key in command.keys else ()
        )
    else:
        keys = [
            f"{key}=" for key in command.keys if not any(w.startswith(f"{key}=") for w in before)
        ]
        known = [*_names(before[0]), *keys, *command.flags]
    return [word for word in known if word.startswith(last)]


def _names(command: str) -> Sequence[str]:
    with contextlib.suppress(UserError):
        if command in ("table", "status", "plan", "show", "report"):
            from jumpbench.paths import table_ids

            return table_ids()
        if command == "data":
            from jumpbench.data.catalog import datasets

            return list(datasets())
        if command == "completion":
            return list(SCRIPTS)
    return ()


def _values(key: str, words: Sequence[str]) -> Sequence[str]:
    with contextlib.suppress(UserError):
        if key == "scale":
            return ("smoke", "small", "medium", "paper")
        if key == "launcher":
            return ("serial", "ray", "slurm")
        if key in ("fresh", "notes", "recorded"):
            return ("true",)
        if key == "experiment":
            from jumpbench.paths import experiment_names

            return experiment_names()
        tables = [word for word in words if "/" in word and "=" not in word]
        part = {"row": "rows", "column": "columns", "metric": "metrics"}.get(key, key)
        if part in ("rows", "columns", "metrics") and len(tables) == 1:
            from jumpbench.tables.language.spec import load

            entries = getattr(load(tables[0]), part)
            return list(entries) if part == "metrics" else [entry.name for entry in entries]
    return ()
