import { answers, asked, sent, until } from "./dom";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { render } from "preact";
import type { BoxDetail, Fleet, Found, History, Hour, Resource, Rows } from "../src/api";
import { App } from "../src/app";
import { now } from "../src/live/clock";
import { nobody } from "../src/live/session";
import { stream } from "../src/live/stream";
import { area, inWords, stacked } from "../src/parts/spark";
import { go, read } from "../src/route";
import { texts } from "../src/texts";

const hostile = "<script>document.title='owned'</script><img src=x onerror=alert(1)> \x1b[31m \u202egnp.exe";
const minutesAgo = (n: number) => new Date(now.value - n * 60_000).toISOString();
const text = () => document.body.textContent ?? "";

const fleet = (): Fleet => ({
  manager: { state: "running" }, person: {},
  boxes: [
    { name: "fine", state: "Healthy", created: minutesAgo(9), resources: { total: 2, ready: 2, waiting: 0, failing: 0 }, consecutiveFailures: 0, successCount: 1, failureCount: 0, workers: 1, queueDepth: 0 },
    {
      name: "bad", state: "Degraded", reason: "ResourcesFailing", message: "one fails", created: minutesAgo(9), resources: { total: 2, ready: 1, waiting: 0, failing: 1 },
      consecutiveFailures: 4, successCount: 1, failureCount: 4, workers: 1, queueDepth: 3,
      lastFailure: { time: minutesAgo(4), resource: { namespace: "shop", name: "cart" }, message: hostile },
    },
  ],
});

const box = (): BoxDetail => ({
  ...fleet().boxes[1]!, conditions: [], healthConditions: [{ type: "Healthy", status: "False", since: minutesAgo(22) }], declarations: [], revisions: [], cycle: { steps: [] }, yaml: "kind: OperatorBox",
  failing: [{ namespace: "shop", name: "cart", consecutiveFailures: 4, message: "m".repeat(10_000), since: minutesAgo(7) }],
});

const resource = (): Resource => ({
  namespace: "shop", name: "cart", state: "Waiting", created: minutesAgo(60), apiVersion: "v1", kind: "Shop", box: "bad", headline: hostile, conditions: [], events: [], history: { cycles: [] }, yaml: "a: b",
  cause: { declaration: "services/web", field: "children.deployment.status.readyReplicas", wanted: "greater than 0", actual: "absent", message: "it waits for a Pod" },
  declarations: [
    { declaration: "deployments/web", kind: "Deployment", name: "web", state: "Progressing", gate: { state: "open" }, group: "onReconcile" },
    { declaration: "services/web", kind: "Service", state: "Waiting", gate: { state: "closed" }, group: "onReconcile" },
  ],
});

const rows = (n: number): Rows => ({
  rows: Array.from({ length: Math.min(n, 100) }, (_, i) => ({ namespace: "shop", name: `r${i}`, state: "Ready" as const, created: minutesAgo(i) })),
  matching: n, total: n, states: [{ value: "Ready", count: n }], reasons: [], namespaces: [{ value: "shop", count: n }],
});

function show(path: string): void {
  document.body.innerHTML = '<div id="app"></div>';
  history.pushState(null, "", path);
  read();
  render(<App />, document.getElementById("app")!);
}

afterEach(() => {
  render(null, document.getElementById("app")!);
  answers.clear();
  asked.length = 0;
  sent.length = 0;
  nobody.value = false;
  stream.connection.value = { state: "connecting" };
});

const tell = (change: unknown) => (stream as unknown as { tell(c: unknown): void }).tell(change);

const beat = () => (stream as unknown as { beaten: Set<() => void> }).beaten.forEach((listener) => listener());

test("what has curves is asked for again at a beat when it is a minute old, though nothing has changed", async () => {
  const hour: Hour = { since: minutesAgo(9), from: minutesAgo(2), to: minutesAgo(0), failing: [0, 1] };
  answers.set("/boxes/bad", { body: { ...box(), hour } });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict"), "the box");
  beat();
  now.value += 60_000;
  beat();
  const questions = () => asked.filter((path) => path === "/boxes/bad").length; // what else the page asks has no curves
  await until(() => questions() === 2, "the question of the next minute");
  beat();
  tell({ box: "bad" });
  await until(() => questions() === 3, "the question after a change");
});

test("a box that works says so, and that some of its resources fail", async () => {
  const well = { state: "Healthy" as const, consecutiveFailures: 0, failing: [], lastFailure: undefined };
  const { reason: _, message: __, ...rest } = box();
  answers.set("/boxes/bad", { body: { ...rest, ...well } });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict"), "the verdict");
  assert.match(document.querySelector(".verdict.bad .sentence")!.textContent!, /The box works\. Of its 2 resources, 1 fails\./);
  assert.ok(!text().includes("Nothing is wrong"));
});

const worst = { time: minutesAgo(9), resource: { namespace: "shop", name: "basket" }, message: "no room" };

test("a line of the fleet names a resource that fails now, not the one that failed last and is well again", async () => {
  answers.set("/fleet", { body: { ...fleet(), boxes: [{ ...fleet().boxes[1]!, worst }] } });
  show("/");
  await until(() => document.querySelector("tbody tr"), "the fleet");
  assert.match(text(), /basket/);
  assert.doesNotMatch(document.querySelector("tbody")!.textContent!, /cart/);
});

test("a box names a resource that fails now, not the one that failed last and is well again", async () => {
  answers.set("/boxes/bad", { body: { ...box(), worst } });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict"), "the verdict");
  assert.match(document.querySelector(".verdict")!.textContent!, /The worst: .*basket/);
  assert.doesNotMatch(document.querySelector(".verdict")!.textContent!, /cart/);
});

test("a line of the fleet says that nothing is wrong, how many fail, or that it is not known", async () => {
  const [fine, bad] = fleet().boxes;
  const counts = { total: 2, ready: 1, waiting: 0, failing: 1 };
  const unknown = { ...fine!, name: "unknown", state: "Unknown" as const };
  answers.set("/fleet", { body: { ...fleet(), boxes: [fine, { ...fine!, name: "mixed", resources: counts }, unknown, bad] } });
  show("/");
  await until(() => document.querySelectorAll("tbody tr").length === 4, "the fleet");
  const said = Object.fromEntries([...document.querySelectorAll("tbody tr")].map((r) => [r.querySelector("th a")!.textContent, r.querySelector("td.error")!.textContent]));
  assert.deepEqual([said["fine"], said["mixed"], said["unknown"]], ["nothing", "1 resource fails", "not known"]);
  assert.ok(document.querySelector('td.error a[href="/boxes/mixed/resources?state=Failing"]'));
});

test("what only waits is counted, and not what fails beside it", async () => {
  const retried = { ...fleet().boxes[0]!, resources: { total: 3, ready: 2, waiting: 1, failing: 1 } }; // as a manager of a former version counts
  answers.set("/fleet", { body: { ...fleet(), boxes: [retried] } });
  show("/");
  await until(() => document.querySelector("td.resources"), "the fleet");
  assert.equal(document.querySelector("td.resources .counts")!.textContent, "1 failing, 2 of 3 settled");
  render(null, document.getElementById("app")!);
  const { reason: _, message: __, ...rest } = box();
  answers.set("/boxes/bad", { body: { ...rest, resources: retried.resources } });
  show("/boxes/bad");
  await until(() => document.querySelector(".tiles"), "the box");
  assert.match(document.querySelector(".tiles")!.textContent!, /0 waiting/);
});

test("what is said of a failure stands once beside it", async () => {
  const bad = { ...fleet().boxes[1]!, message: "at least 5 reconciles in a row failed; carts shop/basket: onReconcile: no room", worst };
  answers.set("/fleet", { body: { ...fleet(), boxes: [bad] } });
  show("/");
  await until(() => document.querySelector("td.error"), "the fleet");
  const error = document.querySelector("td.error")!;
  assert.equal(error.querySelector("p")!.textContent, "ResourcesFailing at least 5 reconciles in a row failed");
  assert.equal(error.textContent!.split("no room").length, 2);
  assert.equal(error.querySelector("p")!.title, bad.message, "all of it is in the title");
});

test("a box that works says what else there is to know, and not that nothing is wrong", async () => {
  const { reason: _, lastFailure: ___, ...rest } = box();
  const well = { ...rest, state: "Healthy" as const, consecutiveFailures: 0, failing: [], resources: { total: 1, ready: 0, waiting: 1, failing: 0 } };
  answers.set("/boxes/bad", { body: { ...well, message: "the box works; new resources wait: box db is not there" } });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict.wait"), "the verdict");
  assert.match(document.querySelector(".verdict .sentence")!.textContent!, /new resources wait: box db is not there/);
  render(null, document.getElementById("app")!);
  const { message: ____, ...silent } = well;
  answers.set("/boxes/bad", { body: { ...silent, alerts: [{ name: "OrkestraPoliciesMissing", runbook: "https://example.com/runbook" }] } });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict.wait"), "the verdict with an alert");
  assert.match(document.querySelector(".verdict .sentence")!.textContent!, /The box works\./);
  assert.ok(!text().includes(texts.box.well));
});

test("a missing policy stands above the fleet, since when, with what to do", async () => {
  const policies = { reason: "PoliciesMissing", message: "orkestra-marks is not there", since: minutesAgo(31), alert: { name: "OrkestraPoliciesMissing", runbook: "https://example.com/policies-missing.md" } };
  answers.set("/fleet", { body: { ...fleet(), policies } });
  show("/");
  await until(() => document.querySelector(".note.bad"), "the banner");
  assert.match(document.querySelector(".note.bad")!.textContent!, /not in force\. orkestra-marks is not there since 31m/);
  assert.equal(document.querySelector<HTMLAnchorElement>(".note.bad a")!.href, policies.alert.runbook);
});

test("a cause has the warnings about what its children make", async () => {
  const warnings = [{ time: minutesAgo(3), count: 2, type: "Warning", reason: "FailedScheduling", message: "0/1 nodes are available", object: "Pod/web-5d8f7c9b6d-x2x7k" }];
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), cause: { ...resource().cause!, warnings } } });
  await show("/boxes/bad/resources/shop/cart");
  await until(() => document.querySelector(".cause li"), "the warning");
  assert.match(document.querySelector(".cause li")!.textContent!, /FailedScheduling 0\/1 nodes are available Pod\/web-5d8f7c9b6d-x2x7k, 3m/);
});

test("a cause has what to do and a page about its reason, since when, and no address that is no page", async () => {
  const cause = { ...resource().cause!, reason: "NotOwned", todo: "Rename or delete the other object.", page: "https://example.com/troubleshoot.md#stalled" };
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), since: minutesAgo(12), cause } });
  show("/boxes/bad/resources/shop/cart");
  await until(() => document.querySelector(".cause .todo"), "what to do");
  const link = document.querySelector<HTMLAnchorElement>(".cause .todo a")!;
  assert.match(document.querySelector(".cause .todo")!.textContent!, /What to do: Rename or delete the other object\. More on NotOwned/);
  assert.equal(link.href, cause.page);
  assert.match(document.querySelector(".verdict .sentence")!.textContent!, /since 12m/);
  render(null, document.getElementById("app")!);
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), cause: { ...cause, page: "javascript:alert(1)" } } });
  show("/boxes/bad/resources/shop/cart");
  await until(() => document.querySelector(".cause .todo"), "what to do, without a page");
  assert.equal(document.querySelector(".cause .todo a"), null);
});

test("events that are not known are not said to be none", async () => {
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), eventsNote: "Events are not known: forbidden" } });
  show("/boxes/bad/resources/shop/cart");
  await until(() => text().includes("Events are not known: forbidden"), "the note");
  assert.ok(!text().includes(texts.resource.noEvents));
});

test("the fleet shows trouble first, and leads to the resource that fails", async () => {
  answers.set("/fleet", { body: fleet() });
  show("/");
  await until(() => text().includes("1 of 2 boxes in trouble"), "the summary");
  const heads = [...document.querySelectorAll("tbody th a")].map((a) => a.textContent);
  assert.deepEqual(heads, ["bad", "fine"]);
  assert.ok(document.querySelector('a[href="/boxes/bad/resources/shop/cart"]'));
  assert.match(text(), /4m/);
  assert.equal(document.title, "Fleet · Orkestra");
});

test("texts of others stay texts", async () => {
  answers.set("/boxes/bad/resources/shop/cart", { body: resource() });
  show("/boxes/bad/resources/shop/cart");
  await until(() => text().includes("gnp.exe"), "the headline");
  assert.equal(document.querySelectorAll("script, img").length, 0);
  assert.ok(text().includes("<script>document.title='owned'</script>"));
  assert.ok(!/[\x1b\u202e]/.test(text()));
  assert.ok(text().includes("\\x1b[31m \\u202egnp.exe"));
  assert.notEqual(document.title, "owned");
});

test("a resource shows its cause with field, wanted and actual, and marks it in the tree", async () => {
  answers.set("/boxes/bad/resources/shop/cart", { body: resource() });
  show("/boxes/bad/resources/shop/cart");
  await until(() => document.querySelector(".cause"), "the cause");
  assert.deepEqual([...document.querySelectorAll(".cause dl.gate dd")].map((d) => d.textContent), ["children.deployment.status.readyReplicas", "greater than 0", "absent"]);
  assert.match(document.getElementById("cause")!.textContent!, /services\/web.*the cause/s);
  assert.equal(document.querySelectorAll(".leaf").length, 2);
});

test("a box says what is wrong since when, and folds long messages", async () => {
  answers.set("/boxes/bad", { body: box() });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict"), "the verdict");
  assert.match(document.querySelector(".verdict .sentence")!.textContent!, /ResourcesFailing: one fails since 22m/);
  const message = document.querySelector("table.failing td.message")!;
  assert.ok(message.textContent!.length < 400);
  message.querySelector("button")!.click();
  await until(() => message.textContent!.length > 10_000, "the whole message");
});

test("resources are paged by the server, and filters go into its question", async () => {
  answers.set("/boxes/bad/resources", { body: rows(50_000) });
  const questions = () => asked.filter((path) => path.startsWith("/boxes/bad/resources")); // the page before may still ask on a busy machine
  show("/boxes/bad/resources");
  await until(() => questions().length === 1, "the first question");
  assert.deepEqual(questions(), ["/boxes/bad/resources?sort=state&limit=100"], "trouble comes first");
  asked.length = 0;
  render(null, document.getElementById("app")!);
  show("/boxes/bad/resources?state=Ready&offset=200&sort=-age");
  await until(() => text().includes("201–300 of 50,000"), "the range");
  assert.deepEqual(questions(), ["/boxes/bad/resources?state=Ready&sort=-age&offset=200&limit=100"]);
  const links = [...document.querySelectorAll(".pages a")].map((a) => a.getAttribute("href"));
  assert.deepEqual(links, ["?state=Ready&sort=-age", "?state=Ready&offset=100&sort=-age", "?state=Ready&offset=300&sort=-age", "?state=Ready&offset=49900&sort=-age"].map((q) => `/boxes/bad/resources${q}`));
});

test("a page asks again for a change that concerns it, and for no other", async () => {
  answers.set("/boxes/bad/resources/shop/cart", { body: resource() });
  show("/boxes/bad/resources/shop/cart");
  await until(() => document.querySelector(".cause"), "the resource");
  tell({ box: "fine" });
  tell({ box: "bad", resource: { namespace: "shop", name: "other" } });
  tell({ box: "bad", resource: { name: "cart" } });
  await new Promise((done) => setTimeout(done, 350));
  assert.deepEqual(asked, ["/boxes/bad/resources/shop/cart", "/boxes/bad/resources/shop/cart/actions"]);
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), headline: "All is well now." } });
  for (let i = 0; i < 20; i++) tell({ box: "bad", resource: { namespace: "shop", name: "cart" } });
  await until(() => text().includes("All is well now."), "the new headline");
  assert.ok(asked.filter((path) => !path.endsWith("/actions")).length <= 3, String(asked));
});

test("errors are sentences with what to do", async () => {
  for (const status of [401, 403, 404, 500, 503]) {
    answers.set("/boxes/x", { status, body: { status, title: "T", detail: `Detail of ${status}.` }, type: "application/problem+json" });
    show("/boxes/x");
    await until(() => text().includes(`Detail of ${status}.`), `the problem ${status}`);
    assert.ok(text().includes(texts.problem.title(status)) && text().includes(texts.problem.todo(status)), text());
    assert.ok(document.querySelector('[role="alert"] button'));
    render(null, document.getElementById("app")!);
  }
});

test("what a proxy says in HTML is not shown, and an answer that is no JSON is a problem", async () => {
  answers.set("/boxes/x", { status: 502, body: "<h1>Bad Gateway</h1>", type: "text/html" });
  show("/boxes/x");
  await until(() => text().includes(texts.problem.title(502)), "the problem");
  assert.ok(!text().includes("Bad Gateway"));
  render(null, document.getElementById("app")!);
  answers.set("/boxes/y", { body: "<html>login</html>" });
  show("/boxes/y");
  await until(() => text().includes(texts.problem.unreadable), "the problem");
});

test("while the server is away the page keeps what it shows, says since when, and asks again afterwards", async () => {
  answers.set("/fleet", { body: fleet() });
  show("/");
  await until(() => text().includes("1 of 2 boxes in trouble"), "the summary");
  stream.connection.value = { state: "lost", since: now.value - 120_000 };
  answers.set("/fleet", "down");
  tell(undefined);
  await until(() => asked.length === 2, "the second question");
  await until(() => text().includes("No connection to the server since"), "the line about the connection");
  assert.match(document.querySelector(".lost-line")!.textContent!, /\(2m\)/);
  assert.ok(text().includes("1 of 2 boxes in trouble"));
  answers.set("/fleet", { body: { ...fleet(), boxes: fleet().boxes.slice(0, 1) } });
  stream.connection.value = { state: "live" };
  tell(undefined);
  await until(() => text().includes("1 box, none in trouble"), "the new summary");
  assert.equal(document.querySelector(".lost-line"), null);
});

test("what may no longer be seen is taken away", async () => {
  answers.set("/boxes/bad", { body: box() });
  show("/boxes/bad");
  await until(() => document.querySelector(".verdict"), "the verdict");
  answers.set("/boxes/bad", { status: 403, body: { status: 403, title: "", detail: "no" }, type: "application/problem+json" });
  tell({ box: "bad" });
  await until(() => text().includes(texts.problem.title(403)), "the problem");
  assert.equal(document.querySelector(".verdict"), null);
});

test("a page that fails says so, and the next one is shown", async () => {
  answers.set("/boxes/bad", { body: { name: "bad" } });
  answers.set("/fleet", { body: fleet() });
  show("/boxes/bad");
  await until(() => text().includes(texts.problem.broken), "the failure");
  go("/");
  await until(() => text().includes("1 of 2 boxes in trouble"), "the fleet");
});

test("no manager is said in a sentence, on each page", async () => {
  answers.set("/fleet", { body: fleet() });
  answers.set("/boxes/bad", { body: box() });
  answers.set("/boxes/bad/resources/shop/cart", { body: resource() });
  for (const path of ["/", "/boxes/bad", "/boxes/bad/resources/shop/cart", "/plan"]) {
    answers.set("/manager", { body: { state: "away", message: "The Lease ran out." } });
    show(path);
    await until(() => text().includes("The Lease ran out."), `the banner at ${path}`);
    assert.ok(text().includes(texts.manager.away), path);
    answers.set("/manager", { body: { state: "away", message: "No manager is at work, or it runs elsewhere." } });
    render(null, document.getElementById("app")!);
    show(path);
    await until(() => text().includes("or it runs elsewhere."), `the banner that begins itself so, at ${path}`);
    assert.equal(document.querySelector(".note.bad")!.textContent!.split(texts.manager.away).length, 2, "it is said once");
    answers.set("/manager", { body: { state: "running" } });
    tell({ box: "bad" });
    await until(() => document.querySelector(".note.bad") === null, `no banner at ${path}`);
    render(null, document.getElementById("app")!);
  }
});

test("of a manager that follows, or that nobody knows of, it is not said that none is at work", async () => {
  answers.set("/fleet", { body: fleet() });
  for (const [state, message] of [["running", "A manager answers that does not lead."], ["unknown", "There is no Lease."]]) {
    answers.set("/manager", { body: { state, message } });
    show("/");
    await until(() => text().includes(message!), "the note");
    assert.ok(document.querySelector(".note.off")!.textContent!.includes(message!));
    assert.equal(document.querySelector(".note.bad"), null);
    render(null, document.getElementById("app")!);
  }
});

test("a box that works while its resources fail is in trouble, and not green", async () => {
  const [fine, bad] = fleet().boxes;
  const mixed = { ...fine!, name: "mixed", resources: { total: 2, ready: 0, waiting: 0, failing: 2 } };
  answers.set("/fleet", { body: { ...fleet(), boxes: [fine, mixed, bad] } });
  show("/");
  await until(() => document.querySelectorAll("tbody tr").length === 3, "the fleet");
  assert.deepEqual([...document.querySelectorAll("tbody th a")].map((a) => a.textContent), ["bad", "mixed", "fine"]);
  assert.deepEqual([...document.querySelectorAll("tbody .mark")].map((m) => [m.className, m.textContent]), [
    ["mark bad", "Degraded"], ["mark bad", "Failing"], ["mark good", "Healthy"],
  ]);
  assert.deepEqual([...document.querySelectorAll("td.state")].map((c) => c.textContent), ["Degraded", "Failing" + texts.fleet.boxItself("Healthy"), "Healthy"]);
  const chip = [...document.querySelectorAll<HTMLButtonElement>("button.chip")].find((c) => c.textContent!.includes(texts.fleet.inTrouble))!;
  assert.match(chip.textContent!, /2$/);
  chip.click();
  await until(() => document.querySelectorAll("tbody tr").length === 2, "those in trouble");
  assert.ok(location.search.includes("state=trouble"));
  const states = [...document.querySelectorAll("button.chip")].slice(2);
  assert.deepEqual(states.map((c) => c.textContent!.trim()), ["Degraded 1", "Failing 1", "Healthy 1"], "each box counts in one state");
  (states[1] as HTMLButtonElement).click();
  await until(() => document.querySelectorAll("tbody tr").length === 1, "those whose resources fail");
  assert.equal(document.querySelector("tbody th a")!.textContent, "mixed");
});

test("a line of the fleet says since when a box is not well", async () => {
  answers.set("/fleet", { body: { ...fleet(), boxes: [{ ...fleet().boxes[0]!, state: "Pending", reason: "CRDMissing", message: "no CRD", since: minutesAgo(14) }] } });
  show("/");
  await until(() => document.querySelector("td.error p"), "the fleet");
  assert.equal(document.querySelector("td.error p")!.textContent, "CRDMissing 14m no CRD");
});

test("of a box that has not run yet it is not said that it has no resources", async () => {
  const waiting = { ...fleet().boxes[0]!, name: "new", state: "Pending" as const, reason: "CompileFailed", message: "no", resources: { total: 0, ready: 0, waiting: 0, failing: 0 } };
  const none = { ...waiting, name: "none", state: "Healthy" as const, startedAt: minutesAgo(3) };
  answers.set("/fleet", { body: { ...fleet(), boxes: [waiting, none] } });
  show("/");
  await until(() => document.querySelectorAll("tbody tr").length === 2, "the fleet");
  assert.deepEqual([...document.querySelectorAll("td.resources")].map((c) => c.textContent), [texts.counts.uncounted, texts.counts.none]);
  render(null, document.getElementById("app")!);
  answers.set("/boxes/bad", { body: { ...box(), ...waiting } });
  show("/boxes/bad");
  await until(() => document.querySelector(".tiles"), "the box");
  assert.equal(document.querySelector(".tiles")!.textContent, texts.box.uncounted);
});

test("who is not signed in is led to the sign-in, and back to what is shown", async () => {
  const refused = (signIn: string) => ({ status: 401, body: { status: 401, title: "T", detail: "Nobody has signed in here.", signIn }, type: "application/problem+json" });
  answers.set("/boxes/x", refused("/auth/login"));
  answers.set("/session", refused("/auth/login"));
  show("/boxes/x?state=a");
  await until(() => document.querySelector("a.sign-in"), "the link");
  assert.equal(document.querySelector("a.sign-in")!.getAttribute("href"), "/auth/login?to=%2Fboxes%2Fx%3Fstate%3Da");
  assert.ok(text().includes(texts.problem.todoSignIn) && text().includes(texts.connection.nobody) && !text().includes(texts.problem.todo(401)), text());
  stream.connection.value = { state: "lost", since: now.value };
  assert.equal(document.querySelector(".lost-line"), null, "the server is there");
  render(null, document.getElementById("app")!);
  answers.set("/boxes/y", refused("//evil.example.com"));
  show("/boxes/y");
  await until(() => text().includes(texts.problem.todo(401)), "the problem");
  assert.equal(document.querySelector("a.sign-in"), null, "an address of somebody else is none");
});

test("who has signed in is named, and signs out; everybody may sign in", async () => {
  answers.set("/fleet", { body: fleet() });
  answers.set("/session", { body: { person: { name: hostile }, signOut: "/auth/logout" } });
  show("/");
  await until(() => document.querySelector(".account button"), "the button");
  assert.ok(document.querySelector(".account-name")!.textContent!.includes("\\u202egnp.exe"));
  document.querySelector<HTMLButtonElement>(".account button")!.click();
  await until(() => text().includes(texts.account.failed), "that it has failed");
  assert.deepEqual(sent, ["POST /auth/logout"]);
  answers.set("/auth/logout", { body: "" });
  let reloaded = false;
  const real = location.reload;
  location.reload = () => { reloaded = true; };
  document.querySelector<HTMLButtonElement>(".account button")!.click();
  await until(() => reloaded, "the page to be loaded anew");
  location.reload = real;
  render(null, document.getElementById("app")!);
  answers.set("/session", { body: { person: { name: "visitor" }, signIn: "/auth/login" } });
  show("/");
  await until(() => document.querySelector('.account a[href="/auth/login"]'), "the link");
});

test("a session that ends under an open page leads to the sign-in", async () => {
  answers.set("/fleet", { body: fleet() });
  answers.set("/session", { body: { person: { name: "ann" }, signOut: "/auth/logout" } });
  show("/");
  await until(() => document.querySelector(".account button"), "the button");
  answers.set("/session", { status: 401, body: { status: 401, title: "", detail: "Your session is over.", signIn: "/auth/login" }, type: "application/problem+json" });
  stream.connection.value = { state: "lost", since: now.value };
  await until(() => document.querySelector('.account a[href="/auth/login"]'), "the link");
  assert.ok(text().includes(texts.connection.nobody));
  assert.equal(document.querySelector(".lost-line"), null, "the server is there");
});

test("the search of the fleet finds resources of all boxes, from two characters on", async () => {
  answers.set("/fleet", { body: fleet() });
  answers.set("/resources", { body: {
    rows: [{ box: "bad", namespace: "shop", name: "cart", state: "Failing", reason: "Denied", message: hostile, created: minutesAgo(60), since: minutesAgo(7) }], matching: 21,
    notes: ["The resources of one box are not searched, lost: it does not run"],
  } satisfies Found });
  show("/?text=c");
  await until(() => text().includes("boxes in trouble"), "the fleet");
  assert.ok(!asked.some((path) => path.includes("/resources")), "one character is in nearly every name");
  go("/?text=ca");
  await until(() => text().includes("21 match the search"), "what is found");
  assert.equal(document.querySelector("table.found th a")?.getAttribute("href"), "/boxes/bad/resources/shop/cart");
  assert.equal(document.querySelectorAll("script, img").length, 0);
  assert.ok(text().includes("lost: it does not run"));
  answers.set("/resources", { body: { rows: [], matching: 0 } satisfies Found });
  document.querySelector<HTMLButtonElement>("button.more")!.click();
  await until(() => text().includes("None matches the search"), "the next answer");
  assert.deepEqual(asked.filter((path) => path.startsWith("/resources")), ["/resources?text=ca&limit=20", "/resources?text=ca&limit=100"]);
});

test("the timeline says what woke a resource, what came of it, how often, and what was written", async () => {
  const history: History = { since: minutesAgo(180), cycles: [
    {
      time: minutesAgo(1), first: minutesAgo(22), times: 118, seconds: 0.42, woken: "the time of the next try", action: "Retry", why: "its time has come", outcome: "Refused", stage: "children",
      reason: "AdmissionDenied", message: hostile, stages: [{ name: "gather", seconds: 0.0004 }, { name: "children", seconds: 0.311 }], writes: [],
    },
    {
      time: minutesAgo(30), first: minutesAgo(30), times: 1, seconds: 12, woken: "a change of the resource", action: "Reconcile", why: "something has changed", outcome: "success", stages: [],
      writes: [{ action: "created", kind: "Deployment", namespace: "shop", name: "web" }], others: 2,
    },
  ] };
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), history } });
  show("/boxes/bad/resources/shop/cart");
  await until(() => document.querySelectorAll(".cycle").length === 2, "the timeline");
  const [first, second] = [...document.querySelectorAll(".cycle")].map((e) => e.textContent ?? "");
  assert.match(first!, /Failed in children 118 times in a row since 22m.*Retry.*woken by the time of the next try/);
  assert.match(first!, /420 ms: gather <1 ms, children 311 ms/);
  assert.match(second!, /Succeeded.*woken by a change of the resource.*created Deployment shop\/web2 other writes, not named here.*12 s/);
  assert.match(text(), /The manager remembers the last 3h/);
  assert.equal(document.querySelectorAll("script, img").length, 0);
});

test("a resource of which nothing is remembered says why", async () => {
  answers.set("/boxes/bad/resources/shop/cart", { body: { ...resource(), history: { note: "The manager has it", cycles: [] } } });
  show("/boxes/bad/resources/shop/cart");
  await until(() => text().includes("The manager has it"), "the note");
  assert.ok(!text().includes("The manager remembers the last"));
});

test("curves say in words what they draw", async () => {
  const hour: Hour = { since: minutesAgo(14), from: minutesAgo(2), to: minutesAgo(0), failing: [0, 5, 2], waiting: [0, 0, 0], queue: [1, 1, 1], reconciles: [4, 4, 4], failures: [0, 4, 0], p95: [0, 0.25, 0.1] };
  answers.set("/boxes/bad", { body: { ...box(), hour } });
  show("/boxes/bad");
  await until(() => document.querySelectorAll(".curve").length === 5, "the curves");
  const labels = [...document.querySelectorAll(".curve svg")].map((e) => e.getAttribute("aria-label"));
  assert.equal(labels[0], "Failing: 2 now, 5 at most in the last 3 minutes");
  assert.equal(labels[4], "95 % took at most: 100 ms now, 250 ms at most in the last 3 minutes");
  assert.deepEqual(stacked([{ tone: "bad", values: [1, 2] }, { tone: "calm", values: [3, 4] }], 2), [[1, 2], [4, 6]]);
  assert.equal(area([0, 2], undefined, 58, 2), "M59 20V1h1V20z");
  assert.equal(area([3, 1], [1, 1], 0, 3), "M0 13.67V1h1V13.67z");
  assert.equal(inWords("Queue", [], String), "Queue: nothing is remembered yet");
});
