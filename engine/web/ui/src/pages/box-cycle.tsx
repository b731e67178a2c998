import type { BoxDetail, Step } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { ResourceLink } from "../parts/links";
import { Section } from "../parts/page";
import { Shape } from "../parts/state";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Message, Text } from "../parts/text";

const columns = (["step", "mean", "longest", "runs", "failures", "last"] as const).map((id) => ({ id, label: texts.cycle.columns[id] }));

/** CycleSteps shows what a reconcile of the box goes through, with the time and the failures of each step. */
export function CycleSteps({ of }: { of: BoxDetail }) {
  const t = texts.cycle;
  const { steps, note, since } = of.cycle;
  if (steps.length === 0 && !note) return null;
  const most = Math.max(...steps.map((s) => s.mean));
  return (
    <Section title={t.heading} hint={since && t.hint} name="cycle-steps">
      {steps.length > 0 && !since && <ol class="steps">{steps.map((s) => <li key={s.name}><Text of={s.name} /></li>)}</ol>}
      {steps.length > 0 && since && (
        <Table name="steps" caption={t.heading} columns={columns}>
          {steps.map((s) => <StepRow key={s.name} of={s} most={most} box={of.name} />)}
        </Table>
      )}
      {note && <p class="muted"><Message of={note} /></p>}
      {since && <p class="muted small">{texts.remembered} <Age of={since} />. {texts.forgotten}</p>}
    </Section>
  );
}

function StepRow({ of, most, box }: { of: Step; most: number; box: string }) {
  const c = texts.cycle.columns;
  const last = of.lastFailure;
  return (
    <Row tone={of.failures > 0 ? "bad" : undefined}>
      <HeadCell of="step">{of.failures > 0 && <><Shape tone="bad" /> </>}<Text of={of.name} /></HeadCell>
      <Cell of="mean" label={c.mean}>
        {of.runs > 0 ? texts.seconds(of.mean) : <span class="none">{texts.none}</span>}
        {most > 0 && of.mean > 0 && (
          <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect x="0" y="0" width={Math.max(1, (of.mean / most) * 100)} height="4" /></svg>
        )}
      </Cell>
      <Cell of="longest" label={c.longest}>{of.runs > 0 ? texts.seconds(of.longest) : <span class="none">{texts.none}</span>}</Cell>
      <Cell of="runs" label={c.runs}>{texts.count(of.runs)}</Cell>
      <Cell of="failures" label={c.failures}>{of.failures > 0 ? <strong class="bad-text">{texts.count(of.failures)}</strong> : "0"}</Cell>
      <Cell of="last" label={c.last}>
        {last && <><ResourceLink box={box} of={last.resource} /> <span class="muted"><Age of={last.time} /></span> <Message of={last.message} /></>}
      </Cell>
    </Row>
  );
}
