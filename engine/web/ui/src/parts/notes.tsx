import { texts } from "../texts";
import { Shape } from "./state";
import { Message } from "./text";

/** Notes are sentences on what could not be read. */
export function Notes({ of }: { of: string[] | undefined }) {
  if (!of || of.length === 0) return null;
  return (
    <div class="note off" role="note" aria-label={texts.notes}>
      <Shape tone="off" state="Unknown" />
      <ul class="plain">{of.map((n) => <li key={n}><Message of={n} /></li>)}</ul>
    </div>
  );
}
