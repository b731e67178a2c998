import { answers, asked, sent, until } from "./dom";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { render } from "preact";
import type { Action } from "../src/api";
import { Actions } from "../src/parts/actions";
import { said } from "../src/live/say";

const text = () => document.body.textContent ?? "";
const button = (name: string) => [...document.querySelectorAll("button")].find((b) => b.textContent === name);

function show(actions: Action[], path = "/boxes/shop/resources/team/cart"): void {
  answers.set(`${path}/actions`, { body: { uid: "u-1", actions } });
  document.body.innerHTML = '<div id="app"></div>';
  render(<Actions path={path} name="team/cart" concerns={() => false} />, document.getElementById("app")!);
}

afterEach(() => {
  render(null, document.getElementById("app")!);
  answers.clear();
  asked.length = 0;
  sent.length = 0;
});

test("what may be done has a button, and the rest says why not", async () => {
  show([{ name: "reconcile", may: true }, { name: "pause", may: false, why: "you may not pause <b>carts</b>" }]);
  await until(() => button("Reconcile now"), "the button");
  assert.equal(button("Pause"), undefined);
  assert.ok(text().includes("you may not pause <b>carts</b>"));
  assert.equal(document.querySelector("b"), null);
});

test("nothing is done before it is confirmed, and the answer is said", async () => {
  show([{ name: "pause", may: true }]);
  answers.set("POST /boxes/shop/resources/team/cart/actions/pause", { body: { action: "pause", message: "It is paused" } });
  await until(() => button("Pause"), "the button");
  button("Pause")!.click();
  await until(() => document.querySelector("dialog"), "the dialog");
  assert.deepEqual(sent, []);
  assert.ok(text().includes("Nothing of the resource is made or corrected"), "it says what will happen");
  button("Cancel")!.click();
  await until(() => document.querySelector("dialog") === null, "the end of the dialog");
  assert.deepEqual(sent, []);
  button("Pause")!.click();
  await until(() => document.querySelector("dialog .confirm"), "the dialog again");
  document.querySelector<HTMLButtonElement>("dialog .confirm")!.click();
  await until(() => document.querySelector("dialog") === null, "the end of the dialog");
  assert.deepEqual(sent, ['POST /api/v1/boxes/shop/resources/team/cart/actions/pause {"uid":"u-1"}']);
  assert.equal(said.value, "It is paused");
  assert.ok(text().includes("It is paused"));
});

test("a refusal stays in the dialog, which can be closed or tried again", async () => {
  show([{ name: "pause", may: true }]);
  answers.set("POST /boxes/shop/resources/team/cart/actions/pause", { status: 409, body: { status: 409, title: "Conflict", detail: "it is paused already" } });
  await until(() => button("Pause"), "the button");
  button("Pause")!.click();
  await until(() => document.querySelector("dialog .confirm"), "the dialog");
  document.querySelector<HTMLButtonElement>("dialog .confirm")!.click();
  await until(() => document.querySelector('dialog [role="alert"]'), "the refusal");
  assert.ok(document.querySelector("dialog")!.textContent!.includes("it is paused already"));
  assert.equal(document.querySelector<HTMLButtonElement>("dialog .confirm")!.disabled, false);
});

test("a box goes back to what was shown, and to nothing that would be refused", async () => {
  const box = "/boxes/shop";
  show([{ name: "rollback", may: true }], box);
  const created = new Date(0).toISOString();
  answers.set(`${box}/revisions`, { body: { revisions: [{ name: "shop-3", number: 3, created, current: true }, { name: "shop-2", number: 2, created }, { name: "shop-1", number: 1, created }] } });
  const shown = { box: "shop", uid: "u-2", generation: 7, changes: [{ field: "workers", before: "5", after: "3" }], patch: "spec:\n  workers: 3\n" };
  answers.set(`${box}/revisions/shop-1`, { body: { ...shown, revision: "shop-1" } });
  answers.set(`${box}/revisions/shop-2`, { body: { ...shown, revision: "shop-2", why: "the revision acts as another account" } });
  answers.set(`POST ${box}/actions/rollback`, { body: { action: "rollback", message: "It goes back" } });
  await until(() => button("Go back…"), "the button");
  button("Go back…")!.click();
  await until(() => document.querySelector("dialog select"), "the revisions");
  const select = document.querySelector<HTMLSelectElement>("dialog select")!;
  assert.deepEqual([...select.options].map((o) => o.value), ["", "shop-2", "shop-1"], "the one that runs is no choice");
  assert.match(select.options[1]!.textContent!, /^shop-2 · \d+[dy] · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+$/, "how long ago, and when, with the zone");
  const confirm = () => document.querySelector<HTMLButtonElement>("dialog .confirm")!;
  assert.equal(confirm().disabled, true);
  const choose = (name: string) => {
    select.value = name;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  choose("shop-2");
  await until(() => text().includes("acts as another account"), "why not");
  assert.equal(confirm().disabled, true);
  choose("shop-1");
  await until(() => !confirm().disabled, "the difference");
  assert.equal(document.querySelector("dialog .fields li")!.textContent, "workersbefore 5after 3");
  confirm().click();
  await until(() => document.querySelector("dialog") === null, "the end of the dialog");
  assert.deepEqual(sent, [`POST /api/v1${box}/actions/rollback {"uid":"u-2","revision":"shop-1","generation":7}`]);
});

test("a server that only reads has no actions", async () => {
  answers.set("/boxes/shop/actions", { status: 404, body: { status: 404, title: "Not Found", detail: "There is no such path" } });
  document.body.innerHTML = '<div id="app"></div>';
  render(<Actions path="/boxes/shop" name="shop" concerns={() => false} />, document.getElementById("app")!);
  await until(() => asked.includes("/boxes/shop/actions"), "the question");
  assert.equal(document.querySelectorAll("button, details").length, 0);
});

test("actions that are refused for the same reason have it once, and whole", async () => {
  const why = `Argo CD manages this box: ${"commit it ".repeat(40)}`;
  show([{ name: "suspend", may: false, why }, { name: "rollback", may: false, why }]);
  await until(() => document.querySelector(".refused dd"), "the reason");
  assert.equal(document.querySelectorAll(".refused dd").length, 1);
  assert.deepEqual([...document.querySelectorAll(".refused dt span")].map((e) => e.textContent), ["Suspend", "Go back…"]);
  assert.equal(document.querySelector(".refused dd")!.textContent, why);
});
