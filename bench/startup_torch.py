# SPDX-License-Identifier: Apache-2.0
"""Runs the first step of a one-layer encoder-decoder under torchrun. bench/startup.py times it."""
import torch
import torch.distributed
from torch import nn

VOCABULARY, WIDTH = 731, 16

torch.distributed.init_process_group('gloo')
torch.manual_seed(1)
net = nn.ModuleDict(dict(
    embedding=nn.Embedding(VOCABULARY, WIDTH),
    layers=nn.Transformer(WIDTH, 2, 1, 1, WIDTH, batch_first=True)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, source, target):
        embed = self.net['embedding']
        return self.net['layers'](embed(source), embed(target)) @ embed.weight.T


model = nn.parallel.DistributedDataParallel(Model())
optimizer = torch.optim.AdamW(model.parameters())
source, target = torch.randint(VOCABULARY, (1, 100)), torch.randint(VOCABULARY, (1, 30))
logits = model(source, target)
nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
if torch.distributed.get_rank() == 0:
    print('first step', flush=True)
torch.distributed.destroy_process_group()
