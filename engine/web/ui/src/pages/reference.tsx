import type { Function as TemplateFunction, KindKey, Operator, Vocabulary } from "../api";
import { useAnswer } from "../live/answer";
import { useSayOn } from "../live/say";
import { change, paths, query } from "../route";
import { texts } from "../texts";
import { Answered } from "../parts/answered";
import { Heading, Section } from "../parts/page";
import { Cell, HeadCell, Row, Table } from "../parts/table";
import { Text } from "../parts/text";
import { FieldsOf } from "./reference-fields";
import { Try } from "./reference-try";

/** ReferencePage says what may stand in a box, and tries templates and conditions. */
export function ReferencePage() {
  const t = texts.reference;
  const answer = useAnswer<Vocabulary>(paths.reference(), () => false);
  return (
    <>
      <div class="headline"><Heading of={t.heading} /><span class="summary">{t.lead}</span></div>
      <Try />
      <Answered of={answer}>{(found) => <All of={found} />}</Answered>
    </>
  );
}

const has = (word: string, ...all: (string | undefined)[]) => all.some((text) => text?.toLowerCase().includes(word));

function All({ of }: { of: Vocabulary }) {
  const t = texts.reference;
  const text = query.value.get("text") ?? "";
  const word = text.trim().toLowerCase();
  const functions = of.functions.filter((f) => has(word, f.usage, f.doc, f.group, ...(f.aliases ?? [])));
  const operators = of.operators.filter((o) => has(word, o.name, o.short, o.wants));
  const kinds = of.kinds.filter((k) => has(word, k.key, k.kind, k.text));
  const shown = t.shown(functions.length + operators.length + kinds.length);
  useSayOn(word, shown);
  return (
    <>
      <search class="filters" aria-label={t.search}>
        <label class="field">
          <span>{t.search}</span>
          <input type="search" value={text} placeholder={t.searchHint} onInput={(e) => change({ text: e.currentTarget.value }, true)} />
        </label>
        {word !== "" && <p class="muted shown">{shown}</p>}
      </search>
      {functions.length > 0 && <Section title={t.functions} name="functions"><Functions of={functions} /></Section>}
      {operators.length > 0 && <Section title={t.operators} name="operators"><Operators of={operators} /></Section>}
      {kinds.length > 0 && <Section title={t.kinds} name="kinds"><Kinds of={kinds} /></Section>}
    </>
  );
}

const columns = texts.reference.columns;
const columnsOf = (...ids: (keyof typeof columns)[]) => ids.map((id) => ({ id, label: columns[id] }));
const ofFunctions = columnsOf("usage", "doc", "example");
const ofOperators = columnsOf("name", "short", "wants", "absent", "types");
const ofKinds = columnsOf("key", "kind", "text");

function Functions({ of }: { of: TemplateFunction[] }) {
  const t = texts.reference;
  const groups = [...new Set(of.map((f) => f.group))];
  return (
    <>
      {groups.map((g) => (
        <div key={g}>
          <h3>{g}</h3>
          <Table name="reference" caption={g} columns={ofFunctions}>
            {of.filter((f) => f.group === g).map((f) => (
              <Row key={f.name}>
                <HeadCell of="usage"><span class="code">{f.usage}</span>{f.aliases && <span class="hint"> {t.also(f.aliases)}</span>}</HeadCell>
                <Cell of="doc" label={columns.doc}>{f.doc}</Cell>
                <Cell of="example" label={columns.example}><span class="code"><Text of={f.example} /></span> → <span class="code"><Text of={f.result || t.nothing} /></span></Cell>
              </Row>
            ))}
          </Table>
        </div>
      ))}
    </>
  );
}

function Operators({ of }: { of: Operator[] }) {
  const t = texts.reference;
  return (
    <Table name="reference" caption={t.operators} columns={ofOperators}>
      {of.map((o) => (
        <Row key={o.name}>
          <HeadCell of="name"><span class="code">{o.name}</span></HeadCell>
          <Cell of="short" label={columns.short}><span class="code">{o.short}</span></Cell>
          <Cell of="wants" label={columns.wants}>{o.wants}{o.clock && <span class="hint"> {t.clock}</span>}</Cell>
          <Cell of="absent" label={columns.absent}>{o.absent ? t.holds : t.fails}</Cell>
          <Cell of="types" label={columns.types}>{(o.types ?? []).join(", ")}</Cell>
        </Row>
      ))}
    </Table>
  );
}

function Kinds({ of }: { of: KindKey[] }) {
  const t = texts.reference;
  return (
    <Table name="reference" caption={t.kinds} columns={ofKinds}>
      {of.map((k) => (
        <Row key={k.key}>
          <HeadCell of="key"><span class="code">{k.key}</span></HeadCell>
          <Cell of="kind" label={columns.kind}>{k.kind ? `${k.kind} (${k.apiVersion})` : t.any}</Cell>
          <Cell of="text" label={columns.text}>{k.text}<FieldsOf path={k.key} /></Cell>
        </Row>
      ))}
    </Table>
  );
}
