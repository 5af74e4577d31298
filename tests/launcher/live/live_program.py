# SPDX-License-Identifier: Apache-2.0
"""Lockstep as it is looked at while a run goes on: a server of the report, a program in a terminal. The first word of the
command line is the folder of the programs."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(sys.argv[1]).resolve()
MADE = ROOT / "tests/golden/report/model"
TINY = ("--embedding-size 16 --n-layers 1 --ffn-size 16 -bs 4 --threads 1 --quiet --log-every-n-steps 1 "
        "--num-epochs -1").split()
PATIENCE_S = 120
ENVIRONMENT = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def lockstep(*words, **options):
    return subprocess.run([str(BIN / "lockstep"), *map(str, words)], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=PATIENCE_S, **options)


class Served:
    """A server of the report, with its port."""

    def __init__(self, *words):
        self.process = subprocess.Popen([str(BIN / "lockstep"), "report", "--serve", "0", *map(str, words)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"http://(\S+):(\d+)/ shows the page; Ctrl-C ends it\n", line)
        if not found:
            raise AssertionError(f"{line!r}: {self.process.communicate()}")
        self.host, self.port = found[1], int(found[2])
        self.url = f"http://{self.host}:{self.port}/"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def send(self, request):
        """What comes back for these bytes until the server ends the connection."""
        with self.connect() as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(request)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while block := connection.recv(1 << 16):
                    answer += block
            return answer.decode(errors="replace")

    def get(self, path="/", host="localhost", headers="", method="GET"):
        head, _, body = self.send(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()).partition("\r\n\r\n")
        return int(head.split()[1]), head, body

    def page(self):
        status, _, body = self.get()
        assert status == 200, status
        return body

    def wait_for(self, words):
        """Asks until the page shows the words, as a browser does."""
        end = time.monotonic() + PATIENCE_S
        while words not in (page := self.page()):
            if time.monotonic() > end:
                raise AssertionError(f"{words!r} never came: {page[-20000:]}")
            time.sleep(0.1)
        return page

    def end(self, by=signal.SIGINT):
        self.process.send_signal(by)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Terminal:
    """A program of Lockstep in a terminal of its own."""

    def __init__(self, *words):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execve(BIN / "lockstep", ["lockstep", *map(str, words)], ENVIRONMENT | {"TERM": "xterm"})
        self.shown = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, words):
        """What is shown since the last call, up to the words."""
        while words not in self.shown:
            if not select.select([self.terminal], [], [], PATIENCE_S)[0]:
                raise AssertionError(f"{words!r} never came after {self.shown!r}")
            self.shown += os.read(self.terminal, 4096).decode(errors="replace")
        part, self.shown = self.shown.split(words, 1)
        return part

    def end(self, keys):
        """Types the keys, and returns the exit code after the terminal was given back."""
        os.write(self.terminal, keys)
        self.read_until("\x1b[?25h\x1b[?1049l")
        settings = termios.tcgetattr(self.terminal)[3]
        _, status = os.waitpid(self.child, 0)
        self.child = 0
        assert settings & termios.ECHO and settings & termios.ICANON, settings
        return os.waitstatus_to_exitcode(status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.terminal)


def train_line(step, **values):
    return json.dumps({"kind": "train", "step": step, "updates": step, "epoch": step / 20, "loss": 3.0, "ppl": 20.0,
                       "tokens": 80, "rows": 8, "tokens_per_s": 400.0, "seconds": 0.2} | values) + "\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-live-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def copy(self, name="model"):
        return pathlib.Path(shutil.copytree(MADE, self.scratch / name))
