"""What a module does: its syntax tree without docstrings, comments and the types of arguments."""

import ast
from collections.abc import Mapping

PLUMBING = ("errors", "files", "lazy", "paths", "data.files")
"""Modules of the package that find files and name what is wrong with them: no number is theirs."""

_MODULES = frozenset(f"jumpbench.{name}" for name in PLUMBING)


def what_it_does(text: str, renamed: Mapping[str, str]) -> str:
    """The syntax tree of a module without what changes no number; the text where it has none.

    ``renamed`` are modules that it imports under a former name.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    tree = _WithoutWords(renamed).visit(tree)
    # The order of imports is that of their names.
    tree.body.sort(key=lambda node: ast.dump(node) if isinstance(node, ast.Import) else "~")
    return ast.dump(tree)


class _WithoutWords(ast.NodeTransformer):
    """Leaves out statements that are a string alone (docstrings) and the types of arguments.

    Modules of this package get their present names.
    """

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.Import] | None:
        if node.module in ("typing", "collections.abc"):
            return None
        module = str(node.module)
        if module.split(".")[0] != "jumpbench":
            return node
        names = [(f"{module}.{alias.name}", alias.asname or alias.name) for alias in node.names]
        return [ast.Import([ast.alias(self._now(name), local)]) for name, local in names]

    def _now(self, name: str) -> str:
        module, _, last = name.rpartition(".")
        if module in _MODULES:
            return last
        return self._renamed.get(name) or f"{self._renamed.get(module, module)}.{last}"
