import { useSignal } from "@preact/signals";
import type { Field, Fields } from "../api";
import { useAnswer } from "../live/answer";
import { paths } from "../route";
import { texts } from "../texts";
import { Answered } from "../parts/answered";
import { Text } from "../parts/text";

/** FieldsOf are the fields of a kind, or below a field; they are asked for when they are opened. */
export function FieldsOf({ path }: { path: string }) {
  const t = texts.reference;
  const open = useSignal(false);
  return (
    <details onToggle={(e) => (open.value = e.currentTarget.open)}>
      <summary>{t.fields}<span class="unshown">{t.fieldsOf(path)}</span></summary>
      {open.value && <Opened path={path} />}
    </details>
  );
}

function Opened({ path }: { path: string }) {
  const answer = useAnswer<Fields>(paths.fields(path), () => false);
  return (
    <Answered of={answer}>
      {(found) => (
        <>
          <List path={path} of={found.fields} />
          {found.common && <details><summary>{texts.reference.common}</summary><List path={path} of={found.common} /></details>}
        </>
      )}
    </Answered>
  );
}

function List({ path, of }: { path: string; of: Field[] }) {
  const t = texts.reference;
  return (
    <ul class="fields plain">
      {of.map((f) => (
        <li key={f.name}>
          <p><strong class="code">{f.name}</strong> <span class="muted">{f.type}</span>{f.required && <span class="tag">{t.required}</span>}</p>
          {f.text && <p><Text of={f.text} lines /></p>}
          {f.default && <p class="muted">{t.standard(f.default)}</p>}
          {f.example && <p class="code"><Text of={f.example} lines /></p>}
          {f.below && <FieldsOf path={`${path}.${f.name}`} />}
        </li>
      ))}
    </ul>
  );
}
