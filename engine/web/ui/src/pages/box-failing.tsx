import type { BoxDetail } from "../api";
import { paths } from "../route";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { nameOf, ResourceLink } from "../parts/links";
import { Section } from "../parts/page";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Message, Text } from "../parts/text";

const columns = (["resource", "reason", "message", "failures", "since"] as const).map((id) => ({ id, label: texts.box.columns[id] }));

export function FailingResources({ of }: { of: BoxDetail }) {
  const t = texts.box;
  const c = t.columns;
  return (
    <Section title={t.failing} hint={of.failing.length > 0 ? t.failingHint : undefined} name="failing">
      {of.failing.length === 0 && <p class="muted">{t.noFailing}</p>}
      {of.failing.length > 0 && (
        <Table name="failing" caption={t.failing} columns={columns}>
          {of.failing.map((f) => (
            <Row key={nameOf(f)}>
              <HeadCell of="resource"><ResourceLink box={of.name} of={f} /></HeadCell>
              <Cell of="reason" label={c.reason}><Text of={f.reason ?? ""} />{f.step && <div class="under-line">{t.step(f.step)}</div>}</Cell>
              <Cell of="message" label={c.message}><Message of={f.message} /></Cell>
              <Cell of="failures" label={c.failures}>{texts.count(f.consecutiveFailures)}</Cell>
              <Cell of="since" label={c.since}><Age of={f.since} /></Cell>
            </Row>
          ))}
        </Table>
      )}
      <p><a href={paths.resources(of.name)}>{t.allResources}</a></p>
    </Section>
  );
}
