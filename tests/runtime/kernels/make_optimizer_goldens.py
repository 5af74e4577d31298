# SPDX-License-Identifier: Apache-2.0
"""Prints optimizer_goldens.hpp: weights after three updates by torch.optim, Lion and Adafactor.
Muon's gradients have 1 more on the diagonal, because the others have rank 2, and what is left of the third singular
value is rounding. Those of muon_tall are of the transposed matrix.

Run with PyTorch: python make_optimizer_goldens.py > optimizer_goldens.hpp
Adafactor follows fairseq/optim/adafactor.py, step by step, in torch operations. torch has no Lion: its values
are those of the formula in the paper, Algorithm 2 of arXiv 2302.06675.
"""
import math

import torch

ROWS, COLS, UPDATES, LR = 3, 4, 3, 0.05


def weight():
    return torch.tensor([[0.1 * (i * COLS + j) - 0.5 for j in range(COLS)] for i in range(ROWS)])


def gradient(update):
    return torch.tensor([[math.sin(1.0 + 5 * update + 3 * i + j) for j in range(COLS)] for i in range(ROWS)])


def by_torch(make, of=lambda matrix: matrix, more=0):
    w = torch.nn.Parameter(of(weight()))
    optimizer = make([w])
    for update in range(UPDATES):
        w.grad = of(gradient(update) + more)
        optimizer.step()
    return w.detach()


def lion(beta1, beta2, weight_decay):
    w, m = weight(), torch.zeros(ROWS, COLS)
    for update in range(UPDATES):
        g = gradient(update)
        direction = torch.sign(beta1 * m + (1 - beta1) * g)
        w = w - LR * (direction + weight_decay * w)
        m = beta2 * m + (1 - beta2) * g
    return w


def rms(x):
    return x.norm(2).item() / math.sqrt(x.numel())


def adafactor(factored, relative, scale_parameter, beta1, weight_decay):
    eps1, eps2, clip, decay_rate = 1e-30, 1e-3, 1.0, -0.8
    w, row, column = weight(), torch.zeros(ROWS), torch.zeros(COLS)
    full, first = torch.zeros(ROWS, COLS), torch.zeros(ROWS, COLS)
    for step in range(1, UPDATES + 1):
        grad = gradient(step - 1)
        lr = min(1e-2, 1.0 / math.sqrt(step)) if relative else LR
        if scale_parameter:
            lr *= max(eps2, rms(w))
        beta2t = 1.0 - math.pow(step, decay_rate)
        update = grad**2 + eps1
        if factored:
            row.mul_(beta2t).add_(update.mean(dim=-1), alpha=1.0 - beta2t)
            column.mul_(beta2t).add_(update.mean(dim=-2), alpha=1.0 - beta2t)
            r = (row / row.mean(dim=-1, keepdim=True)).rsqrt().unsqueeze(-1)
            update = r * column.unsqueeze(-2).rsqrt() * grad
        else:
            full.mul_(beta2t).add_(update, alpha=1.0 - beta2t)
            update = full.rsqrt().mul(grad)
        update.div_(max(1.0, rms(update) / clip))
        update.mul_(lr)
        if beta1 > 0:
            first.mul_(beta1).add_(update, alpha=1 - beta1)
            update = first
        w.add_(w, alpha=-weight_decay * lr)
        w.add_(-update)
    return w


DIAGONAL = torch.eye(ROWS, COLS)
GOLDENS = {
    "sgd_plain": by_torch(lambda p: torch.optim.SGD(p, lr=LR, weight_decay=0.1)),
    "sgd_momentum": by_torch(lambda p: torch.optim.SGD(p, lr=LR, momentum=0.9, weight_decay=0.1)),
    "sgd_nesterov": by_torch(lambda p: torch.optim.SGD(p, lr=LR, momentum=0.9, nesterov=True)),
    "adam_l2": by_torch(lambda p: torch.optim.Adam(p, lr=LR, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1)),
    "adam_amsgrad": by_torch(lambda p: torch.optim.Adam(p, lr=LR, betas=(0.5, 0.6), amsgrad=True)),
    "adamw": by_torch(lambda p: torch.optim.AdamW(p, lr=LR, weight_decay=0.1)),
    "lion": lion(0.9, 0.99, 0.1),
    "lion_betas": lion(0.95, 0.5, 0.0),
    "muon": by_torch(lambda p: torch.optim.Muon(p, lr=LR, weight_decay=0.1), more=DIAGONAL),
    "muon_plain": by_torch(lambda p: torch.optim.Muon(p, lr=LR, weight_decay=0, momentum=0.8, nesterov=False,
                                                      adjust_lr_fn="match_rms_adamw"), more=DIAGONAL),
    "muon_tall": by_torch(lambda p: torch.optim.Muon(p, lr=LR, weight_decay=0.1), lambda m: m.T.contiguous(), DIAGONAL),
    "adafactor_factored": adafactor(True, False, False, 0.0, 0.0),
    "adafactor_relative": adafactor(True, True, True, 0.9, 0.1),
    "adafactor_full": adafactor(False, False, True, 0.0, 0.1),
}

print("// SPDX-License-Identifier: Apache-2.0")
print("// Written by make_optimizer_goldens.py.")
print("#pragma once\n\n#include <array>\n\nnamespace lockstep::tests::goldens {\n")
for name, values in GOLDENS.items():
    numbers = ", ".join(f"{v:.9g}" for v in values.flatten().tolist())
    print(f"constexpr std::array<double, {ROWS * COLS}> {name}{{{numbers}}};")
print("\n}  // namespace lockstep::tests::goldens")
