import type { ComponentChildren } from "preact";

/** Facts are pairs of a word and what it is; what is not known is left out. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}
