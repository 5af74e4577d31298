#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Lockstep with its peers on the CPU, row by row, and prints the tables of docs/performance.md; see compare.sh.

    compare.py --bin BUILD/bin                                # every row
    compare.py --bin BUILD/bin --rows seq2seq-fp32,short,*-avx2   # a row, those whose names begin so, those that match
    compare.py --bin BUILD/bin --out results.json --rounds 0 --write docs/performance.md
    compare.py --list                                         # the names of the rows

In a round of a row all its programs run once, in turns, between two measurements of the ceiling (the rate of a large
product). If the ceilings differ by more than a tenth the machine was not quiet, and the round is repeated up to three
times; the tables say which rounds never were. The figures are medians over the rounds. --out FILE allows to make a
long comparison in parts, and --rounds 0 only shows the results in the file. A program that is missing here leaves the
row's others; one that fails leaves the other rows, and the exit code is 1.
"""
import argparse
import datetime
import fnmatch
import os
import signal
import subprocess
import sys

from comparison import tables
from comparison.machine import this_machine
from comparison.programs import Programs
from comparison.reply_models import ReplyModels
from comparison.results import Results
from comparison.rows import BENCH, all_rows
from comparison.turns import measure_round


def say(line):
    print(line, file=sys.stderr, flush=True)


def chosen(rows, names):
    """Returns the rows that the comma-separated parts choose: each is a name, a pattern, or the beginning of names."""
    found = set()
    for part in names.split(","):
        meant = {part} & set(rows) or set(fnmatch.filter(rows, part)) or {name for name in rows if name.startswith(part)}
        if not meant:
            raise ValueError(f"--rows {part}: no row is called so, matches it or begins so; --list names them")
        found |= meant
    return {name: row for name, row in rows.items() if name in found}


def without_compiled(row):
    contestants = {name: each for name, each in row.contestants.items() if "--compile" not in each.arguments}
    return type(row)(row.name, contestants, row.goals, row.dtype, row.environment)


def measure_row(row, programs, results, taken):
    lacking = {name: programs.lacking(each) for name, each in row.contestants.items()}
    if lacking["ours"]:
        return results.skip(row.name, lacking["ours"])
    for name, reason in lacking.items():
        if reason:
            say(f"{row.name}: without {name}, because {reason}")
    results.add(row.name, measure_round(
        [name for name, reason in lacking.items() if not reason],
        lambda name: programs.run(row.contestants[name], row.environment),
        lambda: programs.ceiling(row.dtype, row.environment), say, taken))


def measure(rows, programs, rounds, results, taken):
    """Every round takes each row once, so that a machine that is slower for a while is slower for all rows.

    Returns the number of failures.
    """
    failures = 0
    for number in range(1, rounds + 1):
        for row in rows.values():
            say(f"round {number} of {rounds}: {row.name}")
            try:
                measure_row(row, programs, results, taken)
            except (RuntimeError, ValueError, KeyError, OSError) as problem:
                failures += 1
                say(f"compare.py: {row.name}: {problem}")
                results.skip(row.name, "a program failed")
    return failures


def taken_with(options):
    commit = subprocess.run(["git", "-C", BENCH, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"date": str(datetime.date.today()), "commit": commit or "an unknown commit", "steps": options.steps,
            "warmup": options.warmup}


def write_page(path, rows, results, texts):
    """Refuses to replace a table of all rows by one of some."""
    absent = [name for name in rows if name not in results.rounds and name not in results.skipped]
    if absent:
        raise ValueError(f"--write needs results of every row, in this run or in --out; these lack: {', '.join(absent)}")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(tables.written(page, texts))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the folder with bench_train_step, bench_generate and lockstep")
    parser.add_argument("--rows", help="comma-separated names of rows, beginnings of names, or patterns as *-avx2")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--skip-compiled", action="store_true")
    parser.add_argument("--out", help="all results as JSON; what the file holds already counts as well")
    parser.add_argument("--write", metavar="PAGE", help="write the tables into this page, as docs/performance.md")
    parser.add_argument("--work", default="build/compare", help="the folder for models that reply")
    return parser.parse_args()


def run(options):
    machine = this_machine()
    rows = all_rows(machine["instructions"])
    if options.list:
        return print("\n".join(rows))
    if options.rounds > 0 and not options.bin:
        raise ValueError("--bin names the folder of the built programs")
    picked = chosen(rows, options.rows) if options.rows else rows
    if options.skip_compiled:
        picked = {name: without_compiled(row) for name, row in picked.items()}
    results, failures = Results(options.out, machine), 0
    if options.rounds > 0:
        folder = os.path.abspath(options.bin)
        models = ReplyModels(os.path.join(folder, "lockstep"), os.path.abspath(options.work))
        programs = Programs(folder, sys.executable, models, machine["cores"], options.steps, options.warmup)
        failures = measure(picked, programs, options.rounds, results, taken_with(options))
    texts = tables.sections(rows if options.write else picked, results)
    if options.write and not failures:
        write_page(options.write, rows, results, texts)
    print("\n\n".join(texts.values()))
    if failures:
        raise RuntimeError(f"{failures} rounds failed")


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the program that is measured ends, too
    try:
        run(parse())
    except (ValueError, RuntimeError, OSError) as problem:
        sys.exit(f"compare.py: {problem}")


if __name__ == "__main__":
    main()
