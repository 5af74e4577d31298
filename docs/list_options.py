#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/option-list.md, the list of every program's options and defaults, from what the
programs say with --help.

  docs/list_options.py build/bin/lockstep [--check]

With --check it writes nothing, and fails if the list is another one or if a table of options.md
begins with an option that neither Lockstep nor ParlAI has.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "option-list.md"
HEAD = """# Every option and its default

`docs/list_options.py` wrote this list from `lockstep PROGRAM --help`, which also says what the options mean.
[options.md](options.md) says where they differ from those of other programs. Options stand below the programs that have them, with
their defaults. `train` stands for `multiprocessing_train` and `distributed_train`, too, and `eval` for `multiprocessing_eval` and
`distributed_eval`. *Training* is `train`, `doctor`, `plan` and `ladder`; *replies* is `generate`, `display_model`, `interactive` and
`self_chat`. Options of all programs are left out.
"""
EVERYWHERE = {"config", "dump-config", "help"}
GROUPS = {"training": ("train", "doctor", "plan", "ladder"), "replies": ("generate", "display_model", "interactive", "self_chat")}


def text_of(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def options_of(help_text):
    """Yields name, placeholder, short forms and default of each option."""
    blocks = re.findall(r"^  (--\S.*(?:\n {4,}.*)*)", help_text, re.M)
    for block in blocks:
        text = " ".join(block.split())
        name, rest = text[2:].split(" ", 1)
        placeholder = re.match(r"--\S+ (\S+)", block).group(1)
        default = re.search(r" \[([^\[\]]*)\]$", text)
        forms = re.findall(r" \((-[a-z][a-z0-9-]*)\)", rest)
        yield name, placeholder, tuple(forms), default.group(1) if default else ""


def programs_of(lockstep):
    return re.findall(r"^  ([a-z_]+) {2,}", text_of(lockstep, "help"), re.M)


def cell(values):
    """One value, or the commonest one with the programs that have another."""
    kinds = {}
    for program, value in values.items():
        kinds.setdefault(value, []).append(program)
    first = max(kinds, key=lambda value: len(kinds[value]))
    words = [first or "–"]
    for value, programs in kinds.items():
        if value != first:
            words.append(f"{', '.join(programs)}: {value or '–'}")
    return "; ".join(words)


def grouped(programs):
    """The names of programs, with one word for those that stand together."""
    words = list(programs)
    for group, members in GROUPS.items():
        if set(members) <= set(words):
            words[words.index(members[0])] = group
            words = [word for word in words if word not in members]
    return words


def collect(lockstep):
    options = {}
    for program in programs_of(lockstep):
        base = re.sub("^(multiprocessing|distributed)_(?=train|eval)", "", program)
        for name, placeholder, forms, default in options_of(text_of(lockstep, program, "--help")):
            if name in EVERYWHERE:
                continue
            option = options.setdefault(name, {"forms": [], "words": placeholder, "values": {}})
            option["forms"] += [form for form in forms if form not in option["forms"]]
            option["values"].setdefault(base, default)
    return options


def line(name, option):
    forms = "".join(f", `{form}`" for form in option["forms"])
    return f"- `--{name} {option['words']}`{forms}: {cell(option['values'])}"


def page(options):
    """The options of the same programs have a section; sections of one or two are joined."""
    sections = {}
    for name, option in sorted(options.items()):
        sections.setdefault(", ".join(grouped(option["values"])), []).append(line(name, option))
    text, others = HEAD, []
    for programs, lines in sorted(sections.items(), key=lambda section: -len(section[1])):
        if len(lines) > 2:
            text += f"\n## {programs[0].upper()}{programs[1:]}\n\n" + "\n".join(lines) + "\n"
        else:
            others += [f"{each} ({programs})" for each in lines]
    return text + "\n## Others\n\n" + "\n".join(sorted(others)) + "\n"


def unknown_options(options):
    known = set(options) | EVERYWHERE
    known |= {form.lstrip("-") for option in options.values() for form in option["forms"]}
    for name, option in json.loads((ROOT / "tests/golden/parlai_options.json").read_text()).items():
        known |= {name, *(form.lstrip("-") for form in option["short"])}
    for number, line in enumerate((ROOT / "docs/options.md").read_text().splitlines(), 1):
        if not line.startswith("| `-"):
            continue
        first = re.split(r" (?<!\\)\| ", line[2:])[0]
        for name in re.findall(r"`--?([a-z][a-z0-9-]*)", first):
            if name not in known:
                yield f"docs/options.md:{number}: --{name}: no program has this option"


def main(lockstep, *words):
    options = collect(lockstep)
    if "--check" not in words:
        PAGE.write_text(page(options))
        return 0
    faults = list(unknown_options(options))
    if not PAGE.exists() or PAGE.read_text() != page(options):
        faults.append(f"docs/option-list.md is another list: run docs/list_options.py {lockstep}")
    print("\n".join(faults) if faults else f"{len(options)} options")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
