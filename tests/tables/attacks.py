"""Damage by a seeded generator (command lines, texts, plain values, files), and what would run a
command if it were constructed or unpickled."""

import json
import os
import shutil
from pathlib import Path
from random import Random

import yaml

LINES = [
    "table toy/coins scale=smoke rows=fair", "table toy/* scale=smoke columns='small n'",
    "status toy/coins scale=smoke seeds=[0,1] --json", "plan toy/coins scale=small method.bias=0.3",
    "status all scale=paper trainer.accelerator=cpu", "list --json", "experiments", "list",
    "run experiment=toy/coin method.bias=0.3 seeds=2", "run experiment=toy/second seed=3",
    "run experiment=toy/walk trainer.max_steps=2 +trainer.gradient_clip_val=1.0",
    "run experiment=toy/coin ~method.fail ++method.sleep=0.0 name=mine fresh=true",
    "sweep experiment=toy/coin method.bias=0.2,0.8 data.n=1,2 metric=mean,floor",
    "report toy/coins --record scale=smoke", "report", "data lakh_pianoroll", "completion bash",
    "--complete table toy/c", "--complete run experiment=toy/w", "--version", "--help",
    "table toy/coins launcher=slurm launcher.wait=true scale=smoke", "dashboard toy/coins",
    "sweep experiment=toy/coin method.n_samples=range(1,4) seeds=[1] metric=mean",
]  # fmt: skip
"""What is meant by a command line, before it is spoilt."""

ODD_WORDS = [
    "", "-", "--", "=", "~", "+", "++", "~~a=1", "a=", "=b", "a..b=1", ".=1", "/", "//", "../..",
    "toy/", "*", "[", "]", "a=[", "a={", "a=}", "a='", 'a="', "a=${", "a=${b}", "a=${oc.env:HOME}",
    "method=null", "method=[]", "data=null", "trainer=null", "trainer.max_steps=-5", "seed=1e3",
    "stages=[]", "stages=null", "needs={x: 3}", "needs=null", "budget={seconds: x}", "name=..",
    "method._target_=3", "method._target_=os.system", "method._target_=", "+data.x=1",
    "checkpoint_every=0", "checkpoint_every=x", "trainer.devices=0", "resources={cpus: -1}",
    "rows=[]", "rows=,", "columns=?", "seeds=[]", "seeds=1,", "seeds=1e9", "scale=toy/x",
    "experiment=", "experiment=toy", "experiment@x=toy/coin", "metric=,", "metric={", "port=99999",
    "a=choice(1,2)", "a=glob(*)", "a=range(1,3)", "a=interval(0,1)", "method.bias=tag(x,1,2)",
    "method.bias=shuffle(1,2)", "method.bias=sort(2,1)", "method.bias=int(x)", "method.bias=nan",
    "method.bias=1e999", "method.n_samples=-1", "method.n_samples=0", "a" * 300, "a=" + "b" * 5000,
    "\ud7ff", "é=ü", "a=\x00", "\x1b[31m", "a=\n", "\udc80", "hydra.verbose=true", "hydra=x",
    "+hydra.run.dir=/tmp/x", "defaults=[x]", "+defaults=[x]", "launcher=", "launcher.x=1",
    "fresh=maybe", "--record", "--readme", "--json", "-h", "--fresh", "%s%n", "{}", "a:b=1",
    "a@b=1",
]  # fmt: skip

ODD = [
    None, True, 0, -1, 3, 10**30, 1e308, float("inf"), float("nan"), "", "text", "${x}", "${",
    "???", [], [None], [[]], ["a", "a"], {}, {"a": None}, {"a": {"b": []}},
    {"_target_": "os.system"}, {"_target_": 3}, "\u202etxt", "a" * 400, "{x}", "{", "%", "../x",
    {"name": "x"}, [{}], "1e3",
]  # fmt: skip
"""Values that stand where another one stood."""


def spoilt_line(random: Random) -> list[str]:
    """A command line that was meant well."""
    words = random.choice(LINES).replace("'small n'", "small\xa0n").split(" ")
    words = [word.replace("\xa0", " ") for word in words]
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(words)) if words else 0
        kind = random.randrange(6)
        if kind == 0:
            words.insert(place + random.randint(0, 1), random.choice(ODD_WORDS))
        elif kind == 1 and words:
            key, equals, _ = words[place].partition("=")
            odd = random.choice(ODD_WORDS)
            words[place] = f"{key}={odd}" if equals else odd
        elif kind == 2 and len(words) > 1:
            del words[place]
        elif kind == 3:
            words += random.choice(LINES).replace("'", "").split(" ")[1:3]
        elif words and words[place]:
            words[place] = _letters(words[place], random)
    # A server would serve, and a launcher of a cluster look for one.
    return [w.replace("\0", "0") for w in words if w != "--serve" and "ray" not in w]


def _letters(word: str, random: Random) -> str:
    i = random.randrange(len(word))
    odd = random.choice("=,.:/[]{}()'\"$~+-*?!\\ \t0aé\u202e%")
    return random.choice([
        word[:i] + word[i + 1 :], word[:i] + odd + word[i:], word[:i] + word[i] + word[i:],
        word[:i] + odd + word[i + 1 :], word[:i], word.upper(),
    ])  # fmt: skip


def spoilt_text(text: str, random: Random) -> bytes:
    """A YAML file with damaged lines, or another value in the place of one."""
    if random.random() < 0.5:
        return _other_value(text, random).encode("utf-8", "surrogatepass")
    lines = text.splitlines(keepends=True)
    i = random.randrange(len(lines))
    kind = random.randrange(10)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(i, lines[random.randrange(len(lines))])
    elif kind == 2:
        lines[i] = " " * random.randint(1, 3) + lines[i]
    elif kind == 3:
        lines[i] = lines[i].lstrip()
    elif kind == 4:
        lines[i] = "\t" + lines[i]
    elif kind == 5:
        lines = [*lines[:i], lines[i][: random.randrange(len(lines[i]) + 1)]]
    elif kind == 6:
        alias = random.choice(["&a [*a]", "&a {x: *a}", "*nobody", "!!python/object:os.system {}",
                               "<<: 3", "? [1]", "!!binary x", "2020-13-45", "0o9"])  # fmt: skip
        lines[i] = lines[i].split(":")[0].rstrip("\n") + f": {alias}\n"
    elif kind == 7:
        lines[i] = _letters(lines[i], random)
    elif kind == 8:
        junk = bytes(random.randrange(256) for _ in range(5))
        whole = "".join(lines).encode()
        cut = random.randrange(len(whole))
        return whole[:cut] + junk + whole[cut:]
    else:
        lines = random.choice([[], ["\n"], ["3\n"], ["[]\n"], ["---\n", "---\n"], ["x: 1\n"]])
    return "".join(lines).encode("utf-8", "surrogatepass")


def _other_value(text: str, random: Random) -> str:
    """One node of the file, at any depth, replaced, left out or called otherwise."""
    content = yaml.safe_load(text)
    spoil(content, random)
    head = text.splitlines()[0] + "\n" if text.startswith("# @package") else ""
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def spoil(content: dict | list, random: Random, odd: list | None = None) -> None:
    """Change one node of plain data in place."""
    places: list[tuple] = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(content)
    node, key = random.choice(places)
    kind = random.randrange(4 if odd is None else 2)
    if kind == 0:
        del node[key]
    elif kind == 3 and isinstance(node, dict):
        node[random.choice(["x", f"{key}s", "", 3, "_target_"])] = node.pop(key)
    else:
        node[key] = random.choice(ODD if odd is None else odd)


OF_JSON = [
    None,
    True,
    "text",
    [],
    {},
    float("nan"),
    float("inf"),
    [1],
    "\ud800",
    {"a": 1},
    "a" * 999,
]
"""In the place of a number or a word of a result; no number, which nobody could tell from it."""
DAMAGES = ("truncated", "empty", "random", "json", "node", "no text", "link", "folder", "gone")


def damage(path: Path, kind: str, random: Random, secret: Path) -> None:
    """Damage a file in one of the ways of :data:`DAMAGES`; a link may lead to the ``secret``."""
    content = path.read_bytes()
    path.unlink()
    if kind == "truncated":
        path.write_bytes(content[: random.randrange(max(len(content), 1))])
    elif kind == "empty":
        path.touch()
    elif kind == "random":
        path.write_bytes(random.randbytes(random.choice([1, 50, 5000])))
    elif kind == "json":
        path.write_text(json.dumps(random.choice([*OF_JSON, 3, [[1, 2]], {"metrics": 3}])))
    elif kind == "node" and path.suffix == ".json":
        value = json.loads(content)
        if isinstance(value, dict | list) and value:
            spoil(value, random, OF_JSON)
        path.write_text(json.dumps(value))
    elif kind in ("no text", "node"):
        cut = random.randrange(len(content) + 1)
        path.write_bytes(content[:cut] + b"\xff\xfe\xc3\x28" + content[cut:])
    elif kind == "link":
        targets = [secret, secret, path.name, "nowhere", path.parent, "/dev/null", "/dev/zero"]
        os.symlink(random.choice(targets), path)
    elif kind == "folder":
        path.mkdir()
        (path / "within").touch()


def restore(pristine: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pristine, folder, symlinks=True)


SHELL = "torch.nn.functional.torch.utils.collect_env.run"


class Evil:
    """A pickle that runs a command."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def shell(mark):
    return {"_target_": SHELL, "_args_": [f"touch {mark}"]}
