"""Tables of sequences: the published format, real samples by a column mapping, and bad tables."""

import contextlib
import gzip
import hashlib

import pytest
import torch

from jumpbench.data.enhancers import MotifEnhancers, SequenceTable, verify_gosai
from jumpbench.data.motifs import ALPHABET, BACKGROUND, MOTIFS, MotifActivity, encoded, planted
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from support import needs_data


def letters(states):
    return ["".join(ALPHABET[i] for i in row) for row in states.tolist()]


def write(root, text, name="table.csv", folder="mine"):
    (root / folder).mkdir(exist_ok=True)
    (root / folder / name).write_bytes(
        gzip.compress(text.encode()) if ".gz" in name else text.encode()
    )


def table(root, **options):
    return SequenceTable("mine", "table.csv", 4, root=root, **options)


def many(n=400, length=12):
    states = torch.randint(4, (n, length), generator=torch.Generator().manual_seed(1))
    return letters(states)


def test_generated_enhancers_survive_the_published_format(tmp_path):
    """Written as gosai_all.csv and dataset.csv.gz, and read again."""
    drawn = MotifEnhancers(200, generated=150, half=0).load("train")
    rows = zip(letters(drawn["states"]), drawn["activities"].tolist(), strict=True)
    rows = [(seq, *(repr(value) for value in values)) for seq, values in rows]
    write(
        tmp_path,
        "seq,hepg2,k562,sknsh\n" + "\n".join(map(",".join, rows)),
        "gosai_all.csv",
        "gosai",
    )
    indexed = [f"{i},chr{i % 24 + 1}," + ",".join(row) for i, row in enumerate(rows)]
    write(tmp_path, ",chrom,seq,hepg2,k562,sknsh\n" + "\n".join(indexed), "dataset.csv.gz", "gosai")
    columns = {"activities": ["hepg2", "k562", "sknsh"], "root": tmp_path}
    read = SequenceTable("gosai", "gosai_all.csv", 200, **columns)
    parts = [read.split(name) for name in ("train", "test")]
    found = {
        seq: values
        for part in parts
        for seq, values in zip(letters(part["states"]), part["activities"], strict=True)
    }
    assert list(sorted(found)) == sorted(letters(drawn["states"])) and len(found) == 150
    for seq, values in zip(letters(drawn["states"]), drawn["activities"], strict=True):
        assert torch.equal(found[seq], values)
    assert 3 <= len(parts[1]["states"]) <= 30  # binomial(150, 1/10), 4 standard deviations
    # Halves are chromosomes 1 to 11 and 12 to 22; those beyond are in none.
    halves = [
        SequenceTable("gosai", "dataset.csv", 200, half=h, group="chrom", **columns) for h in (0, 1)
    ]
    both = [
        {seq for name in ("train", "test") for seq in letters(half.split(name)["states"])}
        for half in halves
    ]
    expected = [
        {row[0] for i, row in enumerate(rows) if i % 24 + 1 in chromosomes}
        for chromosomes in (range(1, 12), range(12, 23))
    ]
    assert both == expected
    assert "training sequences of the prior" in verify_gosai(tmp_path)


def test_splits_and_halves_share_no_sequence(tmp_path):
    sequences = many() + many(100)  # a hundred twice
    write(tmp_path, "seq\n" + "\n".join(sequences))
    parts = []
    for half in (0, 1):
        for split in ("train", "test"):
            data = SequenceTable("mine", "table.csv", 12, half=half, root=tmp_path)
            parts.append(letters(data.split(split)["states"]))
    joined = [seq for part in parts for seq in part]
    assert sorted(joined) == sorted(set(sequences)) and all(parts)
    whole = SequenceTable("mine", "table.csv", 12, root=tmp_path).split("test")["states"]
    assert sorted(letters(whole)) == sorted(parts[1] + parts[3])


def test_lower_case_letters_and_labels(tmp_path):
    write(tmp_path, "id\tS\topen\na\tacgt\t1\nb\tACGA\t0\nc\tTTTT\t1\n")
    data = table(tmp_path, sequence="S", label="open", delimiter="\t")
    found = {}
    for split in ("train", "test"):
        try:
            part = data.load(split)
        except UserError:
            continue
        found |= dict(zip(letters(part["states"]), part["labels"].tolist(), strict=True))
    assert found == {"ACGT": 1, "ACGA": 0, "TTTT": 1}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("seq\nACGT\nACNT\n", {}, "line 3: the letter 'N' at place 3"),
        ("seq\nACGT\nACGTA\n", {}, "line 3: a sequence of 5 letters, not 4"),
        ("sequence,y\nACGT,1\n", {}, "no column 'seq'; it has: sequence, y"),
        ("seq,y\nACGT,1\n", {"activities": ["z"]}, "no column 'z'"),
        ("seq,y\nACGT,high\n", {"activities": ["y"]}, "'high' in column y is no finite number"),
        ("seq,y\nACGT,nan\n", {"activities": ["y"]}, "'nan' in column y"),
        ("seq,y\nACGT\n", {"activities": ["y"]}, "line 2 ends before 'y'"),
        ("seq,y\nACGT,2\n", {"label": "y"}, "values beside 0 and 1"),
        ("seq\n", {}, "no rows"),
    ],
)
def test_bad_tables_are_told_by_line(tmp_path, text, options, message):
    write(tmp_path, text)
    with pytest.raises(UserError, match=message):
        for split in ("train", "test"):  # whichever holds the row
            try:
                table(tmp_path, **options).load(split)
            except UserError as error:
                if "no train" not in str(error) and "no test" not in str(error):
                    raise


def test_missing_files_and_other_checksums(tmp_path):
    with pytest.raises(DataMissing, match=r"table\.csv"):
        table(tmp_path).split("train")
    write(tmp_path, "seq\nACGT\n")
    with pytest.raises(DataCorrupt, match="md5"):
        table(tmp_path, md5="0" * 32).split("train")
    right = hashlib.md5(b"seq\nACGT\n").hexdigest()
    parts = 0
    for split in ("train", "test"):
        with contextlib.suppress(UserError):  # no sequence in this split
            parts += len(table(tmp_path, md5=right).load(split)["states"])
    assert parts == 1
    with pytest.raises(UserError, match="half=2"):
        table(tmp_path, half=2)


@needs_data("mpra")
def test_real_samples_by_a_column_mapping():
    human = SequenceTable(
        "mpra", "human_sample_train.txt", 230, activities=["mean_value"], half=0, group="fold",
        halves=[list("01234"), list("56789")], delimiter="\t",
        md5="c470c86633f6abd9b6b7684ef5f6a883",
    )  # fmt: skip
    part = human.split("train")
    assert part["states"].shape == (len(part["activities"]), 230) and len(part["states"]) > 300
    fly = SequenceTable(
        "mpra", "drosophila_sample_train.txt", 249, sequence="Sequence",
        activities=["Dev_log2_enrichment", "Hk_log2_enrichment"], delimiter="\t",
    )  # fmt: skip
    counts = [len(fly.split(name)["states"]) for name in ("train", "test")]
    assert sum(counts) == 1000 and 62 < counts[1] < 138  # binomial(1000, 1/10)
    assert fly.split("train")["activities"].shape == (counts[0], 2)
    with pytest.raises(UserError, match="a sequence of 249 letters, not 200"):
        SequenceTable("mpra", "drosophila_sample_train.txt", 200, "Sequence", delimiter="\t").load(
            "train"
        )


def test_motifs_do_what_the_docstring_says():
    x = encoded("CCCC" + MOTIFS[0] + "CC" + MOTIFS[3])[None]
    found = MotifActivity().responses(x)[0]
    one = 1 - torch.exp(-torch.sigmoid(torch.tensor(1.5)))
    assert found[0] == pytest.approx(float(one), abs=2e-3) and found[3] > 0.55
    assert bool((found[[1, 2, 4, 5]] < 0.02).all())
    assert float(MotifActivity()(x)[0, 0]) == pytest.approx(4.5 * float(one), abs=0.05)
    odds = 6 * found[3] - 2
    assert float(MotifActivity().accessible(x)) == pytest.approx(float(torch.sigmoid(odds)))


def test_generated_enhancers_follow_their_law():
    """Pair frequencies of a background without motifs; how often a motif is planted."""
    generator = torch.Generator().manual_seed(0)
    plain = planted(2000, 64, generator, share=0.0)
    pairs = torch.zeros(4, 4).index_put_(
        (plain[:, :-1].flatten(), plain[:, 1:].flatten()), torch.ones(2000 * 63), accumulate=True
    )
    assert (pairs / pairs.sum(1, keepdim=True) - BACKGROUND).abs().max() < 0.01  # 4 sd: 0.0096
    data = MotifEnhancers(64, generated=4000, half=0, n_samples=500)
    part = data.split("train")
    motif = encoded(MOTIFS[5]).to(torch.uint8)
    whole = (part["states"].unfold(1, 8, 1) == motif).all(-1).any(-1).float().mean()
    # Planted in a quarter, unchanged with probability (1 - 0.1 * 3/4)^8 = 0.536, never overwritten.
    assert abs(float(whole) - 0.25 * 0.925**8) < 0.025
    noise = part["activities"] - MotifActivity()(part["states"].long())
    assert abs(float(noise.std()) - 0.3) < 0.01
    other = MotifEnhancers(64, generated=4000, half=1).split("train")["states"]
    assert not torch.equal(part["states"], other)
    assert torch.equal(
        MotifEnhancers(64, generated=4000).split("train")["states"],
        torch.cat([part["states"], other]),
    )
    assert data.split("test")["states"].shape == (500, 64)
    with pytest.raises(UserError, match="length=7"):
        MotifEnhancers(7)
