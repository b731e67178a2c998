// make generate writes this file from engine/web/api.

/** ActionName is something that people do to a box or a resource. */
export type ActionName = "reconcile" | "pause" | "resume" | "release" | "suspend" | "rollback";

/** Action is one that fits a box or a resource as it is now. */
export interface Action {
  /** Name of the action, as its path has it. */
  name: ActionName;
  /** May says whether who asks may do it. */
  may: boolean;
  /** Why says in a sentence why they may not, and what to do; empty where they may. */
  why?: string;
}

/** BoxActions is the answer to GET /api/v1/boxes/{box}/actions: what can be done to a box as it is now. */
export interface BoxActions {
  /** UID of the box. */
  uid: string;
  /** Actions that fit it. */
  actions: Action[];
}

/** ResourceActions is the answer to GET /api/v1/boxes/{box}/resources/{namespace}/{name}/actions: what can be done to a resource as it is now. */
export interface ResourceActions {
  /** UID of the resource. */
  uid: string;
  /** Actions that fit it. */
  actions: Action[];
}

/** FormerSpecs is the answer to GET /api/v1/boxes/{box}/revisions: the specs that are kept of a box. They are for those who may go back to one. */
export interface FormerSpecs {
  /** Revisions that are kept, the newest first. */
  revisions: Revision[];
}

/** Return is the answer to GET /api/v1/boxes/{box}/revisions/{revision}: what the action rollback would write. */
export interface Return {
  /** Box that goes back, and the Revision to which it does. */
  box: string;
  /** Box that goes back, and the Revision to which it does. */
  revision: string;
  /** UID and Generation of the box as it is now. The order has both, so that nothing is written over what was not shown. */
  uid: string;
  /** UID and Generation of the box as it is now. The order has both, so that nothing is written over what was not shown. */
  generation: number;
  /** Changes are the fields that differ, in the order of their paths; at most 500. More says how many there are besides. */
  changes: FieldChange[];
  /** Changes are the fields that differ, in the order of their paths; at most 500. More says how many there are besides. */
  more?: number;
  /** Patch is the merge patch of the spec, as YAML. */
  patch: string;
  /** Why says in a sentence why it would be refused, and what to do; empty where it would not. */
  why?: string;
}

/** Order is the body of a POST that does something. */
export interface Order {
  /** UID of the object that is meant, as the answer to GET …/actions has it. */
  uid: string;
  /** Revision to which a box goes back, and Generation of the box that was shown beforehand; only for the action rollback. */
  revision?: string;
  /** Revision to which a box goes back, and Generation of the box that was shown beforehand; only for the action rollback. */
  generation?: number;
}

/** Done is the answer to POST /api/v1/boxes/{box}/actions/{action}, and to POST /api/v1/boxes/{box}/resources/{namespace}/{name}/actions/{action}: what was written. Body: Order. */
export interface Done {
  /** Action that was done. */
  action: ActionName;
  /** Message says in a sentence what was written, and what comes of it. */
  message: string;
}

/** Steps are what a reconcile of a box goes through, and what each step did in the last hour, as the manager that leads remembers it. */
export interface Steps {
  /** Since is from when on it remembers; absent where the one that answers remembers nothing. */
  since?: string;
  /** Note says in a sentence why nothing is remembered. */
  note?: string;
  /** Steps in the order in which they run. */
  steps: Step[];
}

/** Step is one of them. */
export interface Step {
  /** Name of the step, such as validation. */
  name: string;
  /** Runs counts how often it ran, Failures how often a reconcile failed in it. */
  runs: number;
  /** Runs counts how often it ran, Failures how often a reconcile failed in it. */
  failures: number;
  /** Mean is how many seconds it took on average, Longest at most. */
  mean: number;
  /** Mean is how many seconds it took on average, Longest at most. */
  longest: number;
  /** LastFailure is the last reconcile that failed in it. */
  lastFailure?: StepFailure;
}

/** StepFailure is a reconcile that failed in a step. */
export interface StepFailure {
  /** Time when the reconcile began. */
  time: string;
  /** Resource that failed. */
  resource: Reference;
  /** Message is the error. */
  message: string;
}

/** Rights is the answer to GET /api/v1/boxes/{box}/rights: what a box needs to be allowed, by its status, and what of it is missing now. */
export interface Rights {
  /** Account as which the box acts, as namespace/name; empty: the manager. */
  account?: string;
  /** Rights that are needed, those that are missing first; at most 300. */
  rights: NeededRight[];
  /** Missing counts those of them that are. */
  missing: number;
  /** More counts the rights that are left out. */
  more?: number;
  /** Notes are sentences on what is not known, and on how to grant what is missing. */
  notes?: string[];
}

/** NeededRight is what may be done with one resource. */
export interface NeededRight {
  /** Verbs that are needed, and Missing those of them that the account has not. */
  verbs: string[];
  /** Verbs that are needed, and Missing those of them that the account has not. */
  missing?: string[];
  /** Group and Resource of the objects; the resource has its subresource behind a slash. */
  group?: string;
  /** Group and Resource of the objects; the resource has its subresource behind a slash. */
  resource: string;
  /** Namespace of the objects; empty: all. */
  namespace?: string;
  /** Name of the one object; empty: every one. */
  name?: string;
  /** Unknown says that the API server was not asked, or did not answer. */
  unknown?: boolean;
}

/** Graph is the answer to GET /api/v1/boxes/{box}/graph: what the revision of a box that runs declares, and what of it depends on what. */
export interface Graph {
  /** Revision that declares it; empty where none runs. */
  revision?: string;
  /** Nodes in the order of the box; at most 300. */
  nodes: GraphNode[];
  /** Edges between these nodes; at most 2,000. */
  edges: GraphEdge[];
  /** More counts the nodes that are left out. */
  more?: number;
  /** MoreEdges counts the edges between these nodes that are left out. */
  moreEdges?: number;
  /** Notes are sentences on what could not be read. */
  notes?: string[];
}

/** GraphNode is one thing that a box declares. */
export interface GraphNode {
  /** Path is its place in the box, which no other node has. */
  path: string;
  /** Label names it as messages do. */
  label: string;
  /** Group is that of declarations which it stands in (onCreate, onReconcile, onDelete, onRollback), or cross, external, providers, patches or hook. */
  group: string;
  /** Kind of its object; of what cross reads; the method and host of a call; the provider and its kind. */
  kind?: string;
  /** Box whose resources cross reads; empty: none. */
  box?: string;
  /** Gated says that it has conditions of its own; Loop that it is made for each item of a list; Optional that nothing waits for it. */
  gated?: boolean;
  /** Gated says that it has conditions of its own; Loop that it is made for each item of a list; Optional that nothing waits for it. */
  loop?: boolean;
  /** Gated says that it has conditions of its own; Loop that it is made for each item of a list; Optional that nothing waits for it. */
  optional?: boolean;
}

/** GraphEdge says that one node depends on another. */
export interface GraphEdge {
  /** From is the path of the node that is depended on, To that of the one which depends on it. */
  from: string;
  /** From is the path of the node that is depended on, To that of the one which depends on it. */
  to: string;
  /** Ways in which it does: gate (its conditions read it), after, templates (they read it), default (fields that are left out are taken from it). */
  ways: string[];
  /** Fields that conditions read; at most 5. */
  fields?: string[];
  /** Ring says that From depends on To as well, if only by way of others. */
  ring?: boolean;
}

/** Dependencies is the answer to GET /api/v1/boxes/{box}/dependencies: the boxes that this one waits for and those that wait for it, also by way of others, as their specs say it. */
export interface Dependencies {
  /** Nodes are the boxes, the one that was asked for first, the others by how far they are from it; at most 60. */
  nodes: DependencyNode[];
  /** Edges between these boxes. */
  edges: DependencyEdge[];
  /** More counts the boxes that are left out. */
  more?: number;
  /** Notes are sentences on what could not be read. */
  notes?: string[];
}

/** DependencyNode is a box, or a CRD that another operator runs and that has a CRDHealth. */
export interface DependencyNode {
  /** Box is its name. */
  box: string;
  /** State of it; Unknown where nobody has said it, or it may not be seen. */
  state: State;
  /** IsBox says that it is a box which may be seen. Otherwise it is one of another operator, is not there, or may not be seen. */
  isBox?: boolean;
  /** Resources counts those of the box that fail. */
  failing?: number;
}

/** DependencyEdge says that one box waits for another. */
export interface DependencyEdge {
  /** From is the box that is waited for, To the one that waits. */
  from: string;
  /** From is the box that is waited for, To the one that waits. */
  to: string;
  /** Condition that From must have reached, such as Healthy. */
  condition: string;
  /** Met is True, False, or Unknown where nobody has said it. */
  met: string;
  /** Ring says that From waits for To as well, if only by way of others: none of them begins. */
  ring?: boolean;
}

/** Difference is the answer to GET /api/v1/boxes/{box}/difference: what differs between two revisions of a box that are kept, or one of them and the spec of today. Parameters: from, to (names of revisions; without to the spec of today). */
export interface Difference {
  /** From and To are the revisions; To is empty for the spec of today. */
  from: string;
  /** From and To are the revisions; To is empty for the spec of today. */
  to?: string;
  /** Changes by their fields; at most 500. */
  changes: FieldChange[];
  /** More counts the changes that are left out. */
  more?: number;
}

/** FieldChange is one field that differs. */
export interface FieldChange {
  /** Field is its path. */
  field: string;
  /** Before and After are its values as YAML, cut where they are long; absent where the field is not there. */
  before?: string;
  /** Before and After are its values as YAML, cut where they are long; absent where the field is not there. */
  after?: string;
}

/** Snapshots say what a resource goes back to when its box rolls it back. */
export interface Snapshots {
  /** Back says that it is rolled back now, from what, and why; absent: it is not. */
  back?: RolledBackTo;
  /** Kept are those that are there, the newest first. The first one is what it would go back to. */
  kept: Snapshot[];
  /** Note says in a sentence why they are not known. */
  note?: string;
}

/** Snapshot is a resource as it was when it last succeeded. */
export interface Snapshot {
  /** Name of the ControllerRevision that holds it. */
  name: string;
  /** Generation of the resource, and Revision of its box, under which it succeeded. */
  generation: number;
  /** Generation of the resource, and Revision of its box, under which it succeeded. */
  revision: string;
  /** Taken is when. */
  taken: string;
  /** Current says that the resource is rolled back to it. */
  current?: boolean;
  /** Changes are the fields of the spec of today that would be others; at most 100. */
  changes: FieldChange[];
  /** Changes are the fields of the spec of today that would be others; at most 100. */
  more?: number;
}

/** RolledBackTo says what a resource was rolled back from. */
export interface RolledBackTo {
  /** Since is when, and Count how often from this generation. */
  since: string;
  /** Since is when, and Count how often from this generation. */
  count: number;
  /** Generation that failed, and Revision of the box under which it did. */
  generation: number;
  /** Generation that failed, and Revision of the box under which it did. */
  revision: string;
  /** Step that failed, Reason and Message of the failure, and Trigger of the rollback. */
  step: string;
  /** Step that failed, Reason and Message of the failure, and Trigger of the rollback. */
  reason?: string;
  /** Step that failed, Reason and Message of the failure, and Trigger of the rollback. */
  message: string;
  /** Step that failed, Reason and Message of the failure, and Trigger of the rollback. */
  trigger: string;
  /** Held says that it stays so until something is changed; Next says what ends it. */
  held?: boolean;
  /** Held says that it stays so until something is changed; Next says what ends it. */
  next: string;
}

/** CompileQuestion asks what is wrong with boxes. */
export interface CompileQuestion {
  /** Boxes is YAML or JSON, of at most 50 documents: OperatorBoxes, and beside them CRDs that the cluster does not have, or not yet. Other objects are ignored. */
  boxes: string;
}

/** Compiled is the answer to POST /api/v1/compile: what is wrong with boxes, as orkestra validate finds it. Body: CompileQuestion. Nothing is written. */
export interface Compiled {
  /** Valid says that there is a box, and nothing is wrong. */
  valid: boolean;
  /** Documents are the boxes, and what can't be read. */
  documents: CheckedDocument[];
}

/** CheckedDocument is what there is to say of a box, or of a document that is none because it can't be read. */
export interface CheckedDocument {
  /** Subject names it, such as OperatorBox "website"; empty where it can't be read. */
  subject?: string;
  /** Valid says that there is no mistake. Revision is the one that the box has in a cluster then. */
  valid: boolean;
  /** Valid says that there is no mistake. Revision is the one that the box has in a cluster then. */
  revision?: string;
  /** Mistakes in the order of their lines; at most 100. */
  mistakes: Mistake[];
  /** Notes are things to know that are no mistakes. */
  notes?: string[];
}

/** Mistake is one thing that is wrong in a text. */
export interface Mistake {
  /** Path of the field; empty where the text can't be read. */
  path?: string;
  /** Message says what is wrong with it, and what to do. */
  message: string;
  /** Line and Column of the text, from 1; absent where they are not known. */
  line?: number;
  /** Line and Column of the text, from 1; absent where they are not known. */
  column?: number;
}

/** RenderQuestion asks what the cluster would get for a resource. The resource is given as text, or by its name. */
export interface RenderQuestion {
  /** Boxes is as for CompileQuestion. */
  boxes: string;
  /** Resource is YAML or JSON of a resource that one of the boxes serves. What else stands there is taken for what the cluster has. */
  resource?: string;
  /** Of is a resource of the cluster, which is read with the rights of who asks, and its children with it. */
  of?: ResourceOf;
  /** Rest is YAML or JSON of what else the cluster has: objects that the box reads, children with their status, and the answers of external calls, of the webhook and of providers, as orkestra render has them by --with. */
  rest?: string;
}

/** ResourceOf names a resource of a running box. */
export interface ResourceOf {
  /** Box of the resource. */
  box: string;
  /** Namespace and Name of the resource; without a namespace for a kind that has none. */
  namespace?: string;
  /** Namespace and Name of the resource; without a namespace for a kind that has none. */
  name: string;
}

/** Rendered is the answer to POST /api/v1/render: what the cluster would get for resources, as orkestra render makes it. Body: RenderQuestion. Nothing is written, and nothing is called. */
export interface Rendered {
  /** Compiled is what is wrong with the boxes. Where something is, nothing is rendered. */
  compiled: Compiled;
  /** Resources that were rendered. */
  resources: RenderedResource[];
  /** Notes are sentences on what could not be known. */
  notes?: string[];
}

/** RenderedResource is what the cluster would get for one resource. */
export interface RenderedResource {
  /** Kind, Namespace and Name of the resource. */
  kind: string;
  /** Kind, Namespace and Name of the resource. */
  namespace?: string;
  /** Kind, Namespace and Name of the resource. */
  name: string;
  /** Mistakes are why the API server would not store it. Nothing else is known then. */
  mistakes?: Mistake[];
  /** Objects are its children, and the patches of objects of others, in the order in which they are made; at most 500. */
  objects: RenderedObject[];
  /** Conditions that it would have. */
  conditions: Condition[];
  /** Waits say what it waits for. */
  waits?: string[];
  /** Error is what would end the reconcile; empty: nothing. */
  error?: string;
  /** Notes are sentences on what could not be known, and on what would be told by events. */
  notes?: string[];
}

/** RenderedObject is one object that the cluster would get. */
export interface RenderedObject {
  /** APIVersion, Kind, Namespace and Name of the object. */
  apiVersion: string;
  /** APIVersion, Kind, Namespace and Name of the object. */
  kind: string;
  /** APIVersion, Kind, Namespace and Name of the object. */
  namespace?: string;
  /** APIVersion, Kind, Namespace and Name of the object. */
  name: string;
  /** Patch says that only these fields are set, of an object of others that must exist. */
  patch?: boolean;
  /** YAML of the object. What a Secret holds is masked. */
  yaml: string;
}

/** Vocabulary is the answer to GET /api/v1/reference: what may stand in boxes. */
export interface Vocabulary {
  /** Functions of templates, in the order of the reference page. */
  functions: Function[];
  /** Operators of conditions. */
  operators: Operator[];
  /** Kinds that have a key in a resource group. */
  kinds: KindKey[];
}

/** Function is one that templates may call. */
export interface Function {
  /** Name of the function, and other names of it. */
  name: string;
  /** Name of the function, and other names of it. */
  aliases?: string[];
  /** Group is the heading under which it stands. */
  group: string;
  /** Usage shows the arguments, such as trimSuffix SUFFIX TEXT; Doc says what it gives. */
  usage: string;
  /** Usage shows the arguments, such as trimSuffix SUFFIX TEXT; Doc says what it gives. */
  doc: string;
  /** Example is a whole template, and Result what it gives, as text. */
  example: string;
  /** Example is a whole template, and Result what it gives, as text. */
  result: string;
}

/** Operator is one of conditions. */
export interface Operator {
  /** Name of the operator, and the key that is its short form. */
  name: string;
  /** Name of the operator, and the key that is its short form. */
  short: string;
  /** Wants is how messages say what is wanted, before the value: more than. */
  wants: string;
  /** Absent is the answer where the field is absent. */
  absent: boolean;
  /** Types are the values of valueType that mean something here. */
  types?: string[];
  /** Clock says that the answer changes with the time. */
  clock?: boolean;
}

/** KindKey is a key of resource groups. */
export interface KindKey {
  /** Key in a resource group, such as deployments. */
  key: string;
  /** Kind and APIVersion of what is made; empty where the declaration says it. */
  kind?: string;
  /** Kind and APIVersion of what is made; empty where the declaration says it. */
  apiVersion?: string;
  /** Namespaced says that the objects live in namespaces. */
  namespaced?: boolean;
  /** Text says what declarations make. */
  text?: string;
}

/** Fields is the answer to GET /api/v1/reference/{path}: what may stand in a declaration, or in a field of one, as orkestra explain says it. The path is a key and names of fields, such as deployments.probes. */
export interface Fields {
  /** Path that was asked for. */
  path: string;
  /** Type and Text of the field, or of the kind. */
  type?: string;
  /** Type and Text of the field, or of the kind. */
  text?: string;
  /** Fields below it, and those that all declarations have. */
  fields: Field[];
  /** Fields below it, and those that all declarations have. */
  common?: Field[];
}

/** Field is one field. */
export interface Field {
  /** Name and Type of the field. */
  name: string;
  /** Name and Type of the field. */
  type: string;
  /** Text says what it means. */
  text?: string;
  /** Required says that it must be there; Default is what counts where it is absent. */
  required?: boolean;
  /** Required says that it must be there; Default is what counts where it is absent. */
  default?: string;
  /** Example is the field with a value, in YAML. */
  example?: string;
  /** Below says that there are fields below it. */
  below?: boolean;
}

/** TryQuestion asks what a template gives, or whether a condition holds, for a resource. One of them is given. */
export interface TryQuestion {
  /** Of is the resource, which is read with the rights of who asks, and its children and what its box reads with it. */
  of: ResourceOf;
  /** Template is one, such as {{ .spec.image | upper }}. */
  template?: string;
  /** Condition is one as YAML, such as {field: spec.replicas, greaterThan: 1}. */
  condition?: string;
}

/** Tried is the answer to POST /api/v1/try: what a template gives, or whether a condition holds. Nothing is written. Body: TryQuestion. */
export interface Tried {
  /** Mistake is why it does not compile, or what evaluating it ended with; empty: it could be evaluated. */
  mistake?: string;
  /** Path is that of the field of the condition that the mistake is about. */
  path?: string;
  /** Type of what the template gives, such as string, and Value as YAML; at most 64 KiB. */
  type?: string;
  /** Type of what the template gives, such as string, and Value as YAML; at most 64 KiB. */
  value?: string;
  /** Verdict is that of the condition. */
  verdict?: Verdict;
  /** Reads are the paths that it may read. */
  reads?: string[];
  /** Notes are sentences on what could not be known. */
  notes?: string[];
}

/** Verdict is whether a condition holds. */
export interface Verdict {
  /**  */
  holds: boolean;
  /** Field, Wanted and Actual are what a status would show. */
  field: string;
  /** Field, Wanted and Actual are what a status would show. */
  wanted?: string;
  /** Field, Wanted and Actual are what a status would show. */
  actual?: string;
}

/** Rows is the answer to GET /api/v1/boxes/{box}/resources: one page of them. Parameters: namespace, state, reason (exact), text (in namespace/name, without case), sort (name, state, age; with - before it in the other order), offset, limit (1 to 500; 100). */
export interface Rows {
  /** Rows of the page. */
  rows: Row[];
  /** Matching is how many the filters let through; Total how many there are that the person may see. */
  matching: number;
  /** Matching is how many the filters let through; Total how many there are that the person may see. */
  total: number;
  /** States, Reasons and Namespaces count what the person may see, before the filters; at most 50 of each, the most frequent first. */
  states: Tally[];
  /** States, Reasons and Namespaces count what the person may see, before the filters; at most 50 of each, the most frequent first. */
  reasons: Tally[];
  /** States, Reasons and Namespaces count what the person may see, before the filters; at most 50 of each, the most frequent first. */
  namespaces: Tally[];
  /** Notes are sentences on what could not be read. */
  notes?: string[];
}

/** Found is the answer to GET /api/v1/resources: the resources of all boxes in which a text is found, one page of them. Those come first whose name is the text, then those whose name begins with it, then those in whose namespace/name it is, then those in whose reason or message it is. Parameters: text (in any case, of 2 to 200 characters), offset, limit (1 to 100; 50). */
export interface Found {
  /** Rows of the page. */
  rows: FoundRow[];
  /** Matching is how many there are that the person may see. */
  matching: number;
  /** Notes are sentences on what was not searched. */
  notes?: string[];
}

/** FoundRow is a resource of a box. */
export interface FoundRow extends Row {
  /** Box of the resource. */
  box: string;
}

/** Tally is how often a value is there. */
export interface Tally {
  /**  */
  value: string;
  /**  */
  count: number;
}

/** Row is one resource in a list. */
export interface Row extends Reference {
  /** State of the resource. */
  state: State;
  /** CountsAs is the state as which the health of its box counts it, where that is another one: of resources that are rolled back, paused or deleted, or whose spec has changed since their status was written. A filter by state finds it by both. */
  countsAs?: State;
  /** Reason and Message are those of the condition that says so. */
  reason?: string;
  /** Reason and Message are those of the condition that says so. */
  message?: string;
  /** Created is when it was made, Since since when it is in this state. */
  created: string;
  /** Created is when it was made, Since since when it is in this state. */
  since?: string;
}

/** Resource is the answer to GET /api/v1/boxes/{box}/resources/{namespace}/{name}; for a kind without namespaces the namespace is "-". */
export interface Resource extends Row {
  /** APIVersion and Kind of the resource, Box and its Revision that the declarations are of. */
  apiVersion: string;
  /** APIVersion and Kind of the resource, Box and its Revision that the declarations are of. */
  kind: string;
  /** APIVersion and Kind of the resource, Box and its Revision that the declarations are of. */
  box: string;
  /** APIVersion and Kind of the resource, Box and its Revision that the declarations are of. */
  revision?: string;
  /** Headline says in one sentence how it is. */
  headline: string;
  /** Cause is the first thing that keeps it from being Ready, where one is known. */
  cause?: Cause;
  /** Declarations of the box, and children of none. */
  declarations: Declaration[];
  /** Provided is what providers have made, one line each. */
  provided?: string[];
  /** Conditions of its status. */
  conditions: Condition[];
  /** History has its last reconciles. */
  history: History;
  /** Snapshots that it can go back to; absent where its box rolls nothing back. */
  snapshots?: Snapshots;
  /** Events of the API server about it and its children, the newest first; at most 50. */
  events: Event[];
  /** EventsNote says why events are not known; absent where they are. */
  eventsNote?: string;
  /** YAML without managed fields. What a Secret holds is masked. */
  yaml: string;
  /** Notes are sentences on what could not be read, and what else there is to know. */
  notes?: string[];
}

/** Cause is the first thing that keeps a resource from being Ready. */
export interface Cause {
  /** Declaration that it is about; empty where it is about the resource as a whole. */
  declaration?: string;
  /** Path of that declaration in the box. */
  path?: string;
  /** Field, Wanted and Actual are those of the condition of a gate that does not hold; empty where it is no gate. */
  field?: string;
  /** Field, Wanted and Actual are those of the condition of a gate that does not hold; empty where it is no gate. */
  wanted?: string;
  /** Field, Wanted and Actual are those of the condition of a gate that does not hold; empty where it is no gate. */
  actual?: string;
  /** Message says it in one sentence. */
  message: string;
  /** Reason for which the resource is not ready, as its headline has it. */
  reason?: string;
  /** Todo says in one or two sentences what to do about that reason; absent where there is no more to say than Message does. */
  todo?: string;
  /** Page is the address of the documentation that says more. */
  page?: string;
  /** Warnings are the newest ones about what children make, such as Pods, the newest first and each once; at most three, and only where a child is waited for, or has failed. */
  warnings?: Event[];
}

/** Declaration is how a declaration stands for a resource. */
export interface Declaration {
  /** Declaration names it as messages do; Group and Path say where it stands in the box. */
  declaration: string;
  /** Declaration names it as messages do; Group and Path say where it stands in the box. */
  group?: string;
  /** Declaration names it as messages do; Group and Path say where it stands in the box. */
  path?: string;
  /** APIVersion, Kind, Namespace and Name of its child. Without a name there is none. */
  apiVersion?: string;
  /** APIVersion, Kind, Namespace and Name of its child. Without a name there is none. */
  kind: string;
  /** APIVersion, Kind, Namespace and Name of its child. Without a name there is none. */
  namespace?: string;
  /** APIVersion, Kind, Namespace and Name of its child. Without a name there is none. */
  name?: string;
  /** Created is when the child was made. */
  created?: string;
  /** State in one word, as orkestra status has it, and Reason on one line. */
  state: string;
  /** State in one word, as orkestra status has it, and Reason on one line. */
  reason?: string;
  /** Gate is what its conditions say. */
  gate: Gate;
  /** YAML of the child without managed fields. What a Secret holds is masked. */
  yaml?: string;
}

/** Gate is what the conditions of a declaration say. */
export interface Gate {
  /** State is open, closed or unknown; empty where there is none. */
  state?: string;
  /** Field, Wanted and Actual are those of the first condition that does not hold. */
  field?: string;
  /** Field, Wanted and Actual are those of the first condition that does not hold. */
  wanted?: string;
  /** Field, Wanted and Actual are those of the first condition that does not hold. */
  actual?: string;
}

/** History has the last reconciles of a resource, as the manager that leads remembers them. They are lost when that manager ends, and the oldest go when there are too many in all. */
export interface History {
  /** Since is from when on it remembers; absent where the one that answers remembers nothing. */
  since?: string;
  /** Note says in a sentence why there is none, or what is left out. */
  note?: string;
  /** Cycles are the reconciles that ran, the newest first; at most 10. One that had nothing to do is not among them. */
  cycles: Cycle[];
}

/** Cycle is one reconcile, or several in a row that came to the same. */
export interface Cycle {
  /** Time is when it began, the last one of several; Seconds how long it took. */
  time: string;
  /** Time is when it began, the last one of several; Seconds how long it took. */
  seconds: number;
  /** Times is how many there were in a row, and First when the first of them began. */
  times: number;
  /** Times is how many there were in a row, and First when the first of them began. */
  first: string;
  /** Woken says what has woken the resource; Action what was decided, such as Reconcile, and Why. */
  woken: string;
  /** Woken says what has woken the resource; Action what was decided, such as Reconcile, and Why. */
  action: string;
  /** Woken says what has woken the resource; Action what was decided, such as Reconcile, and Why. */
  why: string;
  /** Outcome is success, waiting, or the class of the error, such as Transient. Stage is the one that failed. */
  outcome: string;
  /** Outcome is success, waiting, or the class of the error, such as Transient. Stage is the one that failed. */
  stage?: string;
  /** Reason and Message are those of the condition Ready after it, or the error that the resource could not show. */
  reason?: string;
  /** Reason and Message are those of the condition Ready after it, or the error that the resource could not show. */
  message?: string;
  /** Stages are those that ran, in their order. */
  stages: Stage[];
  /** Writes are those of objects that the person may list; at most 20. Others counts the rest. */
  writes: Write[];
  /** Writes are those of objects that the person may list; at most 20. Others counts the rest. */
  others?: number;
}

/** Stage is a step of a reconcile. */
export interface Stage {
  /**  */
  name: string;
  /** Seconds that it took. */
  seconds: number;
}

/** Write is one write to an object. */
export interface Write {
  /** Action is what was done: created, changed, corrected, pruned and so on. */
  action: string;
  /** Kind, Namespace and Name of the object. */
  kind: string;
  /** Kind, Namespace and Name of the object. */
  namespace?: string;
  /** Kind, Namespace and Name of the object. */
  name: string;
  /** Patch says that it is an object of others, of which fields were set. */
  patch?: boolean;
}

/** Event is one of the API server. */
export interface Event {
  /** Time of the last occurrence, Count how often. */
  time: string;
  /** Time of the last occurrence, Count how often. */
  count: number;
  /** Type is Normal or Warning. */
  type: string;
  /** Type is Normal or Warning. */
  reason: string;
  /** Type is Normal or Warning. */
  message: string;
  /** Object that it is about, as Kind/name. */
  object: string;
}

/** Change is what the stream GET /api/v1/stream tells: something has changed, and its page asks again. An empty box means the fleet as a whole. Each 15 seconds, and to begin with, it also tells an event of the name beat, which says only that the connection lives. */
export interface Change {
  /**  */
  box?: string;
  /** Resource that has changed; absent: the box itself has. */
  resource?: Reference;
}

/** Problem is what is answered in place of the rest (RFC 9457). */
export interface Problem {
  /** Status is that of HTTP, Title its text. */
  status: number;
  /** Status is that of HTTP, Title its text. */
  title: string;
  /** Detail says what is wrong and what to do, in a sentence. */
  detail: string;
  /** SignIn is where somebody who is not let in can sign in; empty where they can't. */
  signIn?: string;
}

/** Fleet is the answer to GET /api/v1/fleet: all boxes, and who runs them. */
export interface Fleet {
  /** Manager says whether one is at work. */
  manager: Manager;
  /** Person is as whom is read. */
  person: Person;
  /** Policies says which admission policies are not in force that the manager relies on; absent where all are. */
  policies?: Policies;
  /** Boxes by name. */
  boxes: Box[];
  /** Notes are sentences on what could not be read. */
  notes?: string[];
}

/** Manager is the answer to GET /api/v1/manager: whether one is at work. */
export interface Manager {
  /** State of it. While one is away, nothing is made or corrected, and what is shown may be old. */
  state: ManagerState;
  /** Message says in one or two sentences why none is at work, or why that is not known, or that one has answered which does not lead. */
  message?: string;
}

/** ManagerState says whether a manager is at work. */
export type ManagerState = "running" | "away" | "unknown";

/** Policies are admission policies that are not in force, as the condition PoliciesInstalled of the boxes says it. */
export interface Policies {
  /** Reason and Message of the condition. */
  reason: string;
  /** Reason and Message of the condition. */
  message: string;
  /** Since is from when on that is so. */
  since?: string;
  /** Alert of the chart that speaks of it, with its runbook. */
  alert: Alert;
}

/** Person is as whom is read. */
export interface Person {
  /** Name of the user, as the API server knows it; empty where it does not tell. */
  name?: string;
  /** Groups of the user. */
  groups?: string[];
}

/** Session is the answer to GET /api/v1/session: who asks, and what they can do about that. */
export interface Session {
  /** Person is as whom is read. */
  person: Person;
  /** SignIn is where somebody can sign in who counts as everybody; empty where they can't, or have. */
  signIn?: string;
  /** SignOut is where who has signed in signs out, by a POST; empty where nobody has. */
  signOut?: string;
}

/** State is how something fares, in one word: that of a box is the state of its CRDHealth. */
export type State = "Pending" | "Starting" | "Healthy" | "Degraded" | "Suspended" | "Stopped" | "Deleting" | "Paused" | "RolledBack" | "Failing" | "Waiting" | "Ready" | "Unknown";

/** Box is one line of the fleet. */
export interface Box {
  /** Name of the box. */
  name: string;
  /** CRD is <plural>.<group>; Kind is that of its resources. */
  crd?: string;
  /** CRD is <plural>.<group>; Kind is that of its resources. */
  kind?: string;
  /** Created is when the box was made, StartedAt when it began to run. */
  created: string;
  /** Created is when the box was made, StartedAt when it began to run. */
  startedAt?: string;
  /** State of the box. Degraded and Stopped are trouble. */
  state: State;
  /** Reason and Message say in one line why it is not Healthy, or what there is to know although it is. Both may be absent. */
  reason?: string;
  /** Reason and Message say in one line why it is not Healthy, or what there is to know although it is. Both may be absent. */
  message?: string;
  /** Since is when the condition changed that Reason is of; absent where there is no reason. */
  since?: string;
  /** Resources counts its resources. */
  resources: Counts;
  /** ConsecutiveFailures counts failed reconciles in a row; at FailureThreshold the box is Degraded. */
  consecutiveFailures: number;
  /** ConsecutiveFailures counts failed reconciles in a row; at FailureThreshold the box is Degraded. */
  failureThreshold?: number;
  /** SuccessCount and FailureCount count reconciles since the box was made. */
  successCount: number;
  /** SuccessCount and FailureCount count reconciles since the box was made. */
  failureCount: number;
  /** LastReconcile and LastFailure are the last ones. */
  lastReconcile?: string;
  /** LastReconcile and LastFailure are the last ones. */
  lastFailure?: Failure;
  /** Worst is the resource that has failed most often in a row of those that fail now, with the time since when; absent where none fails. */
  worst?: Failure;
  /** Workers and QueueDepth are those of its sub-controller. */
  workers: number;
  /** Workers and QueueDepth are those of its sub-controller. */
  queueDepth: number;
  /** Revision is the plan that runs. */
  revision?: string;
  /** Suspended says that its spec asks for it. */
  suspended?: boolean;
  /** Hour is how it fared in the last hour; absent where nobody remembers. In the fleet it has only what fails. */
  hour?: Hour;
  /** Alerts are the alerts of the chart that speak of such a box now, with their runbooks. */
  alerts?: Alert[];
}

/** Hour is the last hour of a box, as the manager that leads remembers it: one value for each minute, the oldest first. It is lost when that manager ends. */
export interface Hour {
  /** Since is from when on it remembers. */
  since: string;
  /** From and To are the times of the first and the last value. Those between them stand a minute apart. */
  from: string;
  /** From and To are the times of the first and the last value. Those between them stand a minute apart. */
  to: string;
  /** Total, Ready, Waiting and Failing count the resources, Queue those that waited for a worker, at the end of each minute. */
  total?: number[];
  /** Total, Ready, Waiting and Failing count the resources, Queue those that waited for a worker, at the end of each minute. */
  ready?: number[];
  /** Total, Ready, Waiting and Failing count the resources, Queue those that waited for a worker, at the end of each minute. */
  waiting?: number[];
  /** Total, Ready, Waiting and Failing count the resources, Queue those that waited for a worker, at the end of each minute. */
  failing: number[];
  /** Total, Ready, Waiting and Failing count the resources, Queue those that waited for a worker, at the end of each minute. */
  queue?: number[];
  /** Reconciles and Failures count the reconciles of each minute. */
  reconciles?: number[];
  /** Reconciles and Failures count the reconciles of each minute. */
  failures?: number[];
  /** P95 are the seconds that 95 % of the reconciles of each minute took at most, up to a fifth too long; 0: there was none. */
  p95?: number[];
}

/** Counts counts resources. */
export interface Counts {
  /** Total is all of them. */
  total: number;
  /** Ready have settled. */
  ready: number;
  /** Waiting have something under way, and don't fail. */
  waiting: number;
  /** Failing have failed, or are rolled back. */
  failing: number;
}

/** Failure is a reconcile that failed. */
export interface Failure {
  /** Time of the failure. */
  time: string;
  /** Resource that failed. */
  resource: Reference;
  /** Step of the pipeline, such as validation. */
  step?: string;
  /** Message is the error. */
  message: string;
}

/** Reference names a resource of a box. */
export interface Reference {
  /**  */
  namespace?: string;
  /**  */
  name: string;
}

/** Alert names an alert of the chart, and its runbook. */
export interface Alert {
  /** Name of the alert, such as OrkestraBoxDegraded. */
  name: string;
  /** Runbook is the page that leads on. */
  runbook: string;
}

/** BoxDetail is the answer to GET /api/v1/boxes/{box}. */
export interface BoxDetail extends Box {
  /** Todo says in one or two sentences what to do about Reason; absent where nothing is to be done. */
  todo?: string;
  /** Page is the address of the documentation that says more. */
  page?: string;
  /** Conditions of the box, and of its CRDHealth. */
  conditions: Condition[];
  /** Conditions of the box, and of its CRDHealth. */
  healthConditions: Condition[];
  /** Cycle is what a reconcile goes through, and how each step fared. */
  cycle: Steps;
  /** Failing are the ten worst of the resources that fail. */
  failing: FailingResource[];
  /** Overdue are resources whose reconciles do not end. */
  overdue?: Reference[];
  /** DependsOn are the boxes that this one waits for, Dependents those that wait for it. */
  dependsOn?: Dependency[];
  /** DependsOn are the boxes that this one waits for, Dependents those that wait for it. */
  dependents?: Dependency[];
  /** Rollback says whether resources are rolled back. */
  rollback?: Rollback;
  /** LastKnownGood is the newest revision under which a reconcile has succeeded while the box was healthy. */
  lastKnownGood?: KnownGood;
  /** Autoscale says which limits are replaced now. */
  autoscale?: Autoscale;
  /** ManagedKinds are those of its children, as <apiVersion> <kind>. */
  managedKinds?: string[];
  /** Declarations are what the box declares, in its order. */
  declarations: BoxDeclaration[];
  /** Revisions that are kept, the newest first. */
  revisions: Revision[];
  /** YAML of the box, without managed fields. */
  yaml: string;
  /** Notes are sentences on what could not be read. */
  notes?: string[];
}

/** Condition is one of an object. */
export interface Condition {
  /**  */
  type: string;
  /** Status is True, False or Unknown. */
  status: string;
  /** Status is True, False or Unknown. */
  reason?: string;
  /** Status is True, False or Unknown. */
  message?: string;
  /** Since is when the status changed last. */
  since?: string;
  /** ObservedGeneration is the generation that it speaks of. */
  observedGeneration?: number;
}

/** FailingResource is a resource that fails. */
export interface FailingResource extends Reference {
  /** ConsecutiveFailures counts the failed reconciles in a row. */
  consecutiveFailures: number;
  /** Reason of its condition Stalled, else of Ready; Step of the pipeline, and the error. */
  reason?: string;
  /** Reason of its condition Stalled, else of Ready; Step of the pipeline, and the error. */
  step?: string;
  /** Reason of its condition Stalled, else of Ready; Step of the pipeline, and the error. */
  message: string;
  /** Since is when it first failed. */
  since: string;
}

/** Dependency is one box that waits for another. */
export interface Dependency {
  /** Box is the other one. */
  box: string;
  /** Condition that it must have reached, such as Healthy. */
  condition: string;
  /** Met says whether it has. */
  met: boolean;
}

/** Rollback says whether resources of a box are rolled back. */
export interface Rollback {
  /**  */
  active: boolean;
  /**  */
  count: number;
  /**  */
  since?: string;
  /**  */
  reason?: string;
}

/** KnownGood is a revision that has been healthy. */
export interface KnownGood {
  /**  */
  revision: string;
  /**  */
  time: string;
}

/** Autoscale says which limits of a box are replaced now. */
export interface Autoscale {
  /**  */
  active: boolean;
  /**  */
  since?: string;
  /**  */
  reason: string;
}

/** BoxDeclaration is one declaration of a box. */
export interface BoxDeclaration {
  /** Declaration names it as messages do, such as deployments/web; Path is its place in the box. */
  declaration: string;
  /** Declaration names it as messages do, such as deployments/web; Path is its place in the box. */
  path: string;
  /** Kind of its object. */
  kind: string;
  /** Conditional says that it has a gate; Loop that it is made for each item of a list. */
  conditional?: boolean;
  /** Conditional says that it has a gate; Loop that it is made for each item of a list. */
  loop?: boolean;
}

/** Revision is a spec of the box that is kept. */
export interface Revision {
  /** Name of the revision, Number its place in the order. */
  name: string;
  /** Name of the revision, Number its place in the order. */
  number: number;
  /** Created is when it was kept. */
  created: string;
  /** Current says that it runs. */
  current?: boolean;
  /** Changes are the fields that differ from the revision before it, as lines such as "spec.workers: 3 → 5"; at most 100. */
  changes?: string[];
}
