// Which boxes are shown, and in which order.
import type { Box, Failure, Tally } from "../api";
import { rank, toneOf, type Tone } from "../parts/state";

/** worst is the order in which trouble comes first. */
export const worst = "state";

/** inTrouble is the filter that shows what isTrouble says, as if it were a state. */
export const inTrouble = "trouble";

/** failing is the state of a box that works, while some of its resources fail. */
export const failing = "Failing";

/** failsWithin says of a box that it works, while some of its resources fail. */
export const failsWithin = (b: Box) => b.state === "Healthy" && b.resources.failing > 0;

/** shownAs is the state under which the fleet shows a box: failing is one of its own, so that each box counts in one state. */
export const shownAs = (b: Box): string => (failsWithin(b) ? failing : b.state);

/** toneOfBox is that of its state, unless resources fail in a box that works. */
export const toneOfBox = (b: Box): Tone => (failsWithin(b) ? "bad" : toneOf(b.state));

/** isUncounted says of a box that does not run yet, or of which nobody knows, that its resources were not counted. */
export const isUncounted = (b: Box) => (b.state === "Pending" || b.state === "Unknown") && b.resources.total <= 0;

/** isTrouble says of a box that it does not work, can't begin to, or has resources that fail. */
export const isTrouble = (b: Box) => toneOf(b.state) === "bad" || b.resources.failing > 0 || (b.state === "Pending" && b.reason !== undefined && b.reason !== "Starting");

/** troubleOf is what fails in a box: the worst of the resources that fail now, or else what failed last where something is wrong still. */
export const troubleOf = (b: Box): Failure | undefined => b.worst ?? (toneOf(b.state) === "bad" || b.consecutiveFailures > 0 ? b.lastFailure : undefined);

/** without is a message without what is said of a failure beside it: it names the resource and the error, too. */
export function without(message: string, failure: Failure | undefined): string {
  const at = failure?.message ? message.indexOf(failure.message.slice(0, 60)) : -1;
  const end = at < 0 ? -1 : message.lastIndexOf("; ", at);
  return end < 0 ? message : message.slice(0, end);
}

export function matching(boxes: Box[], state: string, text: string): Box[] {
  const wanted = text.trim().toLowerCase();
  return boxes.filter((b) => (state === "" || (state === inTrouble ? isTrouble(b) : shownAs(b) === state)) && (wanted === "" || searched(b).includes(wanted)));
}

const searched = (b: Box) => [b.name, b.kind, b.crd, b.reason, b.message, troubleOf(b)?.message].join(" ").toLowerCase();

export function tally(boxes: Box[]): Tally[] {
  const counts = new Map<string, number>();
  for (const b of boxes) counts.set(shownAs(b), (counts.get(shownAs(b)) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => rank(a.value) - rank(b.value));
}

type Value = (b: Box) => number | string;

// What is more is worse, and comes first; names come by the alphabet.
const values: Record<string, Value> = {
  state: (b) => rank(shownAs(b)),
  name: (b) => b.name,
  resources: (b) => -b.resources.total,
  failures: (b) => -b.consecutiveFailures,
  error: (b) => -Date.parse(troubleOf(b)?.time ?? "1970-01-01"),
  queue: (b) => -b.queueDepth,
  workers: (b) => -b.workers,
  revision: (b) => b.revision ?? "",
};

export function sorted(boxes: Box[], sort: string): Box[] {
  const down = sort.startsWith("-");
  const value = values[down ? sort.slice(1) : sort] ?? values[worst]!;
  return [...boxes].sort((a, b) => {
    const by = compare(value(a), value(b));
    return (down ? -by : by) || b.resources.failing - a.resources.failing || compare(a.name, b.name);
  });
}

const compare = (a: number | string, b: number | string) => (a < b ? -1 : a > b ? 1 : 0);
