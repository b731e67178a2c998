// Which page is shown: the address says it, so that each page can be linked and reloaded.
import { computed, signal } from "@preact/signals";

export type Route =
  | { page: "fleet" }
  | { page: "box"; box: string }
  | { page: "resources"; box: string }
  | { page: "resource"; box: string; namespace: string; name: string }
  | { page: "plan" }
  | { page: "reference" }
  | { page: "lost" };

const address = signal({ path: "/", query: "" });

export const route = computed<Route>(() => parse(address.value.path));
export const query = computed(() => new URLSearchParams(address.value.query));

export function parse(path: string): Route {
  const parts = path.split("/").filter((p) => p !== "").map(decode);
  const [first, box, third, namespace, name] = parts;
  if (first === undefined) return { page: "fleet" };
  if ((first === "plan" || first === "reference") && parts.length === 1) return { page: first };
  if (first !== "boxes" || box === undefined || parts.length > 5) return { page: "lost" };
  if (third === undefined) return { page: "box", box };
  if (third !== "resources") return { page: "lost" };
  if (namespace === undefined) return { page: "resources", box };
  if (name === undefined) return { page: "lost" };
  return { page: "resource", box, namespace: namespace === "-" ? "" : namespace, name };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const e = encodeURIComponent;

/** Paths are the same below / and below /api/v1, but for the fleet. */
export const paths = {
  fleet: () => "/",
  plan: () => "/plan",
  reference: () => "/reference",
  /** Below the API alone. */
  fields: (path: string) => `/reference/${e(path)}`,
  box: (box: string) => `/boxes/${e(box)}`,
  graph: (box: string) => `/boxes/${e(box)}/graph`,
  dependencies: (box: string) => `/boxes/${e(box)}/dependencies`,
  rights: (box: string) => `/boxes/${e(box)}/rights`,
  difference: (box: string) => `/boxes/${e(box)}/difference`,
  resources: (box: string) => `/boxes/${e(box)}/resources`,
  resource: (box: string, namespace: string | undefined, name: string) => `/boxes/${e(box)}/resources/${e(namespace || "-")}/${e(name)}`,
};

/** withQuery adds what is not empty. */
export function withQuery(path: string, values: Record<string, string>): string {
  const q = new URLSearchParams(Object.entries(values).filter(([, v]) => v !== ""));
  const text = q.toString();
  return text === "" ? path : `${path}?${text}`;
}

export function go(to: string): void {
  history.pushState(null, "", to);
  read();
}

/** change sets values of the query, "" removes one. A change while somebody types makes no entry in the history. */
export function change(values: Record<string, string>, typing = false): void {
  const q = new URLSearchParams(query.peek());
  for (const [name, value] of Object.entries(values)) {
    if (value === "") q.delete(name);
    else q.set(name, value);
  }
  const to = withQuery(location.pathname, Object.fromEntries(q));
  if (typing) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  read();
}

export function read(): void {
  address.value = { path: location.pathname, query: location.search };
}

/** follow shows the pages of links without loading the document again. Clicks that open another tab stay the browser's. */
export function follow(): void {
  read();
  addEventListener("popstate", read);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target !== "" || link.origin !== location.origin || link.hasAttribute("download") || /^\/(api|auth)\//.test(link.pathname)) return;
    if (link.hash !== "") return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
