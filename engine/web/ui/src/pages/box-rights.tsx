import { useSignal } from "@preact/signals";
import type { BoxDetail, NeededRight, Rights } from "../api";
import { useAnswer } from "../live/answer";
import { paths } from "../route";
import { texts } from "../texts";
import { Answered } from "../parts/answered";
import { Notes } from "../parts/notes";
import { Section } from "../parts/page";
import { Shape } from "../parts/state";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";

/** BoxRights shows what a box needs to be allowed. It is asked when somebody opens it, or when something is missing: each right is a review. */
export function BoxRights({ of }: { of: BoxDetail }) {
  const missing = of.conditions.some((c) => c.type === "PermissionsGranted" && c.status !== "True");
  const open = useSignal(missing);
  return (
    <Section title={texts.rights.heading} name="rights">
      <details open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
        <summary>{texts.rights.show}</summary>
        {open.value && <Asked box={of.name} />}
      </details>
    </Section>
  );
}

function Asked({ box }: { box: string }) {
  const answer = useAnswer<Rights>(paths.rights(box), (c) => c.resource === undefined && c.box === box);
  return <Answered of={answer}>{(found) => <Found of={found} />}</Answered>;
}

const columns = (["resource", "verbs", "where", "missing"] as const).map((id) => ({ id, label: texts.rights.columns[id] }));

function Found({ of }: { of: Rights }) {
  const t = texts.rights;
  return (
    <>
      <p>{t.of} {of.account ? <strong><Text of={of.account} /></strong> : t.manager}. {of.missing > 0 ? <strong class="bad-text">{t.missing(of.missing)}</strong> : isKnown(of) && t.allThere}</p>
      <Notes of={of.notes} />
      {of.rights.length === 0 ? <p class="muted">{t.none}</p> : (
        <Table name="rights" caption={t.heading} columns={columns}>
          {of.rights.map((r) => <RightRow key={[r.group, r.resource, r.namespace, r.name].join("\n")} of={r} />)}
        </Table>
      )}
      {!!of.more && <p class="muted small">{t.more(of.more)}</p>}
    </>
  );
}

/** isKnown says whether all that the box needs was asked for. */
const isKnown = (of: Rights) => of.rights.length > 0 && !of.notes?.length && !of.rights.some((r) => r.unknown);

function RightRow({ of }: { of: NeededRight }) {
  const t = texts.rights;
  const missing = of.missing ?? [];
  return (
    <Row tone={missing.length > 0 ? "bad" : undefined}>
      <HeadCell of="resource"><Shape tone={missing.length > 0 ? "bad" : of.unknown ? "off" : "good"} state={of.unknown ? "Unknown" : ""} /> <Text of={of.group ? `${of.resource}.${of.group}` : of.resource} />{of.name && <> <Text of={of.name} /></>}</HeadCell>
      <Cell of="verbs" label={t.columns.verbs}><Text of={of.verbs.join(", ")} /></Cell>
      <Cell of="where" label={t.columns.where}>{of.namespace ? <Text of={of.namespace} /> : t.everywhere}</Cell>
      <Cell of="missing" label={t.columns.missing}>{missing.length > 0 ? <strong class="bad-text"><Text of={missing.join(", ")} /></strong> : of.unknown ? t.unknown : ""}</Cell>
    </Row>
  );
}
