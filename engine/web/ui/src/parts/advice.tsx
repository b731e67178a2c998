import { texts } from "../texts";
import { Message, Text } from "./text";

interface Advised { reason?: string; todo?: string; page?: string }

// A command that is folded can't be copied.
const whole = 1000;

/** Advice is what to do about a reason, and the page that says more. An address that is no page of the web is left out. */
export function Advice({ of }: { of: Advised }) {
  const t = texts.resource;
  if (!of.todo && !of.page) return null;
  return (
    <p class="todo">
      {of.todo && <><strong>{t.todo}:</strong> <Message of={of.todo} upTo={whole} /> </>}
      {of.page && /^https?:\/\//.test(of.page) && (
        <a href={of.page} target="_blank" rel="noreferrer noopener"><Text of={of.todo && of.reason ? t.page(of.reason) : t.morePage} /><span aria-hidden="true"> ↗</span></a>
      )}
    </p>
  );
}
