import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FormerSpecs, Return } from "../api";
import { useAnswer } from "../live/answer";
import { now } from "../live/clock";
import { texts } from "../texts";
import { age, exact } from "./age";
import { Answered } from "./answered";
import { Changes } from "./changes";
import { Shape } from "./state";
import { Message } from "./text";
import { plain } from "./visible";
import { Yaml } from "./yaml";

/** GoBack lets somebody choose a former revision of a box, and shows what would be written. */
export function GoBack({ path, shown }: { path: string; shown: Signal<Return | undefined> }) {
  const t = texts.actions;
  const answer = useAnswer<FormerSpecs>(`${path}/revisions`, () => false);
  const chosen = useSignal("");
  const choose = (name: string) => {
    shown.value = undefined;
    chosen.value = name;
  };
  return (
    <Answered of={answer}>
      {(found) => {
        const others = found.revisions.filter((r) => !r.current);
        if (others.length === 0) return <p class="muted">{t.noOther}</p>;
        return (
          <>
            <label class="field">
              <span>{t.revision}</span>
              <select value={chosen.value} onChange={(e) => choose(e.currentTarget.value)}>
                <option value="">{t.choose}</option>
                {others.map((r) => <option key={r.name} value={r.name}>{plain(r.name)} · {keptAt(r.created)}</option>)}
              </select>
            </label>
            {chosen.value !== "" && <Difference key={chosen.value} path={`${path}/revisions/${encodeURIComponent(chosen.value)}`} shown={shown} />}
          </>
        );
      }}
    </Answered>
  );
}

function Difference({ path, shown }: { path: string; shown: Signal<Return | undefined> }) {
  const t = texts.actions;
  const answer = useAnswer<Return>(path, () => false);
  const { data } = answer;
  useEffect(() => {
    shown.value = data;
  }, [data]);
  return (
    <Answered of={answer}>
      {(found) => (
        <>
          {found.why && (
            <div class="note bad" role="alert">
              <Shape tone="bad" />
              <p><strong>{t.refusedBack}</strong> <Message of={found.why} /></p>
            </div>
          )}
          <h3>{t.changes}</h3>
          <Changes of={found.changes} more={found.more ?? 0} none={t.noChanges} />
          <Yaml of={found.patch} label={t.patch} />
        </>
      )}
    </Answered>
  );
}

/** keptAt is how long ago a revision was kept, and when: an option has no title. A list that is open stays as it is, however time goes. */
const keptAt = (created: string) => `${age(Date.parse(created), now.peek())} · ${exact(Date.parse(created))}`;
