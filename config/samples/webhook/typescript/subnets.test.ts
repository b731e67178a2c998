// Tests of the webhook: node --test config/samples/webhook/typescript
import assert from "node:assert/strict";
import { test } from "node:test";

import { answer, share } from "./subnets.ts";

const request = (network: string, zones: { name: string; hosts: number }[]) => ({
  apiVersion: "hooks.orkestra.orkspace.io/v1", kind: "HookRequest", uid: "1", phase: "Reconcile",
  resource: { metadata: { name: "office" }, spec: { network, zones } },
});

test("each zone gets what it needs, and no two overlap", () => {
  const zones = [1, 2, 3, 6, 7, 14, 15, 30, 100, 200].map((hosts) => ({ name: String(hosts), hosts }));
  const ranges = zones.map(({ name, hosts }) => {
    const subnet = share("10.0.0.0/22", zones).get(name);
    assert.ok(subnet !== undefined && 2 ** (32 - subnet.prefix) - 2 >= hosts);
    return [subnet.address, subnet.address + 2 ** (32 - subnet.prefix)];
  }).sort(([a], [b]) => a - b);
  ranges.slice(1).forEach(([from], i) => assert.ok(from >= ranges[i][1]));
});

test("it repeats whom it is for, and names a zone without room", () => {
  const out = answer(request("10.0.0.0/28", [{ name: "web", hosts: 100 }, { name: "db", hosts: 2 }]));
  assert.equal(out.uid, "1");
  assert.deepEqual(out.children.map(({ id }) => id), ["plan", "db"]);
  assert.deepEqual(out.children[0].object.data, { db: "10.0.0.0/30" });
  assert.equal(out.conditions[0].message, "no room for web");
  assert.deepEqual(out.status, { zones: 1, free: 12 });
});
