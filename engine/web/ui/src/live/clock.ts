// What time it is on the server: a wrong clock of the browser must not make ages wrong.
import { signal } from "@preact/signals";

/** now is the time in milliseconds, by the server's clock; it moves each second while the page is seen. */
export const now = signal(Date.now());

let ahead = 0;
// The Date of HTTP has whole seconds, and an answer takes a while.
const tolerated = 3000;

/** heard takes the server's time from an answer. */
export function heard(date: string | null): void {
  const said = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(said)) return;
  const difference = said - Date.now();
  ahead = Math.abs(difference) < tolerated ? 0 : difference;
}

export function tick(): void {
  now.value = Date.now() + ahead;
}

export function run(): void {
  tick();
  setInterval(() => {
    if (document.visibilityState !== "hidden") tick();
  }, 1000);
}
