import type { Event } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Section } from "../parts/page";
import { Shape } from "../parts/state";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Message, Text } from "../parts/text";

const columns = (["time", "type", "reason", "object", "message", "count"] as const).map((id) => ({ id, label: texts.resource.columns[id] }));

export function Events({ of, note }: { of: Event[]; note: string | undefined }) {
  const t = texts.resource;
  return (
    <Section title={t.events} name="events">
      {note && <p class="muted"><Message of={note} /></p>}
      {of.length === 0 && !note && <p class="muted">{t.noEvents}</p>}
      {of.length > 0 && (
        <Table name="events" caption={t.events} columns={columns}>
          {of.map((e) => <OneEvent key={e.time + e.object + e.reason + e.message} of={e} />)}
        </Table>
      )}
    </Section>
  );
}

function OneEvent({ of }: { of: Event }) {
  const c = texts.resource.columns;
  const warns = of.type === "Warning";
  return (
    <Row>
      <Cell of="time" label={c.time}><Age of={of.time} /></Cell>
      <Cell of="type" label={c.type}>{warns && <Shape tone="bad" />} <Text of={of.type} /></Cell>
      <HeadCell of="reason"><Text of={of.reason} /></HeadCell>
      <Cell of="object" label={c.object}><Text of={of.object} /></Cell>
      <Cell of="message" label={c.message}><Message of={of.message} /></Cell>
      <Cell of="count" label={c.count}>{texts.count(of.count)}</Cell>
    </Row>
  );
}
