import type { Row as ResourceRow, Rows } from "../api";
import { useAnswer } from "../live/answer";
import { useSayOn } from "../live/say";
import { change, paths, query, withQuery } from "../route";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Answered } from "../parts/answered";
import { nameOf, ResourceLink } from "../parts/links";
import { Notes } from "../parts/notes";
import { Breadcrumb, Heading } from "../parts/page";
import { StateMark, toneOf } from "../parts/state";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";
import { Pages } from "./resources-pages";
import { ResourceFilters } from "./resources-filters";

const limit = 100;
// Trouble comes first.
const worst = "state";

export function ResourcesPage({ box }: { box: string }) {
  const q = query.value;
  const value = (name: string) => q.get(name) ?? "";
  const filters = { state: value("state"), reason: value("reason"), namespace: value("namespace"), text: value("text"), sort: value("sort") || worst };
  const offset = Math.max(0, Math.floor(Number(value("offset"))) || 0);
  const path = withQuery(paths.resources(box), { ...filters, offset: offset > 0 ? String(offset) : "", limit: String(limit) });
  const answer = useAnswer<Rows>(path, (c) => !c.box || c.box === box);
  const { data } = answer;
  useSayOn(path, data && !answer.stale ? texts.resources.matching(data.matching, data.total) : undefined);
  return (
    <>
      <Breadcrumb of={[{ label: box, to: paths.box(box) }]} />
      <div class="headline"><Heading of={texts.resources.of(box)} /></div>
      <Answered of={answer}>
        {(found) => (
          <>
            <Notes of={found.notes} />
            <ResourceFilters of={found} filters={filters} />
            <List box={box} of={found} sort={filters.sort} offset={offset} stale={answer.stale} />
          </>
        )}
      </Answered>
    </>
  );
}

interface ListProps { box: string; of: Rows; sort: string; offset: number; stale: boolean }

const ids = ["state", "name", "reason", "message", "since", "age"] as const;
const sorts: Partial<Record<string, string>> = { state: "state", name: "name", age: "age" };
const columns = ids.map((id) => {
  const sort = sorts[id];
  return { id, label: texts.resources.columns[id], ...(sort ? { sort } : {}) };
});

function List({ box, of, sort, offset, stale }: ListProps) {
  const t = texts.resources;
  if (of.total === 0) return <div class="empty"><p>{t.empty}</p></div>;
  return (
    <>
      <Pages offset={offset} limit={limit} shown={of.rows.length} matching={of.matching} total={of.total} />
      {of.matching === 0 ? (
        <div class="empty">
          <p>{t.nothing}</p>
          <button type="button" onClick={() => change({ state: "", reason: "", namespace: "", text: "", offset: "" })}>{t.clear}</button>
        </div>
      ) : (
        <Table name="resources" caption={t.table} columns={columns} sort={sort} busy={stale} onSort={(s) => change({ sort: s === worst ? "" : s, offset: "" })}>
          {of.rows.map((r) => <OneRow key={nameOf(r)} box={box} of={r} />)}
        </Table>
      )}
    </>
  );
}

function OneRow({ box, of }: { box: string; of: ResourceRow }) {
  const c = texts.resources.columns;
  return (
    <Row tone={toneOf(of.state)}>
      <Cell of="state" label={c.state}><StateMark of={of.state} /></Cell>
      <HeadCell of="name"><ResourceLink box={box} of={of} /></HeadCell>
      <Cell of="reason" label={c.reason}><Text of={of.reason ?? ""} /></Cell>
      <Cell of="message" label={c.message}><span class="clamp" title={of.message}><Text of={of.message ?? ""} /></span></Cell>
      <Cell of="since" label={c.since}><Age of={of.since} /></Cell>
      <Cell of="age" label={c.age}><Age of={of.created} /></Cell>
    </Row>
  );
}
