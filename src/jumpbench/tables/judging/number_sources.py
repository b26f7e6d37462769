"""Where a number of a run is computed: the place in the source that gives it its name.

Searched are the definitions that a run constructs, and those that these name, the nearest first:
the evaluation's for a number, the method's parts' for a number of a curve (``tv@3``).
"""

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpbench.tables.judging.definitions import layers, named_by
from jumpbench.tables.planning.constructors import targets
from jumpbench.tables.planning.sources import Definition

_ENGINE = {
    "run": ("jumpbench.tables.runs.execute.execute", "jumpbench.tables.runs.spent.spent"),
    "counted": ("jumpbench.tables.price.kept.training_memory",),
}
STORED, MENTIONED, DOCUMENTED, FITTING = range(4)
"""How sure a name is: a key with a value, any other text, words of a docstring, a vague pattern."""


@dataclass(frozen=True)
class NumberSource:
    """A line that names a number, the function around it, and what computes the value there."""

    function: str
    file: Path
    line: int
    uses: tuple[Definition, ...] = ()


@dataclass(frozen=True)
class _Name:
    """A name that a definition writes, or a pattern of names (``tv@{t}``)."""

    text: str
    line: int
    function: str
    kind: int
    values: tuple[ast.AST, ...] = ()
    is_pattern: bool = False

    def fits(self, name: str, kind: int) -> bool:
        """Whether it is that name, and as sure as that: a pattern whose gaps are empty is sure."""
        if not self.is_pattern:
            return self.kind == kind and self.text == name
        gaps = re.fullmatch(self.text, name)
        sure = gaps is not None and ("@" in self.text or not any(gaps.groups()))
        return gaps is not None and kind == (self.kind if sure else FITTING)


class NumberSources:
    """Where the numbers of a run with this configuration are computed."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._judges: list[str] = []
        self._methods: list[str] = []
        self._parts: list[str] = []
        # What the configuration gives to a judge may name a number: evaluation.distance=fid.
        self._given: dict[str, list[str]] = {}
        for place, node in targets({k: config.get(k) for k in ("evaluation", "method")}):
            head = place.split(".")
            judges = head[0] == "evaluation" or head[1:2] == ["evaluation"]
            kind = self._judges if judges else self._methods if len(head) == 1 else self._parts
            kind.append(str(node["_target_"]))
            for key, value in node.items():
                if judges and isinstance(value, str):
                    self._given.setdefault(value, []).append(f"self.{key}")

    @functools.cached_property
    def _around(self) -> list[list[list[Definition]]]:
        return [list(layers(names)) for names in (self._judges, self._methods, self._parts)]

    def of(self, name: str) -> list[NumberSource]:
        """The places that give the number ``name`` its name, those that are as near and as sure as
        each other; none if no source says it."""
        judges, methods, parts = self._around
        order = [parts, judges, methods] if "@" in name else [judges, methods, parts]
        if own := _ENGINE.get(name.partition("/")[0]):
            order = [list(layers(own))]
        base = name.partition("@")[0]
        names = dict.fromkeys((name, base, *self._given.get(base, ())))
        tries = [(kind, wanted) for kind in range(4) for wanted in names]
        tries.append((STORED, base.partition("_")[2]))  # left_ess: the prefix is put on later
        for kind, wanted in tries:
            for around in order:
                hits = [[h for one in layer for h in _hits(one, wanted, kind)] for layer in around]
                if around is judges and not any(hits[:1]):  # one for each kind of target
                    hits = [list(itertools.chain(*hits))]
                if nearest := next(filter(None, hits), None):
                    return nearest
        return []


def _hits(one: Definition, wanted: str, kind: int) -> Iterator[NumberSource]:
    """The first such name of a definition; of words of a docstring the pattern that they mean."""
    names = [name for name in _names(one) if name.fits(wanted, kind)]
    if names and kind == DOCUMENTED:
        names = [*(name for name in _names(one) if name.fits(wanted, FITTING)), *names]
    for name in names[:1]:
        used = {d.path: d for value in name.values for d in named_by(one.module, value)}
        uses = [d for d in used.values() if isinstance(d.node, ast.FunctionDef | ast.ClassDef)]
        function = f"{one.module.name}.{name.function}"
        yield NumberSource(function, one.module.file, name.line, tuple(uses))


@functools.cache
def _names(one: Definition) -> tuple[_Name, ...]:
    return tuple(_Reader(one).names)


class _Reader(ast.NodeVisitor):
    """Collects the names that a definition writes."""

    def __init__(self, one: Definition) -> None:
        self.names: list[_Name] = []
        self._module = one.module
        self._around: list[ast.AST] = []
        self._called = one.name
        if isinstance(one.node, ast.FunctionDef):  # value.__name__
            self._add(ast.Constant(one.name, lineno=one.line), MENTIONED)
        self.visit(one.node)

    def _add(self, key: ast.AST | None, kind: int, *values: ast.AST) -> None:
        line = getattr(key, "lineno", 0)
        if isinstance(key, ast.Name) and kind == STORED:  # a constant
            key = next((d.node for d in named_by(self._module, key)), None)
        text, pattern = "", isinstance(key, ast.JoinedStr)
        if isinstance(key, ast.JoinedStr):
            parts = [str(p.value) if isinstance(p, ast.Constant) else "" for p in key.values]
            if re.search("[a-z]", "".join(parts)):
                text = "".join(re.escape(p) or "(.*)" for p in parts)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            text = key.value
        elif isinstance(key, ast.Attribute) and ast.unparse(key.value) == "self":
            text = ast.unparse(key)
        if text:
            self.names.append(
                _Name(text, line, self._called, kind, self._with_locals(values), pattern)
            )

    def _with_locals(self, values: tuple[ast.AST, ...]) -> tuple[ast.AST, ...]:
        """The expressions, and what the function assigns to the variables that they name."""
        named = {n.id for v in values for n in ast.walk(v) if isinstance(n, ast.Name)}
        assigned = [
            node.value
            for around in self._around[-1:] for node in ast.walk(around)
            if isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id in named for t in node.targets)
        ]  # fmt: skip
        return (*values, *assigned)

    def _inside(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        outer = self._called
        if self._around:
            self._called = f"{outer}.{node.name}"
        self._around.append(node)
        for word in re.findall(r"``([\w@]+)``", ast.get_docstring(node) or ""):
            self._add(ast.Constant(word, lineno=node.body[0].lineno), DOCUMENTED)
        self.generic_visit(node)
        self._around.pop()
        self._called = outer

    visit_ClassDef = visit_FunctionDef = _inside

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            self._add(key, STORED, value)
            self._add(value, MENTIONED)
            self.visit(value)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._add(node.key, STORED, node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Subscript):
                    self._add(each.slice, STORED, node.value)
                    self.visit(each.slice)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        for keyword in node.keywords:
            if keyword.arg and (called == "dict" or called.endswith(".add")):
                self._add(ast.Constant(keyword.arg, lineno=keyword.lineno), STORED, keyword.value)
        for argument in node.args if not called.endswith((".get", ".startswith")) else ():
            self._add(argument, STORED if called.endswith(".setdefault") else MENTIONED)
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        for each in node.elts:
            self._add(each, MENTIONED, node)
        self.generic_visit(node)
