import type { Problem } from "../api";
import { signInAt } from "../live/session";
import { stream } from "../live/stream";
import { texts } from "../texts";
import { Shape } from "./state";
import { Message } from "./text";

/** ProblemNote says why there is no answer, and what to do. */
export function ProblemNote({ problem, stale, again }: { problem: Problem; stale: boolean; again: () => void }) {
  const t = texts.problem;
  // The line about the connection says the same, without moving what is read.
  if (problem.status === 0 && stale && stream.connection.value.state === "lost") return null;
  return (
    <section class="note bad" role="alert" aria-label={t.title(problem.status)}>
      <Shape tone="bad" />
      <div>
        <p><strong>{t.title(problem.status)}.</strong> {problem.detail !== "" && <Message of={problem.detail} />}</p>
        <p>{problem.signIn === undefined ? t.todo(problem.status) : t.todoSignIn} {stale && t.stale}</p>
        <p class="under">
          {problem.signIn !== undefined && <a class="sign-in" href={signInAt(problem.signIn)}>{texts.account.signIn}</a>}
          <button type="button" onClick={again}>{t.retry}</button>
          {problem.status > 0 && <span class="muted">{t.status(problem.status)}</span>}
        </p>
      </div>
    </section>
  );
}
