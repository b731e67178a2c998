import { useEffect, useMemo, useRef } from "preact/hooks";
import { go } from "../route";
import { texts } from "../texts";
import { drawn, layout, line, nodeHeight, nodeWidth, type Link, type Point } from "./layout";
import { Shape, type Tone } from "./state";
import { plain } from "./visible";

export interface GraphNode {
  id: string;
  title: string;
  /** What stands under the title. */
  under: string;
  tone?: Tone;
  state?: string;
  /** Where the node leads to; without one it is no link. */
  to?: string;
  /** It is what the page is about. */
  here?: boolean;
  /** It stands elsewhere: its border is broken. */
  outside?: boolean;
}

export interface GraphEdge extends Link {
  /** strong: something waits; weak: something is read. */
  weight: "strong" | "weak";
  tone?: "bad" | "wait";
}

/** Graph draws nodes and their links. What it shows stands in words beside it: only links can be reached in it, the rest is hidden from screen readers. */
export function Graph({ nodes, edges, label }: { nodes: GraphNode[]; edges: GraphEdge[]; label: string }) {
  const shown = drawn(nodes.map((n) => n.id), edges);
  const key = JSON.stringify([shown.ids, shown.edges.map((e) => [e.from, e.to])]);
  const placed = useMemo(() => layout(shown.ids, shown.edges), [key]);
  const frame = useRef<HTMLDivElement>(null);
  const first = placed.at.get(nodes.find((n) => n.here)?.id ?? "") ?? leftmost(placed.at.values());
  useEffect(() => {
    if (frame.current && first) frame.current.scrollTo?.(first.x - frame.current.clientWidth / 2, first.y - frame.current.clientHeight / 2);
  }, [key]);
  if (shown.ids.length === 0) return null;
  const byId = new Map(nodes.map((n) => [n.id, n]));
  return (
    <>
      <div ref={frame} class="graph" role="region" tabIndex={0} aria-label={texts.graph.drawn(label)}>
        <svg width={placed.width} height={placed.height} viewBox={`0 0 ${placed.width} ${placed.height}`} role="group" aria-label={texts.graph.beside} focusable="false">
          <Arrows />
          <g aria-hidden="true">{shown.edges.map((e, i) => <Edge key={e.from + "\n" + e.to} of={e} points={placed.lines[i] ?? []} />)}</g>
          {shown.ids.map((id) => <Node key={id} of={byId.get(id)!} at={placed.at.get(id)!} />)}
        </svg>
      </div>
      {shown.linked > shown.ids.length && <p class="muted small">{texts.graph.more(shown.ids.length, shown.linked)}</p>}
    </>
  );
}

/** leftmost is where a drawing begins that is about no node of its own. */
function leftmost(points: Iterable<Point>): Point | undefined {
  let first: Point | undefined;
  for (const p of points) if (first === undefined || p.x < first.x || (p.x === first.x && p.y < first.y)) first = p;
  return first;
}

function Arrows() {
  return (
    <defs>
      {(["plain", "wait", "bad"] as const).map((tone) => (
        <marker key={tone} id={`arrow-${tone}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path d="M0 0 8 4 0 8z" class={`arrow-head ${tone}`} />
        </marker>
      ))}
    </defs>
  );
}

function Edge({ of, points }: { of: GraphEdge; points: Point[] }) {
  return <path class={`edge ${of.weight} ${of.tone ?? "plain"}`} d={line(points)} marker-end={`url(#arrow-${of.tone ?? "plain"})`} />;
}

function Node({ of, at }: { of: GraphNode; at: Point }) {
  const left = of.tone ? 30 : 10;
  const title = short(of.title, of.tone ? 19 : 22);
  const under = short(of.under, of.tone ? 23 : 26);
  const whole = plain(`${of.title} ${of.under}`);
  const face = (
    <>
      <rect width={nodeWidth} height={nodeHeight} rx="7" class="face" />
      {of.tone && <g transform="translate(10 9)"><Shape tone={of.tone} state={of.state ?? ""} /></g>}
      <text x={left} y="19" class="title">{title}{" "}</text>
      <text x={left} y="36" class="below">{under}</text>
    </>
  );
  const shape = `node${of.here ? " here" : ""}${of.outside ? " outside" : ""}`;
  const to = of.to;
  return (
    <g transform={`translate(${at.x - nodeWidth / 2} ${at.y - nodeHeight / 2})`} aria-hidden={to ? undefined : "true"}>
      {whole !== `${title} ${under}` && <title>{whole}</title>}
      {to ? <a class={shape} href={to} onClick={(event) => follow(event, to)}>{face}</a> : <g class={shape}>{face}</g>}
    </g>
  );
}

/** follow shows the page of a link of a drawing without loading the document again: the handler of all links knows those of HTML alone. */
function follow(event: MouseEvent, to: string): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(to);
}

/** short cuts a text in the middle: names that belong together begin alike. */
export function short(text: string, most: number): string {
  const all = [...plain(text)];
  if (all.length <= most) return all.join("");
  const head = Math.ceil((most - 1) / 2);
  return all.slice(0, head).join("") + "…" + all.slice(all.length - (most - 1 - head)).join("");
}
