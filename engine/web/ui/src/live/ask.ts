// One question to the API, and what is wrong where there is no answer.
import type { Problem } from "../api";
import { heard } from "./clock";
import { nobody } from "./session";
import { texts } from "../texts";

/** NoAnswer carries the problem in place of an answer. */
export class NoAnswer extends Error {
  constructor(readonly problem: Problem) {
    super(problem.title);
  }
}

export const ask = <T>(path: string, signal: AbortSignal): Promise<T> => answerTo<T>(path, { signal }, signal);

/** post asks what is too long for an address, or has the server do something. It is not given up when the page goes: what is under way may have been done. */
export const post = <T>(path: string, body: object): Promise<T> =>
  answerTo<T>(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });

async function answerTo<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, { ...init, headers: { Accept: "application/json", ...init.headers }, credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new NoAnswer({ status: 0, title: texts.problem.title(0), detail: "" });
  }
  heard(response.headers.get("Date"));
  nobody.value = response.status === 401;
  if (!response.ok) throw new NoAnswer(await problemOf(response));
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new NoAnswer({ status: 502, title: texts.problem.title(502), detail: texts.problem.unreadable });
  }
}

/** problemOf reads application/problem+json; what a proxy says in HTML is not shown. */
async function problemOf(response: Response): Promise<Problem> {
  const problem: Problem = { status: response.status, title: texts.problem.title(response.status), detail: "" };
  if (!(response.headers.get("Content-Type") ?? "").includes("json")) return problem;
  try {
    const said = (await response.json()) as Partial<Problem>;
    if (typeof said.detail === "string") problem.detail = said.detail;
    if (typeof said.signIn === "string" && /^\/[^/\\]/.test(said.signIn)) problem.signIn = said.signIn;
  } catch {
    // The status says enough.
  }
  return problem;
}
