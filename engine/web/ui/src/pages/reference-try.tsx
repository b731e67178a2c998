import { useSignal } from "@preact/signals";
import type { Fleet, Problem, Tried } from "../api";
import { useAnswer } from "../live/answer";
import { NoAnswer, post } from "../live/ask";
import { say } from "../live/say";
import { paths, query } from "../route";
import { texts } from "../texts";
import { Editor } from "../parts/editor";
import { Notes } from "../parts/notes";
import { Section } from "../parts/page";
import { ProblemNote } from "../parts/problem";
import { Message, Text } from "../parts/text";
import { YamlBody } from "../parts/yaml";

interface Outcome { tried?: Tried; problem?: Problem }

/** Try evaluates a template or a condition for a resource of the cluster. */
export function Try() {
  const t = texts.try;
  const { data } = useAnswer<Fleet>(paths.fleet(), (c) => !c.resource);
  const from = (key: string) => query.peek().get(key) ?? "";
  const of = useSignal({ box: from("box"), namespace: from("namespace"), name: from("name") });
  const what = useSignal<"template" | "condition">("template");
  const written = useSignal({ template: "", condition: "" });
  const out = useSignal<Outcome | undefined>(undefined);
  const busy = useSignal(false);
  const evaluate = async (): Promise<void> => {
    if (busy.peek()) return;
    busy.value = true;
    try {
      const tried = await post<Tried>("/try", { of: of.peek(), [what.peek()]: written.peek()[what.peek()] });
      out.value = { tried };
      say(sentenceOf(tried));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      out.value = { problem: error.problem };
    } finally {
      busy.value = false;
    }
  };
  const field = (key: "box" | "namespace" | "name", label: string, list?: string) => (
    <label class="field"><span>{label}</span><input type="text" {...(list ? { list } : {})} value={of.value[key]} onInput={(e) => (of.value = { ...of.peek(), [key]: e.currentTarget.value })} /></label>
  );
  const text = written.value[what.value];
  return (
    <Section title={t.heading} name="try">
      <form class="plan" onSubmit={(e) => { e.preventDefault(); void evaluate(); }}>
        <div class="filters">
          {field("box", texts.plan.box, "try-known")}
          <datalist id="try-known">{(data?.boxes ?? []).map((b) => <option key={b.name} value={b.name} />)}</datalist>
          {field("namespace", texts.plan.namespace)}
          {field("name", texts.plan.name)}
          <label class="field">
            <span>{t.what}</span>
            <select value={what.value} onChange={(e) => (what.value = e.currentTarget.value === "condition" ? "condition" : "template")}>
              <option value="template">{t.template}</option>
              <option value="condition">{t.condition}</option>
            </select>
          </label>
        </div>
        <Editor id="try-text" label={t[what.value]} hint={what.value === "template" ? t.templateHint : t.conditionHint} value={text} rows={3}
          onInput={(now) => (written.value = { ...written.peek(), [what.peek()]: now })} />
        <p class="under">
          <button type="submit" class="primary" disabled={text.trim() === "" || of.value.box === "" || of.value.name === ""} aria-disabled={busy.value}>{t.evaluate}</button>
          <span class="muted">{busy.value ? texts.plan.busy : ""}</span>
        </p>
      </form>
      {out.value?.problem && <ProblemNote problem={out.value.problem} stale={false} again={() => void evaluate()} />}
      {out.value?.tried && <Shown of={out.value.tried} />}
    </Section>
  );
}

function sentenceOf(of: Tried): string {
  const t = texts.try;
  if (of.mistake) return t.mistake;
  if (of.verdict) return of.verdict.holds ? t.holds : t.fails;
  return t.gives(of.type ?? "");
}

function Shown({ of }: { of: Tried }) {
  const t = texts.try;
  return (
    <div class={`checked tried ${of.mistake ? "bad" : "good"}`}>
      <p><strong>{sentenceOf(of)}</strong>{of.path && <span class="code"> <Text of={of.path} /></span>}</p>
      {of.mistake && <p class="bad-text"><Message of={of.mistake} /></p>}
      {of.verdict && !of.verdict.holds && (
        <dl class="gate">
          <div><dt>{texts.resource.field}</dt><dd class="code"><Text of={of.verdict.field} /></dd></div>
          {of.verdict.wanted && <div><dt>{texts.resource.wanted}</dt><dd><Text of={of.verdict.wanted} /></dd></div>}
          <div><dt>{texts.resource.actual}</dt><dd><Text of={of.verdict.actual ?? ""} /></dd></div>
        </dl>
      )}
      {of.value !== undefined && <div class="yaml"><YamlBody of={of.value} /></div>}
      {of.reads && of.reads.length > 0 && <p class="muted">{t.reads} <span class="code"><Text of={of.reads.join(", ")} /></span></p>}
      <Notes of={of.notes} />
    </div>
  );
}
