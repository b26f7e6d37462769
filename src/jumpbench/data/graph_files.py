"""Graph files: DIMACS (``p edge n m``, ``e i j`` from 1) and lists of edges (``i j`` from 0)."""

from pathlib import Path

from jumpbench.errors import DataMissing, UserError


def read_graph(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Number of nodes and edges of one file.

    A line ``c ...`` or ``# ...`` is a comment. Without a ``p`` line nodes count from 0 and there
    are as many as the largest number says; with one, they count from 1.

    Raises:
        UserError: a malformed line, with its number; a self-loop; no edges.
    """
    n, first, edges = 0, 0, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0] in ("c", "#") or words[0].startswith("#"):
            continue
        place = f"{path} line {number}: '{line.strip()[:60]}'"
        if words[0] == "p":
            if len(words) != 4 or not words[2].isdigit():
                raise UserError(f"{place} is no header; write 'p edge NODES EDGES'")
            n, first = int(words[2]), 1
            continue
        if words[0] == "e":
            words = words[1:]
        if len(words) != 2 or not all(word.isdigit() for word in words):
            raise UserError(f"{place} is no edge; write two node numbers")
        i, j = int(words[0]) - first, int(words[1]) - first
        if i == j:
            raise UserError(f"{place} is a self-loop: remove it")
        if min(i, j) < 0 or (first and max(i, j) >= n):
            raise UserError(f"{place} names a node outside {first}..{n - 1 + first}")
        edges.append((i, j))
    if not edges:
        raise UserError(f"{path} has no edges")
    return n or 1 + max(max(edge) for edge in edges), edges


def read_folder(folder: Path) -> list[tuple[int, list[tuple[int, int]]]]:
    """All graphs of a folder, in the order of their names.

    Raises:
        DataMissing: there is no such folder.
    """
    if not folder.is_dir():
        raise DataMissing(f"{folder} does not exist: put one graph file per graph there")
    paths = [p for p in sorted(folder.iterdir()) if p.is_file() and not p.name.startswith(".")]
    return [read_graph(path) for path in paths]
