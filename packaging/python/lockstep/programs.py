# SPDX-License-Identifier: Apache-2.0
"""Programs of Lockstep as child processes: one that is waited for, or a run that trains beside Python."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TextIO, Union

from lockstep import files
from lockstep.command import program
from lockstep.errors import LockstepError

Value = Union[str, int, float, bool, "os.PathLike[str]", Sequence[Union[str, int, float, "os.PathLike[str]"]]]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _words(options: Mapping[str, Value]) -> list[str]:
    """`n_layers=2` becomes `--n-layers 2`; a list becomes several words behind one option."""
    words = []
    for name, value in options.items():
        words.append("--" + name.replace("_", "-"))
        several = isinstance(value, Sequence) and not isinstance(value, str)
        words += [_word(one) for one in value] if several else [_word(value)]  # type: ignore[union-attr]
    return words


def _failure(words: Sequence[str], code: int, lines: Iterable[str]) -> LockstepError:
    said = [line.strip() for line in lines if line.strip()]
    code = code if code >= 0 else 128 - code
    return LockstepError(said[-1] if said else f"{' '.join(words[:1])} ended with code {code} without a word", code)


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(more or {})}


def run(arguments: Sequence[Value], *, text: str | None = None, cwd: "str | os.PathLike[str] | None" = None,
        env: Mapping[str, str] | None = None) -> str:
    """Runs `lockstep ARGUMENTS` to its end and returns its standard output.

    `text` is its standard input, `env` is added to the environment. Raises LockstepError with the program's last line
    if it fails.
    """
    words = [_word(argument) for argument in arguments]
    done = subprocess.run([program(), *words], input=text or "", capture_output=True, encoding="utf-8", cwd=cwd,
                          env=_environment(env), check=False)
    if done.returncode != 0:
        raise _failure(words, done.returncode, (done.stdout + "\n" + done.stderr).splitlines())
    return done.stdout


class Run:
    """A program that runs beside Python. It ends with the `with` block, or when stop() is called."""

    def __init__(self, words: Sequence[str], folder: pathlib.Path | None, output: TextIO | None,
                 cwd: "str | os.PathLike[str] | None", env: Mapping[str, str] | None) -> None:
        self._words = list(words)
        self._folder = folder
        self._lines: collections.deque[str] = collections.deque(maxlen=1000)
        # A group of its own: Ctrl-C in a notebook or a shell reaches Python alone, which then stops the run in order.
        self._process = subprocess.Popen([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", cwd=cwd,
                                         env=_environment(env), start_new_session=True)
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()

    def _read(self, output: TextIO | None) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.append(line.rstrip("\n"))
                try:
                    if output is not None:
                        output.write(line)
                        output.flush()
                except (OSError, ValueError):
                    output = None  # Nobody reads any more; the run goes on.

    @property
    def lines(self) -> list[str]:
        """What the program has printed so far, the last 1,000 lines."""
        return list(self._lines)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def metrics(self, kind: str = "train") -> list[dict[str, object]]:
        """Returns the lines of that kind that the run has written so far (lockstep.read_metrics)."""
        if self._folder is None:
            raise LockstepError(f"{self._words[0]} has no --model-file, so there are no metrics to read")
        return files.read_metrics(self._folder, kind) if (self._folder / "metrics.jsonl").exists() else []

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits for the end. Raises LockstepError if the program failed, and TimeoutError while it still runs."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self._words[0]} still runs after {timeout_s} s") from None
        self._reader.join()
        if code != 0:
            raise _failure(self._words, code, self._lines)

    def stop(self) -> None:
        """Ends the run as Ctrl-C does: training saves a checkpoint first, from which the same call continues."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self._reader.join()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: "type[BaseException] | None", error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()


def launch(data: Value, model_file: "str | os.PathLike[str]", *, ranks: int = 1, wait: bool = True,
           output: TextIO | None = sys.stdout, cwd: "str | os.PathLike[str] | None" = None,
           env: Mapping[str, str] | None = None, **options: Value) -> Run:
    """Trains: `launch("DATA", "MODEL", ranks=2, num_epochs=8, batchsize=16)`. Options are those of `train --help`.

    With several ranks it is `multiprocessing_train`. The program's lines go to `output`, unless it is None. With
    `wait=False` the call returns at once, and training goes on beside Python. The same call again continues a run that
    was stopped.
    """
    start = ["train"] if ranks == 1 else ["multiprocessing_train", "--distributed-world-size", str(ranks)]
    words = start + _words({"data": data, "model_file": model_file, **options})
    run_ = Run(words, pathlib.Path(cwd or ".") / model_file, output, cwd, env)
    if wait:
        try:
            run_.wait()
        except KeyboardInterrupt:
            run_.stop()
            raise
    return run_


def generate(model_file: "str | os.PathLike[str]", prompts: Iterable[str], **options: Value) -> list[str]:
    """Returns the model's reply to each prompt. Options are those of `lockstep generate --help`."""
    lines = "".join(json.dumps({"text": prompt}) + "\n" for prompt in prompts)
    answers = run(["generate", *_words({"model_file": model_file, "format": "jsonl", "json": True, **options})],
                  text=lines)
    return [str(json.loads(line)["reply"]) for line in answers.splitlines()]


Row = Union[Mapping[str, object], tuple[str, str]]


def _messages(row: Row, number: int) -> dict[str, object]:
    """Returns the row as OpenAI's chat data, which `prepare --format messages` reads."""
    if isinstance(row, tuple) and len(row) == 2:
        row = {"prompt": row[0], "completion": row[1]}
    if isinstance(row, Mapping) and isinstance(row.get("messages"), Sequence):
        return {"messages": row["messages"]}
    if isinstance(row, Mapping) and isinstance(row.get("prompt"), str) and isinstance(row.get("completion"), str):
        return {"messages": [{"role": "user", "content": row["prompt"]},
                             {"role": "assistant", "content": row["completion"]}]}
    raise LockstepError(f"row {number}: has neither messages nor prompt and completion; give such a mapping, "
                        f"as datasets and pandas.DataFrame.to_dict('records') do, or a pair of texts")


def write_dataset(rows: Iterable[Row], out: "str | os.PathLike[str]", **options: Value) -> str:
    """Prepares rows that Python made, for `launch`, and returns what `lockstep prepare` says of them.

    A row is a mapping with `messages` (OpenAI's), a mapping with `prompt` and `completion`, or such a pair. Options are
    those of `lockstep prepare --help`, as `valid_fraction=0.05` and `tokenizer="sentencepiece"`. Rows are taken one by
    one; they lie on disk until they are prepared.
    """
    folder = pathlib.Path(out).absolute().parent
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=".rows-", suffix=".jsonl") as file:
        for number, row in enumerate(rows):
            file.write(json.dumps(_messages(row, number), ensure_ascii=False) + "\n")
        file.flush()
        return run(["prepare", *_words({"input": file.name, "format": "messages", "out": out, **options})])
