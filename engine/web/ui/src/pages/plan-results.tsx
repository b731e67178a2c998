import { useSignal } from "@preact/signals";
import type { CheckedDocument, Mistake, RenderedObject, RenderedResource } from "../api";
import { draft, run, type Outcome } from "../live/draft";
import { texts } from "../texts";
import { Conditions } from "../parts/conditions";
import { Line } from "../parts/editor";
import { nameOf } from "../parts/links";
import { Section } from "../parts/page";
import { ProblemNote } from "../parts/problem";
import { Shape } from "../parts/state";
import { Message, Text } from "../parts/text";
import { YamlBody } from "../parts/yaml";

type Show = (line: number) => void;

/** sentenceOf says in one sentence what came of a question. */
export function sentenceOf(of: Outcome): string {
  const t = texts.plan;
  if (of.problem) return texts.problem.title(of.problem.status);
  const documents = of.compiled?.documents ?? [];
  const wrong = documents.reduce((sum, d) => sum + d.mistakes.length, 0);
  if (wrong > 0) return t.invalid(wrong);
  const objects = of.rendered?.resources.reduce((sum, r) => sum + r.objects.length, 0);
  return objects === undefined ? t.valid(documents.length) : `${t.valid(documents.length)} ${t.objects(objects)}`;
}

export function PlanResults({ of, onShow }: { of: Outcome; onShow: Show }) {
  const t = texts.plan;
  const bad = of.problem !== undefined || of.compiled?.valid === false || of.rendered?.resources.some((r) => r.mistakes !== undefined || r.error !== undefined);
  const tone = bad ? "bad" : "good";
  return (
    <Section title={t.results} name="outcome">
      {of.of !== draft.value && <p class="wait-text">{t.old}</p>}
      {of.problem ? <ProblemNote problem={of.problem} stale={false} again={() => void run()} /> : (
        <div class={`verdict ${tone}`}><Shape tone={tone} /><div><p class="sentence">{sentenceOf(of)}</p></div></div>
      )}
      {of.compiled?.documents.map((d, i) => <Checked key={i} of={d} onShow={onShow} />)}
      <Notes of={of.rendered?.notes} />
      {of.rendered?.resources.map((r, i) => <OneResource key={i} of={r} />)}
    </Section>
  );
}

function Checked({ of, onShow }: { of: CheckedDocument; onShow: Show }) {
  const t = texts.plan;
  return (
    <div class={`checked ${of.valid ? "good" : "bad"}`}>
      <h3><Text of={of.subject ?? t.document} />{of.revision && <span class="muted"> <Text of={t.revision(of.revision)} /></span>}</h3>
      <Mistakes of={of.mistakes} onShow={onShow} />
      <Notes of={of.notes} />
    </div>
  );
}

function Mistakes({ of, onShow }: { of: Mistake[]; onShow?: Show }) {
  if (of.length === 0) return null;
  return (
    <ol class="mistakes">
      {of.map((m, i) => (
        <li key={i}>
          <p class="under"><Line line={m.line} column={m.column} onShow={onShow} />{m.path && <span class="code"><Text of={m.path} /></span>}</p>
          <p><Message of={m.message} /></p>
        </li>
      ))}
    </ol>
  );
}

function OneResource({ of }: { of: RenderedResource }) {
  const t = texts.plan;
  return (
    <div class="checked">
      <h3>{t.forResource} <Text of={`${of.kind} ${nameOf(of)}`} /></h3>
      {of.mistakes && <><p class="bad-text">{t.resourceWrong}</p><Mistakes of={of.mistakes} /></>}
      {of.error && <p><strong class="bad-text">{t.failed}.</strong> <Message of={of.error} /></p>}
      {of.waits && of.waits.length > 0 && <><h4>{t.waits}</h4><ul>{of.waits.map((w) => <li key={w}><Message of={w} /></li>)}</ul></>}
      <Notes of={of.notes} />
      {of.objects.length > 0 && <ul class="branches">{of.objects.map((o, i) => <li key={i}><OneObject of={o} /></li>)}</ul>}
      {of.conditions.length > 0 && <><h4>{t.conditions}</h4><Conditions of={of.conditions} caption={t.conditions} /></>}
    </div>
  );
}

function OneObject({ of }: { of: RenderedObject }) {
  const open = useSignal(false);
  const name = `${of.kind} ${nameOf(of)}`;
  return (
    <div class="leaf object">
      <div class="what"><p><strong><Text of={name} /></strong> <span class="muted"><Text of={of.apiVersion} /></span>{of.patch && <span class="tag">{texts.plan.patch}</span>}</p></div>
      <div class="foot">
        <button type="button" class="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
          {texts.resource.yamlShort}<span class="unshown"><Text of={texts.resource.yamlOf(name)} /></span>
        </button>
      </div>
      {open.value && <div class="yaml"><YamlBody of={of.yaml} /></div>}
    </div>
  );
}

function Notes({ of }: { of: string[] | undefined }) {
  if (!of || of.length === 0) return null;
  return <><h4>{texts.plan.unknown}</h4><ul class="notes">{of.map((n, i) => <li key={i}><Message of={n} /></li>)}</ul></>;
}
