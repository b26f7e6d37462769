"""Models from an address of the web: fetched once, into the user's cache."""

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path

from jumpbench.data.files import DOWNLOAD_TIMEOUT_SECONDS
from jumpbench.errors import DataMissing, UserError
from jumpbench.files import write_atomic
from jumpbench.paths import cache_folder

VARIABLE = "JUMPBENCH_MODELS"


def fetched_card(name: str) -> Path | None:
    """The card of a model from the address in ``JUMPBENCH_MODELS``, with its weights beside it.

    None where the variable names no address.

    Raises:
        UserError: there is no folder for them, or it is no address of the web.
        DataMissing: the model is not there.
    """
    address = os.environ.get(VARIABLE, "")
    if "://" not in address:
        return None
    cache = cache_folder("models")
    if cache is None:
        raise UserError(f"there is no folder to keep models in; set {VARIABLE} to one")
    if not address.startswith(("https://", "http://", "file://")):
        raise UserError(f"{VARIABLE}={address[:60]}: give a folder, or an address of the web")
    kept = cache / hashlib.sha256(address.encode()).hexdigest()[:16]
    for suffix in (".safetensors", ".yaml"):  # the card last: with it the model is there
        file = kept / f"{name}{suffix}"
        if not file.is_file():
            content = _read(f"{address.rstrip('/')}/{name}{suffix}")
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, content)
    return kept / f"{name}.yaml"


def _read(source: str) -> bytes:
    try:
        with urllib.request.urlopen(source, timeout=DOWNLOAD_TIMEOUT_SECONDS) as stream:
            content: bytes = stream.read()
    except (urllib.error.URLError, OSError, ValueError) as error:
        fix = f"or set {VARIABLE} to a folder or an address that has it"
        raise DataMissing(f"{source}: {error}; try again, {fix}") from None
    return content
