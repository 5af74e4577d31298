# SPDX-License-Identifier: Apache-2.0
"""A foreign program for distributed_launch: ranks of torch.distributed, found by the environment."""
import os
import sys

import torch
import torch.distributed

torch.distributed.init_process_group('gloo', init_method='env://')
rank = torch.distributed.get_rank()
attempt = os.environ['TORCHELASTIC_RESTART_COUNT']
if 'fail' in sys.argv and attempt == '0' and rank == 1:
    sys.exit(7)
total = torch.tensor([rank + 1])
torch.distributed.all_reduce(total)
print(f'rank {rank} of {torch.distributed.get_world_size()}: {total.item()}, attempt {attempt}', flush=True)
torch.distributed.destroy_process_group()
