# SPDX-License-Identifier: Apache-2.0
"""Rows of prepared data as NumPy arrays."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from lockstep.errors import LockstepError


class _Sides(NamedTuple):
    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]


class Row(_Sides):
    """The token ids of a row: its context, and its labels as prepare wrote them.

    `spans` has a line [begin, end) for each part of the row that has labels, counted from the row's first token. In most rows
    it is the target alone; the target of a conversation has several answers and what was said between them.
    """

    spans: npt.NDArray[np.int32]

    def __new__(cls, source: npt.NDArray[np.int32], target: npt.NDArray[np.int32],
                spans: npt.NDArray[np.int32] | None = None) -> "Row":
        row = super().__new__(cls, source, target)
        whole = np.array([[len(source), len(source) + len(target)]], np.int32)
        row.spans = whole if spans is None else spans
        return row

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """The whole row, source and target, with -100 for tokens without a label, as PyTorch's losses ignore them."""
        both = np.concatenate([self.source, self.target])
        labels = np.full_like(both, -100)
        for begin, end in self.spans:
            labels[begin:end] = both[begin:end]
        return labels


def _h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise LockstepError("lockstep.Dataset needs h5py: pip install h5py") from None


class Dataset:
    """The rows of a split, in the order of the text. `lockstep.TorchDataset` gives them as tensors.

    Each shard's tokens are read once and kept; a row is a view into them, which cannot be written to. Needs h5py.
    """

    def __init__(self, folder: str | os.PathLike[str], split: str = "train") -> None:
        _h5py()
        path = pathlib.Path(folder) / "dataset.json"
        self.folder, self.split = pathlib.Path(folder).absolute(), split
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
            splits = {entry["name"]: entry for entry in described["splits"]}
            if split not in splits:
                raise LockstepError(f"{folder}: has no split {split}; it has {', '.join(splits)}")
            self._rows = int(splits[split]["rows"])
            self._block = int(described["rows_per_block"])
            self._files = [str(entry["file"]) for entry in splits[split]["shards"]]
            if self._rows < 0 or self._block < 1 or not self._files:
                raise ValueError("there is a count that no data set has")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise LockstepError(f"{path}: is no description of prepared data ({error})") from None
        self._shards: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
        self._spans: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def _shard(self, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        if number not in self._shards:
            path = self.folder / self._files[number]
            try:
                with _h5py().File(path, "r") as file:
                    tokens, offsets = file["tokens"][:], file["offsets"][:]
                    if "spans" in file:
                        self._spans[number] = file["spans"][:], file["span_offsets"][:]
            except (OSError, KeyError) as error:
                raise LockstepError(f"{path}: cannot be read ({error}); "
                                    f"lockstep inspect {self.folder} --verify tells more") from None
            self._shards[number] = (tokens, offsets)
        return self._shards[number]

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._row(row) for row in range(*index.indices(self._rows))]
        return self._row(index)

    def __getstate__(self) -> dict[str, Any]:
        """A process that gets this data set reads the files itself, as far as it uses them."""
        return {**self.__dict__, "_shards": {}, "_spans": {}}

    def _row(self, index: int) -> Row:
        tokens, middle, spans = self.place(index)
        whole = tokens.view()
        whole.setflags(write=False)
        return Row(whole[:middle], whole[middle:], spans)

    def place(self, index: int) -> tuple[npt.NDArray[Any], int, npt.NDArray[Any] | None]:
        """Returns a row's tokens as a view that must not be written to, where its target begins, and its spans if it has such."""
        row = index + self._rows if index < 0 else index
        if not 0 <= row < self._rows:
            raise IndexError(f"row {index} of {self._rows}")
        block, place = divmod(row, self._block)
        tokens, offsets = self._shard(block % len(self._files))
        at = 2 * (block // len(self._files) * self._block + place)
        if at + 2 >= len(offsets):
            raise LockstepError(f"{self.folder}: row {row} is missing; lockstep inspect {self.folder} --verify tells more")
        begin, middle, end = (int(offsets[at + i]) for i in range(3))
        spans = None
        if block % len(self._files) in self._spans:
            all_spans, span_offsets = self._spans[block % len(self._files)]
            spans = all_spans[int(span_offsets[at // 2]):int(span_offsets[at // 2 + 1])]
        return tokens[begin:end], middle - begin, spans

    def __iter__(self) -> Iterator[Row]:
        return (self._row(row) for row in range(self._rows))
