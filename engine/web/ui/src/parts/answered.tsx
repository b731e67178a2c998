import type { ComponentChildren } from "preact";
import type { Answer } from "../live/answer";
import { Loading } from "./page";
import { ProblemNote } from "./problem";

/** Answered shows what there is of an answer, with what was wrong the last time above it. */
export function Answered<T>({ of, children }: { of: Answer<T>; children: (data: T) => ComponentChildren }) {
  const { data, problem } = of;
  return (
    <>
      {problem && <ProblemNote problem={problem} stale={data !== undefined} again={of.again} />}
      {data ? children(data) : !problem && <Loading />}
    </>
  );
}
