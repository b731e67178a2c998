import { now } from "../live/clock";
import { texts } from "../texts";

/** duration says how long something is, in its largest unit: 12s, 4m, 3h, 2d. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

/** age says how long ago a time is. A minute ahead is a clock that is a little off; more is said. */
export function age(at: number, present: number): string {
  const passed = present - at;
  return passed < -60_000 ? texts.ahead(duration(-passed)) : duration(passed);
}

/** Age is how long ago a time is, with the time itself in its title. */
export function Age({ of }: { of: string | number | undefined }) {
  const at = of === undefined ? NaN : new Date(of).getTime();
  if (Number.isNaN(at)) return <span class="none">{texts.none}</span>;
  return <time class="age" dateTime={new Date(at).toISOString()} title={exact(at)}>{age(at, now.value)}</time>;
}

const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" } as const;

/** exact is a time of the reader's zone that can be read in one way only, as 2026-03-04 05:06:07 UTC: Sweden writes it so. */
export function exact(at: number): string {
  return new Date(at).toLocaleString("sv", parts);
}
