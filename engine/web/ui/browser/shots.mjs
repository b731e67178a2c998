// Opens each page of the fixture in a browser, in light, dark and phone size: takes pictures, and fails where axe finds something, where a script
// fails, where the policy stops something, or where a page is wider than its window.
// node browser/shots.mjs ADDRESS FOLDER [PART OF A NAME]
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { start } from "./chromium.mjs";

const [address, folder, only = ""] = process.argv.slice(2);
const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

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
  "resource-long": "/boxes/websites/resources/shop/long",
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
  await writeFile(join(folder, `${name}.png`), await page.shot(true));
  await page.eval(axe + "; true");
  const found = JSON.parse(
    await page.eval(`axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
      .then((r) => JSON.stringify(r.violations.map((v) => ({ id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html + " " + n.failureSummary) }))))`),
  );
  for (const v of found) console.log(`${name}: axe: ${v.id}: ${v.help}\n  ${v.nodes.join("\n  ")}`);
  const over = await page.eval("document.documentElement.scrollWidth - innerWidth");
  if (over > 0) console.log(`${name}: the page is ${over} pixels wider than the window`);
  const small = await page.eval(`[...document.querySelectorAll("a, button, input, select, summary")].filter((e) => e.checkVisibility() && !e.closest("p, li, dd, td, th") && e.getBoundingClientRect().height < 24 && e.getBoundingClientRect().height > 1).map((e) => e.outerHTML.slice(0, 100)).join("\\n")`);
  if (small) console.log(`${name}: lower than 24 pixels:\n${small}`);
  for (const c of page.complaints) console.log(`${name}: ${c}`);
  return found.length + page.complaints.length + (over > 0 ? 1 : 0) + (small ? 1 : 0);
}
