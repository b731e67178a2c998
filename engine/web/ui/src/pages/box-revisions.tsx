import { useSignal } from "@preact/signals";
import type { BoxDetail, Revision } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Section } from "../parts/page";
import { Message, Text } from "../parts/text";
import { Compare } from "./box-difference";

export function Revisions({ of }: { of: BoxDetail }) {
  const t = texts.box;
  return (
    <Section title={t.revisions} name="revisions">
      {of.revisions.length === 0 && <p class="muted">{t.noRevisions}</p>}
      <ol class="revisions plain">
        {of.revisions.map((r, i) => <OneRevision key={r.name} of={r} good={of.lastKnownGood?.revision === r.name} first={i === 0} />)}
      </ol>
      <Compare of={of} />
    </Section>
  );
}

function OneRevision({ of, good, first }: { of: Revision; good: boolean; first: boolean }) {
  const t = texts.box;
  const open = useSignal(first);
  const changes = of.changes ?? [];
  const head = (
    <>
      <strong><Text of={of.name} /></strong> <span class="muted"><Age of={of.created} /></span>
      {of.current && <span class="tag">{t.current}</span>}
      {good && <span class="tag">{t.knownGood}</span>}
    </>
  );
  if (changes.length === 0) return <li><div class="revision">{head}</div></li>;
  return (
    <li>
      <details open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
        <summary>{head} <span class="muted">{t.changes(changes.length)}</span></summary>
        {open.value && <ul class="changes">{changes.map((c) => <li key={c}><Message of={c} /></li>)}</ul>}
      </details>
    </li>
  );
}
