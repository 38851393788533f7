"""A page in Chromium, driven by its DevTools protocol over a pipe: no package is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "google-chrome")


class Browser:
    """A browser with one page. Use as a context manager; `messages` has all messages of the console and all errors."""

    def __init__(self, program=None):
        program = program or next((path for path in map(shutil.which, NAMES) if path), None)
        if not program:
            raise FileNotFoundError("no Chromium: install Debian's package chromium")
        self.profile = tempfile.mkdtemp(prefix="chakra-browser-")
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "browser", program, "--headless", "--no-sandbox",
                   "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.last, self.session, self.messages, self.loaded = b"", 0, None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.of)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self):
        while b"\0" not in self.rest:
            part = os.read(self.of, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        of, what = message.get("method"), message.get("params")
        if of == "Page.loadEventFired":
            self.loaded = True
        elif of == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(value.get("value")) for value in what["args"]))
        elif of == "Runtime.exceptionThrown":
            self.messages.append(what["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif of == "Log.entryAdded":
            self.messages.append(what["entry"]["text"])
        return message

    def call(self, method, **arguments):
        self.last += 1
        message = {"id": self.last, "method": method, "params": arguments}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self._read()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def show(self, width, height=900, dark=False):
        """Set the size of the window and the colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.loaded = False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self._read()

    def run(self, script):
        """Return the value of an expression; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return done["result"].get("value")

    def wait(self, script, seconds=30):
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > until:
                raise TimeoutError(f"not true after {seconds} s: {script}")
            time.sleep(.05)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **({"text": key} if len(key) == 1 and kind == "keyDown" else {}))

    def click(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1 if kind == "mousePressed" else 0, clickCount=1)

    def picture(self, path, element=None):
        """Write the page, or the element of a selector, as a PNG file."""
        box = self.run("(() => { const r = " + (f"document.querySelector({json.dumps(element)})" if element else "document.documentElement") +
                       ".getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height]; })()")
        clip = dict(zip(("x", "y", "width", "height"), box)) | {"scale": 1}
        clip["height"] = min(clip["height"], 12000)
        image = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(image))
