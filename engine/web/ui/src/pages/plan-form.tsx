import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Ref } from "preact";
import type { BoxDetail, Fleet } from "../api";
import { useAnswer } from "../live/answer";
import { ask, NoAnswer } from "../live/ask";
import { begin, busy, draft, run, write, type Given } from "../live/draft";
import { paths, query } from "../route";
import { texts } from "../texts";
import { Editor } from "../parts/editor";
import { plain } from "../parts/visible";

/** PlanForm takes boxes, and a resource. The address may name a box to begin with, and a resource of it. */
export function PlanForm({ area }: { area: Ref<HTMLTextAreaElement> }) {
  const t = texts.plan;
  const of = draft.value;
  const opened = useSignal(of.rest !== "");
  const { data } = useAnswer<Fleet>(paths.fleet(), (c) => !c.resource);
  const boxes = (data?.boxes ?? []).map((b) => b.name);
  return (
    <form class="plan" onSubmit={(e) => { e.preventDefault(); void run(); }}>
      <Take boxes={boxes} />
      <Editor id="plan-boxes" label={t.boxes} hint={t.boxesHint} value={of.boxes} rows={16} area={area} onInput={(text) => write({ boxes: text })} />
      <fieldset>
        <legend>{t.resource}</legend>
        {(["none", "named", "text"] as const).map((given) => <Choice key={given} given={given} />)}
        {of.given === "named" && <Named boxes={boxes} />}
        {of.given === "text" && <Editor id="plan-resource" label={t.yaml} value={of.resource} rows={10} onInput={(text) => write({ resource: text })} />}
        {of.given !== "none" && (
          <details open={opened.value} onToggle={(e) => (opened.value = e.currentTarget.open)}>
            <summary>{t.rest}</summary>
            <Editor id="plan-rest" label={t.rest} hint={t.restHint} value={of.rest} rows={6} onInput={(text) => write({ rest: text })} />
          </details>
        )}
      </fieldset>
      <p class="under">
        <button type="submit" class="primary" disabled={of.boxes.trim() === ""} aria-disabled={busy.value}>{of.given === "none" ? t.check : t.render}</button>
        <button type="button" onClick={begin}>{t.again}</button>
        <span role="status" class="muted">{busy.value ? t.busy : ""}</span>
      </p>
    </form>
  );
}

function Choice({ given }: { given: Given }) {
  return (
    <label class="choice">
      <input type="radio" name="plan-given" checked={draft.value.given === given} onChange={() => write({ given })} /> <span>{texts.plan.given[given]}</span>
    </label>
  );
}

function Named({ boxes }: { boxes: string[] }) {
  const t = texts.plan;
  const of = draft.value;
  return (
    <div class="filters">
      <label class="field">
        <span>{t.box}</span>
        <input type="text" list="plan-known" value={of.box} onInput={(e) => write({ box: e.currentTarget.value })} />
      </label>
      <datalist id="plan-known">{boxes.map((b) => <option key={b} value={b} />)}</datalist>
      <label class="field"><span>{t.namespace}</span><input type="text" value={of.namespace} onInput={(e) => write({ namespace: e.currentTarget.value })} /></label>
      <label class="field"><span>{t.name}</span><input type="text" value={of.name} onInput={(e) => write({ name: e.currentTarget.value })} /></label>
    </div>
  );
}

/** Take puts the YAML of a running box into the text; one that somebody has written is not replaced. */
function Take({ boxes }: { boxes: string[] }) {
  const t = texts.plan;
  const said = useSignal("");
  const take = async (box: string): Promise<void> => {
    if (box === "") return;
    if (draft.peek().boxes.trim() !== "") {
      said.value = t.replace;
      return;
    }
    try {
      const found = await ask<BoxDetail>(paths.box(box), new AbortController().signal);
      write({ boxes: found.yaml, box });
      said.value = t.taken(plain(box));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      said.value = `${error.problem.title}. ${plain(error.problem.detail)}`;
    }
  };
  const [box, namespace, name] = ["box", "namespace", "name"].map((key) => query.value.get(key) ?? "");
  useEffect(() => {
    if (name) write({ given: "named", box: box ?? "", namespace: namespace ?? "", name });
    if (box && draft.peek().boxes === "") void take(box);
  }, [box, namespace, name]);
  return (
    <div class="filters">
      <label class="field">
        <span>{t.take}</span>
        <select value="" onChange={(e) => { void take(e.currentTarget.value); e.currentTarget.value = ""; }}>
          <option value="">{t.takeNone}</option>
          {boxes.map((b) => <option key={b} value={b}>{plain(b)}</option>)}
        </select>
      </label>
      <span role="status" class="muted">{said}</span>
    </div>
  );
}
