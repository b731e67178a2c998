import { useSignal } from "@preact/signals";
import type { BoxDetail, Difference } from "../api";
import { useAnswer } from "../live/answer";
import { paths, withQuery } from "../route";
import { texts } from "../texts";
import { Answered } from "../parts/answered";
import { Changes } from "../parts/changes";

/** Compare shows what differs between two revisions that somebody chooses, or one and the spec of today. */
export function Compare({ of }: { of: BoxDetail }) {
  const t = texts.difference;
  const open = useSignal(false);
  const names = of.revisions.map((r) => r.name);
  const from = useSignal(names[1] ?? names[0] ?? "");
  const to = useSignal("");
  if (names.length === 0) return null;
  return (
    <details class="compare" open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
      <summary>{t.heading}</summary>
      {open.value && (
        <>
          <div class="filters">
            <Choice label={t.from} of={names} value={from.value} choose={(v) => (from.value = v)} />
            <Choice label={t.to} of={["", ...names]} value={to.value} choose={(v) => (to.value = v)} />
          </div>
          <Asked box={of.name} from={from.value} to={to.value} />
        </>
      )}
    </details>
  );
}

function Choice({ label, of, value, choose }: { label: string; of: string[]; value: string; choose: (value: string) => void }) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(e) => choose(e.currentTarget.value)}>
        {of.map((name) => <option key={name} value={name}>{name || texts.difference.today}</option>)}
      </select>
    </label>
  );
}

function Asked({ box, from, to }: { box: string; from: string; to: string }) {
  const answer = useAnswer<Difference>(withQuery(paths.difference(box), { from, to }), (c) => to === "" && c.resource === undefined && c.box === box);
  return <Answered of={answer}>{(found) => <Changes of={found.changes} more={found.more ?? 0} none={texts.difference.none} />}</Answered>;
}
