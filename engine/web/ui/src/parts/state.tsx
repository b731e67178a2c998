import type { State } from "../api";
import { Text } from "./text";

/** How a state is to be taken: bad needs somebody, wait goes on by itself, good is well, off is asked for or not known. */
export type Tone = "bad" | "wait" | "good" | "off";

const tones: Record<string, Tone> = {
  Degraded: "bad", Stopped: "bad", Failing: "bad", RolledBack: "bad", Failed: "bad", Error: "bad",
  Pending: "wait", Starting: "wait", Waiting: "wait", Progressing: "wait", Missing: "wait", Terminating: "wait", Deleting: "wait",
  Healthy: "good", Ready: "good", Completed: "good",
};

export const toneOf = (state: string): Tone => tones[state] ?? "off";

// Which comes first where trouble comes first. What is not here comes last.
const order = [
  "Degraded", "Failing", "Failed", "Error", "RolledBack", "Stopped", "Missing", "Waiting", "Progressing", "Terminating", "Deleting", "Starting", "Pending",
  "Unknown", "Paused", "Suspended", "Undeclared", "Ready", "Healthy", "Completed", "Off",
];

export function rank(state: string): number {
  const at = order.indexOf(state);
  return at < 0 ? order.length : at;
}

/** State is a word with a shape of its own, so that the colour is never all there is. */
export function StateMark({ of, tone = toneOf(of), more }: { of: State | string; tone?: Tone; more?: string | undefined }) {
  return (
    <span class={`mark ${tone}`}>
      <Shape tone={tone} state={of} />
      <span class="word"><Text of={of} />{more}</span>
    </span>
  );
}

export function Shape({ tone, state = "" }: { tone: Tone; state?: string }) {
  return (
    <svg class={`shape ${tone}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
      {shapes(tone, state)}
    </svg>
  );
}

function shapes(tone: Tone, state: string) {
  if (state === "RolledBack") return <path d="M8 2.5a5.5 5.5 0 1 1-5.3 4M2.4 2v4.8h4.8" class="line" />;
  if (state === "Stopped") return <rect x="2.5" y="2.5" width="11" height="11" rx="1.5" class="area" />;
  if (state === "Paused" || state === "Suspended") return <path d="M5.5 3v10M10.5 3v10" class="line thick" />;
  if (state === "Unknown") return <path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.5-1.1.9-1.1 1.8M8 12.4v.6" class="line" />;
  switch (tone) {
    case "bad":
      return <><path d="M8 .8 15.2 8 8 15.2.8 8z" class="area" /><path d="M8 4.6v4M8 10.6v.8" class="cut" /></>;
    case "wait":
      return <><circle cx="8" cy="8" r="5.7" class="line" /><path d="M8 4.8V8l2.2 1.5" class="line" /></>;
    case "good":
      return <path d="m3 8.6 3.4 3.3L13 4.6" class="line thick" />;
    default:
      return <circle cx="8" cy="8" r="5.2" class="line dashed" />;
  }
}
