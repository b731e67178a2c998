import type { RolledBackTo, Snapshot, Snapshots } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Changes } from "../parts/changes";
import { Section } from "../parts/page";
import { Shape } from "../parts/state";
import { Message, Text } from "../parts/text";

/** SnapshotList shows what a resource was rolled back from, and what it can go back to. */
export function SnapshotList({ of }: { of: Snapshots }) {
  const t = texts.snapshots;
  return (
    <Section title={t.heading} name="snapshots">
      {of.back && <Back of={of.back} />}
      {of.note && <p class="muted">{t.unknown} <Message of={of.note} /></p>}
      {!of.note && of.kept.length === 0 && <p class="muted">{t.none}</p>}
      <ol class="revisions plain">{of.kept.map((s, i) => <Kept key={s.name} of={s} next={i === 0 && !of.back} />)}</ol>
    </Section>
  );
}

function Back({ of }: { of: RolledBackTo }) {
  const t = texts.snapshots;
  return (
    <div class="note bad">
      <Shape tone="bad" state="RolledBack" />
      <div>
        <p><strong>{t.back(of.generation)}</strong> {texts.since} <Age of={of.since} />{of.count > 1 && <>, {t.times(of.count)}</>}. {t.failedIn} <Text of={of.step} />: {of.reason && <strong><Text of={of.reason} />: </strong>}<Message of={of.message} /></p>
        <p><Message of={of.next} /></p>
      </div>
    </div>
  );
}

function Kept({ of, next }: { of: Snapshot; next: boolean }) {
  const t = texts.snapshots;
  return (
    <li>
      <details>
        <summary>
          <strong>{t.generation(of.generation)}</strong> <span class="muted">{t.under} <Text of={of.revision} />, {t.taken} <Age of={of.taken} /></span>
          {of.current && <span class="tag">{t.current}</span>}
          {next && <span class="tag">{t.next}</span>}
        </summary>
        <Changes of={of.changes} more={of.more ?? 0} none={t.same} />
      </details>
    </li>
  );
}
