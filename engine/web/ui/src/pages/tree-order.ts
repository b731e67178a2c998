// How the list of declarations becomes a tree: groups of the box, their declarations, and the children of each.
import type { Cause, Declaration } from "../api";
import { rank } from "../parts/state";

/** The id of the leaf that is the cause. */
export const causeId = "cause";

/** One declaration with all that it stands for. */
export interface Branch {
  key: string;
  label: string;
  path: string;
  leaves: Declaration[];
}

export interface Group {
  name: string;
  branches: Branch[];
}

/** groupsOf keeps the order of the box; children of no declaration come last. */
export function groupsOf(all: Declaration[], cause: Cause | undefined): Group[] {
  const groups = new Map<string, Map<string, Branch>>();
  for (const d of all) {
    const branches = getOrMake(groups, d.group ?? "", () => new Map<string, Branch>());
    const key = d.path || d.declaration;
    getOrMake(branches, key, () => ({ key, label: d.declaration, path: d.path ?? "", leaves: [] })).leaves.push(d);
  }
  const out = [...groups].map(([name, branches]) => ({ name, branches: [...branches.values()].map((b) => finish(b, cause)) }));
  return [...out.filter((g) => g.name !== ""), ...out.filter((g) => g.name === "")];
}

function getOrMake<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** The cause comes first, then trouble. Items of a loop share the name before the bracket. */
function finish(branch: Branch, cause: Cause | undefined): Branch {
  if (branch.leaves.length < 2) return branch;
  const leaves = [...branch.leaves].sort((a, b) => Number(isCause(b, cause)) - Number(isCause(a, cause)) || rank(a.state) - rank(b.state));
  return { ...branch, leaves, label: branch.label.replace(/\[.*$/s, "") };
}

export function isCause(d: Declaration, cause: Cause | undefined): boolean {
  return cause !== undefined && cause.declaration === d.declaration && (!cause.path || cause.path === d.path);
}

/** tally counts the states of leaves, trouble first. */
export function tally(leaves: Declaration[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const d of leaves) counts.set(d.state, (counts.get(d.state) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => rank(a) - rank(b));
}
