"""``jumpbench show``: every value of every experiment has its line, every metric its function."""

import functools
import json

import pytest
import yaml
from omegaconf import OmegaConf

from jumpbench.cli.main import main
from jumpbench.paths import experiment_names, suite_root
from jumpbench.tables.judging.number_sources import NumberSources
from jumpbench.tables.judging.readings import source_name
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.places import places
from jumpbench.tables.planning.selection import Selection

TABLES = [name for name in available() if not name.startswith("toy/")]


@functools.cache
def written(file):
    """{line: {(key, value as text)}} of a YAML file; of a list's items the key of the list."""
    lines = {}

    def walk(node, key, line):
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                walk(value, name.value, name.start_mark.line + 1)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                walk(value, key, value.start_mark.line + 1)
        if not getattr(node, "value", None) or isinstance(node, yaml.ScalarNode):
            text = yaml.serialize(node, Dumper=yaml.Dumper)
            value = OmegaConf.to_container(OmegaConf.create(f"value: {text}"))["value"]
            lines.setdefault(line, []).append((key, value))

    walk(yaml.compose(file.read_text()), None, 1)
    return lines


def leaves(node, keys=()):
    inner = dict(enumerate(node)) if isinstance(node, list) else node
    if isinstance(inner, dict) and inner:
        for key, value in inner.items():
            yield from leaves(value, (*keys, key))
    else:
        yield keys, node


@pytest.mark.slow
def test_every_value_of_every_experiment_stands_where_it_is_said_to_stand():
    count = 0
    for experiment in experiment_names():
        found = places(experiment, [])
        for keys, value in leaves(found.raw):
            place, _ = found.of(keys)
            name = next((str(key) for key in reversed(keys) if isinstance(key, str)), "")
            assert place.file is not None, (experiment, keys)
            there = [each for key, each in written(place.file)[place.line] if key in (name, None)]
            assert value in there, (experiment, keys, str(place))
            count += 1
    assert count > 3000


def cells():
    """One cell a table and scale that runs; of cited rows none does."""
    for name in TABLES:
        table = load(name)
        for scale in table.scales.values():
            for row, column, metric in table.cells():
                only = [(row, scale.only_rows), (column, scale.only_columns)]
                only.append((metric, scale.only_metrics))
                if not row.cited and all(o is None or e.name in o for e, o in only):
                    yield name, scale.name, row.name, column.name, metric.name
                    break


@pytest.mark.parametrize(
    "scales",
    [
        pytest.param(("smoke",), marks=pytest.mark.slow),
        pytest.param(("small", "medium", "paper"), marks=pytest.mark.long),
    ],
)
def test_every_table_answers_at_every_scale(capsys, scales):
    shown = set()
    for table, scale, row, column, metric in cells():
        if scale not in scales:
            continue
        words = [f"row={row}", f"column={column}", f"metric={metric}", f"scale={scale}"]
        assert main(["show", table, *words]) == 0, (table, *words)
        out = capsys.readouterr().out
        (cell,) = build(load(table), Selection(scale, rows=row, columns=column))[:1]
        config = yaml.load(out, Loader=getattr(yaml, "CLoader", yaml.Loader))
        assert config == cell.runs[0].whole
        values = [line for line in out.splitlines() if line and not line.endswith(":")]
        assert all("# " in line for line in values)
        assert "computed by" in out
        assert " published: " in out
        assert str(cell.runs[0].folder) in out
        shown.add((table, scale))
    assert shown == {(t, scale) for t in TABLES for scale in load(t).scales if scale in scales}
    assert len(shown) >= len(TABLES)


@pytest.mark.slow
@pytest.mark.parametrize("slug", sorted({name.split("/")[0] for name in TABLES}))
def test_every_metric_of_every_table_has_its_function(slug):
    root = (suite_root() / "src").resolve()
    for name in filter(lambda name: name.startswith(f"{slug}/"), TABLES):
        table = load(name)
        scale = min(table.scales, key=lambda scale: scale != "smoke")
        first = {}
        for cell in build(table, Selection(scale, "1")):
            if cell.runs:
                source = source_name(cell.metric, cell.row, cell.column)
                kinds = json.dumps([cell.runs[0].config.get(k) for k in ("evaluation", "method")])
                first.setdefault((source.partition("@")[0], cell.row.name), (source, cell, kinds))
        for source, cell, _ in first.values():
            origins = NumberSources(cell.runs[0].config).of(source)
            assert origins, (name, source)
            for origin in origins:
                line = origin.file.read_text().splitlines()[origin.line - 1]
                assert origin.file.resolve().is_relative_to(root)
                assert line.strip(), (name, source, origin)


@pytest.mark.parametrize(
    ("table", "row", "metric", "functions"),
    [
        ("dasbs/table2", "DASBS", "delta_corr", {"metrics.lattice._common_errors"}),
        ("dasbs/table2", "DASBS", "modes_1", {"methods.dasbs.probes.ModeBalance.__call__"}),
        ("dasbs/table2", "DASBS", "modes", {"metrics.lattice._common_errors"}),
        ("dasbs/table2", "DASBS", "steps_thousands", {"tables.runs.execute._RunJob.fit"}),
        ("dnfs/exact", None, "energy_tv", {"evaluations.normaliser.NormaliserEvaluation._exact"}),
        ("sgdd/table5", "SGDD", "hellinger", {"evaluations.melodies.MelodyEvaluation._each"}),
        ("sgdd/table2", "SGDD", "hellinger", {"evaluations.grid.DISTANCES"}),
    ],
)
def test_metrics_of_one_name_are_told_apart(table, row, metric, functions):
    known = load(table)
    cell = next(
        (r, c)
        for r, c, m in known.cells()
        if m.name == metric and not r.cited and (row is None or r.name == row)
    )
    (found,) = [
        each
        for each in build(known, Selection("smoke", "1", cell[0].name, cell[1].name))
        if each.metric.name == metric
    ]
    source = source_name(found.metric, found.row, found.column)
    origins = NumberSources(found.runs[0].config).of(source)
    assert {o.function.removeprefix("jumpbench.") for o in origins} == functions


def test_a_name_that_the_configuration_gives_is_found_where_it_is_used():
    judge = "jumpbench.evaluations.frechet.FrechetEvaluation"
    config = {"evaluation": {"_target_": judge, "distance": "fid"}}
    assert {o.function for o in NumberSources(config).of("fid")} == {f"{judge}.results"}
    assert not NumberSources({"evaluation": {"_target_": judge}}).of("fid")


def shown(capsys, *words):
    assert main(["show", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_typed_overrides_table_files_and_scale_files_are_named(capsys):
    words = ("dasbs/table2", "row=DASBS", "column=*low*", "scale=smoke", "method.start=0.5")
    content = shown(capsys, *words)
    assert content["places"]["method.start"] == "override"
    assert content["config"]["method"]["start"] == 0.5
    table = (suite_root() / "reproduce" / "dasbs" / "table2.yaml").read_text().splitlines()
    for name, entry in (("row", "- name: DASBS"), ("column", 'name: "beta_low=0.6"')):
        line = int(content[name]["at"].rpartition(":")[2])
        assert entry in table[line - 1]
    assert content["metrics"][0]["published"]["in"].startswith("Table 2")
    assert {run["state"] for run in content["runs"]} == {"missing"}
    assert any(place.startswith("conf/scale/") for place in content["places"].values())
    assert any(place.startswith("reproduce/dasbs/") for place in content["places"].values())


def test_a_formula_stands_beside_its_value_and_a_node_has_the_places_of_its_own(capsys):
    content = shown(capsys, "experiment=dasbs/ising", "target.beta=0.3")
    found = content["places"]
    assert found["method.target.beta"] == found["evaluation.target.beta"] == "override"
    assert found["method.seed"].endswith("${seed}")
    assert found["method.target.size"] == found["target.size"]


def test_a_default_is_marked_and_has_the_line_of_its_constructor(capsys):
    content = shown(capsys, "experiment=dasbs/ising", "target.beta=0.3")
    of_defaults = {key: at for key, at in content["places"].items() if at.startswith("default ")}
    assert len(of_defaults) > 5 and "target.beta" not in of_defaults
    for key, at in of_defaults.items():
        file, _, line = at.removeprefix("default ").rpartition(":")
        text = (suite_root() / file).read_text().splitlines()[int(line) - 1]
        assert any(f"{name}:" in text or f"{name}=" in text for name in key.split(".")), (key, text)


def test_a_class_in_the_place_of_an_option_is_an_override(capsys):
    content = shown(capsys, "experiment=dasbs/exact", "target=jumpbench.targets.potts.Potts",
                    "+target.size=3", "+target.beta=0.3", "+target.n_states=3")  # fmt: skip
    assert content["places"]["target._target_"] == "override"
    assert content["places"]["method.target.size"] == "override"


@pytest.mark.slow
def test_a_finished_run_and_a_failed_one_are_said(jumpbench, project):
    jumpbench("table", "toy/coins", check=0)
    content = json.loads(
        jumpbench("show", "toy/coins", "row=fair", "column=small n", "--json", check=0).stdout
    )
    assert content["runs"][-1]["state"] == "done"
    assert content["metrics"][0]["measured"] is not None
    assert content["metrics"][0]["computed"][0]["function"] == "toys.Heads.results"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dasbs/table2", "row=DASB", "column=*low*"], "no row 'DASB'; did you mean 'DASBS'?"),
        (["dasbs/table2", "row=DASBS", "column=nowhere"], "no column of DASBS 'nowhere'"),
        (["dasbs/table2", "row=DASBS*", "column=*low*"], "row=DASBS* fits DASBS, DASBS (warm"),
        (["dasbs/table2", "column=*low*"], "which row? give row=NAME; there are: DASBS, "),
        (["dasbs/table2", "row=DASBS", "column=*low*", "metric=x"], "no metric 'x'"),
        (["dasbs/table2", "row=DASBS", "column=*low*", "scale=tiny"], "no scale 'tiny'"),
        (["dasbs/table2", "dasbs/table3"], "show takes one table"),
        (["dasbs/table2", "rows=DASBS"], "show has no key 'rows'; did you mean 'row'?"),
        (["experiment=dasbs/ising", "scale=small"], "give show an experiment, or a table"),
        (["experiment=dasbs/isin"], "no experiment 'dasbs/isin'; did you mean 'dasbs/ising'?"),
        (["experiment=dasbs/ising", "method.nothing=1"], "no key 'method.nothing'"),
        ([], "which table?"),
    ],
)
def test_bad_input_is_one_line(words, message, capsys):
    assert main(["show", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
