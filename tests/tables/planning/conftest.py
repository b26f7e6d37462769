import sys

import pytest

from jumpbench.tables.planning import plan


@pytest.fixture
def own_modules(tmp_path, monkeypatch):
    """Modules of one's own; returns a function that writes them, {name: text}."""
    written = set()

    def write(texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
            written.add(name)
        plan.forget()

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield write
    for name in written:
        sys.modules.pop(name, None)
    plan.forget()
