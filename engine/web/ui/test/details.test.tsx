import { answers, asked, until } from "./dom";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { render } from "preact";
import type { BoxDetail, Dependencies, Difference, Graph, Resource, Rights } from "../src/api";
import { App } from "../src/app";
import { now } from "../src/live/clock";
import { read } from "../src/route";
import { texts } from "../src/texts";

const minutesAgo = (n: number) => new Date(now.value - n * 60_000).toISOString();
const text = () => document.body.textContent ?? "";

const box = (): BoxDetail => ({
  name: "web", state: "Degraded", created: minutesAgo(9), resources: { total: 2, ready: 1, waiting: 0, failing: 1 }, consecutiveFailures: 4, successCount: 1, failureCount: 4, workers: 1, queueDepth: 0,
  conditions: [], healthConditions: [], declarations: [{ declaration: "deployments/web", path: "spec.onReconcile.deployments[0]", kind: "Deployment" }], yaml: "a: b", failing: [],
  revisions: [{ name: "web-2", number: 2, created: minutesAgo(1), current: true }, { name: "web-1", number: 1, created: minutesAgo(90) }],
  dependsOn: [{ box: "db", condition: "Healthy", met: false }],
  cycle: { since: minutesAgo(90), steps: [
    { name: "gather", runs: 9, failures: 0, mean: 0.01, longest: 0.02 },
    { name: "validation", runs: 9, failures: 3, mean: 0.04, longest: 2, lastFailure: { time: minutesAgo(2), resource: { namespace: "shop", name: "cart" }, message: "too many replicas" } },
    { name: "external", runs: 0, failures: 0, mean: 0, longest: 0 },
  ] },
});

const graph = (): Graph => ({
  nodes: [
    { path: "spec.cross[0]", label: "database", group: "cross", box: "db" },
    { path: "spec.onReconcile.deployments[0]", label: "deployments/web", group: "onReconcile", kind: "Deployment", gated: true },
    { path: "spec.onReconcile.configMaps[0]", label: "alone", group: "onReconcile", kind: "ConfigMap" },
  ],
  edges: [{ from: "spec.cross[0]", to: "spec.onReconcile.deployments[0]", ways: ["gate", "templates"], fields: ["cross.database.status.ready"] }],
});

const dependencies = (): Dependencies => ({
  nodes: [{ box: "web", state: "Degraded", isBox: true }, { box: "db", state: "Pending", isBox: true }, { box: "far.example.com", state: "Unknown" }],
  edges: [{ from: "db", to: "web", condition: "Healthy", met: "False", ring: true }, { from: "far.example.com", to: "db", condition: "Started", met: "Unknown" }],
});

function show(path: string): void {
  const before = document.getElementById("app");
  if (before) render(null, before); // what is not taken away asks again and again
  document.body.innerHTML = '<div id="app"></div>';
  history.pushState(null, "", path);
  read();
  render(<App />, document.getElementById("app")!);
}

function showBox(change: Partial<BoxDetail> = {}): void {
  answers.set("/boxes/web", { body: { ...box(), ...change } });
  answers.set("/boxes/web/graph", { body: graph() });
  answers.set("/boxes/web/dependencies", { body: dependencies() });
  show("/boxes/web");
}

afterEach(() => {
  render(null, document.getElementById("app")!);
  answers.clear();
  asked.length = 0;
});

test("what a box declares is drawn, and said in words", async () => {
  showBox();
  await until(() => document.querySelectorAll(".declarations .node").length === 2, "two nodes that a line joins");
  assert.equal(document.querySelectorAll(".declarations path.edge.strong").length, 1);
  const rows = [...document.querySelectorAll(".declarations tbody tr")].map((row) => row.textContent ?? "");
  assert.equal(rows.length, 3);
  assert.match(rows[1]!, /database its gate waits, its templates read: cross\.database\.status\.ready/);
  assert.match(rows[1]!, /behind a gate/);
  assert.ok(document.querySelector('.declarations svg a[href="/boxes/db"]'), "a box is a link");
});

test("a box that is not well says what to do, since when, and a long message once", async () => {
  const message = `ServiceAccount shop/acts may not ${"create configmaps, ".repeat(9)}get pods; show what grants it with "kubectl get operatorbox web -o yaml | orkestra rbac -f - --cluster", read that, and apply it`;
  const todo = `Grant the rights that are missing: show what grants it with "kubectl get operatorbox web -o yaml | ${"a long pipe | ".repeat(20)}orkestra rbac -f - --cluster", read that, and apply it.`;
  const conditions = [
    { type: "PermissionsGranted", status: "False", reason: "Forbidden", message: message.replace("; ", ";\n ") },
    { type: "Compiled", status: "False", reason: "CompileFailed", message: "the spec has mistakes ".repeat(8) },
    { type: "Reconciling", status: "False", reason: "CompileFailed", message: `${"the spec has mistakes ".repeat(6)}…` },
    { type: "Stalled", status: "True", reason: "Forbidden", message: `${message.slice(0, 200)}…` },
    { type: "Ready", status: "False", reason: "Forbidden", message: "short" }, { type: "Healthy", status: "False", reason: "Forbidden", message: "short" },
  ];
  answers.set("/boxes/web/rights", { body: { rights: [], missing: 0 } satisfies Rights });
  showBox({ state: "Pending", reason: "Forbidden", message, since: minutesAgo(7), todo, page: "https://example.com/operations.md#rights", conditions });
  await until(() => document.querySelector(".verdict .todo a"), "what to do");
  assert.ok(document.querySelector(".verdict .todo")!.textContent!.includes(todo), "a command is not cut off");
  assert.match(document.querySelector(".verdict .sentence")!.textContent!, /since 7m/);
  const said = [...document.querySelectorAll("section.conditions tbody tr")].map((row) => row.querySelectorAll("td")[2]!.textContent);
  assert.deepEqual([said[0], said[2], said[3], said[4], said[5]], [texts.conditions.above, texts.conditions.as("Compiled"), texts.conditions.above, "short", "short"]);
  assert.match(said[1]!, /^the spec has mistakes the spec/);
});

test("what is not known is not said to be nothing", async () => {
  answers.set("/boxes/web/rights", { body: { rights: [], missing: 0 } satisfies Rights });
  showBox({ declarations: [], conditions: [{ type: "PermissionsGranted", status: "Unknown" }] });
  answers.set("/boxes/web/graph", { body: { nodes: [], edges: [], notes: ["What the box declares is not known: no CRD"] } satisfies Graph });
  await until(() => text().includes("not known: no CRD") && text().includes(texts.rights.none), "what is not known");
  assert.ok(!text().includes(texts.box.noDeclarations) && !text().includes(texts.rights.allThere), text());
  showBox({ declarations: [], notes: ["What the box declares is not known: no CRD"] });
  answers.set("/boxes/web/graph", { body: { nodes: [], edges: [], notes: ["What the box declares is not known: no CRD"] } satisfies Graph });
  await until(() => text().includes(texts.box.unknownDeclarations), "that it is not known");
  assert.equal(text().split("not known: no CRD").length, 2, "why is said once");
  showBox({ declarations: [], conditions: [{ type: "PermissionsGranted", status: "Unknown" }] });
  answers.set("/boxes/web/graph", { body: { nodes: [], edges: [] } satisfies Graph });
  answers.set("/boxes/web/rights", { body: { missing: 0, rights: [{ verbs: ["get"], resource: "pods" }] } satisfies Rights });
  await until(() => text().includes(texts.box.noDeclarations) && text().includes(texts.rights.allThere), "what is known");
  answers.set("/boxes/web/rights", { body: { missing: 0, rights: [{ verbs: ["get"], resource: "pods", unknown: true }] } satisfies Rights });
  showBox({ conditions: [{ type: "PermissionsGranted", status: "Unknown" }] });
  await until(() => text().includes("pods"), "the right");
  assert.ok(!text().includes(texts.rights.allThere), text());
});

test("where the graph is not known, what is declared is still there", async () => {
  answers.set("/boxes/web", { body: { ...box(), dependsOn: [] } });
  answers.set("/boxes/web/graph", { body: { title: "no", status: 500 }, status: 500 });
  show("/boxes/web");
  await until(() => document.querySelectorAll(".declarations tbody tr").length === 1, "the row of the declaration");
  assert.ok(!asked.includes("/boxes/web/dependencies"), "a box that has to do with no other asks for none");
});

test("who waits for whom is drawn, and said in words", async () => {
  showBox();
  await until(() => document.querySelectorAll(".dependencies .node").length === 3, "three boxes");
  const said = document.querySelector(".dependencies")!.textContent ?? "";
  assert.match(said, /Waits for\s*db\s*to be Healthy\s*not metring/);
  assert.match(said, /By way of others\s*db\s*waits for\s*far\.example\.com\s*to be Started\s*not known/);
  assert.ok(document.querySelector(".dependencies path.edge.bad"));
  assert.equal(document.querySelectorAll(".dependencies svg a").length, 1, "neither the box itself nor what is no box is a link");
});

test("a node that is a link shows its page", async () => {
  showBox();
  await until(() => document.querySelector('.dependencies svg a[href="/boxes/db"]'), "the link");
  const link = document.querySelector('.dependencies svg a[href="/boxes/db"]')!;
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, button: 0, ctrlKey: true } as MouseEventInit) as never);
  assert.equal(location.pathname, "/boxes/web", "another tab stays the browser's");
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, button: 0 } as MouseEventInit) as never);
  assert.equal(location.pathname, "/boxes/db");
});

test("each step has its time, and the last failure leads to its resource", async () => {
  showBox();
  await until(() => document.querySelectorAll(".steps tbody tr").length === 3, "the steps");
  const rows = [...document.querySelectorAll(".steps tbody tr")].map((row) => row.textContent ?? "");
  assert.match(rows[1]!, /validation\s*40 ms\s*2\.0 s\s*9\s*3/);
  assert.match(rows[1]!, /too many replicas/);
  assert.ok(document.querySelector('.steps a[href="/boxes/web/resources/shop/cart"]'));
  assert.match(rows[2]!, /–/);
});

test("steps that nobody counts are only named", async () => {
  showBox({ cycle: { note: "Another manager leads", steps: [{ name: "gather", runs: 0, failures: 0, mean: 0, longest: 0 }] } });
  await until(() => text().includes("Another manager leads"), "the note");
  assert.equal(document.querySelectorAll("ol.steps li").length, 1);
  assert.equal(document.querySelector("table.steps"), null);
});

test("rights are asked for when somebody opens them, or when one is missing", async () => {
  const rights: Rights = { account: "shop/acts", missing: 1, rights: [{ verbs: ["get", "create"], missing: ["create"], resource: "secrets" }, { verbs: ["get"], resource: "pods", unknown: true }], notes: ["grant it"] };
  answers.set("/boxes/web/rights", { body: rights });
  showBox();
  await until(() => document.querySelector(".rights summary"), "the section");
  assert.ok(!asked.includes("/boxes/web/rights"));
  showBox({ conditions: [{ type: "PermissionsGranted", status: "False" }] });
  await until(() => text().includes("One right is missing."), "the answer");
  assert.match(text(), /It acts as shop\/acts/);
  assert.match(document.querySelector(".rights tbody tr")!.textContent ?? "", /secrets\s*get, create\s*everywhere\s*create/);
});

test("two revisions are compared that somebody chooses", async () => {
  const difference: Difference = { from: "web-1", changes: [{ field: "workers", before: "3", after: "5" }, { field: "suspend", after: "true" }] };
  answers.set("/boxes/web/difference", { body: difference });
  showBox();
  await until(() => document.querySelector(".compare summary"), "the section");
  const details = document.querySelector<HTMLDetailsElement>(".compare")!;
  details.open = true;
  details.dispatchEvent(new Event("toggle") as never);
  await until(() => document.querySelectorAll(".fields > li").length === 2, "the changes");
  assert.ok(asked.includes("/boxes/web/difference?from=web-1"), "the one before, and the spec of today");
  assert.match(document.querySelector(".fields")!.textContent ?? "", /workersbefore 3after 5suspendbefore absentafter true/);
  const [, to] = [...document.querySelectorAll<HTMLSelectElement>(".compare select")];
  to!.value = "web-2";
  to!.dispatchEvent(new Event("change", { bubbles: true }) as never);
  await until(() => asked.includes("/boxes/web/difference?from=web-1&to=web-2"), "the other question");
});

test("a resource says what it was rolled back from, and what it can go back to", async () => {
  const resource: Resource = {
    namespace: "shop", name: "cart", state: "RolledBack", created: minutesAgo(60), apiVersion: "v1", kind: "Shop", box: "web", headline: "rolled back", conditions: [], events: [], history: { cycles: [] }, yaml: "a: b", declarations: [],
    snapshots: {
      back: { since: minutesAgo(21), count: 3, generation: 14, revision: "web-2", step: "children", reason: "ChildFailed", message: "it has failed", trigger: "failures", next: "edit the spec" },
      kept: [{ name: "cart-1", generation: 13, revision: "web-1", taken: minutesAgo(900), current: true, changes: [{ field: "spec.image", before: "new", after: "old" }] }],
    },
  };
  answers.set("/boxes/web/resources/shop/cart", { body: resource });
  show("/boxes/web/resources/shop/cart");
  await until(() => text().includes("It was rolled back from generation 14"), "from what");
  assert.match(text(), /3 times\. It failed in children: ChildFailed: it has failed/);
  assert.match(document.querySelector(".snapshots li")!.textContent ?? "", /Generation 13 under web-1, kept 15h\s*in force now/);
  answers.set("/boxes/web/resources/shop/cart", { body: { ...resource, snapshots: { kept: [], note: "forbidden" } } });
  show("/boxes/web/resources/shop/cart");
  await until(() => text().includes(`${texts.snapshots.unknown} forbidden`), "why not");
});
