#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak_compare.py FOLDER STEPS ORPHANS: compares the runs `soaked` and `calm` of tests/soak.sh."""
import json
import re
import sys
from collections import defaultdict
from pathlib import Path


def metrics(model):
    """Returns the lines of steps and validations: kind, step and loss."""
    lines = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
    return [(line["kind"], line["step"], line["loss"]) for line in lines if line["kind"] != "final"]


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
    there, here = metrics(calm), metrics(soaked)
    # A run that ends by its limit validates once more.
    there = [line for line in there if line in here or line[:2] != ("valid", steps)]
    if here != there:
        lost, more = set(there) - set(here), len(here) - len(set(here))
        wrong.append(f"metrics: {len(lost)} of {len(there)} lines lost or other, {more} doubled")
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
    print(f"{len(here)} lines of metrics, {len(told)} epochs")
    print("as promised" if not wrong else "WRONG: " + "; ".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
