# SPDX-License-Identifier: Apache-2.0
"""Rows of prepared data as tensors of PyTorch. This module alone imports torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.data import Dataset
from lockstep.errors import LockstepError

try:
    import torch
    import torch.utils.data
except ImportError:
    raise LockstepError("lockstep.TorchDataset needs PyTorch: pip install torch") from None


class TorchDataset(torch.utils.data.Dataset):
    """`DataLoader(TorchDataset("DATA"), batch_size=8, collate_fn=TorchDataset.collate)`.

    A row has `input_ids`, int32, which share the memory of the shard and must not be written to, and `labels`, int64, with
    -100 for tokens without a label. The tokens are those of the shard; what a model puts between them is the model's.
    """

    def __init__(self, folder: str | os.PathLike[str], split: str = "train") -> None:
        self.rows = Dataset(folder, split)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        tokens, middle, spans = self.rows.place(int(index))
        labels = np.full(len(tokens), -100, np.int64)
        for begin, end in ((middle, len(tokens)),) if spans is None else spans:
            labels[begin:end] = tokens[begin:end]
        return {"input_ids": torch.from_numpy(tokens), "labels": torch.from_numpy(labels)}

    @staticmethod
    def collate(rows: Sequence[dict[str, Any]], pad: int = 0) -> dict[str, Any]:
        """Pads rows to the longest; `attention_mask` is 0 at what was added."""
        def padded(name: str, value: int) -> Any:
            return torch.nn.utils.rnn.pad_sequence([row[name].long() for row in rows], batch_first=True, padding_value=value)

        lengths = torch.tensor([len(row["input_ids"]) for row in rows])
        ids = padded("input_ids", pad)
        mask = (torch.arange(ids.shape[1])[None, :] < lengths[:, None]).long()
        return {"input_ids": ids, "attention_mask": mask, "labels": padded("labels", -100)}
