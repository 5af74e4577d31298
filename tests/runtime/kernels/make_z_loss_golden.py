#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/z_loss.json: cross entropies with PaLM's z-loss of rows of logits, and their gradients, by PyTorch.

    make_z_loss_golden.py        # in the root of the repository; torch
"""

import json
import pathlib

import torch


def case(seed, classes, smoothing, z):
    random = torch.Generator().manual_seed(seed)
    logits = (torch.randn(3, classes, generator=random, dtype=torch.float64) * 4).float().double().requires_grad_()
    labels = torch.randint(classes, (3,), generator=random)
    labels[1] = -100
    entropy = torch.nn.functional.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    term = z * (torch.logsumexp(logits, -1).square() * (labels >= 0)).sum()
    (entropy + term).backward()
    return {"classes": classes, "smoothing": smoothing, "z": z, "labels": labels.clamp(min=-1).tolist(),
            "logits": logits.flatten().tolist(), "cross_entropy": entropy.item(), "gradients": logits.grad.flatten().tolist()}


def main():
    cases = [case(1, 7, 0.0, 1e-4), case(2, 33, 0.0, 0.02), case(3, 40, 0.1, 0.3), case(4, 21, 0.1, 0.0)]
    pathlib.Path("tests/golden/z_loss.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
