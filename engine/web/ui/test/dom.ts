// A document for tests, and an API that answers from a table. Imported first.
import { Window } from "happy-dom";

export const window = new Window({ url: "http://127.0.0.1:8098/" });
const names = ["document", "location", "history", "addEventListener", "scrollTo", "Element", "HTMLElement", "Node", "Event", "MouseEvent"] as const;
for (const name of names) {
  const value = (window as unknown as Record<string, unknown>)[name];
  Object.defineProperty(globalThis, name, { value: typeof value === "function" && !/^[A-Z]/.test(name) ? value.bind(window) : value, configurable: true, writable: true });
}

type Answer = { status?: number; body: unknown; type?: string } | "down";

/** answers by path below /api/v1, without the query. */
export const answers = new Map<string, Answer>();
/** asked are the paths that were asked for, with the query. */
export const asked: string[] = [];

/** sent are the requests that are no questions, as method and path. */
export const sent: string[] = [];

globalThis.fetch = (async (path: string, init?: RequestInit) => {
  const order = answers.get(`POST ${path.replace("/api/v1", "")}`);
  if (init?.method === "POST" && order !== undefined && order !== "down") {
    sent.push(`POST ${path} ${String(init.body)}`);
    return new Response(JSON.stringify(order.body), { status: order.status ?? 200, headers: { "Content-Type": order.type ?? "application/json" } });
  }
  if (init?.method !== undefined && !path.startsWith("/api/v1/")) {
    sent.push(`${init.method} ${path}`);
    return new Response(null, { status: answers.has(path) ? 204 : 403 });
  }
  if (init?.method !== undefined) sent.push(`${init.method} ${path} ${String(init.body)}`);
  else if (path !== "/api/v1/session" && path !== "/api/v1/manager") asked.push(path.replace("/api/v1", ""));
  const found = answers.get(path.replace("/api/v1", "").split("?")[0]!);
  if (found === undefined || found === "down") throw new TypeError("fetch failed");
  const body = typeof found.body === "string" ? found.body : JSON.stringify(found.body);
  return new Response(body, { status: found.status ?? 200, headers: { "Content-Type": found.type ?? "application/json" } });
}) as typeof fetch;

/** until waits for what is to become true, and fails after two seconds. */
export async function until(what: () => unknown, why: string): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (what()) return;
    await new Promise((done) => setTimeout(done, 5));
  }
  throw new Error(`It did not come to this: ${why}. The page says: ${document.body.textContent}`);
}
