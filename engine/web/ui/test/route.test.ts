import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, paths, withQuery } from "../src/route";

test("each page has an address that leads back to it", () => {
  for (const name of ["web", "x\u202ee/v?#%1b", "-", "..", "ü"]) {
    assert.deepEqual(parse(paths.box(name)), { page: "box", box: name });
    assert.deepEqual(parse(paths.resources(name)), { page: "resources", box: name });
    assert.deepEqual(parse(paths.resource("box", "shop", name)), { page: "resource", box: "box", namespace: "shop", name });
  }
  assert.deepEqual(parse("/"), { page: "fleet" });
  assert.deepEqual(parse(paths.plan()), { page: "plan" });
});

test("a resource without a namespace has - in its place", () => {
  assert.equal(paths.resource("b", undefined, "n"), "/boxes/b/resources/-/n");
  assert.deepEqual(parse("/boxes/b/resources/-/n"), { page: "resource", box: "b", namespace: "", name: "n" });
});

test("other addresses are no page", () => {
  for (const path of ["/box", "/boxes", "/plan/x", "/boxes/a/b", "/boxes/a/resources/n", "/boxes/a/resources/b/c/d"]) assert.deepEqual(parse(path), { page: "lost" }, path);
});

test("an address that can't be decoded is taken as it is", () => {
  assert.deepEqual(parse("/boxes/%E0%A4%A"), { page: "box", box: "%E0%A4%A" });
});

test("empty values are left out of a query", () => {
  assert.equal(withQuery("/a", { x: "", y: "1 2" }), "/a?y=1+2");
  assert.equal(withQuery("/a", { x: "" }), "/a");
});
