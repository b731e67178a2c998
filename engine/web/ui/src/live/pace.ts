// Pace does a task again when it is wanted: at once where it has not been done lately, and never twice at the same time.
export class Pace {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private wanted = false;
  private running = false;
  private ended = false;
  private last = -Infinity;

  constructor(private readonly task: () => Promise<void>, private readonly gap = 250) {}

  want(): void {
    this.wanted = true;
    this.next();
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  private next(): void {
    if (this.ended || this.running || this.timer !== undefined || !this.wanted) return;
    // A clock that goes back must not make it wait longer.
    const wait = Math.min(this.gap, Math.max(0, this.last + this.gap - Date.now()));
    this.timer = setTimeout(() => void this.run(), wait);
  }

  private async run(): Promise<void> {
    this.timer = undefined;
    this.wanted = false;
    this.running = true;
    this.last = Date.now();
    try {
      await this.task();
    } finally {
      this.running = false;
      this.next();
    }
  }
}
