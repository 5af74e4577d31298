#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Lockstep with its peers on the CPU, row by row, and prints the tables of docs/performance.md; see compare.sh.

    compare.py --bin BUILD/bin                                # every row
    compare.py --bin BUILD/bin --rows seq2seq-bf16,short      # the rows whose names begin so
    compare.py --bin BUILD/bin --out results.json --rounds 0 --write docs/performance.md
    compare.py --list                                         # the names of the rows

In a round of a row all its programs run once, in turns, between two measurements of the ceiling (the rate of a large
product). If the ceilings differ by more than a tenth the machine was not quiet, and the round is repeated up to three
times; the tables say which rounds never were. The figures are medians over the rounds. --out FILE allows to make a
long comparison in parts, and --rounds 0 only shows the results in the file.
"""
import argparse
import datetime
import os
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
    """Returns the rows whose names begin with one of the comma-separated parts."""
    found = {}
    for part in names.split(","):
        begun = {name: row for name, row in rows.items() if name.startswith(part)}
        if not begun:
            raise ValueError(f"--rows {part}: no row begins so; --list names them")
        found.update(begun)
    return {name: row for name, row in rows.items() if name in found}


def without_compiled(row):
    contestants = {name: each for name, each in row.contestants.items() if "--compile" not in each.arguments}
    return type(row)(row.name, contestants, row.goals, row.dtype, row.environment)


def measure(rows, programs, rounds, results):
    """Every round takes each row once, so that a machine that is slower for a while is slower for all rows."""
    for number in range(1, rounds + 1):
        for row in rows.values():
            lacking = programs.lacking(row)
            if lacking:
                results.skip(row.name, lacking)
                continue
            say(f"round {number} of {rounds}: {row.name}")
            results.add(row.name, measure_round(
                row.contestants, lambda name: programs.run(row.contestants[name], row.environment),
                lambda: programs.ceiling(row.dtype, row.environment), say))


def settings_of(options):
    commit = subprocess.run(["git", "-C", BENCH, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return (f"The figures are medians over rounds of `bench/compare.py --steps {options.steps} --warmup {options.warmup}`, "
            f"written on {datetime.date.today()} at {commit or 'an unknown commit'}.")


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
    parser.add_argument("--rows", help="comma-separated beginnings of rows' names")
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
    results = Results(options.out, machine)
    if options.rounds > 0:
        folder = os.path.abspath(options.bin)
        models = ReplyModels(os.path.join(folder, "lockstep"), os.path.abspath(options.work))
        measure(picked, Programs(folder, sys.executable, models, machine["cores"], options.steps, options.warmup),
                options.rounds, results)
    texts = tables.sections(rows if options.write else picked, results, settings_of(options))
    if options.write:
        write_page(options.write, rows, results, texts)
    print("\n\n".join(texts.values()))


def main():
    try:
        run(parse())
    except (ValueError, RuntimeError, OSError) as problem:
        sys.exit(f"compare.py: {problem}")


if __name__ == "__main__":
    main()
