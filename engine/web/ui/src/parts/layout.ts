// Where the nodes of a graph stand, and how its lines go.
import { graphlib, layout as dagre } from "@dagrejs/dagre";

export const nodeWidth = 184;
export const nodeHeight = 46;
const margin = 10;

/** More than these are not drawn: nobody could read it, and it would take long to lay out. */
export const mostNodes = 60;
export const mostEdges = 120;

export interface Link { from: string; to: string }
export interface Point { x: number; y: number }
export interface Layout { width: number; height: number; at: Map<string, Point>; lines: Point[][] }

/** drawn picks what is drawn: of the nodes that have a link the first ones, and the links between them. A link of a node to itself is none. */
export function drawn<E extends Link>(ids: string[], edges: E[]): { ids: string[]; edges: E[]; linked: number } {
  const between = edges.filter((e) => e.from !== e.to);
  const linked = new Set(between.flatMap((e) => [e.from, e.to]));
  const all = ids.filter((id) => linked.has(id));
  const shown = new Set(all.slice(0, mostNodes));
  return { ids: [...shown], edges: between.filter((e) => shown.has(e.from) && shown.has(e.to)).slice(0, mostEdges), linked: all.length };
}

/** layout places nodes so that links lead to the right, but for those that close a ring. */
export function layout(ids: string[], edges: Link[]): Layout {
  const g = new graphlib.Graph({ multigraph: false });
  // The exact ranker takes seconds for what is wide; where there is much, the quick one does.
  g.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 40, marginx: margin, marginy: margin, ranker: ids.length > 30 ? "longest-path" : "network-simplex" });
  g.setDefaultEdgeLabel(() => ({}));
  // It keeps names in plain objects, where some that others may give mean something else.
  const own = new Map(ids.map((id, i) => [id, `n${i}`]));
  const nameOf = (id: string) => own.get(id) ?? "";
  for (const id of ids) g.setNode(nameOf(id), { width: nodeWidth, height: nodeHeight });
  for (const e of edges) g.setEdge(nameOf(e.from), nameOf(e.to));
  dagre(g);
  const size = g.graph() as { width?: number; height?: number };
  const at = new Map<string, Point>();
  for (const id of ids) at.set(id, g.node(nameOf(id)) as Point);
  return { width: Math.ceil(size.width ?? 0), height: Math.ceil(size.height ?? 0), at, lines: edges.map((e) => (g.edge(nameOf(e.from), nameOf(e.to)) as { points: Point[] }).points) };
}

/** line is a smooth way along points. */
export function line(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const at = (p: Point) => `${round(p.x)} ${round(p.y)}`;
  let d = `M${at(first)}`;
  rest.forEach((p, i) => {
    const next = rest[i + 1];
    d += next ? `Q${at(p)} ${at({ x: (p.x + next.x) / 2, y: (p.y + next.y) / 2 })}` : `L${at(p)}`;
  });
  return d;
}

const round = (n: number) => Math.round(n * 10) / 10;
