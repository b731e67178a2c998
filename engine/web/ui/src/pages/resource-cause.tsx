import type { Cause, State } from "../api";
import { texts } from "../texts";
import { Advice } from "../parts/advice";
import { Age } from "../parts/age";
import { Message, Text } from "../parts/text";
import { causeId } from "./tree-order";

/** CauseNote is the first thing that keeps a resource from being ready. */
export function CauseNote({ of, state }: { of: Cause; state: State }) {
  const t = texts.resource;
  return (
    <section class="cause" aria-labelledby="h-cause">
      <h2 id="h-cause">{state === "Waiting" ? t.waits : t.cause}</h2>
      <p><Message of={of.message} /></p>
      {of.field && <GateFacts of={of} />}
      {of.warnings && (
        <>
          <p>{t.warnings}:</p>
          <ul>{of.warnings.map((w) => <li key={w.object + w.reason}><strong><Text of={w.reason} /></strong> <Message of={w.message} /> <span class="muted"><Text of={w.object} />, <Age of={w.time} /></span></li>)}</ul>
        </>
      )}
      <Advice of={of} />
      {of.declaration && (
        <p class="under">
          <a href={`#${causeId}`} onClick={show}>{t.toDeclaration}: <Text of={of.declaration} /></a>
          {of.path && <span class="code muted"><Text of={of.path} /></span>}
        </p>
      )}
    </section>
  );
}

// The target takes the focus, so that the keyboard goes on from there; the address stays that of the page.
function show(event: MouseEvent): void {
  event.preventDefault();
  const target = document.getElementById(causeId);
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}

interface Compared { field?: string; wanted?: string; actual?: string }

/** GateFacts shows the condition of a gate that does not hold: field, wanted, actual. */
export function GateFacts({ of }: { of: Compared }) {
  const t = texts.resource;
  return (
    <dl class="gate">
      <div><dt>{t.field}</dt><dd class="code"><Message of={of.field ?? ""} /></dd></div>
      <div><dt>{t.wanted}</dt><dd class="code"><Message of={of.wanted || t.nothing} /></dd></div>
      <div><dt>{t.actual}</dt><dd class="code bad-text"><Message of={of.actual || t.nothing} /></dd></div>
    </dl>
  );
}
