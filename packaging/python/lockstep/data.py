# SPDX-License-Identifier: Apache-2.0
"""Rows of prepared data as NumPy arrays."""

import importlib
import json
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lockstep.errors import LockstepError


class Row(NamedTuple):
    """The token ids of a row: its context, and its labels without start and end."""

    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]


def _h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise LockstepError("lockstep.Dataset needs h5py: pip install h5py") from None


class Dataset(Sequence[Row]):
    """The rows of a split, in the order of the text. It can be given to a DataLoader of PyTorch as it is.

    Each shard's tokens are read once and kept; a row is a view into them. Needs h5py.
    """

    def __init__(self, folder: "str | os.PathLike[str]", split: str = "train") -> None:
        self._h5py = _h5py()
        path = pathlib.Path(folder) / "dataset.json"
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LockstepError(f"{path}: is no description of prepared data ({error})") from None
        splits = {entry["name"]: entry for entry in described["splits"]}
        if split not in splits:
            raise LockstepError(f"{folder}: has no split {split}; it has {', '.join(splits)}")
        self.folder, self.split = pathlib.Path(folder), split
        self._rows = int(splits[split]["rows"])
        self._block = int(described["rows_per_block"])
        self._files = [entry["file"] for entry in splits[split]["shards"]]
        self._shards: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def _shard(self, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        if number not in self._shards:
            path = self.folder / self._files[number]
            try:
                with self._h5py.File(path, "r") as file:
                    self._shards[number] = (file["tokens"][:], file["offsets"][:])
            except (OSError, KeyError) as error:
                raise LockstepError(f"{path}: cannot be read ({error}); "
                                    f"lockstep inspect {self.folder} --verify tells more") from None
        return self._shards[number]

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: int) -> Row:  # type: ignore[override]
        row = index + self._rows if index < 0 else index
        if not 0 <= row < self._rows:
            raise IndexError(f"row {index} of {self._rows}")
        block, place = divmod(row, self._block)
        tokens, offsets = self._shard(block % len(self._files))
        at = 2 * (block // len(self._files) * self._block + place)
        begin, middle, end = (int(offsets[at + i]) for i in range(3))
        return Row(tokens[begin:middle], tokens[middle:end])

    def __iter__(self) -> Iterator[Row]:
        return (self[row] for row in range(self._rows))
