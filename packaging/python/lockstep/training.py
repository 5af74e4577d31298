# SPDX-License-Identifier: Apache-2.0
"""Training beside Python."""

from __future__ import annotations

import collections
import pathlib
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TextIO, Union

from lockstep.errors import LockstepError
from lockstep.metrics import read_metrics
from lockstep.process import Path, Process, Value, failure, options_words
from lockstep.progress import ProgressBar, bar_class

Output = Union[TextIO, None, Literal["stdout", "progress"]]


def _show(output: Any, line: str) -> bool:
    """Writes a line with what the stream's encoding lacks as escapes; returns whether somebody still reads."""
    try:
        encoding = getattr(output, "encoding", None) or "utf-8"
        output.write(line.encode(encoding, "backslashreplace").decode(encoding))
        output.flush()
        return True
    except Exception:  # Whatever a stream raises, the run goes on and its lines are kept.
        return False


class _Reader(threading.Thread):
    """Keeps a run's lines, and the run itself: a run whose name is lost is found by runs()."""

    def __init__(self, owner: Run, output: TextIO | ProgressBar | None) -> None:
        super().__init__(name="lockstep", daemon=True)
        self.owner, self._output = owner, output
        self._bar = output if isinstance(output, ProgressBar) else None

    def run(self) -> None:
        process = self.owner._process
        assert process.child.stdout is not None
        with process.child.stdout as lines:
            for line in lines:
                self.owner._lines.append(line.rstrip("\n"))
                if self._output is not None and not _show(self._output, line):
                    self._output = None
        if self._bar is not None:
            self._bar.close()
        process.has_ended()


class Run:
    """A training run that goes on beside Python. It ends when stop() is called, and in any case with Python."""

    def __init__(self, words: Sequence[str], model_file: pathlib.Path, output: TextIO | ProgressBar | None, cwd: Path | None,
                 env: Mapping[str, str] | None) -> None:
        self.model_file = model_file
        self._words = list(words)
        self._lines: collections.deque[str] = collections.deque(maxlen=1000)
        self._stopped = False
        self._process = Process(words, subprocess.DEVNULL, subprocess.STDOUT, cwd, env)
        self._reader = _Reader(self, output)
        self._reader.start()

    def __repr__(self) -> str:
        state = "runs" if self.running else f"has ended with code {self._process.child.returncode}"
        return f"<lockstep.Run of {self.model_file}, process {self.pid}, {state}>"

    @property
    def pid(self) -> int:
        return self._process.child.pid

    @property
    def lines(self) -> list[str]:
        """What the program has printed so far, the last 1,000 lines."""
        return list(self._lines)

    @property
    def running(self) -> bool:
        return self._process.child.poll() is None

    def metrics(self, kind: str = "train") -> list[dict[str, Any]]:
        """Returns the lines of that kind that the run has written so far (lockstep.read_metrics)."""
        return read_metrics(self.model_file, kind) if (self.model_file / "metrics.jsonl").exists() else []

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits for the end. Raises LockstepError if the program failed, and TimeoutError while it still runs."""
        try:
            code = self._process.child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self._words[0]} still runs after {timeout_s} s") from None
        self._reader.join()
        if code != 0 and not self._stopped:
            raise failure(self._words, code, self._lines)

    def stop(self, timeout_s: float | None = None) -> None:
        """Ends the run: training saves a checkpoint first, from which the same call continues.

        If it has not ended after `timeout_s`, it is killed with all its ranks.
        """
        self._stopped = self._stopped or self.running
        self._process.terminate()
        try:
            self._process.child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill_group()
            self._process.child.wait()
        self._reader.join()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()
        if kind is None:
            self.wait()


def runs() -> list[Run]:
    """Returns the runs that this Python has started and that still run, also those whose name is lost."""
    return [thread.owner for thread in threading.enumerate() if isinstance(thread, _Reader) and thread.owner.running]


def _stream(output: Output, options: Mapping[str, Value]) -> TextIO | ProgressBar | None:
    bar = bar_class() if output == "progress" else None
    if bar is not None:
        return ProgressBar(bar, options)
    if output in ("stdout", "progress"):
        return sys.stdout
    if output is not None and (isinstance(output, str) or not hasattr(output, "write")):
        raise LockstepError(f"output is {output!r}; give a stream of text as open(FILE, 'w'), or None")
    return output


def launch(data: Value, model_file: Path, *, ranks: int = 1, wait: bool = True, output: Output = "stdout",
           cwd: Path | None = None, env: Mapping[str, str] | None = None, **options: Value) -> Run:
    """Trains: `launch("DATA", "MODEL", ranks=2, num_epochs=8, batchsize=16)`. Options are those of `train --help`.

    With several ranks it is `multiprocessing_train`. The program's lines go to `output`, unless it is None; `"progress"`
    is a bar of tqdm, or the lines where tqdm is absent. With `wait=False` the call returns at once, and training goes on
    beside Python. The same call again continues a run that was stopped. Whatever interrupts the call stops the run in
    order.
    """
    if "mf" in options:
        raise LockstepError("the model's folder is the second argument, model_file; leave mf away")
    start = ["train"] if ranks == 1 else ["multiprocessing_train", "--distributed-world-size", str(ranks)]
    words = start + options_words({"data": data, "model_file": model_file, **options})
    started = Run(words, (pathlib.Path(cwd or ".") / model_file).absolute(), _stream(output, options), cwd, env)
    try:
        if wait:
            started.wait()
    except LockstepError:
        raise
    except BaseException:
        started.stop()
        raise
    return started
