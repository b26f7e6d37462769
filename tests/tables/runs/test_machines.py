"""One run on several machines: who starts it, and whose meeting is joined."""

import json
import socket

import pytest

from jumpbench.errors import UserError
from jumpbench.tables.launchers import slurm_job
from jumpbench.tables.runs.devices import data_settings, world_size
from jumpbench.tables.runs.machines import PARTY, joined, opened
from jumpbench.tables.runs.resources import Resources
from jumpbench.tables.runs.store import run_hash

TWO = {"devices": 4, "num_nodes": 2}


def test_processes_are_counted_on_all_machines():
    assert world_size(TWO) == 8 and world_size({"devices": 4}) == 4
    assert world_size({"devices": 4, "num_nodes": None}) == 4
    asked = Resources.of({"trainer": TWO | {"accelerator": "gpu"}})
    assert (asked.machines, asked.gpus) == (2, 4)  # so many on each
    settings = {"data": {"train_batch_size": 32}, "stages": ["fit"], "trainer": TWO}
    assert data_settings(settings) == {"train_batch_size": 4}
    with pytest.raises(UserError, match="cannot be kept on 8 devices"):
        data_settings(settings | {"data": {"train_batch_size": 12}})


def test_one_machine_needs_no_meeting(monkeypatch):
    monkeypatch.setenv(PARTY, "7.0")
    assert opened({"devices": 4}) == {}


def test_the_first_machine_says_where_and_only_its_party_joins(tmp_path, monkeypatch):
    """A file that an attempt before left behind, as a killed one does, is nobody's meeting."""
    monkeypatch.setenv(PARTY, "7.1")
    meeting = opened(TWO)
    assert meeting["MASTER_ADDR"] == socket.gethostname() and meeting["NODE_RANK"] == "0"
    assert joined(tmp_path, "7.1", 1) is None  # not begun
    begun = tmp_path / "begun.json"
    begun.write_text(json.dumps({"pid": 1, "meeting": meeting}))
    assert joined(tmp_path, "7.1", 1) == meeting | {"NODE_RANK": "1"}
    assert joined(tmp_path, "7.0", 1) is None and joined(tmp_path, "8.1", 1) is None


@pytest.mark.parametrize("content", ["", "[]", "null", '{"pid": 1}', '{"meeting": [1]}'])
def test_what_is_no_meeting_is_waited_for(tmp_path, content):
    (tmp_path / "begun.json").write_text(content)
    assert joined(tmp_path, "7.1", 1) is None


def test_a_job_that_is_queued_again_is_another_party(monkeypatch):
    """Under the same number: what a killed attempt left behind is of the time before."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)  # as Slurm starts it first
    first = slurm_job._party()
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert first == "7.0" and slurm_job._party() == "7.1"


def test_a_machine_that_comes_late_has_nothing_to_do(tmp_path):
    """The first one found the run made."""
    made = {"run": run_hash(tmp_path), "metrics": {}, "seed": 0}
    (tmp_path / "metrics.json").write_text(json.dumps(made))
    assert slurm_job._awaited(tmp_path, 1) is None


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
def test_the_number_of_machines_is_a_whole_one(count):
    with pytest.raises(UserError, match="give a whole number of machines"):
        world_size({"num_nodes": count})
