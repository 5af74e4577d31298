# SPDX-License-Identifier: Apache-2.0
"""Programs of Lockstep that Python waits for."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from lockstep.errors import LockstepError
from lockstep.process import Path, Process, Value, Word, failure, options_words, word
from lockstep.rows import DataRow, write_rows


def run(arguments: Sequence[Word], *, text: str | None = None, cwd: Path | None = None,
        env: Mapping[str, str] | None = None) -> str:
    """Runs `lockstep ARGUMENTS` to its end and returns its standard output.

    `text` is its standard input, `env` is added to the environment. Raises LockstepError with the program's last line
    if it fails. Ctrl-C ends the program in order: training saves a checkpoint first.
    """
    if isinstance(arguments, (str, bytes)):
        raise LockstepError('the arguments are one text; give a list of words, as ["prepare", "--input", "train.txt"]')
    words = [word(argument) for argument in arguments]
    process = Process(words, subprocess.PIPE, subprocess.PIPE, cwd, env)
    try:
        out, told = process.child.communicate(text or "")
    except BaseException:
        process.terminate()
        process.child.communicate()
        raise
    finally:
        process.has_ended()
    if process.child.returncode != 0:
        raise failure(words or ["lockstep"], process.child.returncode, (out + "\n" + told).split("\n"))
    return out


def generate(model_file: Path, prompts: Iterable[str], **options: Value) -> list[str]:
    """Returns the model's reply to each prompt. Options are those of `lockstep generate --help`."""
    if isinstance(prompts, (str, bytes)):
        raise LockstepError("the prompts are one text; give a list of texts")
    taken = {"output", "json", "format", "input", "prompt", "n_best"} & set(options)
    if taken:
        raise LockstepError(f"generate of Python has no option {', '.join(sorted(taken))}: it returns one reply to a prompt")
    lines = "".join(json.dumps({"text": prompt}) + "\n" for prompt in prompts)
    words = options_words({"model_file": model_file, "format": "jsonl", "json": True, **options})
    # Other characters than the line feed that Python takes for the end of a line stand in replies as they are.
    answers = run(["generate", *words], text=lines).split("\n")
    return [str(json.loads(line)["reply"]) for line in answers if line]


def write_dataset(rows: Iterable[DataRow], out: Path, **options: Value) -> str:
    """Prepares rows that Python made, for `launch`, and returns what `lockstep prepare` says of them.

    `rows` is an iterable, a table of pandas, polars or pyarrow, or a data set of Hugging Face. A row is a mapping with
    `messages` (OpenAI's), `prompt` and `completion`, `conversations` (ShareGPT), `instruction` and `output` (Alpaca) or
    `text` (a document), or a pair of texts; other members are left out. Options are those of `lockstep prepare --help`,
    as `valid_fraction=0.05` and `tokenizer="sentencepiece"`. Rows are taken one by one; they lie on disk, beside `out`,
    until they are prepared. Rows are counted from 0, also in errors.
    """
    folder = pathlib.Path(out).absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = tempfile.NamedTemporaryFile("wb", dir=folder, prefix=".rows-", suffix=".jsonl")
    except OSError as error:
        raise LockstepError(f"{folder}: rows cannot be written there ({error.strerror})") from None
    with file:
        write_rows(rows, file)
        file.flush()
        try:
            return run(["prepare", *options_words({"input": file.name, "format": "messages", "out": out, **options})])
        except LockstepError as error:
            told = re.sub(re.escape(file.name) + r":(\d+)", lambda found: f"row {int(found.group(1)) - 1}", str(error))
            raise LockstepError(told.replace(file.name, "the rows"), error.code) from None
