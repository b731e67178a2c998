// What pictures do not show, in a browser with the fixture: nothing moves when something changes, the keyboard alone leads from the fleet to the cause,
// and a server that goes away and comes back is told.
// node browser/live.mjs PROGRAM-OF-THE-FIXTURE FOLDER
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { start } from "./chromium.mjs";

const [program, folder] = process.argv.slice(2);
const listen = "127.0.0.1:8098";
const focused = "document.activeElement";
const address = `http://${listen}`;

await mkdir(folder, { recursive: true });
const browser = await start(process.env.CHROMIUM ?? "chromium");
const page = browser.page;
let server = await serve();
try {
  await page.look({ width: 1280, height: 800 });
  await page.open(address);
  await page.until("document.querySelectorAll('tbody tr').length === 12", "the fleet");
  await nothingMoves();
  await keyboardLeadsToTheCause();
  await keyboardActs();
  await textsOfOthersRunNothing();
  await serverGoesAndComes();
  console.log("Nothing is wrong.");
} finally {
  server.kill();
  await browser.stop();
}

async function serve(...flags) {
  const child = spawn(program, ["-listen", listen, "-every", "100ms", ...flags], { stdio: "inherit" });
  for (let i = 0; i < 200; i++) {
    try {
      await fetch(address);
      return child;
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  throw new Error("the fixture does not answer");
}

async function nothingMoves() {
  await page.eval(`window.moved = 0; window.asked = performance.getEntriesByName(location.origin + "/api/v1/fleet").length;
    new PerformanceObserver((list) => { for (const e of list.getEntries()) moved += e.value; }).observe({ type: "layout-shift" }); true`);
  await page.until(`performance.getEntriesByName(location.origin + "/api/v1/fleet").length >= asked + 8`, "the fleet is asked for again");
  assert.equal(await page.eval("moved"), 0, "something moved while the page was updated");
}

async function keyboardLeadsToTheCause() {
  await page.press("Tab");
  assert.equal(await page.eval(`${focused}.className`), "skip");
  assert.ok(await page.eval(`${focused}.getBoundingClientRect().top >= 0`), "the skip link is seen when it has the focus");
  await page.press("Enter", "Enter", "\r");
  assert.equal(await page.eval(`${focused}.id`), "content");
  for (let i = 0; i < 60 && !(await page.eval(`${focused}.getAttribute("href") === "/boxes/websites/resources/shop/checkout"`)); i++) {
    await page.press("Tab");
    assert.notEqual(await page.eval(`getComputedStyle(${focused}).outlineStyle`), "none", await page.eval(`${focused}.outerHTML.slice(0, 200)`));
  }
  await page.press("Enter", "Enter", "\r");
  await page.until("location.pathname.endsWith('/shop/checkout') && document.querySelector('.cause') !== null", "the resource, by its link in the fleet");
  assert.equal(await page.eval(`${focused}.tagName`), "H1");
  for (let i = 0; i < 20 && !(await page.eval(`${focused}.getAttribute("href") === "#cause"`)); i++) await page.press("Tab");
  await page.press("Enter", "Enter", "\r");
  assert.ok(await page.eval(`${focused}.classList.contains("is-cause")`), "the focus is on the cause in the tree");
  await page.eval("history.back()");
  await page.until("location.pathname === '/' && document.querySelectorAll('tbody tr').length === 12", "the fleet, by going back");
}

async function keyboardActs() {
  await page.open(`${address}/boxes/websites`);
  const isOn = (name) => `${focused}.textContent === ${JSON.stringify(name)}`;
  await page.until(`[...document.querySelectorAll("button")].some((b) => b.textContent === "Suspend")`, "the button");
  for (let i = 0; i < 40 && !(await page.eval(isOn("Suspend"))); i++) await page.press("Tab");
  await page.press("Enter", "Enter", "\r");
  await page.until("document.querySelector('dialog[open]') !== null", "the dialog");
  for (let i = 0; i < 6; i++) {
    assert.ok(await page.eval(`document.querySelector("dialog").contains(${focused}) || ${focused} === document.body`), "the focus has left the dialog for the page behind it");
    await page.press("Tab");
  }
  await page.press("Escape");
  await page.until("document.querySelector('dialog') === null", "the end of the dialog");
  assert.ok(await page.eval(isOn("Suspend")), "the focus is on the button again");
}

async function textsOfOthersRunNothing() {
  await page.open(`${address}/boxes/hostile/resources/shop/x`);
  await page.until("document.querySelector('.cause') !== null", "the hostile resource");
  await page.eval("[...document.querySelectorAll('main > details.yaml > summary')].forEach((s) => s.click()); true");
  await page.until("document.querySelector('pre') !== null", "its YAML");
  assert.equal(await page.eval("document.querySelectorAll('main script, main img').length"), 0);
  assert.ok(!(await page.eval("/[\\x1b\\u202e]/.test(document.body.textContent)")), "control characters are in the page");
  assert.ok(!(await page.eval("document.title.includes('owned')")));
  assert.deepEqual(page.complaints, []);
}

async function serverGoesAndComes() {
  await page.open(address);
  await page.until("document.querySelectorAll('tbody tr').length === 12", "the fleet");
  const ended = new Promise((done) => server.once("exit", done));
  server.kill();
  await ended;
  await page.until("document.querySelector('.lost-line') !== null", "the line about the connection");
  assert.equal(await page.eval("document.querySelectorAll('tbody tr').length"), 12, "what was read is still shown");
  await writeFile(join(folder, "disconnected-light.png"), await page.shot(false));
  server = await serve("-unmanaged");
  await page.until("document.querySelector('.lost-line') === null && document.body.textContent.includes('No manager is at work')", "the new server's answer");
  await writeFile(join(folder, "unmanaged-light.png"), await page.shot(false));
}
