"""What the commands print fits the terminal: at 60, 80, 100 and 160 columns, piped, ascii only."""

import pytest

from jumpbench.cli.main import main


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_lines_fit_and_no_word_is_broken(project, capsys, monkeypatch, width, encoding):
    monkeypatch.setenv("COLUMNS", str(width))
    if encoding == "ascii":
        from rich.console import Console

        monkeypatch.setattr(Console, "encoding", property(lambda self: "ascii"))
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert max(map(len, listed.splitlines())) <= width
    assert "sgdd/table2" in listed and "Exact errors on enumerable counts" in listed.replace(
        "\n", " "
    )
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[1:])) <= width  # the first line is a path
    assert "small n" in shown and "large n" in shown
    if encoding == "ascii":
        assert listed.isascii() and shown.isascii()
