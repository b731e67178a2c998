import type { BoxDeclaration, BoxDetail, Dependency } from "../api";
import { texts } from "../texts";
import { BoxLink, nameOf, ResourceLink } from "../parts/links";
import { Section } from "../parts/page";
import { Shape } from "../parts/state";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";

export function Overdue({ of }: { of: BoxDetail }) {
  if (!of.overdue || of.overdue.length === 0) return null;
  return (
    <Section title={texts.box.overdue} hint={texts.box.overdueHint} name="overdue">
      <ul class="plain">{of.overdue.map((r) => <li key={nameOf(r)}><ResourceLink box={of.name} of={r} /></li>)}</ul>
    </Section>
  );
}

export function Dependencies({ of }: { of: BoxDetail }) {
  const t = texts.box;
  if (!of.dependsOn?.length && !of.dependents?.length) return null;
  return (
    <Section title={t.dependencies} name="dependencies">
      <DependencyList title={t.dependsOn} of={of.dependsOn} />
      <DependencyList title={t.dependents} of={of.dependents} />
    </Section>
  );
}

function DependencyList({ title, of }: { title: string; of: Dependency[] | undefined }) {
  if (!of || of.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain">
        {of.map((d) => (
          <li key={d.box + d.condition}>
            <Shape tone={d.met ? "good" : "wait"} /> <BoxLink of={d.box} />{" "}
            <Text of={texts.box.condition(d.condition)} /> <span class={d.met ? "muted" : "wait-text"}>{d.met ? texts.box.met : texts.box.unmet}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const columns = (["declaration", "kind", "how", "path"] as const).map((id) => ({ id, label: texts.box.columns[id] }));

export function Declarations({ of }: { of: BoxDetail }) {
  const t = texts.box;
  return (
    <Section title={t.declarations} name="declarations">
      {of.declarations.length === 0 ? <p class="muted">{t.noDeclarations}</p> : (
        <Table name="declarations" caption={t.declarations} columns={columns}>
          {of.declarations.map((d) => <DeclarationRow key={d.path} of={d} />)}
        </Table>
      )}
    </Section>
  );
}

function DeclarationRow({ of }: { of: BoxDeclaration }) {
  const c = texts.box.columns;
  const how = [of.conditional && texts.box.conditional, of.loop && texts.box.loop].filter(Boolean).join(", ");
  return (
    <Row>
      <HeadCell of="declaration"><Text of={of.declaration} /></HeadCell>
      <Cell of="kind" label={c.kind}><Text of={of.kind} /></Cell>
      <Cell of="how" label={c.how}>{how}</Cell>
      <Cell of="path" label={c.path}><span class="code"><Text of={of.path} /></span></Cell>
    </Row>
  );
}
