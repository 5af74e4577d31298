# SPDX-License-Identifier: Apache-2.0
"""Sends a run's metrics to trackers while it goes on: `python -m lockstep.track MODEL --wandb`.

It reads metrics.jsonl alone and never touches the run, which may begin later and on another host. What a tracker has
got stands in MODEL/tracking-NAME.json, so that the next start continues the same run there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from lockstep.errors import LockstepError
from lockstep.trackers import TRACKERS, Line, Tracker

_LONGEST_WAIT_S = 300.0


def _say(text: str) -> None:
    print(f"track: {text}", file=sys.stderr, flush=True)


def _line(text: bytes) -> Line | None:
    """Returns a line's numbers by the names that TensorBoard has, or None if it is no line of metrics."""
    try:
        values = json.loads(text)
        kind = values["kind"] if values["kind"] != "final" else f"final_{values['split']}"
        numbers = {f"{kind}/{name}": float(value) for name, value in values.items()
                   if name not in ("step", "time") and isinstance(value, (int, float)) and not isinstance(value, bool)
                   and math.isfinite(value)}
        return Line(int(values["step"]), float(values["time"]), numbers)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


class Tail:
    """The lines of a file behind the one that was read last, also where a run that goes on has cut the file or replaced it."""

    def __init__(self, path: pathlib.Path, last: bytes) -> None:
        self._path, self._offset, self.last = path, 0, last

    def read(self, most: int = 10_000) -> list[bytes]:
        """Returns whole lines that seen() has not been told of."""
        try:
            with open(self._path, "rb") as file:
                begin = self._offset - len(self.last) - 1
                if begin >= 0 and self.last:
                    file.seek(begin)
                    if file.read(len(self.last) + 1) == self.last + b"\n":
                        return [line[:-1] for line in self._whole(file, most)]
                    file.seek(0)
                lines = [line[:-1] for line in self._whole(file, sys.maxsize)]
        except OSError:
            return []
        return self._new(lines)[:most]

    @staticmethod
    def _whole(file: Any, most: int) -> list[bytes]:
        found: list[bytes] = []
        for line in file:
            if not line.endswith(b"\n") or len(found) == most:
                break
            found.append(line)
        return found

    def _new(self, lines: list[bytes]) -> list[bytes]:
        """Of a file that is read from its beginning: what stands behind the last line, or was written after it."""
        self._offset = sum(len(line) + 1 for line in lines)
        if not self.last:
            new = lines
        elif self.last in lines:
            new = lines[lines.index(self.last) + 1:]
        else:
            sent = _line(self.last)
            numbers = [(text, _line(text)) for text in lines]
            new = [text for text, line in numbers if sent is None or line is None or line.time_s > sent.time_s]
        self._offset -= sum(len(line) + 1 for line in new)
        return new

    def seen(self, lines: Sequence[bytes]) -> None:
        self._offset += sum(len(line) + 1 for line in lines)
        self.last = lines[-1]


class Sender:
    """A tracker, and how far it has got. A failure is told once, and what it did not get is sent again later."""

    def __init__(self, name: str, tracker: Tracker, folder: pathlib.Path) -> None:
        self.name, self._tracker, self._folder = name, tracker, folder
        self._state = folder / f"tracking-{name}.json"
        self._run: str | None = None
        self._has_started = self._has_failed = self._is_told = False
        self._waits_s, self._options = 1.0, ""
        self.retry_in_s = 0.0
        last = b""
        try:
            kept = json.loads(self._state.read_bytes())
            self._run, last = str(kept["run"]), str(kept["last"]).encode()
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LockstepError(f"{self._state}: cannot be read ({error}); remove it to begin a new run of {name}") from None
        self._tail = Tail(folder / "metrics.jsonl", last)

    def waiting(self) -> int:
        return len(self._tail.read())

    def send(self) -> None:
        """Sends all lines that are new."""
        try:
            while lines := self._tail.read():
                self._start()
                self._send_options()
                self._tracker.write([line for line in map(_line, lines) if line is not None])
                self._tail.seen(lines)
                self._save()
            self._waits_s, self.retry_in_s, self._has_failed = 1.0, 0.0, False
        except BaseException as error:  # Packages of trackers raise what they like, SystemExit too.
            self._fail(error)

    def finish(self) -> bool:
        """Sends what is left and ends the tracker's run; returns whether it has got all."""
        self.send()
        try:
            if self._has_started and not self._has_failed:
                self._send_options()
                self._tracker.finish()
        except BaseException as error:
            self._fail(error)
        left = self.waiting()
        if left:
            _say(f"{self.name}: {left} lines were not sent; the same command sends them later")
        return left == 0 and not self._has_failed

    def _start(self) -> None:
        if not self._has_started:
            self._run = self._tracker.start(self._run)
            self._has_started = True
            if not self._is_told:
                _say(f"{self.name} has this run as {self._run} ({self._tracker.place})")
            self._is_told = True
            self._save()

    def _send_options(self) -> None:
        """The model's description, and at the end what train was called with."""
        found: dict[str, str] = {}
        for file, member in (("config.json", None), ("report.json", "opt")):
            try:
                told = json.loads((self._folder / file).read_bytes())
                told = told[member] if member else told
                found.update({name: str(value) for name, value in told.items() if not isinstance(value, (dict, list))})
            except (OSError, ValueError, KeyError, AttributeError, TypeError):
                continue
        if found and str(found) != self._options:
            self._tracker.options(found)
            self._options = str(found)

    def _save(self) -> None:
        unfinished = self._state.with_suffix(".json.tmp")
        unfinished.write_text(json.dumps({"run": self._run, "last": self._tail.last.decode("utf-8", "replace")}))
        os.replace(unfinished, self._state)

    def _fail(self, error: BaseException) -> None:
        if not self._has_failed:
            reason = " ".join(str(error).split()) or type(error).__name__
            _say(f"{self.name}: {reason[:300]}; training goes on, and this is tried again")
        self._has_failed, self._has_started = True, False
        self.retry_in_s, self._waits_s = self._waits_s, min(2 * self._waits_s, _LONGEST_WAIT_S)


class Writer:
    """The process of this host that has metrics.jsonl open, which is rank 0 of the run."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._pid = ""
        self.was_seen = False

    def lives(self) -> bool:
        if self._pid and self._has_open(self._pid):
            return True
        mine = str(os.getpid())
        self._pid = next((pid for pid in os.listdir("/proc") if pid.isdigit() and pid != mine and self._has_open(pid)), "")
        self.was_seen = self.was_seen or self._pid != ""
        return self._pid != ""

    @staticmethod
    def _writes(pid: str, descriptor: str) -> bool:
        """Others may read the file, as `tail -f` does."""
        flags = re.search(r"^flags:\s*([0-7]+)", pathlib.Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text(), re.M)
        return flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY

    def _has_open(self, pid: str) -> bool:
        try:
            there = os.stat(self._path)
            for name in os.listdir(f"/proc/{pid}/fd"):
                try:
                    held = os.stat(f"/proc/{pid}/fd/{name}")
                except OSError:
                    continue
                if (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino) and self._writes(pid, name):
                    return True
        except OSError:
            pass
        return False


class Starter:
    """The program that started this one and holds its standard input open: it says when all is over."""

    was_seen = True

    def __init__(self, stop: threading.Event) -> None:
        threading.Thread(target=self._wait, args=(stop,), daemon=True).start()

    @staticmethod
    def _wait(stop: threading.Event) -> None:
        while os.read(0, 4096):
            pass
        stop.set()

    def lives(self) -> bool:
        return True


def _has_finished(folder: pathlib.Path) -> bool:
    """Whether the run has come to its own end: its report is newer than its last line."""
    try:
        report = os.stat(folder / "report.json").st_mtime_ns
        return report >= os.stat(folder / "metrics.jsonl").st_mtime_ns
    except OSError:
        return False


def _has_ended(folder: pathlib.Path, writer: Writer | Starter, gone_s: float, grace_s: float) -> bool:
    """A run that died may be started again; one that was never seen is perhaps about to go on."""
    if gone_s == 0 or not (writer.was_seen or _has_finished(folder)):
        return False
    return gone_s >= grace_s or (writer.was_seen and _has_finished(folder))


def follow(folder: pathlib.Path, senders: Sequence[Sender], writer: Writer | Starter, stop: threading.Event, once: bool,
           grace_s: float, poll_s: float = 1.0) -> bool:
    """Sends lines until the run has ended or `stop` is set; returns whether every tracker has got all."""
    gone_s = 0.0
    waits_s = dict.fromkeys(senders, 0.0)
    while not once:
        gone_s = 0.0 if writer.lives() else gone_s + poll_s
        ended = _has_ended(folder, writer, gone_s, grace_s)
        for sender in senders:
            waits_s[sender] -= poll_s
            if waits_s[sender] <= 0:
                sender.send()
                waits_s[sender] = sender.retry_in_s
        if ended or stop.wait(poll_s):
            break
    return all([sender.finish() for sender in senders])


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lockstep.track", description="Sends a run's metrics to trackers while it "
                                     "goes on. It may be started before the run and ends with it; started again, it continues "
                                     "the same run of the tracker.")
    parser.add_argument("model", metavar="MODEL", type=pathlib.Path, help="the run's folder (--model-file)")
    for name in TRACKERS:
        parser.add_argument(f"--{name}", action="store_true", help=f"send to {name}")
    parser.add_argument("--project", help="project or experiment of the tracker (default: its own variable's, else lockstep)")
    parser.add_argument("--once", action="store_true", help="send what is there, and end")
    parser.add_argument("--until-eof", action="store_true", help="end with standard input; otherwise with the process that "
                        "writes metrics.jsonl")
    parser.add_argument("--grace-s", type=float, default=30.0, help="wait so long for a run that died to be started again [30]")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    arguments = _arguments(words)
    names = [name for name in TRACKERS if getattr(arguments, name)]
    folder = arguments.model.absolute()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        if not names:
            raise LockstepError("name a tracker: --wandb, --mlflow or --comet")
        os.nice(10)
        writer: Writer | Starter = Starter(stop) if arguments.until_eof else Writer(folder / "metrics.jsonl")
        while not arguments.once and not folder.is_dir() and not stop.is_set():
            stop.wait(1.0)
        senders = [Sender(name, TRACKERS[name](folder, arguments.project), folder) for name in names]
    except (LockstepError, OSError) as error:
        _say(str(error))
        return 2
    sent = follow(folder, senders, writer, stop, arguments.once, arguments.grace_s)
    return 0 if sent else 1


if __name__ == "__main__":
    sys.exit(main())
