import { useSignal } from "@preact/signals";
import type { Cause, Declaration } from "../api";
import { texts } from "../texts";
import { Shape, toneOf } from "../parts/state";
import { Text } from "../parts/text";
import { Leaf } from "./tree-leaf";
import { groupsOf, isCause, tally, type Branch } from "./tree-order";

/** Tree is made of lists and folds, which every browser and screen reader knows. */
export function Tree({ of, cause }: { of: Declaration[]; cause: Cause | undefined }) {
  if (of.length === 0) return <p class="muted">{texts.resource.noTree}</p>;
  const first = of.find((d) => isCause(d, cause));
  return (
    <div class="tree">
      {groupsOf(of, cause).map((g) => (
        <section key={g.name}>
          <h3>{g.name === "" ? texts.resource.withoutDeclaration : <Text of={g.name} />}</h3>
          <ul class="branches">
            {g.branches.map((b) => <li key={b.key}>{b.leaves.length > 1 ? <Many of={b} cause={first} /> : <Leaf of={b.leaves[0]!} isCause={b.leaves[0] === first} />}</li>)}
          </ul>
        </section>
      ))}
    </div>
  );
}

const step = 25;

/** Many shows the first children, and more on demand: a loop may have a thousand. */
function Many({ of, cause }: { of: Branch; cause: Declaration | undefined }) {
  const shown = useSignal(step);
  const open = useSignal(of.leaves.length <= step || (cause !== undefined && of.leaves.includes(cause)));
  const t = texts.resource;
  const rest = of.leaves.length - shown.value;
  return (
    <details class="many" open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
      <summary>
        <strong><Text of={of.label} /></strong> <span class="muted">{t.children(of.leaves.length)}</span>
        {tally(of.leaves).map(([state, n]) => (
          <span class={`tally ${toneOf(state)}`} key={state}><Shape tone={toneOf(state)} state={state} /> <Text of={t.of(n, state)} /></span>
        ))}
      </summary>
      {open.value && (
        <>
          <ul class="leaves">{of.leaves.slice(0, shown.value).map((d) => <li key={keyOf(d)}><Leaf of={d} isCause={d === cause} /></li>)}</ul>
          {rest > 0 && <button type="button" onClick={() => (shown.value += step * 8)}>{t.showMore(Math.min(rest, step * 8))}</button>}
        </>
      )}
    </details>
  );
}

const keyOf = (d: Declaration) => [d.declaration, d.kind, d.namespace, d.name].join("/");
