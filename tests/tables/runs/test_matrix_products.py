"""JUMPBENCH_AVX512=1: MKL's path with AVX-512 on AMD processors, asked for, recorded and right."""

import json
import os
import subprocess
import sys

import pytest

from documented import ROOT

AMD, NO_AVX512 = "vendor_id : AuthenticAMD\nflags : fma avx2 avx512f", "AuthenticAMD avx2"
INTEL = "vendor_id : GenuineIntel\nflags : fma avx2 avx512f"
PRODUCTS = """
import json, torch
from jumpbench.tables.runs.provenance import Started, provenance
g = torch.Generator().manual_seed(0)
made = provenance({"trainer": {}, "seed": 0}, Started(), "cpu")["mkl_avx512"]
errors = []
for shape in ((64, 64, 192), (300, 257, 65)):
    x, w = torch.randn(shape[:2], generator=g), torch.randn(shape[1:], generator=g)
    exact = x.double() @ w.double()
    errors.append(float((x @ w - exact).norm() / exact.norm()))
print(json.dumps([made, errors]))
"""

pytestmark = pytest.mark.skipif(ROOT is None, reason="needs the scripts of a checkout")


def asked(tmp_path, cpuinfo, **variables):
    """What LD_PRELOAD is after asking on a machine of this description, and what is said."""
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    script = '. "$1/reproduce/environment.sh"; matrix_products "$2" || exit; echo "$LD_PRELOAD"'
    command = ["bash", "-c", script, "-", str(ROOT), str(tmp_path / "cpuinfo")]
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    env = plain | {"JUMPBENCH_VENV": str(tmp_path)} | variables
    return subprocess.run(command, capture_output=True, text=True, env=env)


@pytest.mark.slow
def test_products_are_as_exact_and_their_runs_say_so(tmp_path):
    preload = asked(tmp_path, AMD, JUMPBENCH_AVX512="1").stdout.strip()
    assert preload == str(tmp_path / "mkl_avx512.so")
    for library in ("", preload):
        env = os.environ | {"LD_PRELOAD": library}
        done = subprocess.run(
            [sys.executable, "-c", PRODUCTS], capture_output=True, text=True, env=env, check=True
        )
        made, errors = json.loads(done.stdout)
        assert made is bool(library) and max(errors) < 1e-6 and not done.stderr


@pytest.mark.parametrize("cpuinfo", [INTEL, NO_AVX512])
def test_elsewhere_it_changes_nothing_and_says_so(tmp_path, cpuinfo):
    done = asked(tmp_path, cpuinfo, JUMPBENCH_AVX512="1")
    assert done.returncode == 0 and done.stdout == "\n" and "changes nothing" in done.stderr


def test_it_is_asked_for_and_needs_a_compiler(tmp_path):
    done = asked(tmp_path, AMD)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
    done = asked(tmp_path, AMD, JUMPBENCH_AVX512="1", CC="false")
    assert done.returncode == 2 and "needs a C compiler; set CC to one" in done.stderr
