# SPDX-License-Identifier: Apache-2.0
"""Rows that Python made as lines of JSON, which `lockstep prepare --format messages` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

from lockstep.errors import LockstepError

DataRow = Union[Mapping[str, object], Sequence[str]]

# The members of each form that the program reads; a table has columns that it does not know.
_FORMS = (("messages", "tools"), ("conversations", "system", "tools"),
          ("instruction", "output", "input", "system", "history"), ("prompt", "completion", "tools"), ("text",))
_REQUIRED = (1, 1, 2, 2, 1)


def records(rows: Any) -> Iterator[DataRow]:
    """Yields the rows of a table (pandas, polars, pyarrow), of a data set of Hugging Face, or of any other iterable."""
    if isinstance(rows, Mapping):
        raise LockstepError(f"the rows are a mapping of {', '.join(str(name) for name in rows)}; give one of these, as rows["
                            f"{next(iter(rows), 'train')!r}]")
    if isinstance(rows, (str, bytes)):
        raise LockstepError("the rows are one text; give a list of rows")
    if hasattr(rows, "iter_rows"):  # polars
        yield from rows.iter_rows(named=True)
    elif hasattr(rows, "to_batches"):  # pyarrow
        for batch in rows.to_batches():
            yield from batch.to_pylist()
    elif hasattr(rows, "itertuples") and hasattr(rows, "columns"):  # pandas
        names = [str(name) for name in rows.columns]
        for values in rows.itertuples(index=False, name=None):
            yield dict(zip(names, values))
    else:
        yield from rows


def _is_missing(value: object) -> bool:
    """Whether a table has nothing there: None, or the NaN of pandas."""
    return value is None or (isinstance(value, float) and value != value)


def _plain(value: Any) -> Any:
    """The value without what a table fills in where a row lacks a member."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items() if not _is_missing(one)}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else value  # NumPy


def _form(row: Mapping[str, Any]) -> dict[str, Any] | None:
    for names, required in zip(_FORMS, _REQUIRED):
        if all(not _is_missing(row.get(name)) for name in names[:required]):
            return {name: _plain(row[name]) for name in names if not _is_missing(row.get(name))}
    return None


def _line(row: DataRow, number: int) -> dict[str, Any]:
    if isinstance(row, (tuple, list)) and len(row) == 2 and all(isinstance(text, str) for text in row):
        row = {"prompt": row[0], "completion": row[1]}
    if isinstance(row, Mapping) and "text" in row and ("labels" in row or "eval_labels" in row):
        raise LockstepError(f"row {number}: has text and labels, as ParlAI's examples do, and would be a document without its "
                            "labels; give pairs of texts (row['text'], row['labels'][0])")
    found = _form(row) if isinstance(row, Mapping) else None
    if found is None:
        raise LockstepError(f"row {number}: has neither messages nor prompt and completion as texts, nor another form that "
                            "prepare reads; give such a mapping, or a pair of texts")
    # Pairs and mappings of pairs may stand beside messages.
    prompt, completion = found.get("prompt"), found.get("completion")
    if isinstance(prompt, str) and isinstance(completion, str):
        return {"messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": completion}]}
    if isinstance(prompt, list) and isinstance(completion, list):
        return {"messages": prompt + completion, **{name: found[name] for name in found if name == "tools"}}
    if prompt is not None:
        raise LockstepError(f"row {number}: prompt and completion are neither two texts nor two lists of messages")
    return found


def write_rows(rows: Iterable[DataRow], file: Any) -> None:
    """Writes a line for each row. Rows are counted from 0 in errors."""
    number = -1
    documents = None
    for number, row in enumerate(records(rows)):
        line = _line(row, number)
        if documents not in (None, "text" in line):
            raise LockstepError(f"row {number}: documents (text) and conversations stand in one data set; give each a folder "
                                "of its own, and train takes both")
        documents = "text" in line
        try:
            # Checked before it is written: a lone surrogate is no UTF-8.
            written = json.dumps(line, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise LockstepError(f"row {number}: cannot be written as JSON in UTF-8 ({error})") from None
        file.write(written + b"\n")
    if number < 0:
        raise LockstepError("there are no rows")
