import type { Condition } from "../api";
import { texts } from "../texts";
import { Age } from "./age";
import { Cell, HeadCell, Row, Table } from "./table";
import { Message, Text } from "./text";

const columns = (["type", "status", "reason", "message", "since"] as const).map((id) => ({ id, label: texts.conditions.columns[id] }));

export function Conditions({ of, caption }: { of: Condition[]; caption: string }) {
  const t = texts.conditions.columns;
  if (of.length === 0) return <p class="muted">{texts.conditions.none}</p>;
  const dated = of.some((c) => c.since !== undefined); // those of a plan have no time
  return (
    <Table name="conditions" caption={caption} columns={dated ? columns : columns.filter((c) => c.id !== "since")}>
      {of.map((c) => (
        <Row key={c.type}>
          <HeadCell of="type"><Text of={c.type} /></HeadCell>
          <Cell of="status" label={t.status}><Text of={c.status} /></Cell>
          <Cell of="reason" label={t.reason}><Text of={c.reason ?? ""} /></Cell>
          <Cell of="message" label={t.message}><Message of={c.message ?? ""} /></Cell>
          {dated && <Cell of="since" label={t.since}><Age of={c.since} /></Cell>}
        </Row>
      ))}
    </Table>
  );
}
