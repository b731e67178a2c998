import type { BoxDeclaration, BoxDetail, Graph as Declared, GraphEdge as Reads, GraphNode as Node } from "../api";
import { useAnswer } from "../live/answer";
import { paths } from "../route";
import { texts } from "../texts";
import { Graph, type GraphEdge } from "../parts/graph";
import { BoxLink } from "../parts/links";
import { Notes } from "../parts/notes";
import { Section } from "../parts/page";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";

/** Declarations shows what a box declares, drawn where anything depends on anything, and as a table that says the same. */
export function Declarations({ of }: { of: BoxDetail }) {
  const t = texts.box;
  const { data } = useAnswer<Declared>(paths.graph(of.name), (c) => c.resource === undefined && (!c.box || c.box === of.name));
  const nodes = data && data.nodes.length > 0 ? data.nodes : of.declarations.map(nodeOf);
  const edges = data?.edges ?? [];
  return (
    <Section title={t.declarations} name="declarations">
      {nodes.length === 0 && data && <p class="muted">{data.notes?.length ? t.unknownDeclarations : t.noDeclarations}</p>}
      <Notes of={data?.notes?.filter((note) => !of.notes?.includes(note))} />
      {edges.length > 0 && (
        <>
          <Graph label={t.declarations} nodes={nodes.map((n) => ({ id: n.path, title: n.label, under: under(n), outside: isOutside(n), ...(n.box ? { to: paths.box(n.box) } : {}) }))} edges={edges.map(drawnAs)} />
          <p class="muted small">{t.reads}</p>
        </>
      )}
      {nodes.length > 0 && <Rows of={nodes} edges={edges} />}
      {!!data?.more && <p class="muted small">{t.moreDeclarations(data.more)}</p>}
      {!!data?.moreEdges && <p class="muted small">{t.moreLines(data.moreEdges)}</p>}
    </Section>
  );
}

const nodeOf = (d: BoxDeclaration): Node => ({ path: d.path, label: d.declaration, group: "", kind: d.kind, gated: d.conditional ?? false, loop: d.loop ?? false });

const isOutside = (n: Node) => n.group === "cross" || n.group === "external" || n.group === "providers";

const under = (n: Node) => [texts.box.groups[n.group] ?? n.group, n.kind].filter(Boolean).join(", ");

const drawnAs = (e: Reads): GraphEdge => ({ from: e.from, to: e.to, weight: waits(e) ? "strong" : "weak", ...(e.ring ? { tone: "bad" as const } : {}) });

/** waits says whether one thing waits for the other, and does not only read it. */
const waits = (e: Reads) => e.ways.includes("gate") || e.ways.includes("after");

const columns = (["declaration", "kind", "how", "needs", "path"] as const).map((id) => ({ id, label: texts.box.columns[id] }));

function Rows({ of, edges }: { of: Node[]; edges: Reads[] }) {
  const c = texts.box.columns;
  const labels = new Map(of.map((n) => [n.path, n.label]));
  return (
    <Table name="declarations" caption={texts.box.declarations} columns={columns}>
      {of.map((n) => (
        <Row key={n.path}>
          <HeadCell of="declaration"><Text of={n.label} /></HeadCell>
          <Cell of="kind" label={c.kind}>{n.box ? <>{texts.box.ofBox} <BoxLink of={n.box} /></> : <Text of={n.kind ?? ""} />}</Cell>
          <Cell of="how" label={c.how}>{[texts.box.groups[n.group] ?? n.group, n.gated && texts.box.conditional, n.loop && texts.box.loop, n.optional && texts.box.optional].filter(Boolean).join(", ")}</Cell>
          <Cell of="needs" label={c.needs}><Needs of={edges.filter((e) => e.to === n.path)} labels={labels} /></Cell>
          <Cell of="path" label={c.path}><span class="code"><Text of={n.path} /></span></Cell>
        </Row>
      ))}
    </Table>
  );
}

function Needs({ of, labels }: { of: Reads[]; labels: Map<string, string> }) {
  const t = texts.box;
  if (of.length === 0) return null;
  return (
    <ul class="plain">
      {of.map((e) => (
        <li key={e.from}>
          <Text of={labels.get(e.from) ?? e.from} /> <span class="muted">{e.ways.map((way) => t.ways[way] ?? way).join(", ")}{e.fields && <>: <span class="code"><Text of={e.fields.join(", ")} /></span></>}</span>
          {e.ring && <span class="tag bad">{t.ring}</span>}
        </li>
      ))}
    </ul>
  );
}
