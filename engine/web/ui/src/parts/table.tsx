import type { ComponentChildren } from "preact";
import { texts } from "../texts";
import { Shape } from "./state";

export interface Column {
  id: string;
  label: string;
  /** The name to sort by; without one it is not sorted by this. */
  sort?: string;
  hint?: string;
}

interface Props {
  caption: string;
  name: string;
  columns: Column[];
  /** What it is sorted by, with - before it in the other order. */
  sort?: string;
  onSort?: (sort: string) => void;
  busy?: boolean;
  children: ComponentChildren;
}

/** Table has rows that become cards on a narrow screen; roles keep its meaning there. */
export function Table({ caption, name, columns, sort, onSort, busy = false, children }: Props) {
  return (
    <table role="table" class={`table ${name}`} aria-busy={busy}>
      <caption class="unshown">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((c) => (
            <th role="columnheader" scope="col" class={c.id} key={c.id} title={c.hint} aria-sort={sorted(c, sort)}>
              {c.sort && onSort ? <SortButton column={c} by={c.sort} sort={sort} onSort={onSort} /> : c.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}

function sorted(c: Column, sort: string | undefined): "ascending" | "descending" | undefined {
  if (!c.sort) return undefined;
  if (sort === c.sort) return "ascending";
  return sort === `-${c.sort}` ? "descending" : undefined;
}

function SortButton({ column, by, sort, onSort }: { column: Column; by: string; sort: string | undefined; onSort: (sort: string) => void }) {
  const down = sort === `-${by}`;
  const on = down || sort === by;
  return (
    <button type="button" class="sort" onClick={() => onSort(sort === by ? `-${by}` : by)} title={texts.sort.by(column.label)}>
      {column.label}
      <svg class={on ? "arrow on" : "arrow"} viewBox="0 0 8 10" width="8" height="10" aria-hidden="true" focusable="false">
        <path d={down ? "M1 3l3 4 3-4z" : "M1 7l3-4 3 4z"} />
      </svg>
    </button>
  );
}

export function Row({ children, tone }: { children: ComponentChildren; tone?: string | undefined }) {
  return <tr role="row" class={tone}>{children}</tr>;
}

/** Cell knows the name of its column, for cards. */
export function Cell({ of, label, children }: { of: string; label: string; children: ComponentChildren }) {
  return <td role="cell" class={of} data-label={label}>{children}</td>;
}

/** HeadCell names its row. */
export function HeadCell({ of, children }: { of: string; children: ComponentChildren }) {
  return <th role="rowheader" scope="row" class={of}>{children}</th>;
}

export function Note({ tone, children }: { tone: "bad" | "wait" | "off"; children: ComponentChildren }) {
  return <div class={`note ${tone}`}><Shape tone={tone} />{children}</div>;
}
