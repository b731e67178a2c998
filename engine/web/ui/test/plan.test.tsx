import { answers, sent, until } from "./dom";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { render } from "preact";
import type { Compiled, Rendered } from "../src/api";
import { App } from "../src/app";
import { begin, draft, write } from "../src/live/draft";
import { read } from "../src/route";

const hostile = "<script>document.title='owned'</script> \x1b[31m \u202egnp.exe";
const text = () => document.body.textContent ?? "";
const area = () => document.querySelector<HTMLTextAreaElement>("#plan-boxes")!;

function show(path: string): void {
  const before = document.getElementById("app");
  if (before) render(null, before); // or what it shows goes on asking
  document.body.innerHTML = '<div id="app"></div>';
  history.pushState(null, "", path);
  read();
  render(<App />, document.getElementById("app")!);
}

afterEach(() => {
  render(null, document.getElementById("app")!);
  answers.clear();
  sent.length = 0;
  begin();
});

const submit = () => document.querySelector("form.plan")!.dispatchEvent(new Event("submit", { cancelable: true, bubbles: true }));

const wrong: Compiled = {
  valid: false,
  documents: [{ subject: 'OperatorBox "a"', valid: false, mistakes: [{ path: "spec.wrokers", message: `unknown field ${hostile}`, line: 3, column: 5 }, { message: "somewhere" }] }],
};

test("a mistake leads to its line", async () => {
  answers.set("/compile", { body: wrong });
  show("/plan");
  write({ boxes: "one\ntwo\nthree\nfour" });
  await until(() => area()?.value !== "", "the text");
  submit();
  await until(() => text().includes("2 mistakes"), "the verdict");
  assert.deepEqual(sent, ['POST /api/v1/compile {"boxes":"one\\ntwo\\nthree\\nfour"}']);
  assert.equal(document.querySelectorAll("main script").length, 0);
  assert.ok(!/[\x1b\u202e]/.test(text()));
  const line = [...document.querySelectorAll("button")].find((b) => b.textContent === "line 3, column 5")!;
  line.click();
  assert.equal(document.activeElement?.id, "plan-boxes");
  assert.deepEqual([area().selectionStart, area().selectionEnd], [8, 13]);
  write({ boxes: "another" });
  await until(() => text().includes("The text has changed since"), "that it is old");
});

test("a resource of the cluster is rendered, with what is not known", async () => {
  const rendered: Rendered = {
    compiled: { valid: true, documents: [{ subject: 'OperatorBox "a"', valid: true, revision: "a-1", mistakes: [] }] }, notes: ["Secrets are not known"],
    resources: [{ kind: "Shop", namespace: "team-a", name: "flowers", conditions: [], waits: ["second: it waits"], objects: [{ apiVersion: "v1", kind: "Secret", name: "s", yaml: "password: '*** (3 bytes)'" }] }],
  };
  answers.set("/render", { body: rendered });
  answers.set("/boxes/a", { body: { yaml: "kind: OperatorBox" } });
  show("/plan?box=a&namespace=team-a&name=flowers");
  await until(() => area()?.value === "kind: OperatorBox", "the YAML of the box");
  assert.deepEqual([draft.value.given, draft.value.box, draft.value.name], ["named", "a", "flowers"]);
  submit();
  await until(() => text().includes("The cluster would get 1 object."), "the verdict");
  assert.deepEqual(JSON.parse(sent[0]!.split(" ").slice(2).join(" ")), { boxes: "kind: OperatorBox", rest: "", of: { box: "a", namespace: "team-a", name: "flowers" } });
  for (const said of ["Secrets are not known", "second: it waits", "Secret s"]) assert.ok(text().includes(said), said);
  [...document.querySelectorAll("button")].find((b) => b.textContent?.startsWith("YAML"))!.click();
  await until(() => text().includes("password: '*** (3 bytes)'"), "the YAML");
});

test("a text that somebody has written is not replaced, and outlives the page and an error", async () => {
  answers.set("/boxes/a", { body: { yaml: "kind: OperatorBox" } });
  answers.set("/compile", { status: 429, body: { status: 429, title: "", detail: "Other boxes are being compiled" }, type: "application/problem+json" });
  write({ boxes: "mine" });
  show("/plan?box=a");
  await until(() => area()?.value === "mine", "the text");
  submit();
  await until(() => text().includes("Other boxes are being compiled"), "why there is no answer");
  show("/no/such/page");
  show("/plan");
  await until(() => area()?.value === "mine", "the text, once more");
});

test("the reference is searched, and a template is tried on a resource", async () => {
  answers.set("/reference", { body: {
    functions: [{ name: "upper", group: "Text", usage: "upper TEXT", doc: "TEXT in capitals.", example: '{{ upper "a" }}', result: "A" }, { name: "len", group: "Lists", usage: "len LIST", doc: "How many.", example: "{{ len .spec.list }}", result: "" }],
    operators: [{ name: "gt", short: "greaterThan", wants: "more than", absent: false, types: ["int"] }],
    kinds: [{ key: "deployments", kind: "Deployment", apiVersion: "apps/v1", namespaced: true, text: "Makes Deployments." }],
  } });
  answers.set("/try", { body: { type: "string", value: "NGINX\n", reads: ["spec.image"], notes: [hostile] } });
  show("/reference?text=CAPITALS&box=a&namespace=team-a&name=flowers");
  await until(() => text().includes("1 match"), "what matches");
  assert.ok(text().includes("upper TEXT") && !text().includes("len LIST") && !text().includes("greaterThan"));
  const area = document.querySelector<HTMLTextAreaElement>("#try-text")!;
  area.value = "{{ .spec.image | upper }}";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  await until(() => !document.querySelector<HTMLButtonElement>("button.primary")!.disabled, "that it can be tried");
  submit();
  await until(() => text().includes("It gives string"), "what it gives");
  assert.deepEqual(sent, ['POST /api/v1/try {"of":{"box":"a","namespace":"team-a","name":"flowers"},"template":"{{ .spec.image | upper }}"}']);
  assert.equal(document.querySelectorAll("main script").length, 0);
});
