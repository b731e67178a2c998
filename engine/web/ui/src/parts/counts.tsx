import type { Counts } from "../api";
import { texts } from "../texts";

const width = 100;

/** CountsBar draws how many are ready, wait and fail. The words beside it say the same. */
export function CountsBar({ of }: { of: Counts }) {
  if (of.total <= 0) return null;
  const failing = part(of.failing, of.total);
  const waiting = Math.min(part(of.waiting, of.total), width - failing);
  const ready = Math.min(part(of.ready, of.total), width - failing - waiting);
  return (
    <svg class="bar" viewBox={`0 0 ${width} 4`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="rest" x="0" y="0" width={width} height="4" />
      <rect class="good" x="0" y="0" width={ready} height="4" />
      <rect class="wait" x={width - failing - waiting} y="0" width={waiting} height="4" />
      <rect class="bad" x={width - failing} y="0" width={failing} height="4" />
    </svg>
  );
}

// A single one among many is still seen.
const part = (n: number, of: number) => (n <= 0 ? 0 : Math.min(width, Math.max(2, (n / of) * width)));

/** waitingOf is how many wait. Managers of former versions counted among them what fails and is tried again, which is not told twice. */
export const waitingOf = (of: Counts) => Math.max(0, Math.min(of.waiting, of.total - of.ready - of.failing));

export function CountsText({ of }: { of: Counts }) {
  if (of.total <= 0) return <span class="none">{texts.counts.none}</span>;
  const waiting = waitingOf(of);
  return (
    <>
      {of.failing > 0 && <><span class="bad-text">{texts.counts.failing(of.failing)}</span>, </>}
      {waiting > 0 && <><span class="wait-text">{texts.counts.waiting(waiting)}</span>, </>}
      {texts.counts.of(of.ready, of.total)}
    </>
  );
}
