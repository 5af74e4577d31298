# SPDX-License-Identifier: Apache-2.0
"""The weights of a model folder."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.errors import LockstepError

_DTYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U64": "<u8",
           "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "U32": "<u4", "BOOL": "?"}


def _of_index(index: pathlib.Path) -> list[pathlib.Path]:
    try:
        names = set(json.loads(index.read_bytes())["weight_map"].values())
        return [index.parent / name for name in sorted(names)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LockstepError(f"{index}: is no index of weights ({error})") from None


def _weights_files(folder: pathlib.Path, checkpoint: str | None) -> list[pathlib.Path]:
    if checkpoint is not None:
        number = checkpoint.removeprefix("step-")
        name = f"step-{int(number):08}" if number.isdecimal() else checkpoint
        return [folder / "checkpoints" / name / "model.safetensors"]
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    if (folder / "model.safetensors.index.json").is_file():
        return _of_index(folder / "model.safetensors.index.json")
    if (folder / "adapter_model.safetensors").is_file():
        return [folder / "adapter_model.safetensors"]
    whole = sorted(folder.glob("checkpoints/step-[0-9]*/model.safetensors"))
    whole = [path for path in whole if "." not in path.parent.name]
    if not whole:
        raise LockstepError(f"{folder}: has no model.safetensors and no checkpoint; give the folder of --model-file")
    return [whole[-1]]


def load(model_file: str | os.PathLike[str], checkpoint: str | None = None) -> dict[str, npt.NDArray[Any]]:
    """Returns the weights by their names: the best ones, else the newest checkpoint's, else `checkpoint`'s ("step-150").

    Arrays lie in the file and are read as they are touched; those of bfloat16 are copied to float32.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    for path in _weights_files(pathlib.Path(model_file), checkpoint):
        found.update(_load_file(path))
    return found


def _load_file(path: pathlib.Path) -> dict[str, npt.NDArray[Any]]:
    try:
        stored = np.memmap(path, dtype=np.uint8, mode="r")
        header_bytes = int.from_bytes(bytes(stored[:8]), "little")
        if header_bytes > len(stored) - 8:
            raise ValueError("its header is longer than the file")
        header = json.loads(bytes(stored[8:8 + header_bytes]))
        tensors = {name: (entry["dtype"], entry["shape"], entry["data_offsets"])
                   for name, entry in header.items() if name != "__metadata__"}
        found: dict[str, npt.NDArray[Any]] = {}
        for name, (kind, shape, (begin, end)) in tensors.items():
            if not 0 <= begin <= end <= len(stored) - 8 - header_bytes or any(size < 0 for size in shape):
                raise ValueError(f"{name} lies outside of the file")
            values = stored[8 + header_bytes + begin:8 + header_bytes + end].view(_DTYPES[kind]).reshape(shape)
            found[name] = (values.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else values
        return found
    except OSError as error:
        raise LockstepError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LockstepError(f"{path}: is no whole safetensors file ({error})") from None
