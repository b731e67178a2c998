import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, layout, line, mostEdges, mostNodes, nodeWidth } from "../src/parts/layout";
import { short } from "../src/parts/graph";

const edge = (from: string, to: string) => ({ from, to });

test("what has no link is not drawn, and what leads to itself is no link", () => {
  const got = drawn(["a", "b", "c", "d"], [edge("a", "c"), edge("d", "d")]);
  assert.deepEqual(got, { ids: ["a", "c"], edges: [edge("a", "c")], linked: 2 });
});

test("what is drawn is bounded", () => {
  const ids = Array.from({ length: 300 }, (_, i) => `n${i}`);
  const chain = ids.slice(1).map((id, i) => edge(ids[i]!, id));
  const got = drawn(ids, chain);
  assert.equal(got.ids.length, mostNodes);
  assert.equal(got.linked, 300);
  assert.ok(got.edges.every((e) => got.ids.includes(e.from) && got.ids.includes(e.to)));
  const all = drawn(ids.slice(0, 40), ids.slice(0, 40).flatMap((a) => ids.slice(0, 40).map((b) => edge(a, b))));
  assert.equal(all.edges.length, mostEdges);
  layout(all.ids, all.edges); // it comes to an end where all lead to all
});

test("lines lead to the right, and those of a ring come back", () => {
  const got = layout(["a", "b", "c"], [edge("a", "b"), edge("b", "c"), edge("c", "a")]);
  const x = (id: string) => got.at.get(id)!.x;
  assert.ok(x("a") < x("b") && x("b") < x("c"));
  assert.equal(got.lines.length, 3);
  assert.ok(got.width > 3 * nodeWidth && got.height > 0);
  assert.match(line(got.lines[2]!), /^M[\d. ]+Q/);
  assert.equal(line([]), "");
  assert.deepEqual([...layout([], []).at], []);
});

test("names of others do not become names of the layout", () => {
  const odd = ["__proto__", "constructor", "", "\u0000", "a\nb"];
  const got = layout(odd, [edge("__proto__", "constructor"), edge("", "\u0000"), edge("\u0000", "a\nb")]);
  for (const id of odd) assert.ok(Number.isFinite(got.at.get(id)!.x), JSON.stringify(id));
});

test("long names are cut in the middle", () => {
  assert.equal(short("configMaps/settings", 24), "configMaps/settings");
  assert.equal(short("persistentVolumeClaims/a-name-that-goes-on", 11), "persi…es-on");
  assert.equal([...short("x\u202e".repeat(40), 20)].length, 20);
});
