// The one stream of changes. It tells who listens what has changed, and after a break that anything may have.
import { signal } from "@preact/signals";
import type { Change } from "../api";
import { now } from "./clock";

export type Connection = { state: "connecting" | "live" } | { state: "lost"; since: number };

/** Source is the part of EventSource that is used. */
export interface Source {
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  addEventListener(type: "beat", listener: () => void): void;
  close(): void;
}

/** A change that is undefined says that anything may have changed. */
type Listener = (change: Change | undefined) => void;

const longest = 15_000;
// The server beats each 15 s. A connection that has died on the way, as when a laptop sleeps, is silent and no error.
const silence = 40_000;

export class Stream {
  readonly connection = signal<Connection>({ state: "connecting" });
  private readonly listeners = new Set<Listener>();
  private readonly beaten = new Set<() => void>();
  private source: Source | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private quiet: ReturnType<typeof setTimeout> | undefined;
  private pause = 1000;

  constructor(private readonly open: () => Source) {}

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** beats calls a listener each time that the server beats, every 15 s. */
  beats(listener: () => void): () => void {
    this.beaten.add(listener);
    return () => this.beaten.delete(listener);
  }

  /** start connects, at once where it waits to try again. */
  start(): void {
    this.stop();
    const source = this.open();
    this.source = source;
    source.onopen = () => {
      this.pause = 1000;
      this.hear();
      this.connection.value = { state: "live" };
      this.tell(undefined);
    };
    source.onmessage = (event) => {
      this.hear();
      this.tell(read(event.data));
    };
    source.addEventListener("beat", () => {
      this.hear();
      for (const listener of [...this.beaten]) listener();
    });
    source.onerror = () => this.lose();
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.quiet);
    this.source?.close();
    this.source = undefined;
  }

  private hear(): void {
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => this.lose(), silence);
  }

  // Browsers differ in when an EventSource tries again by itself; so it never does.
  private lose(): void {
    this.stop();
    if (this.connection.peek().state !== "lost") this.connection.value = { state: "lost", since: now.peek() };
    this.timer = setTimeout(() => this.start(), this.pause);
    this.pause = Math.min(longest, this.pause * 2);
  }

  private tell(change: Change | undefined): void {
    for (const listener of [...this.listeners]) listener(change);
  }
}

function read(data: unknown): Change | undefined {
  try {
    const change: unknown = JSON.parse(String(data));
    return typeof change === "object" && change !== null ? (change as Change) : undefined;
  } catch {
    return undefined;
  }
}

export const stream = new Stream(() => new EventSource("/api/v1/stream"));

/** watch keeps the stream open while the page is seen: browsers allow six connections to a server, and a tab in the background needs none. */
export function watch(): void {
  const look = () => (document.visibilityState === "hidden" ? stream.stop() : stream.start());
  document.addEventListener("visibilitychange", look);
  look();
}
