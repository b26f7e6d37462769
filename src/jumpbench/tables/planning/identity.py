"""What a run's identity is made of: everything that is instantiated for it, and nothing else."""

import hashlib
import json
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.planning.defaults import completed
from jumpbench.tables.planning.owncode import own_code

# The nodes of a configuration that decide a run's result. Everything else (settings tables, names,
# unused groups, loggers, resources) may change without making another run of it.
DECIDING = ("data", "method", "evaluation", "trainer", "stages", "seed", "needs", "budget", "tf32")

# Nodes in which null is as good as absent.
NULL_IS_ABSENT = ("trainer", "budget")

# What in them cannot change a result.
ANONYMOUS_IN = {
    "trainer": {
        "accelerator", "devices", "num_nodes", "strategy", "enable_progress_bar", "barebones",
        "enable_model_summary", "enable_checkpointing", "log_every_n_steps", "default_root_dir",
        "profiler", "detect_anomaly",
    },
    "data": {"num_workers", "root", "pin_memory", "persistent_workers", "prefetch_factor"},
}  # fmt: skip

# Nodes that no result depends on; overrides of them are passed on to the runs that are needed.
ANONYMOUS = {"logger", "checkpoint_every", "checkpoint_minutes", "launcher", "resources"}


def identity(config: dict[str, Any]) -> str:
    """First 10 hex digits of the sha256 of what decides a run's result.

    The configuration is completed by the defaults of what it constructs: a default that is written
    down changes no identity, and a changed default does. A trainer setting or a node that is null
    is as good as absent. Code of one's own counts by what it does
    (:mod:`~jumpbench.tables.planning.owncode`).

    Raises:
        UserError: a mapping whose keys are partly text.
    """
    deciding: dict[str, Any] = {}
    for key in DECIDING:
        value = completed(config.get(key))
        if isinstance(value, dict):
            unnamed = ANONYMOUS_IN.get(key, ())
            value = {k: v for k, v in value.items() if k not in unnamed}
            if key in NULL_IS_ABSENT:
                value = {k: v for k, v in value.items() if v is not None}
        if value or key in ("seed", "stages"):
            deciding[key] = value
    if code := own_code({key: config.get(key) for key in DECIDING}):
        deciding["own_code"] = code
    try:
        text = json.dumps(deciding, sort_keys=True, default=str)
    except TypeError:  # they have no order
        raise UserError(f"the key {_odd_key(deciding)!r} must be text: quote it") from None
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _odd_key(node: Any) -> Any:
    """The first key inside plain data that is no text; None if there is none."""
    if not isinstance(node, dict | list):
        return None
    odd = [key for key in node if not isinstance(key, str)] if isinstance(node, dict) else []
    inner = node.values() if isinstance(node, dict) else node
    return next((key for key in (*odd, *map(_odd_key, inner)) if key is not None), None)


LONGEST_NAME = 200


def check_name_and_seed(config: dict[str, Any]) -> None:
    """Refuses a name that no run can have, and a seed that its generators cannot.

    Raises:
        UserError: it cannot.
    """
    name = config.get("name")
    if not isinstance(name, str | int | float) or len(str(name)) > LONGEST_NAME:
        raise UserError(f"name={str(name)[:40]}: give a name of at most {LONGEST_NAME} letters")
    check_seed(config.get("seed"))


def check_seed(seed: Any) -> None:
    """Raises :class:`UserError` unless it is one of Lightning's ``seed_everything``."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise UserError(f"seed={str(seed)[:40]}: give a whole number from 0 to {2**32 - 1}")


def is_anonymous(override: str) -> bool:
    """Whether an override (``trainer.accelerator=cpu``) leaves every identity alone."""
    key = override.split("=")[0].lstrip("+~")
    head, _, rest = key.partition(".")
    return head in ANONYMOUS or rest.split(".")[0] in ANONYMOUS_IN.get(head, ())
