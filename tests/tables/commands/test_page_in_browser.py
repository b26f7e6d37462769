"""The report page in a browser."""

import json
import os
import re
from pathlib import Path

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.commands import report_page

BROWSER = os.environ.get("JUMPBENCH_BROWSER")


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="needs playwright and a browser (JUMPBENCH_BROWSER=path)")
def test_the_page_in_a_browser(project, capsys):
    """All recorded tables, at phone and desktop width, light and dark: loads in under 2 s, nothing
    is wider than the screen, and every control works without an error on the console."""
    pytest.importorskip("playwright")
    from playwright.sync_api import sync_playwright

    assert main(["report"]) == 0
    file = Path(project / "outputs/report/index.html")
    arguments = ["--no-sandbox", "--disable-gpu", "--no-zygote", "--headless=shell"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=arguments, timeout=120_000)
        for width, scheme in ((390, "dark"), (1280, "light")):
            context = browser.new_context(
                viewport={"width": width, "height": 844}, color_scheme=scheme
            )
            page, errors = context.new_page(), []
            page.on("console", lambda m, e=errors: e.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error, e=errors: e.append(str(error)))
            page.goto(file.as_uri())
            spent = "performance.getEntriesByType('navigation')[0].loadEventEnd"
            assert page.evaluate(spent) < 2000
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
            page.fill("#search", "discretised first two sites")
            shown = page.locator("section:not(.hidden)")
            assert shown.count() == 1 and shown.get_attribute("id") == "sgdd-table2"
            section = page.locator("#sgdd-table2")
            header = page.locator("header").bounding_box()["height"]
            assert section.bounding_box()["y"] == pytest.approx(header, abs=2)  # scrolled to
            page.fill("#search", "")
            page.evaluate("location.hash = 'dnfs-table1'")
            page.wait_for_timeout(300)
            top = page.locator("#dnfs-table1").bounding_box()["y"]
            assert top == pytest.approx(header, abs=2)  # an anchor stands below the header
            absent = page.locator("article.chosen td.missing[data-cell]")
            if absent.count():  # rows that were not run are folded
                absent.first.click()
                words = page.locator("#detail").inner_text()
                assert "Make it:" in words and "Made by" not in words and "again" not in words
                page.locator("#detail .close").click()
            place = page.locator("article.chosen:has(.plots[data-bars])").first
            place.evaluate("article => article.scrollIntoView()")
            bars = place.locator(".plots .plot").first
            bars.scroll_into_view_if_needed()
            paths = bars.locator("path.bar")
            drawn = [paths.nth(i).get_attribute("d") for i in range(paths.count())]
            assert paths.count() == bars.locator(".keys button").count() and all(
                "V" in d for d in drawn
            )
            page.fill("#search", "discretised first two sites")
            section.locator(".scales button").nth(1).click()
            assert section.locator("article.chosen").get_attribute("data-label").startswith("paper")
            section.locator(".scales button").nth(0).click()
            table = section.locator("article.chosen table").first
            head = table.locator("thead th").nth(1)
            values = "t => [...t.tBodies[0].rows].map(r => measured(r.cells[1]))"
            as_written = table.evaluate(values)
            head.locator("button").click()
            assert table.evaluate(values) == sorted(as_written)
            head.locator("button").click()
            assert table.evaluate(values) == sorted(as_written, reverse=True)
            head.locator("button").click()
            assert table.evaluate(values) == as_written
            table.locator("td[data-cell]").first.click()
            words = page.locator("#detail").inner_text()
            assert "seed 0" in words and "rows=" in words and "sgdd/synthetic" in words
            page.locator("#detail .close").click()
            assert not page.locator("#detail").is_visible()
            first = table.locator("tbody tr td").first
            left = first.bounding_box()["x"]
            table.locator("..").evaluate("box => box.scrollLeft = 1000")
            assert first.bounding_box()["x"] == pytest.approx(left, abs=1)  # it stays in place
            assert not errors
            context.close()
        browser.close()


@pytest.fixture
def explored(project, monkeypatch):
    """The page of the toy table at two scales, with a learning curve, open in a browser."""
    pytest.importorskip("playwright")
    from playwright.sync_api import sync_playwright

    monkeypatch.setattr(report_page, "shown", lambda: ["toy/coins", "sgdd/figure2"])
    often = "++trainer.log_every_n_steps=5"
    assert main(["table", "toy/coins", "scale=small", "seeds=5", often]) == 0
    assert main(["table", "toy/coins", "scale=smoke", often]) == 0
    file = project / "outputs/tables/toy/coins/smoke/table.json"
    part = json.loads(file.read_text())
    for cell in part["cells"]:  # one row was not run
        if cell["row"] == "biased":
            cell |= {"measured": None, "status": "missing", "values": [], "n_seeds": 0}
    file.write_text(json.dumps(part))
    assert main(["report"]) == 0
    arguments = ["--no-sandbox", "--disable-gpu", "--no-zygote", "--headless=shell"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=arguments, timeout=120_000)
        page = browser.new_page(viewport={"width": 1280, "height": 844})
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto((project / "outputs/report/index.html").as_uri())
        yield page
        browser.close()


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="needs playwright and a browser (JUMPBENCH_BROWSER=path)")
def test_exploring_in_a_browser(explored):
    """Filters, two scales beside each other, the address of a cell, curves with hover and keys."""
    page = explored
    rows = page.locator(".index tbody tr:not(.hidden)")
    whole = rows.count()
    for name, value, ids in (
        ("paper", "sgdd", {"sgdd-figure2"}), ("claims", "holds", {"toy-coins"}),
        ("status", "part", {"toy-coins"}), ("status", "data-missing", set()),
    ):  # fmt: skip
        page.select_option(f"select[data-filter={name}]", value)
        shown = page.locator("section:not(.hidden)")
        assert {shown.nth(i).get_attribute("id") for i in range(shown.count())} == ids
        assert page.locator("#found").inner_text() == f"{rows.count()} found"
        if value == "part":  # the scale that fits is the one that is shown
            assert page.locator("#toy-coins article.chosen").get_attribute("data-label") == "smoke"
        page.select_option(f"select[data-filter={name}]", "")
        assert rows.count() == whole

    section = page.locator("#toy-coins")
    section.locator(".scales button", has_text="small").click()
    section.locator("select[data-beside]").select_option("smoke")
    left, right = (
        section.locator(f"article.{name}").bounding_box() for name in ("chosen", "beside")
    )
    assert left["y"] == pytest.approx(right["y"], abs=1) and left["x"] + left["width"] <= right["x"]
    section.locator("select[data-beside]").select_option("")

    section.locator("article.chosen td[data-cell]").nth(1).click()
    link = page.locator("#detail a").get_attribute("href")
    assert link.startswith("#toy-coins/small/fair/large%20n/mean")
    page.goto("about:blank")
    page.go_back()
    page.evaluate("link => { location.hash = link; }", link)
    page.wait_for_selector("td.found")
    assert page.locator("td.found").count() == 1
    assert page.locator("td.found").get_attribute("data-cell") == "1"
    box = page.locator("td.found").bounding_box()
    assert 0 < box["y"] < 844

    plot = section.locator("article.chosen .plot .plot")
    plot.scroll_into_view_if_needed()
    box = plot.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 20)
    assert re.match(r"step 20: walk \* .*[\d.]+", plot.locator(".tip").inner_text())
    key = plot.locator(".keys button").first
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert not plot.locator("path.line").first.is_visible()
    key.click()
    assert plot.locator("path.line").first.is_visible()

    page.evaluate("location.hash = 'sgdd-figure2'")
    over = page.locator("#sgdd-figure2 .plots .plot").first  # beta = 3 to 100, from the record
    over.scroll_into_view_if_needed()
    box = over.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 20)
    assert over.locator(".tip").inner_text().startswith("beta = 100: SGDD ")
