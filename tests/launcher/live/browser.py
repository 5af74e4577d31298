# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that a test drives through two pipes (the DevTools protocol, without any package)."""
import json
import os
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, program):
        to_browser, self.requests = os.pipe()
        self.answers, from_browser = os.pipe()
        self.home = tempfile.mkdtemp(prefix="lockstep-browser-")
        # The browser reads from descriptor 3 and writes to descriptor 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", program, "--headless=new",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", f"--user-data-dir={self.home}"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def read(self):
        while b"\0" not in self.rest:
            block = os.read(self.answers, 1 << 16)
            if not block:
                raise RuntimeError("the browser has ended")
            self.rest += block
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait_for(self, condition):
        """Waits in the page until the expression is true, and fails if it never is."""
        self.evaluate("new Promise((done, fail) => { setTimeout(() => fail(document.body.textContent), 120000);"
                      "const look = () => { if (" + condition + ") done(true); else setTimeout(look, 50); }; look(); })")

    def urls(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        return [event["params"] for event in self.events
                if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)
