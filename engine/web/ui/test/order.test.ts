import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box, Declaration, State } from "../src/api";
import { age, duration } from "../src/parts/age";
import { isTrouble, matching, sorted, tally, worst } from "../src/pages/fleet-order";
import { groupsOf, isCause, tally as tallyLeaves } from "../src/pages/tree-order";

const box = (name: string, state: State, failing = 0, more: Partial<Box> = {}): Box => ({
  name, state, created: "2026-01-01T00:00:00Z", resources: { total: 9, ready: 9 - failing, waiting: 0, failing }, consecutiveFailures: failing, successCount: 0, failureCount: 0,
  workers: 1, queueDepth: 0, ...more,
});

const boxes = [box("e", "Healthy"), box("d", "Suspended"), box("c", "Degraded", 1), box("b", "Degraded", 5, { kind: "Website", message: "Image missing" }), box("a", "Stopped"), box("f", "Starting")];
const names = (of: Box[]) => of.map((b) => b.name).join("");

test("trouble comes first, the worse before", () => {
  assert.equal(names(sorted(boxes, worst)), "bcafde");
  assert.equal(names(sorted(boxes, "no such column")), "bcafde");
});

test("a box is in trouble that does not work, that can't begin to, or of which a resource fails", () => {
  const begins = [box("g", "Pending"), box("h", "Pending", 0, { reason: "Starting" }), box("i", "Pending", 0, { reason: "CompileFailed" }), box("j", "Healthy", 1)];
  assert.equal(names([...boxes, ...begins].filter(isTrouble)), "cbaij");
});

test("boxes are sorted both ways", () => {
  assert.equal(names(sorted(boxes, "name")), "abcdef");
  assert.equal(names(sorted(boxes, "-name")), "fedcba");
  assert.equal(names(sorted(boxes, "failures")).slice(0, 2), "bc");
});

test("boxes are filtered by state and text, without case", () => {
  assert.equal(names(matching(boxes, "Degraded", "")), "cb");
  assert.equal(names(matching(boxes, "", " image ")), "b");
  assert.equal(names(matching(boxes, "Stopped", "website")), "");
});

test("states are counted, the worst first", () => {
  assert.deepEqual(tally(boxes)[0], { value: "Degraded", count: 2 });
});

const leaf = (declaration: string, state: string, path = "", group = "onReconcile"): Declaration => ({ declaration, state, path, group, kind: "Pod", gate: {} });

test("items of a loop share a branch, in which the cause comes first, then trouble; strays come last", () => {
  const all = [leaf("old/x", "Undeclared", "", ""), leaf("pods/w[a]", "Ready", "p0"), leaf("pods/w[b]", "Failed", "p0"), leaf("pods/w[c]", "Waiting", "p0"), leaf("services/s", "Waiting", "p1")];
  const cause = { declaration: "pods/w[c]", path: "p0", message: "" };
  const groups = groupsOf(all, cause);
  assert.deepEqual(groups.map((g) => [g.name, g.branches.map((b) => b.label)]), [["onReconcile", ["pods/w", "services/s"]], ["", ["old/x"]]]);
  assert.deepEqual(groups[0]!.branches[0]!.leaves.map((d) => d.declaration), ["pods/w[c]", "pods/w[b]", "pods/w[a]"]);
  assert.ok(isCause(all[3]!, cause));
  assert.ok(!isCause(all[3]!, { ...cause, path: "p9" }));
  assert.deepEqual(tallyLeaves(groups[0]!.branches[0]!.leaves).map(([s]) => s), ["Failed", "Waiting", "Ready"]);
});

test("ages have one unit, and a clock that is ahead says so", () => {
  const s = 1000, m = 60 * s, h = 60 * m, d = 24 * h;
  assert.deepEqual([0, 59 * s, m, 59 * m, h, 47 * h, 2 * d, 400 * d, 800 * d].map(duration), ["0s", "59s", "1m", "59m", "1h", "47h", "2d", "400d", "2y"]);
  assert.equal(age(30 * s, 0), "0s");
  assert.equal(age(5 * m, 0), "in 5m");
});
