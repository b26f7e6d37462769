"""The file of ``jumpbench gpu``, and what the report says of it; needs no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpbench.paths import outputs_root


def result_file() -> Path:
    return outputs_root() / "gpu.json"


def shown(content: Mapping[str, Any]) -> dict[str, Any]:
    """Device, a sentence, and a row for every kind of run.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not what the command writes.
    """
    rows: dict[str, dict[str, list[str]]] = {}
    for part, words in (("agreement", agreed), ("throughput", timed)):
        for one in content.get(part, ()):
            told = rows.setdefault(str(one["run"]), {"agreement": [], "throughput": []})
            told[part].append(str(one.get("left_out") or words(one)))
    looked = [one for one in content["agreement"] if "agrees" in one]
    right = sum(bool(one["agrees"]) for one in looked)
    summary = [f"{right} of {len(looked)} kinds of runs agree with the CPU."]
    if "ceilings" in content:
        summary.append(f"Measured {ceilings_of(content)}.")
    run = content.get("run")
    summary.append(
        f"{run['table']} at {content['scale']} scale, {run['row']} / {run['column']}: "
        f"{'made' if run['made'] else 'not made'} in {run['seconds']:.0f} s."
        if run else "The check was stopped before its end."
    )  # fmt: skip
    summary.append(
        f"Finished {content['finished']}, commit {str(content['commit'])[:10]}"
        f"{' with local changes' if content['dirty'] else ''}."
    )
    return {
        "device": str(content["device"]), "summary": " ".join(summary),
        "rows": [
            {"run": run, **{part: "; ".join(told[part]) for part in told}}
            for run, told in rows.items()
        ],
    }  # fmt: skip


def ceilings_of(content: Mapping[str, Any]) -> str:
    found = content["ceilings"]
    return (
        f"ceilings: {found['float32_flops'] / 1e12:.3g} TFLOP/s in float32, "
        f"{found['bfloat16_flops'] / 1e12:.3g} in bfloat16, {found['bytes'] / 1e9:.3g} GB/s"
    )


def agreed(one: Mapping[str, Any]) -> str:
    words = [f"{what} {apart:.1e}" for what, (apart, _) in one["differences"].items()]
    return f"{'agrees' if one['agrees'] else 'DIFFERS'} ({', '.join(words)})"


def timed(one: Mapping[str, Any]) -> str:
    return (
        f"{one['seconds'] * 1e3:.3g} ms a {one['loop']} in {one['precision']}, "
        f"{one['share']:.0%} of the ceiling"
    )
