#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that are looked at while they go on: `lockstep report --serve`, asked by sockets and by a headless Chromium, and
`lockstep top` in a terminal.

  live_views_test.py BUILD_BIN [CASE...]
"""
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import browser
from live_program import BIN, ENVIRONMENT, MADE, PATIENCE_S, ROOT, TINY, Case, Served, Terminal, lockstep, train_line


class Requests(Case):
    def test_the_page_is_served_and_a_signal_ends_it(self):
        for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Served("-mf", MADE) as served:
                self.assertEqual(served.host, "127.0.0.1")
                status, head, page = served.get()
                self.assertEqual(status, 200)
                self.assertIn("Training run " + str(MADE), page)
                self.assertIn(f"Content-Length: {len(page.encode())}\r\n", head)
                tag = re.search("ETag: (.*)\r\n", head)[1]
                self.assertEqual(served.get(headers=f"If-None-Match: {tag}\r\n")[0], 304)
                self.assertEqual(served.get(method="HEAD")[2], "")
                self.assertEqual(served.get("/live.js")[0], 200)
                self.assertEqual(served.end(by), (0, ""))

    def test_hostile_requests_are_refused_in_a_line(self):
        with Served("-mf", MADE) as served:
            for path in ("/../../etc/passwd", "/%2e%2e/config.json", "/config.json", "//", "/live.js/.."):
                self.assertEqual(served.get(path)[0], 404, path)
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
                status, head, _ = served.get(method=method)
                self.assertEqual(status, 405)
                self.assertIn("Allow: GET, HEAD", head)
            for host in ("evil.example", "127.0.0.1.evil.example", f"localhost.evil.example:{served.port}"):
                status, _, body = served.get(host=host)
                self.assertEqual(status, 403)
                self.assertEqual(body.count("\n"), 1)
            for host in ("127.0.0.1", f"localhost:{served.port}", "[::1]:1", "localhost:8888"):
                self.assertEqual(served.get(host=host)[0], 200, host)
            self.assertIn(" 431 ", served.send(b"GET /" + b"a" * 100_000))
            self.assertIn(" 400 ", served.send(b"\x16\x03\x01\x02\x00\x01\r\n\r\n"))
            self.assertIn(" 400 ", served.send(b"GET / HTTP/1.1\r\n\r\n"))
            self.assertIn(" 505 ", served.send(b"PRI * HTTP/2.0\r\n\r\n"))
            # A body that nobody wants does not lose the answer.
            self.assertIn(" 405 ", served.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000\r\n\r\n" + b"a" * 3000))
            self.assertEqual(served.end(), (0, ""))

    def test_many_who_send_nothing_or_read_nothing_keep_nobody_waiting(self):
        with Served("-mf", MADE) as served:
            silent = [served.connect() for _ in range(300)]
            for connection in silent[-100:]:
                connection.sendall(b"GET / HT")
            deaf = [served.connect() for _ in range(50)]
            for connection in deaf:
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            # A server that waited for one after the other would need an hour.
            for _ in range(10):
                self.assertIn("Training run", served.page())
            for connection in silent + deaf:
                connection.close()
            self.assertEqual(served.end(), (0, ""))

    def test_wrong_addresses_end_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            requests = [(f"--serve {port}", "taken by another program"),
                        ("--serve 0 --host no-such-host.invalid", "does not resolve"),
                        ("--serve 0 --host 192.0.2.1", "is no address of this host"),
                        ("--serve 65536", "65535"), ("--serve here", "here"),
                        ("--serve 0 --out page.html", "leave out"), ("--host 0.0.0.0", "give --serve"),
                        ("--bind_all", "give --serve"), ("--serve 0 --bind-all --host localhost", "--bind-all")]
            for words, said in requests:
                result = lockstep("report", "-mf", MADE, *words.split())
                self.assertEqual(result.returncode, 2, (words, result))
                self.assertIn(said, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertEqual(result.stdout, "")

    def test_another_address_is_served_when_asked(self):
        for words in (["--host", "0.0.0.0"], ["--bind_all"]):
            with Served("-mf", MADE, *words) as served:
                self.assertEqual(served.get()[0], 200)
                self.assertEqual(served.get(host=socket.gethostname())[0], 200)
                self.assertEqual(served.get(host="evil.example")[0], 403)
                code, errors = served.end()
                self.assertEqual(code, 0)
                self.assertIn("whoever reaches", errors)


class Folders(Case):
    def test_a_folder_may_come_grow_be_damaged_and_go(self):
        first, later = self.copy("first"), self.scratch / "later"
        with Served("-mf", first, later) as served:
            page = served.page()
            self.assertIn("later: is no folder", page)
            self.assertIn(f"Training run {first}", page)
            later.mkdir()
            (later / "config.json").write_bytes((MADE / "config.json").read_bytes())
            served.wait_for("metrics.jsonl: is not there")
            (later / "metrics.jsonl").write_text(train_line(1))
            self.assertNotIn("is no folder", served.wait_for("2 training runs"))
            with open(later / "metrics.jsonl", "a") as lines:
                lines.write(train_line(2)[:20])
                lines.flush()
                served.page()
                lines.write(train_line(2)[20:] + train_line(77))
            served.wait_for("77 steps")
            (later / "metrics.jsonl").write_text("no line\n" + train_line(88) + "{\"step\"")
            served.wait_for("88 steps")
            (later / "config.json").write_text("{")
            self.assertIn("Training run", served.wait_for("later/config.json"))
            shutil.rmtree(later)
            served.wait_for("later: is no folder")
            shutil.rmtree(first)
            served.wait_for("No training run yet")
            self.copy("first")
            served.wait_for(f"Training run {first}")
            self.assertEqual(served.end(), (0, ""))


class Top(Case):
    def test_a_picture_is_printed_once_where_no_terminal_is(self):
        model = self.copy()
        for words in (["--once", model], [model], ["-mf", model], [model, "--once", "true"]):
            result = lockstep("top", *words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertIn("step 30", result.stdout)
            self.assertLessEqual(max(map(len, result.stdout.splitlines()[1:])), 80)
            self.assertNotIn("\x1b", result.stdout)

    def test_wrong_requests_end_in_one_line(self):
        for words, said in (([], "name one model folder"), ([MADE, MADE], "name one model folder"),
                            (["none"], "none: is no folder"), ([self.scratch], "no config.json"),
                            ([MADE, "--onse"], "--once")):
            result = lockstep("top", *words)
            self.assertEqual(result.returncode, 2, (words, result))
            self.assertIn(said, result.stderr)
            self.assertEqual((result.stderr.count("\n"), result.stdout), (1, ""))

    def test_the_terminal_is_given_back(self):
        for keys in (b"q", b"Q", b"\x03"):
            with Terminal("top", self.copy(f"model-{keys.hex()}")) as terminal:
                terminal.resize(20, 60)
                terminal.read_until("\x1b[?1049h\x1b[?25l")
                terminal.read_until("epoch")
                self.assertEqual(terminal.end(keys), 0)

    def test_a_folder_may_be_damaged_and_go_while_it_is_shown(self):
        model = self.copy()
        with Terminal("top", model) as terminal:
            terminal.read_until("epoch")
            with open(model / "metrics.jsonl", "a") as lines:
                lines.write("\n" + train_line(1234)[:-9])
                lines.flush()
                lines.write(train_line(1234)[-9:])
            terminal.read_until("step 1,234")
            (model / "config.json").write_text("{")
            terminal.read_until("config.json")
            shutil.rmtree(model)
            terminal.read_until("is no folder")
            self.copy()
            terminal.read_until("epoch")
            self.assertEqual(terminal.end(b"q"), 0)


class Runs(Case):
    def start(self, *words):
        if hasattr(self, "model"):
            self.end()
            return self.go_on(*words)
        text = self.scratch / "train.txt"
        lines = (ROOT / "examples/shakespeare/train.txt").read_text().splitlines(keepends=True)
        text.write_text("".join(lines[:60]))
        prepared = lockstep("prepare", "--input", text, "--out", self.scratch / "data")
        self.assertEqual(prepared.returncode, 0, prepared)
        self.model = self.scratch / "model"
        self.addCleanup(self.end)
        return self.go_on(*words)

    def go_on(self, *words):
        self.run_of_ranks = subprocess.Popen(
            [str(BIN / "multiprocessing_train"), "--distributed-world-size", "2", "--data", str(self.scratch / "data"),
             "-mf", str(self.model), *TINY, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=ENVIRONMENT)

    def end(self):
        if self.run_of_ranks.poll() is None:
            self.run_of_ranks.send_signal(signal.SIGTERM)
        self.run_of_ranks.communicate(timeout=PATIENCE_S)

    def rank(self, number):
        """The process of a rank."""
        for path in glob.glob(f"/proc/{self.run_of_ranks.pid}/task/*/children"):
            for child in pathlib.Path(path).read_text().split():
                if f"RANK={number}\0" in "\0" + pathlib.Path(f"/proc/{child}/environ").read_text():
                    return int(child)
        raise AssertionError("no such rank")

    def wait_for_top(self, words):
        """Prints pictures until one has the words."""
        end = time.monotonic() + PATIENCE_S
        while True:
            result = lockstep("top", "--once", self.model)
            if re.search(words, result.stdout):
                return result.stdout
            if time.monotonic() > end:
                raise AssertionError(f"{words!r} never came: {result}")
            time.sleep(0.1)

    def test_top_of_two_ranks_tells_what_they_do_and_how_they_ended(self):
        self.start("--max-train-steps", "1000000")
        picture = self.wait_for_top(r"(?m)^   1 .* (forward|waiting|optimizer|reading|holds)")
        self.assertIn("Going on: process", picture)
        self.assertRegex(picture, r"\[>? +\] ")
        self.assertLessEqual(max(map(len, picture.splitlines())), 80)
        first = self.rank(0)
        with Terminal("top", self.model) as terminal:
            terminal.read_until("label tokens/s")
            terminal.resize(10, 40)
            terminal.read_until("\x1b[H")
            os.kill(self.rank(1), signal.SIGKILL)
            self.run_of_ranks.wait(timeout=PATIENCE_S)
            terminal.read_until("Failed: ")
            self.assertEqual(terminal.end(b"q"), 0)
        self.assertRegex(self.wait_for_top("Failed: "), r"(?m)^   1 .*  lost$")
        self.assertFalse((self.model / "ranks.json").exists())
        # Rank 0 alone dies, too; the other one reports it.
        self.start("--max-train-steps", "1000000")
        self.wait_for_top("Going on: process")
        self.assertNotEqual(first, self.rank(0))
        os.kill(self.rank(0), signal.SIGKILL)
        self.run_of_ranks.wait(timeout=PATIENCE_S)
        self.assertRegex(self.wait_for_top("Failed: "), r"(?m)^   0 .*  lost$")
        # All die at once.
        self.start("--max-train-steps", "1000000")
        self.wait_for_top("Going on: process")
        for process in (self.run_of_ranks.pid, self.rank(0), self.rank(1)):
            os.kill(process, signal.SIGSTOP)
        ranks = self.rank(0), self.rank(1)
        for process in (*ranks, self.run_of_ranks.pid):
            os.kill(process, signal.SIGKILL)
        self.run_of_ranks.wait(timeout=PATIENCE_S)
        self.wait_for_top(r"is gone \(killed\?\)")
        with Served("-mf", self.model) as served:
            self.assertIn("is gone (killed?)", served.page())
        # A run that comes to its end says so, and its file goes.
        self.start("--max-train-steps", "1")
        self.run_of_ranks.wait(timeout=PATIENCE_S)
        self.wait_for_top("Ended: the number of steps is reached")
        self.assertEqual(sorted(path.name for path in self.model.glob("ranks.json*")), [])

    def test_the_page_of_two_ranks_grows_and_tells_of_a_killed_one(self):
        self.start("--max-train-steps", "1000000")
        with Served("-mf", self.model) as served:
            served.wait_for("Perplexity")
            served.wait_for("<h2>Ranks</h2>")
            steps = lambda page: int(re.search(r"<td>([\d,]+) steps?,", page)[1].replace(",", ""))  # noqa: E731
            first = steps(served.page())
            while steps(served.page()) == first:
                time.sleep(0.1)
            os.kill(self.rank(1), signal.SIGKILL)
            self.run_of_ranks.wait(timeout=PATIENCE_S)
            page = served.wait_for("class=\"end failed\"")
            self.assertRegex(page, "rank 1[^<]* lost|rank 1[^<]*ended")
            self.assertIn("<td>lost</td>", page)
            self.assertEqual(served.end(), (0, ""))


@unittest.skipUnless(browser.find(), "no Chromium is installed: apt-get install chromium")
class InBrowser(Case):
    def test_the_curves_move_without_a_reload_and_nothing_leaves_the_host(self):
        model, other = self.copy(), self.copy("other")
        with Served("-mf", model, other) as served, contextlib.closing(browser.Browser(browser.find())) as page:
            page.call("Page.navigate", url=served.url)
            page.wait_for("document.querySelector('#live') && /looked at/.test(document.querySelector('#live').textContent)")
            page.evaluate("window.mark = 1; document.querySelector('details').open = true")
            curve = "document.querySelector('figure path.line').getAttribute('d')"
            before = page.evaluate(curve)
            with open(model / "metrics.jsonl", "a") as lines:
                lines.write("\n" + "".join(train_line(step, loss=9.0, ppl=900.0) for step in range(50, 60)))
            page.wait_for(f"{curve} !== {json.dumps(before)}")
            self.assertEqual(page.evaluate("window.mark"), 1)
            self.assertTrue(page.evaluate("document.querySelector('details').open"))
            (model / "failure.json").write_text(json.dumps({"report": "rank 1 on node7 was lost", "rank": 1}))
            page.wait_for("/rank 1 on node7 was lost/.test(document.body.textContent)")
            shutil.rmtree(other)
            page.wait_for("/other: is no folder/.test(document.body.textContent)")
            self.assertEqual(page.evaluate("window.mark"), 1)
            self.assertEqual([url for url in page.urls() if not url.startswith((served.url, "data:"))], [])
            self.assertEqual(page.complaints(), [])
            served.end()
            page.wait_for("/No answer since/.test(document.querySelector('#live').textContent)")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
