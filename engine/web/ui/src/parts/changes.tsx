import type { FieldChange } from "../api";
import { texts } from "../texts";
import { Message, Text } from "./text";

/** Changes shows fields that differ, each with its value before and after. */
export function Changes({ of, more, none }: { of: FieldChange[]; more: number; none: string }) {
  const t = texts.difference;
  if (of.length === 0) return <p class="muted">{none}</p>;
  return (
    <>
      <ul class="fields plain">
        {of.map((c) => (
          <li key={c.field}>
            <p class="code"><Text of={c.field} /></p>
            <Value label={t.before} tag="del" of={c.before} />
            <Value label={t.after} tag="ins" of={c.after} />
          </li>
        ))}
      </ul>
      {more > 0 && <p class="muted small">{t.more(more)}</p>}
    </>
  );
}

function Value({ label, tag: Tag, of }: { label: string; tag: "del" | "ins"; of: string | undefined }) {
  return (
    <p class={`value ${Tag}`}>
      <span class="muted">{label}</span> {of === undefined ? <em class="muted">{texts.difference.absent}</em> : <Tag><Message of={of} /></Tag>}
    </p>
  );
}
