"""Reads the files that W&B writes offline: protocol buffers in the log format of LevelDB."""

import json
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record

BLOCK, HEADER, FIRST = 32768, 7, 7  # bytes; a file begins with a header of 7 bytes too
WHOLE, LAST = 1, 4  # kinds of pieces that end a record


def records(path):
    data, place, record = Path(path).read_bytes(), FIRST, b""
    while place + HEADER <= len(data):
        left = BLOCK - place % BLOCK
        if left < HEADER:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + HEADER])
        place += HEADER
        record += data[place : place + length]
        place += length
        if kind in (WHOLE, LAST):
            yield Record.FromString(record)
            record = b""


@dataclass
class Mirrored:
    """What one offline folder holds."""

    folder: Path
    run: object = None
    config: dict = field(default_factory=dict)
    history: list = field(default_factory=list)
    artifacts: list = field(default_factory=list)

    def logged(self, name):
        """Values of one quantity, in order."""
        return [row[name] for row in self.history if name in row]

    def table(self, name):
        return json.loads((self.folder / "files" / self.logged(name)[-1]["path"]).read_text())


def _whole(path, seconds=60):
    """Records of a run that has ended; another process writes them, and may be behind."""
    for _ in range(10 * seconds):
        found = list(records(path))
        if any(record.WhichOneof("record_type") == "exit" for record in found):
            return found
        time.sleep(0.1)
    raise TimeoutError(f"{path} has no end")


def offline(folder):
    """Every offline run below ``folder``, oldest first."""
    found = []
    for path in sorted(Path(folder).glob("wandb/offline-run-*/run-*.wandb")):
        one = Mirrored(path.parent)
        for record in _whole(path):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                one.run = record.run
            if kind in ("run", "config"):
                content = record.run.config if kind == "run" else record.config
                _put_all(one.config, content.update)
            if kind == "history":
                row = {}
                _put_all(row, record.history.item)
                one.history.append(row)
            if kind == "artifact":
                one.artifacts.append(record.artifact)
        found.append(one)
    return found


def _put_all(into, items):
    for item in items:
        *above, last = list(item.nested_key) or [item.key]
        node = into
        for key in above:
            node = node.setdefault(key, {})
        node[last] = json.loads(item.value_json)
