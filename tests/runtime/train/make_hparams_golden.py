#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/hparams.json: the message that torch's add_hparams writes as a session's start.

Needs torch and tensorboard; run once by hand: the test reads only the file it wrote.
"""
import json
import pathlib

from torch.utils.tensorboard.summary import hparams

CASES = [("learningrate", "5e-4", 5e-4), ("batchsize", "32", 32), ("optimizer", "adamw", "adamw"),
         ("amsgrad", "true", True), ("nesterov", "false", False), ("betas", "0.9,0.95", "0.9,0.95")]

golden = []
for name, text, value in CASES:
    _, start, _ = hparams({name: value}, {})
    golden.append({"name": name, "text": text, "summary": start.SerializeToString().hex()})
path = pathlib.Path(__file__).parent / "golden" / "hparams.json"
path.write_text(json.dumps(golden, indent=1) + "\n")
