import type { Condition } from "../api";
import { texts } from "../texts";
import { Age } from "./age";
import { Cell, HeadCell, Row, Table } from "./table";
import { Message, Text } from "./text";

const columns = (["type", "status", "reason", "message", "since"] as const).map((id) => ({ id, label: texts.conditions.columns[id] }));

interface Props {
  of: Condition[];
  caption: string;
  /** said is a message that stands above them. */
  said?: string | undefined;
}

/** Conditions are those of an object. A long message that another one has said before is not said again. */
export function Conditions({ of, caption, said }: Props) {
  const t = texts.conditions.columns;
  if (of.length === 0) return <p class="muted">{texts.conditions.none}</p>;
  const dated = of.some((c) => c.since !== undefined); // those of a plan have no time
  return (
    <Table name="conditions" caption={caption} columns={dated ? columns : columns.filter((c) => c.id !== "since")}>
      {of.map((c, i) => (
        <Row key={c.type}>
          <HeadCell of="type"><Text of={c.type} /></HeadCell>
          <Cell of="status" label={t.status}><Text of={c.status} /></Cell>
          <Cell of="reason" label={t.reason}><Text of={c.reason ?? ""} /></Cell>
          <Cell of="message" label={t.message}><Said of={c.message ?? ""} above={said} before={of.slice(0, i)} /></Cell>
          {dated && <Cell of="since" label={t.since}><Age of={c.since} /></Cell>}
        </Row>
      ))}
    </Table>
  );
}

// What is shorter is read as quickly as where it is said.
const long = 80;

function Said({ of, above, before }: { of: string; above: string | undefined; before: Condition[] }) {
  if (of.length > long && isSame(of, above)) return <span class="muted">{texts.conditions.above}</span>;
  const first = of.length > long ? before.find((c) => isSame(of, c.message)) : undefined;
  return first ? <span class="muted">{texts.conditions.as(first.type)}</span> : <Message of={of} />;
}

/** isSame says whether a message is another one, or the beginning of it where it was cut. */
function isSame(message: string, other: string | undefined): boolean {
  const [a, b] = [message, other ?? ""].map((text) => text.replace(/\s+/g, " ").trim()) as [string, string];
  return a === b || (a.endsWith("…") && b.startsWith(a.slice(0, -1)));
}
