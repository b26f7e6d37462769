"""Planning by the short cuts of planning/fast is the plain way, on every run of every table."""

import json
from contextlib import contextmanager
from functools import partial

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from jumpbench.paths import conf_dirs
from jumpbench.tables.language.scale import SCALES
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning import composition, hydra_groups, plan
from jumpbench.tables.planning.fast import planned_runs
from jumpbench.tables.planning.fast.config_files import ConfFolders
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.hydra_overrides import chooses_group, parsed_override
from jumpbench.tables.planning.selection import Selection

CASES = [(table, scale) for table in available() for scale in SCALES if scale in load(table).scales]


def by_hydra(experiment, groups):
    """Read from the files, and kept for no other run; of the groups alone without an experiment."""
    named = [f"experiment={experiment}"] if experiment else []
    chosen = [*named, *groups, *hydra_groups.NO_APPLICATION]
    with initialize_config_dir(str(conf_dirs()[-1]), version_base="1.3"):
        return OmegaConf.to_container(compose("run", overrides=chosen))


def with_values(composed, experiment, overrides, nodes):
    """One OmegaConf object for a run, on which everything is set."""
    parsed = [parsed_override(experiment, text) for text in overrides]
    groups = [override for override in parsed if chooses_group(override)]
    config = OmegaConf.create(composed(experiment, tuple(o.input_line for o in groups)))
    for group, line in composition.replacing(experiment, groups).items():
        OmegaConf.update(config, group, composed(None, (line,))[group], merge=False)
    for key, value in nodes.items():
        if key not in {o.key_or_group for o in groups}:
            OmegaConf.update(config, key, value, merge=False)
    for override in (o for o in parsed if not chooses_group(o)):
        above, _, last = override.key_or_group.rpartition(".")
        if override.is_delete():
            del OmegaConf.select(config, above)[last]
        else:
            OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
    return OmegaConf.to_container(config)


def by_omegaconf(config):
    return OmegaConf.to_container(OmegaConf.create(config), resolve=True, throw_on_missing=True)


@contextmanager
def plain_planning(composed):
    with pytest.MonkeyPatch.context() as patch:
        for module in (composition, plan):
            patch.setattr(module, "with_copies", partial(with_values, composed))
        patch.setattr(plan, "resolved", by_omegaconf)
        patch.setattr(planned_runs, "cache_folder", lambda name: None)  # nothing is kept
        if composed is by_hydra:
            patch.setattr(ConfFolders, "manipulate_search_path", lambda *_: None)
        plan.forget()
        yield
    plan.forget()


def planned(table, scale):
    runs = unique_runs(build(load(table), Selection(scale)))
    return {run.id: json.dumps(run.config, sort_keys=True) for run in runs}


def assert_same(cases, composed):
    plan.forget()
    fast = {case: planned(*case) for case in cases}
    with plain_planning(composed):
        plain = {case: planned(*case) for case in cases}
    assert fast == plain and sum(map(len, fast.values())) > 5 * len(cases)


@pytest.mark.slow
def test_values_and_formulas_of_runs_at_smoke_are_omegaconfs():
    """Of every fourth table; all tables and scales take minutes and are a long test."""
    smoke = [case for case in CASES if case[1] == "smoke"]
    assert_same(smoke[::4], hydra_groups.composed_groups)


@pytest.mark.long
def test_every_run_at_every_scale_is_what_hydra_and_omegaconf_make_of_it():
    assert_same(CASES, by_hydra)
