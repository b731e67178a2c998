import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Rows, Tally } from "../api";
import { change } from "../route";
import { texts } from "../texts";
import { plain } from "../parts/visible";

interface Filters { state: string; reason: string; namespace: string; text: string }

export function ResourceFilters({ of, filters }: { of: Rows; filters: Filters }) {
  const t = texts.resources;
  return (
    <search class="filters" aria-label={t.filters}>
      <Choice label={t.state} name="state" value={filters.state} of={of.states} total={of.total} />
      <Choice label={t.reason} name="reason" value={filters.reason} of={of.reasons} total={of.total} />
      <Choice label={t.namespace} name="namespace" value={filters.namespace} of={of.namespaces} total={of.total} />
      <Search value={filters.text} />
    </search>
  );
}

/** Choice offers the values that there are; the one that is chosen is among them, even if it is there no more. */
function Choice({ label, name, value, of, total }: { label: string; name: string; value: string; of: Tally[]; total: number }) {
  const t = texts.resources;
  const offered = of.filter((o) => o.value !== "");
  const known = value === "" || offered.some((o) => o.value === value);
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(e) => change({ [name]: e.currentTarget.value, offset: "" })}>
        <option value="">{t.any(total)}</option>
        {!known && <option value={value}>{t.option(plain(value), 0)}</option>}
        {offered.map((o) => <option key={o.value} value={o.value}>{t.option(plain(o.value), o.count)}</option>)}
      </select>
    </label>
  );
}

const pause = 200;

/** Search waits until somebody stops typing: the server answers it. */
function Search({ value }: { value: string }) {
  const typed = useSignal(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    typed.value = value;
    return () => clearTimeout(timer.current);
  }, [value]);
  const type = (text: string) => {
    typed.value = text;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change({ text, offset: "" }, true), pause);
  };
  return (
    <label class="field">
      <span>{texts.resources.text}</span>
      <input type="search" value={typed.value} placeholder={texts.resources.textHint} onInput={(e) => type(e.currentTarget.value)} />
    </label>
  );
}
