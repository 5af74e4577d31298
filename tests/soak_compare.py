#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak_compare.py FOLDER STEPS ORPHANS: compares the runs `soaked` and `calm` of tests/soak.sh."""
import json
import re
import sys
from collections import defaultdict
from pathlib import Path


def metrics(model):
    """Returns the sum of the rows that the lines of steps describe, their steps, and the validations."""
    lines = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["kind"] == "train"]
    valid = [(line["step"], line["loss"]) for line in lines if line["kind"] == "valid"]
    return sum(line["rows"] for line in steps), [line["step"] for line in steps], valid


def epochs(log):
    """Returns the epochs that were told to be complete, each row used exactly once."""
    return {int(n) for n in re.findall(r"epoch (\d+): each of \d+ rows used exactly once", log)}


def growth(path):
    """Returns lines about the processes that were seen for longest, of each kind."""
    seen = defaultdict(list)
    for line in path.read_text().splitlines():
        words = line.split()
        if len(words) == 5:
            seen[words[1], words[2]].append([int(words[0]), int(words[3]), int(words[4])])
    lines, flat = [], True
    for kind in ("launcher", "rank"):
        samples = max((s for (k, _), s in seen.items() if k == kind), key=len, default=[])
        if len(samples) < 8:
            continue
        early, late = samples[len(samples) // 4], samples[-1]
        lines.append(f"{path.stem}: a {kind} seen for {samples[-1][0] - samples[0][0]} s: "
                     f"{early[1]} -> {late[1]} KiB, {early[2]} -> {late[2]} descriptors")
        flat &= late[1] <= 1.1 * early[1] + 4096 and late[2] <= early[2] + 3
    return lines, flat


def main():
    folder, steps, orphans = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    soaked, calm = folder / "soaked", folder / "calm"
    wrong = []
    checkpoint = Path("checkpoints") / f"step-{steps:08}"
    for file in sorted((calm / checkpoint).glob("*.safetensors")):
        if (soaked / checkpoint / file.name).read_bytes() != file.read_bytes():
            wrong.append(f"{file.name} differs")
    # Stops and saves end a line early, so lines differ; what they describe together does not.
    rows, told_steps, valid = metrics(soaked)
    expected_rows, _, expected_valid = metrics(calm)
    if rows != expected_rows:
        wrong.append(f"the lines describe {rows} rows, not {expected_rows}")
    if told_steps != sorted(set(told_steps)):
        wrong.append("steps with two lines")
    # A run that ends by its limit validates once more.
    if valid != [line for line in expected_valid if line in valid or line[0] != steps]:
        wrong.append("other validations")
    told, expected = (epochs((folder / f"{run}.log").read_text()) for run in ("soaked", "calm"))
    if not expected <= told:
        wrong.append(f"epochs without a count of rows: {sorted(expected - told)}")
    if orphans:
        wrong.append(f"{orphans} orphan processes")
    for run in ("soaked", "calm"):
        lines, flat = growth(folder / f"{run}.samples")
        print("\n".join(lines))
        if not flat:
            wrong.append(f"{run}: memory or descriptors grow")
    leftovers = [p.name for p in soaked.rglob("*") if ".tmp-" in p.name or ".damaged" in p.name]
    if leftovers:
        wrong.append("left over: " + ", ".join(leftovers))
    print(f"{len(told_steps)} lines of steps over {rows} rows, {len(valid)} validations, {len(told)} epochs")
    print("as promised" if not wrong else "WRONG: " + "; ".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
