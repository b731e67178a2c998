import type { Cycle, History, Stage, Write } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { nameOf } from "../parts/links";
import { Section } from "../parts/page";
import { Shape, type Tone } from "../parts/state";
import { Message, Text } from "../parts/text";

/** Timeline shows the last reconciles of a resource, the newest first. */
export function Timeline({ of }: { of: History }) {
  const t = texts.history;
  return (
    <Section title={t.heading} name="timeline">
      {of.cycles.length > 0 && <ol class="cycles plain">{of.cycles.map((c) => <OneCycle key={c.first} of={c} />)}</ol>}
      {of.cycles.length === 0 && of.since && <p class="muted">{t.nothing}</p>}
      {of.note && <p class="muted"><Message of={of.note} /></p>}
      {of.since && <p class="muted small">{texts.remembered} <Age of={of.since} />. {texts.forgotten}</p>}
    </Section>
  );
}

const tones: Record<string, Tone> = { success: "good", waiting: "wait" };

function OneCycle({ of }: { of: Cycle }) {
  const t = texts.history;
  const tone = tones[of.outcome] ?? "bad";
  return (
    <li class={`cycle ${tone}`}>
      <div class="when"><Age of={of.time} /></div>
      <Shape tone={tone} />
      <div class="what">
        <p>
          <strong>{tone === "bad" ? t.failed : tone === "wait" ? t.waits : t.succeeded}</strong>
          {of.stage && <> {t.in} <Text of={of.stage} /></>}
          {of.times > 1 && <> {t.times(of.times)} <Age of={of.first} /></>}
          {of.action !== "Reconcile" && <span class="tag"><Text of={of.action} /></span>}
          <span class="muted">, {t.wokenBy} <Text of={of.woken} /></span>
        </p>
        {of.message && <p>{of.reason && <strong><Text of={of.reason} />: </strong>}<Message of={of.message} /></p>}
        <Writes of={of.writes} others={of.others ?? 0} />
        <Stages of={of.stages} seconds={of.seconds} />
      </div>
    </li>
  );
}

function Writes({ of, others }: { of: Write[]; others: number }) {
  if (of.length === 0 && others === 0) return null;
  return (
    <ul class="writes plain">
      {of.map((w) => <li key={w.kind + nameOf(w) + w.action}><Text of={w.action} /> <Text of={`${w.kind} ${nameOf(w)}`} />{w.patch && <span class="muted"> {texts.history.patch}</span>}</li>)}
      {others > 0 && <li class="muted">{texts.history.others(others)}</li>}
    </ul>
  );
}

/** Stages says how long each took; the bar above the words shows their shares. */
function Stages({ of, seconds }: { of: Stage[]; seconds: number }) {
  const all = Math.max(seconds, of.reduce((sum, s) => sum + s.seconds, 0));
  let at = 0;
  return (
    <div class="stages">
      <svg class="shares" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {all > 0 && of.map((s, i) => {
          const x = at;
          at += (s.seconds / all) * 100;
          return <rect key={i} class={i % 2 === 0 ? "even" : "odd"} x={x} y="0" width={at - x} height="4" />;
        })}
      </svg>
      <p class="muted">
        {texts.seconds(seconds)}
        {of.map((s, i) => <span key={i}>{i === 0 ? ": " : ", "}<Text of={s.name} /> {texts.seconds(s.seconds)}</span>)}
      </p>
    </div>
  );
}
