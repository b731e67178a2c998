// All that the page says in English. What objects and the server say comes from the API.

const count = (n: number) => n.toLocaleString("en");
const plural = (n: number, one: string, many: string) => `${count(n)} ${n === 1 ? one : many}`;

/** seconds says a short time in its own unit. */
const seconds = (n: number) => {
  if (n <= 0) return "0";
  if (n < 0.001) return "<1 ms";
  if (n < 1) return `${Math.round(n * 1000)} ms`;
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} s`;
};

export const texts = {
  count,
  seconds,
  product: "Orkestra",
  center: "Control Center",
  title: (page: string) => `${page} · Orkestra`,
  skip: "Skip to the content",
  navigation: "Main",
  breadcrumb: "Where you are",
  as: (name: string) => `read as ${name}`,
  loading: "Loading…",
  none: "–",
  all: "All",
  since: "since",
  ahead: (duration: string) => `in ${duration}`,
  remembered: "The manager remembers the last",
  forgotten: "What was before is not known.",
  notes: "What could not be read",
  hidden: (code: string) => `Character ${code}, which would not be seen`,

  connection: {
    connecting: "Connecting…",
    live: "Live",
    lost: "Not connected",
    lostSince: "No connection to the server since",
    old: "What is shown is as old as that. The page goes on trying.",
    again: "Connected again.",
    tryNow: "Try now",
    nobody: "Not signed in",
  },

  account: {
    signIn: "Sign in",
    signOut: "Sign out",
    failed: "The server did not sign you out. Try again, or close the browser.",
  },

  problem: {
    title: (status: number) => {
      if (status === 0) return "The server can't be reached";
      if (status === 401) return "You are not signed in";
      if (status === 403) return "You may not see this";
      if (status === 404) return "This is not there";
      if (status === 429) return "Too many questions at once";
      if (status >= 500) return "The server could not answer";
      return "The server refused the question";
    },
    todo: (status: number) => {
      if (status === 0) return "Look whether it still runs. The page tries again by itself.";
      if (status === 401) return "Open the address that orkestra ui printed once more; it signs you in.";
      if (status === 403) return "Ask for the right to read this kind in this namespace, then try again.";
      if (status === 404) return "It may have been deleted, or its name is another one. Look for it in the list above it.";
      if (status === 429) return "The page tries again by itself.";
      if (status >= 500) return "The page tries again by itself. If that goes on, look at the log of the server.";
      return "Reload the page; it may be older than the server.";
    },
    todoSignIn: "Sign in, and the page goes on here.",
    status: (status: number) => `HTTP ${status}`,
    stale: "What is shown below is what was read before.",
    retry: "Try again",
    unreadable: "The answer is no JSON. Something between this page and the server may have answered in its place.",
    broken: "This page has failed",
    brokenTodo: "Reload it. If it fails again, report what stands here.",
    reload: "Reload",
  },

  fleet: {
    heading: "Fleet",
    empty: "There are no boxes yet.",
    emptyTodo: "Apply an OperatorBox, and it is shown here at once.",
    nothing: "No box matches these filters.",
    clear: "Clear the filters",
    allWell: (boxes: number) => `${plural(boxes, "box", "boxes")}, none in trouble`,
    trouble: (bad: number, boxes: number) => `${count(bad)} of ${plural(boxes, "box", "boxes")} in trouble`,
    noManager: "No manager is at work",
    noManagerTodo: "Nothing is made or corrected, and what is shown may be old. Look at the Pods and the log of the manager.",
    filter: "Filters",
    states: "State",
    search: "Search",
    searchHint: "Box, resource or message",
    table: "Boxes",
    shown: (n: number, of: number) => (n === of ? plural(n, "box", "boxes") : `${count(n)} of ${plural(of, "box", "boxes")}`),
    columns: {
      state: "State", name: "Box", resources: "Resources", failures: "Failures", error: "What is wrong",
      queue: "Queue", workers: "Workers", revision: "Revision",
    },
    failuresHint: "Failed reconciles in a row, and since the box was made. The curve: resources that failed in the last hour.",
    inRow: (n: number) => `${count(n)} in a row`,
    limit: (n: number) => `Degraded at ${count(n)}`,
    total: (n: number) => `${count(n)} in all`,
  },

  found: {
    heading: "Resources",
    matching: (n: number) => (n === 0 ? "None matches the search" : `${plural(n, "matches", "match")} the search`),
    columns: { state: "State", name: "Resource", box: "Box", message: "Message", since: "Since" },
    more: "Show more",
    first: (n: number) => `These are the first ${count(n)}. Write more of the name to see others.`,
  },

  hour: {
    heading: "The last hour",
    failing: "Failing",
    resources: "Failing resources",
    waiting: "Waiting",
    queue: "Queue",
    reconciles: "Reconciles a minute",
    p95: "95 % took at most",
    most: (n: string) => `most ${n}`,
    nothing: (what: string) => `${what}: nothing is remembered yet`,
    label: (what: string, now: string, most: string, minutes: number) => `${what}: ${now} now, ${most} at most in the last ${plural(minutes, "minute", "minutes")}`,
  },

  cycle: {
    heading: "A reconcile, step by step",
    hint: "The last hour",
    columns: { step: "Step", mean: "Takes", longest: "At most", runs: "Ran", failures: "Failed", last: "Last failure" },
  },

  graph: {
    beside: "What is drawn is also said in words below",
    drawn: (what: string) => `${what}, drawn`,
    more: (drawn: number, of: number) => `${count(drawn)} of ${count(of)} are drawn. All are in words below.`,
  },

  rights: {
    heading: "Rights",
    show: "What the box needs to be allowed, and what of it is missing",
    of: "It acts as",
    manager: "the manager",
    missing: (n: number) => (n === 1 ? "One right is missing." : `${count(n)} rights are missing.`),
    allThere: "Nothing is missing.",
    none: "Which rights it needs is not known: it has not been compiled yet.",
    more: (n: number) => `${count(n)} more, not shown.`,
    everywhere: "everywhere",
    unknown: "not known",
    columns: { resource: "Resource", verbs: "Verbs", where: "Namespace", missing: "Missing" },
  },

  difference: {
    heading: "Compare two revisions",
    from: "From",
    to: "To",
    today: "the spec of today",
    before: "before",
    after: "after",
    absent: "absent",
    none: "They do not differ.",
    more: (n: number) => `${count(n)} more, not shown.`,
  },

  snapshots: {
    heading: "What it can go back to",
    none: "No state is kept. One is when it has succeeded.",
    unknown: "It is not known:",
    back: (n: number) => `It was rolled back from generation ${count(n)}`,
    times: (n: number) => `${count(n)} times`,
    failedIn: "It failed in",
    generation: (n: number) => `Generation ${count(n)}`,
    under: "under",
    taken: "kept",
    current: "in force now",
    next: "the next one",
    same: "Its spec is that of today.",
  },

  history: {
    heading: "Its last reconciles",
    nothing: "None has run since then, or they are so long ago that they are forgotten.",
    succeeded: "Succeeded",
    waits: "Waits",
    failed: "Failed",
    in: "in",
    times: (n: number) => `${count(n)} times in a row since`,
    wokenBy: "woken by",
    patch: "(fields of an object of others)",
    others: (n: number) => `${plural(n, "other write", "other writes")}, not named here`,
  },

  counts: {
    total: (n: number) => plural(n, "resource", "resources"),
    of: (ready: number, total: number) => `${count(ready)} of ${count(total)} ready`,
    ready: (n: number) => `${count(n)} ready`,
    waiting: (n: number) => `${count(n)} waiting`,
    failing: (n: number) => `${count(n)} failing`,
    none: "none",
  },

  sort: { by: (column: string) => `Sort by ${column}`, up: "ascending", down: "descending" },

  fold: {
    more: (size: string) => `Show all (${size})`,
    less: "Show less",
    cut: (size: string) => `…and ${size} more, which are not shown here`,
  },

  box: {
    heading: "Box",
    well: "Nothing is wrong.",
    starting: "It has not begun to run yet.",
    suspended: "It is suspended: its resources stay as they are.",
    alerts: "Alerts that speak of this",
    runbook: "runbook",
    facts: "Facts",
    failing: "Resources that fail",
    failingHint: "The ten worst",
    noFailing: "No resource fails.",
    allResources: "All resources",
    overdue: "Overdue",
    overdueHint: "Their reconciles do not end.",
    dependencies: "Dependencies",
    dependsOn: "Waits for",
    dependents: "Is waited for by",
    furtherAway: "By way of others",
    waitsFor: "waits for",
    met: "met",
    unmet: "not met",
    unknownMet: "not known",
    ring: "ring",
    noBox: "no box that you may see",
    leads: "A line leads from a box to the one that waits for it. What is not met is drawn bold, and a ring in red: in one, nobody begins.",
    moreBoxes: (n: number) => `${plural(n, "box", "boxes")} further away, not shown.`,
    condition: (c: string) => `to be ${c}`,
    conditionHere: (c: string) => `for this one to be ${c}`,
    declarations: "Declarations",
    noDeclarations: "It declares nothing.",
    moreDeclarations: (n: number) => `${plural(n, "more", "more")}, not shown.`,
    reads: "A line leads from what is read to what reads it. It is bold where something waits, and red where things read each other in a ring. What has no line stands in the table alone.",
    groups: {
      onCreate: "made once", onReconcile: "kept", onDelete: "at the end", onRollback: "at a rollback",
      cross: "read", external: "called", providers: "made by a provider", patches: "patched", hook: "by code",
    } as Record<string, string>,
    ways: { gate: "its gate waits", after: "comes after", templates: "its templates read", default: "takes defaults" } as Record<string, string>,
    ofBox: "resources of",
    optional: "optional",
    revisions: "Revisions",
    noRevisions: "No revision is kept.",
    noChanges: "Nothing that is known differs from the one before.",
    changes: (n: number) => plural(n, "change", "changes"),
    current: "runs now",
    knownGood: "last known good",
    conditions: "Conditions of the box",
    health: "Conditions of its health",
    yaml: "YAML of the box",
    columns: {
      resource: "Resource", failures: "Failures in a row", reason: "Reason", message: "Message", since: "Since",
      declaration: "Declaration", kind: "Kind", path: "Path", how: "How", needs: "Depends on", revision: "Revision", created: "Kept", changes: "What changed",
    },
    conditional: "behind a gate",
    loop: "for each item",
    fact: {
      crd: "CRD", kind: "Kind", created: "Made", started: "Runs since", workers: "Workers", queue: "Queue", revision: "Revision",
      failures: "Failures in a row", success: "Reconciles", last: "Last reconcile", lastFailure: "Last failure", good: "Last known good",
      autoscale: "Limits", rollback: "Rolled back", kinds: "Kinds of children", suspended: "Suspended",
    },
    reconciles: (good: number, bad: number) => `${count(good)} well, ${count(bad)} failed`,
    autoscaled: (reason: string) => `replaced: ${reason}`,
    notAutoscaled: (reason: string) => `as in the spec: ${reason}`,
    rolledBack: (n: number) => plural(n, "resource", "resources"),
    asked: "its spec asks for it",
    step: (step: string) => `step ${step}`,
    lastFailure: "Last failure",
  },

  resources: {
    heading: "Resources",
    of: (box: string) => `Resources of ${box}`,
    filters: "Filters",
    state: "State",
    reason: "Reason",
    namespace: "Namespace",
    text: "Name",
    textHint: "Part of namespace/name",
    any: (n: number) => `Any (${count(n)})`,
    option: (value: string, n: number) => `${value} (${count(n)})`,
    table: "Resources",
    columns: { state: "State", name: "Resource", reason: "Reason", message: "Message", since: "Since", age: "Age" },
    empty: "There are no resources that you may see.",
    nothing: "No resource matches these filters.",
    clear: "Clear the filters",
    range: (from: number, to: number, of: number, total: number) =>
      `${count(from)}–${count(to)} of ${count(of)}` + (of === total ? "" : ` that match, of ${count(total)}`),
    matching: (n: number, total: number) => `${count(n)} that match, of ${count(total)}`,
    pages: "Pages",
    first: "First",
    previous: "Previous",
    next: "Next",
    last: "Last",
  },

  resource: {
    cause: "Why it is not ready",
    causeMark: "the cause",
    field: "Field",
    wanted: "Wanted",
    actual: "Actual",
    nothing: "(nothing)",
    toDeclaration: "Show it in the tree",
    tree: "What is declared, and how it stands",
    noTree: "Nothing is declared for it.",
    withoutDeclaration: "Children of no declaration",
    open: "gate open",
    closed: "gate closed",
    unknownGate: "gate not known",
    noChild: "no child",
    children: (n: number) => plural(n, "child", "children"),
    of: (n: number, state: string) => `${count(n)} ${state}`,
    showMore: (n: number) => `Show ${count(n)} more`,
    yamlShort: "YAML",
    yamlOf: (object: string) => ` of ${object}`,
    provided: "What providers have made",
    conditions: "Conditions",
    noConditions: "Its status has no conditions.",
    events: "Events",
    noEvents: "There are no events about it and its children.",
    yaml: "YAML of the resource",
    facts: "Facts",
    fact: { box: "Box", kind: "Kind", namespace: "Namespace", created: "Made", revision: "Revision", since: "In this state since", reason: "Reason" },
    columns: { time: "Last", type: "Type", reason: "Reason", object: "Object", message: "Message", count: "Times" },
  },

  conditions: {
    columns: { type: "Condition", status: "Status", reason: "Reason", message: "Message", since: "Since" },
  },

  yaml: { copy: "Copy", copied: "Copied", copyFailed: "The browser refused. Select the text instead." },

  lost: {
    heading: "There is no such page",
    todo: "Go to the fleet",
  },
};
