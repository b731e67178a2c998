import { useSignal } from "@preact/signals";
import { texts } from "../texts";
import { cut, partsOf, size } from "./visible";

/** Text is a text of others: isolated from the direction of what stands around it, with marks for what would not be seen. */
export function Text({ of, lines = false }: { of: string; lines?: boolean }) {
  return (
    <bdi class={lines ? "text lines" : "text"}>
      {partsOf(of, !lines).map((p) =>
        "mark" in p ? <span class="unseen" title={texts.hidden(p.code)}>{p.mark}</span> : p.text,
      )}
    </bdi>
  );
}

const folded = 280;
// More than this at once would hold up the browser; the whole text is in the API.
const most = 200_000;

/** Message is a text of others of any length: one that is longer than upTo characters is folded. */
export function Message({ of, upTo = folded }: { of: string; upTo?: number }) {
  const open = useSignal(false);
  if (of.length <= upTo && count(of) <= 4) return <Text of={of} lines />;
  const short = cut(of.split("\n", 4).join("\n"), upTo);
  const rest = of.length - most;
  return (
    <span class="message">
      <Text of={open.value ? cut(of, most) : short + "…"} lines />{" "}
      {open.value && rest > 0 && <em>{texts.fold.cut(size(rest))} </em>}
      <button type="button" class="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        {open.value ? texts.fold.less : texts.fold.more(size(of.length))}
      </button>
    </span>
  );
}

const count = (text: string) => text.split("\n", 6).length;
