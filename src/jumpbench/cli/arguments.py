"""What several commands read from a command line."""

from typing import TYPE_CHECKING

from jumpbench.cli.commandline import Call
from jumpbench.errors import UserError

if TYPE_CHECKING:
    from jumpbench.tables.launchers import Launcher
    from jumpbench.tables.planning.selection import Selection


def tables(call: Call) -> list[str]:
    """The tables that are named, by name or pattern."""
    from jumpbench.names import select
    from jumpbench.paths import MADE, made_tables
    from jumpbench.tables.language.spec import available

    if not call.names:
        raise UserError("which table? give SLUG/TABLE; 'jumpbench list' shows all")
    chosen: dict[str, None] = {}
    for name in call.names:
        known = available()
        known += made_tables() if name.partition("/")[0] in MADE else []
        chosen |= dict.fromkeys(known if name == "all" else select("table", name, known))
    return list(chosen)


def selection(call: Call) -> "Selection":
    from jumpbench.tables.planning.selection import Selection

    keys = call.keys
    return Selection(
        keys.get("scale", "small"), keys.get("seeds"), keys.get("rows"), keys.get("columns"),
        tuple(call.overrides),
    )  # fmt: skip


def launcher(call: Call) -> "Launcher":
    from jumpbench.tables.launchers import launcher

    return launcher(call.keys.get("launcher", "serial"), call.options)


def flag(call: Call, key: str) -> bool:
    if (value := call.keys.get(key, "false")) not in ("true", "false"):
        raise UserError(f"{key}={value[:40]}: give true or false")
    return value == "true"


def fresh(call: Call) -> bool:
    """Whether what is finished is to be made again."""
    return flag(call, "fresh")
