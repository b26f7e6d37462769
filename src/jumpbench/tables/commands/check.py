"""``jumpbench check``: a sampler of one's own against the oracles."""

import inspect
import shlex
from collections.abc import Sequence
from typing import Any

from jumpbench.errors import UserError, innermost
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.samplers.oracles.finding import Finding
from jumpbench.samplers.oracles.of_draws import of_sampler
from jumpbench.samplers.oracles.of_kernels import of_kernel
from jumpbench.tables.planning.gate import construct, permitted
from jumpbench.tables.planning.hydra_overrides import parsed_override
from jumpbench.tables.views.console import console, words
from jumpbench.targets import Target

_MARKS = {True: ("passed", "green"), False: ("failed", "red"), None: ("not applicable", "dim")}


def check(name: str, settings: Sequence[str]) -> bool:
    """Print one line for each oracle; True if none fails.

    Args:
        name: dotted, of a class or function.
        settings: ``key=value`` of the class.

    Raises:
        UserError: it is not there, cannot be made, or is no sampler.
    """
    found, out = findings(name, settings), console()
    width = max(len(each.oracle) for each in found)
    for oracle, passed, text in found:
        mark, colour = _MARKS[passed]
        line = words(out, f"{mark:<15}", colour) + words(out, f"{oracle:<{width}}  {text}")
        out.print(line, soft_wrap=True)
    return all(each.passed is not False for each in found)


def findings(name: str, settings: Sequence[str]) -> list[Finding]:
    """What the oracles say of a kernel ``(target, x, steps, generator)``, of a function
    ``(target, n, generator)`` that returns draws, or of a ``TargetSampler``.

    Raises:
        UserError: as :func:`check`.
    """
    sampler = permitted(name, "check")
    if inspect.isclass(sampler) and issubclass(sampler, Target):
        given = [f"target.{text}" for text in settings] or ["target.KEY=value"]
        command = shlex.join(["jumpbench", "compare", f"target={name}", *given, "budget=60"])
        raise UserError(
            f"{name} is a target, not a sampler; compare samplers on it with: {command}"
        )
    node = {"_target_": name, **_settings(settings)}
    if inspect.isclass(sampler) and issubclass(sampler, TargetSampler):
        _made(node, _probe())
        return of_sampler(lambda target: _made(node, target).draw_chains)
    if inspect.isclass(sampler):
        sampler = _made(node)
    elif settings:
        raise UserError(f"{name} is no class, and takes no {settings[0].partition('=')[0]}=")
    names = list(inspect.signature(sampler).parameters) if callable(sampler) else []
    if names[:3] == ["target", "x", "steps"]:
        return of_kernel(sampler)
    if names[:3] == ["target", "n", "generator"]:
        return of_sampler(lambda target: lambda n, generator: sampler(target, n, generator))
    raise UserError(
        f"{name} is called with ({', '.join(names)}): a sampler is called with (target, x, steps, "
        "generator) and returns states and a ChainInfo, or with (target, n, generator) and returns "
        "Draws, or is a TargetSampler"
    )


def _probe() -> Any:
    from jumpbench.samplers.oracles.finding import problems

    return problems()[0].target


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in texts:
        override = parsed_override("check", text)
        *above, last = override.key_or_group.split(".")
        place = values
        for key in above:
            place = place.setdefault(key, {})
        place[last] = override.value()
    return values


def _made(node: dict[str, Any], target: Any = None) -> Any:
    """The sampler of a target, or of any.

    Raises:
        UserError: it cannot be made.
    """
    try:
        return construct(node) if target is None else construct(node, target=target)
    except UserError:
        raise
    except Exception as error:  # whatever a constructor raises
        cause = innermost(error)
        raise UserError(
            f"{node['_target_']} cannot be made: {type(cause).__name__}: {cause}; its arguments "
            "are key=value"
        ) from None
