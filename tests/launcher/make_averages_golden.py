#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/averages.json: reports of several tasks, aggregated by ParlAI.

Needs ParlAI 1.7.2 and torch; run once by hand, from any folder: the test reads only the file it wrote.
"""
import json
import pathlib
import random

from parlai.core.metrics import AverageMetric, F1Metric, SumMetric, aggregate_named_reports
from parlai.core.torch_generator_agent import PPLMetric


def report(rng):
    tokens, rows = rng.randint(1, 5000), rng.randint(1, 400)
    nll, correct = rng.uniform(0.5, 8) * tokens, rng.randint(0, tokens)
    return {
        "loss": AverageMetric(nll, tokens),
        "ppl": PPLMetric(nll, tokens),
        "token_acc": AverageMetric(correct, tokens),
        "f1": F1Metric(rng.uniform(0, 1) * rows, rows),
        "tokens": SumMetric(tokens),
        "examples": SumMetric(rows),
    }


def values(metrics):
    return {name: float(metric.value()) for name, metric in metrics.items()}


def case(rng, tasks):
    reports = {f"task{i}": report(rng) for i in range(tasks)}
    return {
        "reports": {name: values(metrics) for name, metrics in reports.items()},
        "macro": values(aggregate_named_reports(reports)),
        "micro": values(aggregate_named_reports(reports, micro_average=True)),
    }


rng = random.Random(5)
path = pathlib.Path(__file__).parent / "golden" / "averages.json"
path.parent.mkdir(exist_ok=True)
path.write_text(json.dumps([case(rng, tasks) for tasks in (2, 2, 3, 5)], indent=1) + "\n")
