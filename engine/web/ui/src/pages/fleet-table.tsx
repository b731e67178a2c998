import type { Box } from "../api";
import { paths, withQuery } from "../route";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { CountsBar, CountsText, waitingOf } from "../parts/counts";
import { BoxLink, ResourceLink } from "../parts/links";
import { inWords, Spark } from "../parts/spark";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";
import { BoxMark } from "./box-mark";
import { failsWithin, isUncounted, toneOfBox, troubleOf, without } from "./fleet-order";

const ids = ["state", "name", "error", "resources", "failures", "queue", "workers", "revision"] as const;
const columns = ids.map((id) => ({
  id, label: texts.fleet.columns[id], sort: id, ...(id === "failures" ? { hint: texts.fleet.failuresHint } : {}),
}));

export function FleetTable({ of, sort, onSort }: { of: Box[]; sort: string; onSort: (sort: string) => void }) {
  return (
    <Table name="fleet" caption={texts.fleet.table} columns={columns} sort={sort} onSort={onSort}>
      {of.map((b) => <BoxRow key={b.name} of={b} />)}
    </Table>
  );
}

function BoxRow({ of }: { of: Box }) {
  const c = texts.fleet.columns;
  return (
    <Row tone={toneOfBox(of)}>
      <Cell of="state" label={c.state}>
        <BoxMark of={of} />
        {failsWithin(of) && <div class="under-line"><Text of={texts.fleet.boxItself(of.state)} /></div>}
      </Cell>
      <HeadCell of="name">
        <BoxLink of={of.name} />
        <div class="under-line"><Text of={of.kind ?? of.crd ?? ""} /></div>
      </HeadCell>
      <Cell of="error" label={c.error}><Wrong of={of} /></Cell>
      <Cell of="resources" label={c.resources}>
        <a class="counts" href={withQuery(paths.resources(of.name), { state: of.resources.failing > 0 ? "Failing" : "" })}>{isUncounted(of) ? <span class="none">{texts.counts.uncounted}</span> : <CountsText of={of.resources} />}</a>
        <CountsBar of={of.resources} />
      </Cell>
      <Cell of="failures" label={c.failures}>
        <Failures of={of} />
        {of.hour && <Spark of={[{ tone: "bad", values: of.hour.failing }]} label={inWords(texts.hour.resources, of.hour.failing, texts.count)} />}
      </Cell>
      <Cell of="queue" label={c.queue}><Number of={of.queueDepth} /></Cell>
      <Cell of="workers" label={c.workers}><Number of={of.workers} /></Cell>
      <Cell of="revision" label={c.revision}><Text of={of.revision ?? texts.none} /></Cell>
    </Row>
  );
}

const Number = ({ of }: { of: number }) => <span class={of === 0 ? "none" : ""}>{texts.count(of)}</span>;

function Failures({ of }: { of: Box }) {
  if (of.consecutiveFailures === 0 && of.failureCount === 0) return <span class="none">{texts.count(0)}</span>;
  return (
    <>
      <div class={of.consecutiveFailures > 0 ? "bad-text" : "muted"} title={of.failureThreshold ? texts.fleet.limit(of.failureThreshold) : undefined}>
        {texts.fleet.inRow(of.consecutiveFailures)}
      </div>
      <div class="under-line">{texts.fleet.total(of.failureCount)}</div>
    </>
  );
}

/** Wrong says why a box is not well, and leads to the worst resource of those that fail, or else to the one that failed last. */
function Wrong({ of }: { of: Box }) {
  const failure = troubleOf(of);
  if (!of.message && !of.reason && !failure) {
    if (of.resources.failing > 0) return <a href={withQuery(paths.resources(of.name), { state: "Failing" })}>{texts.fleet.resourcesFail(of.resources.failing)}</a>;
    const waiting = waitingOf(of.resources);
    if (waiting > 0) return <a href={withQuery(paths.resources(of.name), { state: "Waiting" })}>{texts.fleet.resourcesWait(waiting)}</a>;
    return <span class="none">{of.state === "Unknown" ? texts.fleet.unknown : texts.fleet.well}</span>;
  }
  return (
    <>
      {(of.reason || of.message) && <p class="clamp" title={of.message}>{of.reason && <strong><Text of={of.reason} /></strong>} {of.since && <><span class="muted"><Age of={of.since} /></span>{" "}</>}<Text of={without(of.message ?? "", failure)} /></p>}
      {failure && (
        <p class="clamp" title={failure.message}>
          <ResourceLink box={of.name} of={failure.resource} /> <span class="muted"><Age of={failure.time} /></span> <Text of={failure.message} />
        </p>
      )}
    </>
  );
}
