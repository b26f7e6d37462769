"""Values of overrides (``method.n_steps=8``), set in a configuration as Hydra sets them."""

from typing import Any, cast

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from jumpbench.errors import UserError, innermost
from jumpbench.names import no_such
from jumpbench.tables.planning.defaults import arguments, defaults
from jumpbench.tables.planning.signatures import arguments_of
from jumpbench.tables.planning.sources import leads_nowhere


def explained(error: BaseException) -> str:
    """The telling part of a Hydra or OmegaConf message, on one line."""
    if isinstance(error, MissingMandatoryValue):
        return f"a value must be given: {error.full_key}=..."
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    cause = str(innermost(error)).strip().splitlines()
    if cause and cause[0].strip() not in text and cause[0].strip() != "None":
        text += f" ({cause[0].strip()})"
    return text[:400]


def with_value(experiment: str, config: dict[str, Any], override: Override) -> dict[str, Any]:
    """``config`` with one value set: ``key=`` must exist, or be an argument of what its node
    constructs; ``+key=`` must not exist; ``~key`` goes.

    Plain data that replaces a number or a text, or is new, is set in the dict itself; anything
    else, and every mistake, goes through OmegaConf, which takes a hundred times as long.

    Raises:
        UserError: a key that is not there, is there already, or cannot have this value.
    """
    if _set_plainly(config, override):
        return config
    whole = OmegaConf.create(config)
    OmegaConf.set_struct(whole, True)
    _set(experiment, whole, override)
    return cast(dict[str, Any], OmegaConf.to_container(whole, resolve=False))


def _set_plainly(config: dict[str, Any], override: Override) -> bool:
    """Whether the value could be set without OmegaConf; if so, it is."""
    *above, last = override.key_or_group.split(".")
    node: Any = config
    for name in above:
        node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        return False
    if override.is_delete():
        return node.pop(last, _NOTHING) is not _NOTHING
    there = last in node
    known = {} if there else arguments(str(node.get("_target_", ""))) or {}
    new = override.is_add() or last in known  # where nothing is written
    if override.is_force_add() or (override.is_add() if there else not new):
        return False
    old, value = node.get(last), override.value()
    if isinstance(value, dict):  # onto a mapping it would be merged
        simple = last not in node
    else:
        simple = not isinstance(old, dict if isinstance(value, list) else dict | list)
    fits = ".".join(above) == "trainer" or is_of_kind(value, old if there else known.get(last))
    if simple and _is_plain(value) and fits:
        node[last] = value
        return True
    return False


_KINDS = {bool: "true or false", int: "a number", float: "a number"}


def is_of_kind(value: Any, old: Any) -> bool:
    """Whether a plain value may stand where ``old`` stood: a number is not replaced by words, nor
    a flag by anything else. What the constructor's annotation says is checked when the run starts;
    this costs no import. (Lightning takes both for many a key: ``trainer.devices=auto``.)
    """
    unset = value is None or (isinstance(value, str) and ("${" in value or value == "???"))
    if type(old) not in _KINDS or unset:
        return True
    if isinstance(value, bool) or isinstance(old, bool):
        return isinstance(value, bool) is isinstance(old, bool)
    return isinstance(value, int | float | dict | list)


_NOTHING = object()


def _is_plain(value: Any) -> bool:
    """Without formulas, whose grammar OmegaConf checks, and keys other than texts."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not (isinstance(value, str) and "${" in value)


def _set(experiment: str, config: DictConfig, override: Override) -> None:
    key, value = override.key_or_group, override.value()
    head, _, last = key.rpartition(".")
    try:
        parent = OmegaConf.select(config, head) if head else config
        there = isinstance(parent, DictConfig) and last in set(parent)
        if override.is_delete():
            if not there:
                raise UserError(f"{override.input_line}: there is no {key}")
            with open_dict(config):
                del parent[last]
        elif (
            override.is_add()
            and there
            and parent[last] is not None
            and not isinstance(value, dict | list)
        ):
            raise UserError(f"{override.input_line}: {key} is there already; leave out the +")
        elif (
            override.is_add()
            or override.is_force_add()
            or (isinstance(parent, DictConfig) and not there and last in arguments_of(parent))
        ):
            if not override.is_add():
                _must_fit(override, defaults(parent).get(last), "by default")
            OmegaConf.update(config, key, value, merge=True, force_add=True)
        else:
            _must_exist(config, key)
            old = cast(Any, OmegaConf.to_container(parent, resolve=False))[last] if there else None
            if isinstance(old, dict) and isinstance(value, str) and "${" not in value:
                keys = ", ".join(list(map(str, old))[:4])
                raise UserError(
                    f"{override.input_line}: {key} is a mapping ({keys}, ...): name one of its keys"
                )
            if head != "trainer":
                _must_fit(override, old, "without it")
            OmegaConf.update(config, key, value, merge=True)
    except UserError as error:
        raise UserError(f"experiment {experiment}: {error}") from None
    except (OmegaConfBaseException, ValueError, TypeError, AssertionError) as error:
        raise UserError(
            f"experiment {experiment}: {override.input_line}: {explained(error)}"
        ) from None


def _must_fit(override: Override, old: Any, when: str) -> None:
    """Raises :class:`UserError` unless the value may stand where ``old`` stood."""
    if not is_of_kind(override.value(), old):
        what = f"{override.key_or_group} takes {_KINDS[type(old)]} (it is {old} {when})"
        raise UserError(f"{str(override.input_line)[:80]}: {what}")


RENAMED = {
    "n_samples": "data.n_samples", "n_test_batches": "data.n_samples",
    "test_size": "data.n_samples", "test_batch_size": "data.batch_size",
    "chains_per_batch": "data.batch_size", "samples_per_batch": "data.batch_size",
    "rate": "scheduler", "compiler": "compile",
}  # fmt: skip
"""Keys of earlier versions, and what says the same today."""


def _beneath(node: DictConfig, above: list[str], name: str) -> list[str]:
    """The keys of this name that lie one node deeper."""
    inner = {key: node._get_node(key) for key in node}
    return [
        ".".join([*above, str(key), name])
        for key, value in inner.items()
        if isinstance(value, DictConfig) and name in {*value, *arguments_of(value)}
    ]


def _must_exist(config: DictConfig, key: str) -> None:
    """Raises :class:`UserError` with the nearest name if a key is not part of the configuration."""
    node: Any = config
    names = key.split(".")
    for i, name in enumerate(names):
        if isinstance(node, DictConfig) and name not in set(node):
            here, arguments = ".".join(names[: i + 1]), arguments_of(node)
            if name in arguments:  # an argument that is not written, and so has nothing beneath it
                raise UserError(
                    f"no key '{key}': {here} is not set here, so nothing lies beneath it"
                )
            if name in RENAMED:
                raise UserError(f"no key '{here}': it is called {RENAMED[name]} now")
            if nowhere := leads_nowhere(str(node.get("_target_", ""))):
                raise UserError(f"{'.'.join(names[:i])}: {nowhere}")
            known = [".".join([*names[:i], str(k)]) for k in {*node, *arguments}]
            known = _beneath(node, names[:i], name) or known
            raise UserError(f"{no_such('key', here, known)} (a new key is written +{key}=)")
        if not OmegaConf.is_config(node) or i == len(names) - 1:
            return  # a list's element, or beneath a plain value: OmegaConf says what is wrong
        node = OmegaConf.select(node, name, throw_on_missing=False)
