import { useSignal } from "@preact/signals";
import type { Change, Found, FoundRow } from "../api";
import { useAnswer, type Answer } from "../live/answer";
import { useSayOn } from "../live/say";
import { withQuery } from "../route";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { BoxLink, ResourceLink } from "../parts/links";
import { Notes } from "../parts/notes";
import { Section } from "../parts/page";
import { ProblemNote } from "../parts/problem";
import { StateMark, toneOf } from "../parts/state";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";

/** The server looks for nothing shorter: a single character is in nearly every name. */
const least = 2;
const few = 20;
const most = 100;

export const searches = (text: string) => [...text.trim()].length >= least;

/** FoundResources are those of all boxes in which a text is found. */
export function FoundResources({ text }: { text: string }) {
  const limit = useSignal(few);
  const answer: Answer<Found> = useAnswer<Found>(withQuery("/resources", { text: text.trim(), limit: String(limit.value) }), (c) => isShown(answer.data, c));
  const { data, problem } = answer;
  const matching = data && texts.found.matching(data.matching);
  useSayOn(text, answer.stale ? undefined : matching);
  return (
    <Section title={texts.found.heading} hint={matching} name="found">
      {problem && <ProblemNote problem={problem} stale={data !== undefined} again={answer.again} />}
      {!data && !problem && <p class="muted" aria-busy="true">{texts.loading}</p>}
      {data && <FoundTable of={data} busy={answer.stale} />}
      {data && data.matching > limit.value && limit.value < most && <button type="button" class="more" onClick={() => (limit.value = most)}>{texts.found.more}</button>}
      {data && data.matching > most && limit.value === most && <p class="muted small">{texts.found.first(most)}</p>}
    </Section>
  );
}

function FoundTable({ of, busy }: { of: Found; busy: boolean }) {
  return (
    <>
      <Notes of={of.notes} />
      {of.rows.length > 0 && (
        <Table name="found" caption={texts.found.heading} columns={columns} busy={busy}>
          {of.rows.map((r) => <FoundLine key={`${r.box}/${r.namespace ?? ""}/${r.name}`} of={r} />)}
        </Table>
      )}
    </>
  );
}

/** isShown says whether a change may alter what is shown. What appears anew is found by the next search: to ask at each change would never rest. */
function isShown(found: Found | undefined, c: Change): boolean {
  if (!c.resource) return false;
  return found?.rows.some((r) => r.box === c.box && r.name === c.resource?.name && (r.namespace ?? "") === (c.resource.namespace ?? "")) ?? false;
}

const columns = (["state", "name", "box", "message", "since"] as const).map((id) => ({ id, label: texts.found.columns[id] }));

function FoundLine({ of }: { of: FoundRow }) {
  const c = texts.found.columns;
  return (
    <Row tone={toneOf(of.state)}>
      <Cell of="state" label={c.state}><StateMark of={of.state} /></Cell>
      <HeadCell of="name"><ResourceLink box={of.box} of={of} /></HeadCell>
      <Cell of="box" label={c.box}><BoxLink of={of.box} /></Cell>
      <Cell of="message" label={c.message}>
        <p class="clamp" title={of.message}>{of.reason && <strong><Text of={of.reason} /></strong>} <Text of={of.message ?? ""} /></p>
      </Cell>
      <Cell of="since" label={c.since}><Age of={of.since} /></Cell>
    </Row>
  );
}
