// What a page shows: the answer to a question, asked again when a change concerns it.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import type { Change, Problem } from "../api";
import { ask, NoAnswer } from "./ask";
import { now } from "./clock";
import { Pace } from "./pace";
import { stream } from "./stream";

export interface Answer<T> {
  data: T | undefined;
  /** What was wrong the last time; data is then older. */
  problem: Problem | undefined;
  /** The data answers another question, whose answer is under way. */
  stale: boolean;
  again: () => void;
}

const retryAfter = 5000;
/** Curves have a value for each minute, also while nothing changes. */
export const minute = 60_000;

class Question<T> {
  readonly data = signal<T | undefined>(undefined);
  readonly problem = signal<Problem | undefined>(undefined);
  readonly answered = signal("");
  path = "";
  private answeredAt = 0;
  private readonly pace = new Pace(() => this.ask());
  private abort = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  want = (): void => this.pace.want();

  /** wantOlder asks again where the answer is older than some milliseconds. */
  wantOlder = (age: number): void => {
    if (this.data.peek() !== undefined && now.peek() - this.answeredAt >= age) this.pace.want();
  };

  /** turn asks another question in place of the one under way. */
  turn(path: string): void {
    this.path = path;
    this.abort.abort();
    this.pace.want();
  }

  end(): void {
    this.pace.end();
    this.abort.abort();
    clearTimeout(this.timer);
  }

  private async ask(): Promise<void> {
    clearTimeout(this.timer);
    const path = this.path;
    this.abort = new AbortController();
    try {
      this.data.value = await ask<T>(path, this.abort.signal);
      this.problem.value = undefined;
      this.answered.value = path;
      this.answeredAt = now.peek();
    } catch (error) {
      if (error instanceof NoAnswer) this.fail(error.problem, path);
      else if (!this.abort.signal.aborted) throw error;
    }
  }

  private fail(problem: Problem, path: string): void {
    this.problem.value = problem;
    // What was read before still helps while the server is away; what may not be seen, or is gone, does not.
    if (isRefusal(problem.status)) this.data.value = undefined;
    if (this.answered.peek() !== path) this.data.value = undefined;
    this.answered.value = path;
    if (!isRefusal(problem.status)) this.timer = setTimeout(this.want, retryAfter);
  }
}

const isRefusal = (status: number) => status >= 400 && status < 500 && status !== 429;

/**
 * useAnswer asks a path of the API. concerns says whether a change may alter the answer. lasts says how many milliseconds an answer counts while nothing
 * changes.
 */
export function useAnswer<T>(path: string, concerns: (change: Change) => boolean, lasts: (data: T) => number = () => Infinity): Answer<T> {
  const question = useMemo(() => new Question<T>(), []);
  const concerning = useRef(concerns);
  concerning.current = concerns;
  useEffect(() => {
    const deaf = stream.listen((change) => {
      if (change === undefined || concerning.current(change)) question.want();
    });
    const still = stream.beats(() => {
      const data = question.data.peek();
      if (data !== undefined) question.wantOlder(lasts(data));
    });
    return () => {
      deaf();
      still();
      question.end();
    };
  }, []);
  useEffect(() => question.turn(path), [path]);
  return { data: question.data.value, problem: question.problem.value, stale: question.answered.value !== path, again: question.want };
}
