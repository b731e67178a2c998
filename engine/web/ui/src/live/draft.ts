// What somebody has written on the page of plans, and what came of it. It stays while other pages are looked at, and goes with the tab.
import { signal, type Signal } from "@preact/signals";
import type { Compiled, Problem, Rendered } from "../api";
import { NoAnswer, post } from "./ask";

/** How the resource is given: not at all, by its name, or as text. */
export type Given = "none" | "named" | "text";

export interface Draft {
  boxes: string;
  given: Given;
  /** The box, the namespace and the name of a resource of the cluster. */
  box: string;
  namespace: string;
  name: string;
  resource: string;
  rest: string;
}

const nothing: Draft = { boxes: "", given: "none", box: "", namespace: "", name: "", resource: "", rest: "" };

export const draft: Signal<Draft> = signal(nothing);

export interface Outcome {
  /** What it is the outcome of. */
  of: Draft;
  compiled?: Compiled;
  rendered?: Rendered;
  problem?: Problem;
}

export const outcome = signal<Outcome | undefined>(undefined);
export const busy = signal(false);

export function write(values: Partial<Draft>): void {
  draft.value = { ...draft.peek(), ...values };
}

/** begin forgets what was written; for tests, and for who begins anew. */
export function begin(): void {
  draft.value = nothing;
  outcome.value = undefined;
}

/** run asks for what is wrong, and where a resource is given for what the cluster would get. */
export async function run(): Promise<void> {
  if (busy.peek()) return;
  const of = draft.peek();
  busy.value = true;
  try {
    if (of.given === "none") {
      outcome.value = { of, compiled: await post<Compiled>("/compile", { boxes: of.boxes }) };
    } else {
      const rendered = await post<Rendered>("/render", questionOf(of));
      outcome.value = { of, compiled: rendered.compiled, rendered };
    }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    outcome.value = { of, problem: error.problem };
  } finally {
    busy.value = false;
  }
}

function questionOf(of: Draft): object {
  const question = { boxes: of.boxes, rest: of.rest };
  if (of.given === "text") return { ...question, resource: of.resource };
  return { ...question, of: { box: of.box, namespace: of.namespace, name: of.name } };
}
