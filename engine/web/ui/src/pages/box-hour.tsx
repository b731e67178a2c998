import type { Hour } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Section } from "../parts/page";
import { inWords, Spark, type Layer } from "../parts/spark";

/** LastHour draws what the manager remembers of a box. */
export function LastHour({ of }: { of: Hour }) {
  const t = texts.hour;
  const calm = (values: number[] = []): Layer => ({ tone: "calm", values });
  return (
    <Section title={t.heading} name="hour">
      <div class="curves">
        <Curve title={t.failing} values={of.failing} say={texts.count} layers={[{ tone: "bad", values: of.failing }]} />
        <Curve title={t.waiting} values={of.waiting ?? []} say={texts.count} layers={[{ tone: "wait", values: of.waiting ?? [] }]} />
        <Curve title={t.queue} values={of.queue ?? []} say={texts.count} layers={[calm(of.queue)]} />
        <Curve title={t.reconciles} values={of.reconciles ?? []} say={texts.count} layers={runs(of)} />
        <Curve title={t.p95} values={of.p95 ?? []} say={texts.seconds} layers={[calm(of.p95)]} />
      </div>
      <p class="muted small">{texts.remembered} <Age of={of.since} />. {texts.forgotten}</p>
    </Section>
  );
}

function runs(of: Hour): Layer[] {
  const failed = of.failures ?? [];
  return [{ tone: "bad", values: failed }, { tone: "calm", values: (of.reconciles ?? []).map((n, i) => n - (failed[i] ?? 0)) }];
}

function Curve({ title, values, say, layers }: { title: string; values: number[]; say: (n: number) => string; layers: Layer[] }) {
  const last = values[values.length - 1];
  return (
    <figure class="curve">
      <figcaption>
        <span class="muted title">{title}</span> <strong>{last === undefined ? texts.none : say(last)}</strong>
        {values.length > 0 && <span class="muted most">{texts.hour.most(say(Math.max(...values)))}</span>}
      </figcaption>
      <Spark of={layers} label={inWords(title, values, say)} />
    </figure>
  );
}
