#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the start-up of a run until its first step, in turns with the programs it is compared with.

    startup.py local --bin BUILD/bin --torchrun VENV/bin/torchrun    two ranks on this machine
    startup.py cluster --bin BUILD/bin --mpi PROGRAM                 eight ranks on two Slurm nodes

The clock runs from the command to the line that reports the first step. The MPI program is timed to its end.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
MODEL = ('-m transformer/generator --n-layers 1 --n-heads 2 --embedding-size 16 --ffn-size 16 -bs 1 '
         '--max-train-steps 1 --skip-generation --verbose').split()


class Contestant:
    """Holds a command, and the text of the line that ends its start-up (None: the command's end does)."""

    def __init__(self, name, command, first_step=None):
        self.name, self.command, self.first_step = name, command, first_step
        self.started_s, self.ended_s = [], []

    def run(self, model):
        shutil.rmtree(model, ignore_errors=True)
        begin = time.monotonic()
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started, said = None, []
        for line in process.stdout:
            said.append(line)
            if started is None and self.first_step is not None and self.first_step in line:
                started = time.monotonic() - begin
        code = process.wait()
        ended = time.monotonic() - begin
        if code != 0 or (self.first_step is not None and started is None):
            sys.exit(f'{" ".join(map(str, self.command))}: exit code {code}\n{"".join(said)}')
        self.started_s.append(ended if started is None else started)
        self.ended_s.append(ended)
        return [line for line in said if 'start-up took' in line]


def local(arguments, train):
    return [
        Contestant('torchrun, 2 ranks', [arguments.torchrun, '--nproc-per-node', '2',
                                         REPOSITORY / 'bench' / 'startup_torch.py'], 'first step'),
        Contestant('multiprocessing_train, 2 ranks',
                   ['multiprocessing_train', '--distributed-world-size', '2', *train], 'start-up took')]


def cluster(arguments, train):
    step = ['srun', '-N2', '--ntasks-per-node=4']
    return [
        Contestant('smallest MPI program, pmix', [*step, '--mpi=pmix', arguments.mpi]),
        Contestant('distributed_train, pmix', [*step, '--mpi=pmix', 'distributed_train', *train], 'start-up took'),
        Contestant('distributed_train, none', [*step, '--mpi=none', 'distributed_train', *train], 'start-up took')]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('where', choices=['local', 'cluster'])
    parser.add_argument('--bin', type=lambda p: pathlib.Path(p).resolve(), required=True, help='the folder of the built programs')
    parser.add_argument('--torchrun', default='torchrun')
    parser.add_argument('--mpi', help='the smallest MPI program (target bench_smallest_mpi)')
    parser.add_argument('--work', help='a folder that all nodes see')
    parser.add_argument('--rounds', type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        text, data, model = f'{work}/text.txt', f'{work}/data', f'{work}/model'
        lines = (REPOSITORY / 'examples/shakespeare/train.txt').read_text().splitlines(keepends=True)[:40]
        pathlib.Path(text).write_text(''.join(lines))
        subprocess.run([arguments.bin / 'lockstep', 'prepare', '--format', 'parlai', '--input', text,
                        '--valid', text, '--out', data], check=True, stdout=subprocess.DEVNULL)
        train = ['--data', data, '-mf', model, *MODEL]
        contestants = {'local': local, 'cluster': cluster}[arguments.where](arguments, train)
        for contestant in contestants:
            if contestant.first_step == 'start-up took':
                at = next(i for i, word in enumerate(contestant.command) if str(word).endswith('_train'))
                contestant.command[at] = arguments.bin / contestant.command[at]
            contestant.run(model)  # warms the file cache
            contestant.started_s.clear(), contestant.ended_s.clear()
        for _ in range(arguments.rounds):
            for contestant in contestants:
                for line in contestant.run(model):
                    print(f'{contestant.name}: {line}', end='')
    report(contestants, arguments.rounds)


def report(contestants, rounds):
    reference = contestants[0]
    print(f'\n| {rounds} rounds in turns | to the first step, median (range) | to the end | against {reference.name} |')
    print('| --- | --- | --- | --- |')
    for each in contestants:
        ratio = statistics.median(b / a for a, b in zip(reference.started_s, each.started_s))
        shown = f'{ratio:.2f}' if ratio > 0.5 else f'1/{1 / ratio:.0f}'
        print(f'| {each.name} | {statistics.median(each.started_s):.3f} s ({min(each.started_s):.3f}-'
              f'{max(each.started_s):.3f}) | {statistics.median(each.ended_s):.3f} s | {shown} |')


if __name__ == '__main__':
    main()
