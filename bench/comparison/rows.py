# SPDX-License-Identifier: Apache-2.0
"""The rows of the comparison: which programs run in turns, and what of their figures has a goal."""
import os
from dataclasses import dataclass, field

from .machine import AVX2_ALONE

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The first pass over all rows is not timed, as the first steps of the other rows are not.
LENGTHS = ["--lengths", os.path.join(BENCH, "shakespeare-lengths.txt"), "--warmup-passes", "1"]
EAGER, COMPILED = "PyTorch", "PyTorch, compiled"
# OpenMP's threads sleep while they wait.
PASSIVE = (("OMP_WAIT_POLICY", "passive"),)

SHAPES = {
    "seq2seq": ["--model", "seq2seq"],
    "gpt2": ["--model", "gpt2"],
    "long": ["--model", "gpt2", "--batch", "1", "--tgt", "1024"],
}
# shape: (against PyTorch, share of the ceiling). The goals for bf16 are those of AMX where the processor has it.
BF16_AMX = {"seq2seq": (2.4, 0.70), "gpt2": (1.8, 0.75), "long": (1.8, 0.75)}
BF16_AVX512 = {"seq2seq": (2.4, 0.80), "gpt2": (2.0, 0.88), "long": (2.0, 0.88)}
FP32 = {"seq2seq": (1.8, 0.90), "gpt2": (1.6, 0.95), "long": (1.6, 0.95)}
MEMORY = {"seq2seq": 0.55, "gpt2": 0.80, "long": 0.80}
SHORT = (64, 128, 192)
# Steps beside other work: of about 0.02, 0.1 and 1 s on two cores that have none.
BUSY = {
    "step-d64": ["--model", "seq2seq", "--layers", "2", "--d", "64", "--ffn", "256", "--batch", "16"],
    "step-d192": ["--model", "seq2seq", "--layers", "2", "--d", "192", "--ffn", "768", "--batch", "16"],
    "step-d384": ["--model", "seq2seq", "--layers", "6", "--d", "384", "--ffn", "1536", "--heads", "6", "--vocab", "20000",
                    "--batch", "16"],
}

# stage of ZeRO: (its peer, goal against stage 0)
STAGES = {1: ("ZeroRedundancyOptimizer", 1.0), 2: ("FSDP2", 0.95), 3: ("FSDP2", 0.85)}


@dataclass(frozen=True)
class Contestant:
    """A program of a row. `program` is a word that Programs knows.

    `probe` is "perf" if the run is observed by it. `steps` replaces the comparison's number of steps, unless it is 0.
    `environment` has pairs of a variable and its value. So many `busy_loops` run beside it.
    """

    program: str
    arguments: tuple
    ranks: int = 1
    probe: str = "none"
    steps: int = 0
    environment: tuple = ()
    busy_loops: int = 0


@dataclass(frozen=True)
class Goal:
    """A figure of the row. `of` tells tables.value_of() which, `others` are the contestants it compares with."""

    what: str
    of: str
    goal: float
    others: tuple = ()
    ours: str = "ours"


@dataclass(frozen=True)
class Row:
    name: str
    contestants: dict  # the first is "ours"
    goals: tuple
    dtype: str = "fp32"
    environment: dict = field(default_factory=dict, hash=False)


def step(arguments, **more):
    return Contestant("step", tuple(arguments), **more)


def torch(arguments, **more):
    return Contestant("torch", tuple(arguments), **more)


def bf16_goals(instructions):
    return BF16_AMX if "amx_bf16" in instructions else BF16_AVX512


def shape_row(name, shape, dtype, goals, environment=None):
    arguments = SHAPES[shape] + ["--dtype", dtype]
    held = environment or {}
    against, share = goals
    listed = [Goal("x the best PyTorch", "rate", against, (EAGER, COMPILED)), Goal("share of the ceiling", "ceiling", share)]
    if not held:
        listed.append(Goal("peak memory / the best PyTorch's", "memory", MEMORY[shape], (EAGER, COMPILED)))
    return Row(name, {
        "ours": step(arguments), EAGER: torch(arguments), COMPILED: torch(arguments + ["--compile"]),
    }, tuple(listed), dtype, held)


def short_row(size):
    arguments = ["--model", "seq2seq", "--layers", "2", "--d", str(size), "--ffn", str(4 * size), "--batch", "16"]
    observed = step(arguments, probe="perf", steps=100)  # perf takes few samples of so short steps
    return Row(f"short-d{size}", {"ours": step(arguments), EAGER: torch(arguments), "observed": observed}, (
        Goal("x eager PyTorch", "rate", 4, (EAGER,)),
        Goal("a step / its products alone", "products", 1.3, ours="observed"),
    ))


def rank_rows(dtype):
    shared = SHAPES["seq2seq"] + ["--dtype", dtype]
    yield Row(f"seq2seq-{dtype}-2-ranks", {
        "ours": step(shared, ranks=2), "1 rank": step(shared), "DDP": torch(shared, ranks=2),
    }, (Goal("2 ranks x half the cores / 1 rank", "rate", 1.05, ("1 rank",)), Goal("x DDP with Gloo", "rate", 2.0, ("DDP",))), dtype)
    shared = SHAPES["gpt2"] + ["--dtype", dtype]
    yield Row(f"gpt2-{dtype}-2-ranks", {"ours": step(shared, ranks=2), "DDP": torch(shared, ranks=2)},
              (Goal("x DDP with Gloo", "rate", 2.0, ("DDP",)),), dtype)
    for stage, (peer, goal) in STAGES.items():
        staged = shared + ["--zero", str(stage)]
        yield Row(f"gpt2-{dtype}-zero-{stage}", {
            "ours": step(staged, ranks=2), "stage 0": step(shared, ranks=2), peer: torch(staged, ranks=2),
        }, (
            Goal(f"x {peer} with Gloo", "rate", 1.5, (peer,)),
            Goal("/ stage 0", "rate", goal, ("stage 0",)),
            Goal(f"peak memory / {peer}'s", "memory", 1.0, (peer,)),
        ), dtype)


def other_step_rows(dtype):
    full = SHAPES["seq2seq"] + ["--dtype", dtype]
    yield Row(f"seq2seq-{dtype}-uneven", {
        "ours": step(full + LENGTHS), "full": step(full), "PyTorch, padding": torch(full + LENGTHS),
    }, (Goal("uneven rows / full batches", "rate", 0.93, ("full",)),
        Goal("x PyTorch padding them", "rate", 3.0, ("PyTorch, padding",))), dtype)
    yield Row(f"seq2seq-{dtype}-dropout", {"ours": step(full + ["--dropout", "0.1"]), "none": step(full)},
              (Goal("dropout 0.1 / none", "rate", 0.97, ("none",)),), dtype)
    yield Row(f"seq2seq-{dtype}-barriers", {"ours": step(full, probe="perf")},
              (Goal("share of the threads' time at barriers", "barriers", 0.04),), dtype)
    yield Row(f"seq2seq-{dtype}-first-step", {"ours": step(full)}, (Goal("step 1 / a later one", "first", 1.5),), dtype)


def generation_rows():
    for kind in ("seq2seq", "gpt2"):
        for search, beam, goal in (("greedy", 1, 5), ("beam-4", 4, 10)):
            rounds = "1" if kind == "gpt2" else "3"  # the peer takes minutes for a batch
            arguments = ("--kind", kind, "--beam-size", str(beam), "--batch", "64", "--tokens", "32", "--rounds", rounds)
            yield Row(f"generate-{kind}-{search}", {
                "ours": Contestant("generate", arguments), "transformers": Contestant("transformers", arguments),
            }, (Goal("x transformers.generate", "rate", goal, ("transformers",)),))
    lone = ("--kind", "quickstart", "--beam-size", "1", "--batch", "1", "--tokens", "1", "--rounds", "3")
    yield Row("generate-first-token", {"ours": Contestant("generate", lone)},
              (Goal("ms to a lone prompt's first token", "batch_ms", 20),))


def busy_rows(dtype):
    """One busy loop runs beside each program, which is how a workstation or a login node often is."""
    for shape, arguments in BUSY.items():
        typed = [*arguments, "--dtype", dtype]
        yield Row(f"{shape}-{dtype}-busy", {
            "ours": step(typed, busy_loops=1), "ours, passive": step(typed, busy_loops=1, environment=PASSIVE),
            "ours, 1 thread": step([*typed, "--threads", "1"], busy_loops=1), "ours, alone": step(typed),
            EAGER: torch(typed, busy_loops=1), "PyTorch, passive": torch(typed, busy_loops=1, environment=PASSIVE),
        }, (Goal("/ the better of passive waiting and 1 thread", "rate", 0.9, ("ours, passive", "ours, 1 thread")),
            Goal("x PyTorch as it comes", "rate", 2.2, (EAGER,)),
            Goal("x the better of its ways", "rate", 1.55, (EAGER, "PyTorch, passive"))), dtype)
    arguments = ("--kind", "quickstart", "--beam-size", "1", "--batch", "1", "--tokens", "32", "--rounds", "1")
    yield Row("generate-quickstart-busy", {
        "ours": Contestant("generate", arguments, busy_loops=1),
        "ours, passive": Contestant("generate", arguments, busy_loops=1, environment=PASSIVE),
        "ours, alone": Contestant("generate", arguments),
        "transformers": Contestant("transformers", arguments, busy_loops=1),
        "transformers, passive": Contestant("transformers", arguments, busy_loops=1, environment=PASSIVE),
    }, (Goal("/ passive waiting", "rate", 0.9, ("ours, passive",)),
        Goal("x transformers as it comes", "rate", 2.2, ("transformers",)),
        Goal("x the better of its ways", "rate", 1.55, ("transformers", "transformers, passive"))))


def all_rows(instructions):
    """Returns the rows by their names, in the order of the tables.

    A processor without instructions for bf16 has the rows of fp32 alone.
    """
    dtypes = ("bf16", "fp32") if {"amx_bf16", "avx512_bf16"} & set(instructions) else ("fp32",)
    goals = {"bf16": bf16_goals(instructions), "fp32": FP32}
    rows = [shape_row(f"{shape}-{dtype}", shape, dtype, goals[dtype][shape]) for dtype in dtypes for shape in SHAPES]
    rows += [shape_row(f"{shape}-fp32-avx2", shape, "fp32", (1.5, 0.90), AVX2_ALONE) for shape in ("seq2seq", "gpt2")]
    rows += [short_row(size) for size in SHORT]
    rows += [*rank_rows(dtypes[0]), *other_step_rows(dtypes[0]), *generation_rows(), *busy_rows(dtypes[0])]
    return {row.name: row for row in rows}
