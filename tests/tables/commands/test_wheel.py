"""The suite works from a built wheel, from any folder."""

import os
import subprocess
import sys
import zipfile

import pytest

from jumpbench.paths import checkout


@pytest.mark.skipif(checkout() is None, reason="needs a checkout to build from")
@pytest.mark.slow
def test_a_wheel_carries_the_suite_and_runs_a_table(tmp_path):
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(tmp_path), str(checkout())], check=True)
    (wheel,) = tmp_path.glob("jumpbench-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "jumpbench/_suite/conf/run.yaml" in names
    assert "jumpbench/_suite/reproduce/sgdd/table2.yaml" in names
    site = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(site),
    ]
    subprocess.run([*install, str(wheel)], check=True)
    folder = tmp_path / "anywhere"
    folder.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JUMPBENCH_")}
    environment["PYTHONPATH"] = str(site)
    code = "import sys, jumpbench.cli.main as c; print(c.__file__); sys.exit(c.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "table", "sgdd/table2", "scale=smoke", "rows=SGDD"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(str(site)) and "SGDD" in done.stdout
    assert (folder / "outputs/tables/sgdd/table2/smoke/table.json").is_file()
