// A headless Chromium that is driven through a pipe, so that neither a library nor a port is needed.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function start(program) {
  const profile = await mkdtemp(join(tmpdir(), "chromium-"));
  const flags = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank",
  ];
  const child = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const ended = new Promise((done) => child.once("exit", done));
  const pipe = new Pipe(child.stdio[3], child.stdio[4]);
  const { targetId } = await pipe.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await pipe.send("Target.attachToTarget", { targetId, flatten: true });
  return {
    page: new Page(pipe, sessionId),
    async stop() {
      child.kill();
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

class Pipe {
  #next = 1;
  #waiting = new Map();
  #rest = "";
  #listeners = [];

  constructor(out, into) {
    this.out = out;
    into.setEncoding("utf8");
    into.on("data", (data) => this.#read(data));
  }

  send(method, params = {}, sessionId) {
    const id = this.#next++;
    this.out.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  listen(listener) {
    this.#listeners.push(listener);
  }

  #read(data) {
    const messages = (this.#rest + data).split("\0");
    this.#rest = messages.pop();
    for (const text of messages) {
      const message = JSON.parse(text);
      const asked = this.#waiting.get(message.id);
      if (!asked) {
        for (const listener of this.#listeners) listener(message);
        continue;
      }
      this.#waiting.delete(message.id);
      if (message.error) asked.reject(new Error(`${asked.method}: ${message.error.message}`));
      else asked.resolve(message.result);
    }
  }
}

class Page {
  /** What the page has complained about: errors of scripts, and what its policy has stopped. */
  complaints = [];

  constructor(pipe, session) {
    this.send = (method, params) => pipe.send(method, params, session);
    pipe.listen((m) => {
      if (m.method === "Runtime.exceptionThrown") this.complaints.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
      if (m.method === "Log.entryAdded" && (m.params.entry.source === "security" || /Content Security Policy/.test(m.params.entry.text))) this.complaints.push(m.params.entry.text);
    });
  }

  async open(url) {
    await this.send("Page.enable");
    await this.send("Runtime.enable");
    await this.send("Log.enable");
    await this.send("Page.navigate", { url });
  }

  look({ width, height, dark = false, phone = false }) {
    return Promise.all([
      this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: phone }),
      this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] }),
    ]);
  }

  async eval(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** until waits for an expression to be true. */
  async until(expression, what = expression) {
    for (let i = 0; i < 600; i++) {
      if (await this.eval(expression)) return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`It did not come to: ${what}`);
  }

  async press(key, code = key, text) {
    const event = { key, code, windowsVirtualKeyCode: { Tab: 9, Enter: 13, Escape: 27 }[key], ...(text ? { text } : {}) };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async shot(full) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: full, ...(full ? { clip: await this.#whole() } : {}) });
    return Buffer.from(data, "base64");
  }

  async #whole() {
    const { cssContentSize: s } = await this.send("Page.getLayoutMetrics");
    return { x: 0, y: 0, width: s.width, height: Math.min(s.height, 4000), scale: 1 };
  }
}
