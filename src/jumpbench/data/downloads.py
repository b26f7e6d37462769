"""Large files from the web: a download that broke off goes on where it was."""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumpbench.errors import DataMissing
from jumpbench.files import write_atomic

ATTEMPTS, TIMEOUT_SECONDS, BLOCK = 5, 30.0, 1 << 20


def resumed(url: str, target: Path, told: Callable[[int, int | None], None]) -> None:
    """Fetch a file into its place; what an earlier call left of it (``.part``) is gone on with, as
    long as the server says that it is still the same file.

    Raises:
        DataMissing: it breaks off again and again; what is there is kept for the next call.
    """
    part, mark = (target.with_name(f"{target.name}.{end}") for end in ("part", "part.json"))
    reason: object = "no answer"
    for _ in range(ATTEMPTS):
        have = part.stat().st_size if part.is_file() and mark.is_file() else 0
        known = _marked(mark) if have else {}
        have = have if known else 0
        headers = {"User-Agent": "jumpbench"}
        if have:
            headers["Range"] = f"bytes={have}-"
            headers |= {"If-Range": known["is"]} if known["is"] else {}
        try:
            request = urllib.request.Request(url, headers=headers)
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                total = _total(answer, have)
                goes_on = answer.status == 206 and total == known.get("total")
                if answer.status == 206 and not goes_on:
                    part.unlink()  # another file than the one that was begun
                    continue
                is_ = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
                if not goes_on:
                    part.unlink(missing_ok=True)  # before the mark: it is of another file
                write_atomic(mark, json.dumps({"is": is_, "total": total}))
                with part.open("ab" if goes_on else "wb") as file:
                    while block := answer.read(BLOCK):
                        file.write(block)
                        told(file.tell(), total)
            if total is None or part.stat().st_size == total:
                os.replace(part, target)
                mark.unlink()
                return
            reason = f"{part.stat().st_size} of {total} bytes came"
        except urllib.error.HTTPError as error:
            if error.code == 416:  # more is here than there
                part.unlink(missing_ok=True)
                continue
            raise DataMissing(f"{url} answers {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = error
    raise DataMissing(f"{url} did not send {target.name} ({reason}); call again to go on")


def _marked(mark: Path) -> dict[str, Any]:
    """What was begun; nothing where that cannot be read."""
    try:
        known = json.loads(mark.read_text())
    except ValueError:
        return {}
    return known if isinstance(known, dict) and {"is", "total"} <= known.keys() else {}


def _total(answer: http.client.HTTPResponse, have: int) -> int | None:
    """Bytes of the whole file, if the server says so."""
    if answer.status == 206:
        start, _, whole = answer.headers.get("Content-Range", "").partition("/")
        fits = start.startswith(f"bytes {have}-") and whole.isdigit()
        return int(whole) if fits else -1
    length = answer.headers.get("Content-Length")
    return int(length) if length else None
