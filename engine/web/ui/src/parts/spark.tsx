import { texts } from "../texts";

const hour = 60; // minutes
const height = 20;

/** Layer is a row of values, one for each minute, that lies on those before it. */
export interface Layer { tone: "bad" | "wait" | "calm"; values: number[] }

/** Spark draws the last hour: now is at the right, and where nobody remembers it is empty. Its label says what there is to know without seeing it. */
export function Spark({ of, label }: { of: Layer[]; label: string }) {
  const length = Math.min(hour, Math.max(0, ...of.map((l) => l.values.length)));
  const sums = stacked(of, length);
  const most = Math.max(...sums.map((s) => Math.max(0, ...s)));
  const from = hour - length;
  return (
    <svg class="spark" viewBox={`0 0 ${hour} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {length > 0 && <path class="base" d={`M${from} ${height - 0.5}H${hour}`} />}
      {most > 0 && sums.map((top, i) => <path key={i} class={`layer ${of[i]!.tone}`} d={area(top, sums[i - 1], from, most)} />)}
    </svg>
  );
}

/** stacked gives the upper edges of the layers. */
export function stacked(of: Layer[], length: number): number[][] {
  const out: number[][] = [];
  for (const layer of of) {
    const below = out[out.length - 1];
    const values = layer.values.slice(-length);
    out.push(Array.from({ length }, (_, i) => Math.max(0, values[i] ?? 0) + (below?.[i] ?? 0)));
  }
  return out;
}

/** area is what lies between two edges, in steps: a value holds for its minute. */
export function area(top: number[], below: number[] | undefined, from: number, most: number): string {
  const y = (n: number) => round(height - (n / most) * (height - 1));
  let d = "";
  top.forEach((n, i) => {
    const under = below?.[i] ?? 0;
    if (n > under) d += `M${from + i} ${y(under)}V${y(n)}h1V${y(under)}z`;
  });
  return d;
}

const round = (n: number) => Math.round(n * 100) / 100;

/** inWords says of values what is now, and what was the most. */
export function inWords(what: string, values: number[], say: (n: number) => string): string {
  if (values.length === 0) return texts.hour.nothing(what);
  return texts.hour.label(what, say(values[values.length - 1]!), say(Math.max(...values)), values.length);
}
