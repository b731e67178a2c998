// Opens each page of the fixture in a browser, in light, dark and phone size: takes pictures, and fails where axe finds something, where a script
// fails, where the policy stops something, or where a page is wider than its window.
// node browser/shots.mjs ADDRESS FOLDER [PART OF A NAME]
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { start } from "./chromium.mjs";

const [address, folder, only = ""] = process.argv.slice(2);
const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const judgement = await readFile(new URL("judge.js", import.meta.url), "utf8");

const pages = {
  fleet: "/",
  "fleet-filtered": "/?state=Degraded&text=data",
  "fleet-nothing": "/?text=nothing-of-that",
  "fleet-found": "/?text=site-0000",
  "fleet-found-hostile": "/?text=evil",
  box: "/boxes/websites",
  "box-hostile": "/boxes/hostile",
  "box-well": "/boxes/greetings",
  "box-crowded": "/boxes/crowded",
  resources: "/boxes/websites/resources",
  "resources-failing": "/boxes/websites/resources?state=Failing&sort=-age",
  "resources-hostile": "/boxes/hostile/resources",
  "resources-none": "/boxes/nothing-yet/resources",
  resource: "/boxes/websites/resources/shop/checkout",
  "resource-well": "/boxes/websites/resources/shop/well",
  "resource-many": "/boxes/websites/resources/shop/many",
  "resource-hostile": "/boxes/hostile/resources/shop/x%E2%80%AEevil%1B",
  "problem-401": "/boxes/signed-out",
  "problem-403": "/boxes/forbidden",
  "problem-404": "/boxes/absent",
  "problem-500": "/boxes/broken",
  "problem-502": "/boxes/behind/resources",
  lost: "/no/such/page",
  plan: "/plan",
  reference: "/reference?text=trim",
  "reference-tried": "/reference?box=websites&namespace=shop&name=checkout&text=deployments",
  "plan-wrong": "/plan?box=hostile",
  "plan-rendered": "/plan?box=greetings&namespace=shop&name=checkout",
  "resource-long": "/boxes/websites/resources/shop/long",
  "box-suspend": "/boxes/websites",
  "box-back": "/boxes/websites",
  "box-back-refused": "/boxes/websites",
  "box-back-hostile": "/boxes/hostile",
  "box-conflict": "/boxes/crowded",
  "box-managed": "/boxes/greetings",
  "box-compared": "/boxes/hostile",
  "resource-release": "/boxes/websites/resources/shop/checkout",
  "resource-refused": "/boxes/websites/resources/shop/well",
  "plan-text": "/plan",
  "plan-problem": "/plan?box=greetings&namespace=shop&name=forbidden",
  "reference-wrong": "/reference?box=websites&namespace=shop&name=checkout",
  "reference-condition": "/reference?box=websites&namespace=shop&name=checkout",
};

const press = (name) => `[...document.querySelectorAll("button")].find((b) => b.textContent === ${JSON.stringify(name)}).click(); true`;
const unfold = (selector) => `document.querySelectorAll(${JSON.stringify(selector)}).forEach((d) => d.open || d.querySelector("summary").click()); true`;
const write = (selector, text) => `{ const e = document.querySelector(${JSON.stringify(selector)}); e.value = ${JSON.stringify(text)}; for (const n of ["input", "change"]) e.dispatchEvent(new Event(n, { bubbles: true })); } true`;
const has = (selector) => `document.querySelector(${JSON.stringify(selector)}) !== null`;
const isThere = (name) => `[...document.querySelectorAll("button")].some((b) => b.textContent === ${JSON.stringify(name)})`;
const goBack = (revision, until) => [isThere("Go back…"), press("Go back…"), has("dialog[open] select"), write("dialog select", revision), has(until)];

// What is done on a page before it is looked at: expressions that act, and such that have to become true.
const acts = {
  "box-suspend": [isThere("Suspend"), press("Suspend"), has("dialog[open]")],
  "box-back": goBack("websites-5f6b2", "dialog .fields li"),
  "box-back-refused": goBack("websites-1a2b3", "dialog [role=alert]"),
  "box-back-hostile": goBack("n".repeat(200), "dialog .fields li"),
  "box-conflict": [isThere("Suspend"), press("Suspend"), has("dialog[open] .confirm"), 'document.querySelector("dialog .confirm").click(); true', has("dialog [role=alert]")],
  "box-managed": [has(".refused"), unfold(".refused")],
  "box-compared": [has(".compare"), unfold(".compare"), has(".compare .fields li")],
  "resource-release": [isThere("Release"), press("Release"), has("dialog[open] .confirm"), 'document.querySelector("dialog .confirm").focus(); true'],
  "resource-refused": [has(".refused"), unfold(".refused")],
  "plan-text": [write("#plan-boxes", "kind: OperatorBox # wrong\n".repeat(12)), "!document.querySelector('button.primary').disabled", "document.querySelector('button.primary').click(); true", has(".outcome")],
  "reference-wrong": [write("#try-text", "{{ wrong }}"), "!document.querySelector('button.primary').disabled", "document.querySelector('button.primary').click(); true", has(".tried")],
  "reference-condition": [write("form.plan select", "condition"), write("#try-text", "{field: spec.replicas, greaterThan: 3}"), "!document.querySelector('button.primary').disabled", "document.querySelector('button.primary').click(); true", has(".tried")],
};

const looks = {
  light: { width: 1280, height: 800 },
  dark: { width: 1280, height: 800, dark: true },
  phone: { width: 375, height: 740, phone: true },
  wide: { width: 1920, height: 1000 },
};

// Those in which a wide window makes a difference.
const widely = ["fleet", "box", "resources-failing", "resource"];

await mkdir(folder, { recursive: true });
const browser = await start(process.env.CHROMIUM ?? "chromium");
let wrong = 0;
try {
  for (const [name, path] of Object.entries(pages)) {
    if (!name.includes(only)) continue;
    for (const [look, settings] of Object.entries(looks)) if (look !== "wide" || widely.includes(name)) wrong += await judge(`${name}-${look}`, path, settings);
  }
} finally {
  await browser.stop();
}
console.log(wrong === 0 ? "Nothing is wrong." : `${wrong} things are wrong.`);
process.exit(wrong === 0 ? 0 : 1);

async function judge(name, path, settings) {
  const page = browser.page;
  page.complaints = [];
  await page.look(settings);
  await page.open(address + path);
  await page.until("document.querySelector('h1') !== null && !document.querySelector('.loading')", `${name} is shown`);
  if (path.startsWith("/plan?")) {
    await page.until("document.querySelector('#plan-boxes').value !== ''", "the YAML of the box is in the text");
    await page.eval("document.querySelector('button.primary').click(); true");
    await page.until("document.querySelector('.outcome, main .problem, main [role=alert]') !== null", "what comes of it");
  }
  if (name.startsWith("reference-tried")) {
    await page.eval(`const area = document.querySelector("#try-text"); area.value = "{{ .spec.image }}"; area.dispatchEvent(new Event("input", { bubbles: true })); true`);
    await page.until("!document.querySelector('button.primary').disabled", "what is tried is in the text");
    await page.eval("document.querySelector('button.primary').click(); document.querySelector('.kinds details summary').click(); true");
    await page.until("document.querySelector('.tried') !== null && document.querySelector('.fields') !== null", "what it gives, and the fields of a kind");
  }
  for (const step of acts[name.replace(/-[a-z]+$/, "")] ?? []) await page.until(step);
  // A dialog lies over the window, and not over the page.
  await writeFile(join(folder, `${name}.png`), await page.shot(!(await page.eval(has("dialog[open]")))));
  await page.eval(axe + "; true");
  const said = [...(await page.eval(judgement)), ...page.complaints];
  for (const sentence of said) console.log(`${name}: ${sentence}`);
  return said.length;
}
