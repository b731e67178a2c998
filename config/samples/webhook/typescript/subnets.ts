// A webhook for Orkestra: it shares a network among zones. Node's standard library is all that it needs. Node 23.6 and newer run it as it is; it
// uses no syntax that has to be compiled.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";

type Zone = { name: string; hosts: number };
type Block = { address: number; prefix: number };
type Kube = { apiVersion: string; kind: string; metadata: { name: string }; [field: string]: unknown };

export type HookRequest = {
  apiVersion: string;
  kind: string;
  uid: string;
  phase: string;
  resource: { metadata: { name: string }; spec: { network: string; zones: Zone[] } };
};

export type HookResponse = {
  apiVersion: string;
  kind: "HookResponse";
  uid: string;
  children: { id: string; object: Kube }[];
  status: { zones: number; free: number };
  conditions: { type: string; status: string; reason: string; message: string }[];
};

const largestRequest = 16 << 20; // bytes

const size = (prefix: number): number => 2 ** (32 - prefix);
const text = (b: Block): string => [24, 16, 8, 0].map((shift) => Math.floor(b.address / 2 ** shift) % 256).join(".") + "/" + b.prefix;

function parse(network: string): Block {
  const [address, prefix] = network.split("/");
  const block = { address: address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0), prefix: Number(prefix) };
  if (!(block.prefix >= 0 && block.prefix <= 32) || block.address % size(block.prefix) !== 0 || text(block) !== network) {
    throw new Error(`${network} is no network`);
  }
  return block;
}

// share gives each zone the smallest subnet that holds its hosts, the largest first; undefined for those that find no place.
export function share(network: string, zones: Zone[]): Map<string, Block | undefined> {
  let free = [parse(network)];
  const given = new Map<string, Block | undefined>();
  for (const zone of [...zones].sort((a, b) => b.hosts - a.hosts || (a.name < b.name ? -1 : 1))) {
    // Two addresses of a subnet are no hosts: that of the subnet, and that of its broadcast.
    const prefix = 32 - Math.ceil(Math.log2(Math.max(zone.hosts + 2, 4)));
    const block = free.filter((b) => b.prefix <= prefix).sort((a, b) => b.prefix - a.prefix || a.address - b.address)[0];
    if (block === undefined) {
      given.set(zone.name, undefined);
      continue;
    }
    free = free.filter((b) => b !== block);
    for (let p = prefix; p > block.prefix; p--) {
      free.push({ address: block.address + size(p), prefix: p });
    }
    given.set(zone.name, { address: block.address, prefix });
  }
  return given;
}

// policy lets the addresses of a zone in to the pods that serve it, and nobody else.
const policy = (name: string, zone: string, subnet: Block): Kube => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: `${name}-${zone}` },
  spec: {
    podSelector: { matchLabels: { zone } },
    policyTypes: ["Ingress"],
    ingress: [{ from: [{ ipBlock: { cidr: text(subnet) } }] }],
  },
});

// answer says for one SubnetPlan which objects there should be, and what its status shows.
export function answer(request: HookRequest): HookResponse {
  const { metadata: { name }, spec } = request.resource;
  const given = share(spec.network, spec.zones);
  const placed = [...given].flatMap(([zone, subnet]) => (subnet === undefined ? [] : [{ zone, subnet }])).sort((a, b) => (a.zone < b.zone ? -1 : 1));
  const missing = [...given].filter(([, subnet]) => subnet === undefined).map(([zone]) => zone).sort();
  const data = Object.fromEntries(placed.map(({ zone, subnet }) => [zone, text(subnet)]));
  const used = placed.reduce((sum, { subnet }) => sum + size(subnet.prefix), 0);
  return {
    apiVersion: request.apiVersion,
    kind: "HookResponse",
    uid: request.uid,
    children: [
      { id: "plan", object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${name}-plan` }, data } },
      ...placed.map(({ zone, subnet }) => ({ id: zone, object: policy(name, zone, subnet) })),
    ],
    status: { zones: placed.length, free: size(parse(spec.network).prefix) - used },
    conditions: [
      missing.length > 0
        ? { type: "Fits", status: "False", reason: "TooSmall", message: `no room for ${missing.join(", ")}` }
        : { type: "Fits", status: "True", reason: "AllPlaced", message: "every zone has a subnet" },
    ],
  };
}

// hook answers one request.
async function hook(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  };
  try {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of request) {
      bytes += part.length;
      if (bytes > largestRequest) {
        throw new Error("the request is too large");
      }
      parts.push(part);
    }
    send(200, answer(JSON.parse(Buffer.concat(parts).toString("utf8"))));
  } catch (problem) {
    send(400, { error: String(problem) });
  }
}

// It serves over TLS, with tls.crt and tls.key of the folder CERTIFICATES, at PORT.
if (import.meta.main ?? process.argv[1] === import.meta.filename) {
  const folder = process.env.CERTIFICATES ?? "/certificates";
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  const server = createServer({ cert: read("tls.crt"), key: read("tls.key") }, hook);
  server.listen(Number(process.env.PORT ?? "8443"), process.env.HOST, () => {
    const at = server.address();
    console.log(`listening at ${typeof at === "object" && at !== null ? at.port : at}`);
  });
}
