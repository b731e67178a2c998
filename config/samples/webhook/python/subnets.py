"""A webhook for Orkestra: it shares a network among zones. Python's standard library is all that it needs."""

import ipaddress
import json
import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGEST_REQUEST = 16 << 20  # bytes


def share(network, zones):
    """Gives each zone the smallest subnet that holds its hosts, the largest first; None for those that find no place."""
    free = [ipaddress.ip_network(network)]
    given = {}
    for zone in sorted(zones, key=lambda z: (-z["hosts"], z["name"])):
        # Two addresses of a subnet are no hosts: that of the subnet, and that of its broadcast.
        prefix = 32 - max(zone["hosts"] + 1, 3).bit_length()
        fitting = [block for block in free if block.prefixlen <= prefix]
        if not fitting:
            given[zone["name"]] = None
            continue
        block = max(fitting, key=lambda b: (b.prefixlen, -int(b.network_address)))
        subnet = next(block.subnets(new_prefix=prefix))
        free.remove(block)
        free.extend(block.address_exclude(subnet))
        given[zone["name"]] = subnet
    return given


def policy(name, zone, subnet):
    """Lets the addresses of a zone in to the pods that serve it, and nobody else."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": f"{name}-{zone}"},
        "spec": {
            "podSelector": {"matchLabels": {"zone": zone}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"ipBlock": {"cidr": str(subnet)}}]}],
        },
    }


def answer(request):
    """Says for one SubnetPlan which objects there should be, and what its status shows."""
    plan = request["resource"]
    name, spec = plan["metadata"]["name"], plan["spec"]
    given = share(spec["network"], spec["zones"])
    placed = {zone: subnet for zone, subnet in given.items() if subnet is not None}
    missing = sorted(zone for zone, subnet in given.items() if subnet is None)
    children = [{
        "id": "plan",
        "object": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{name}-plan"},
            "data": {zone: str(subnet) for zone, subnet in placed.items()},
        },
    }]
    for zone in sorted(placed):
        children.append({"id": zone, "object": policy(name, zone, placed[zone])})
    return {
        "apiVersion": request["apiVersion"],
        "kind": "HookResponse",
        "uid": request["uid"],
        "children": children,
        "status": {
            "zones": len(placed),
            "free": ipaddress.ip_network(spec["network"]).num_addresses - sum(s.num_addresses for s in placed.values()),
        },
        "conditions": [{
            "type": "Fits",
            "status": "False" if missing else "True",
            "reason": "TooSmall" if missing else "AllPlaced",
            "message": f"no room for {', '.join(missing)}" if missing else "every zone has a subnet",
        }],
    }


class Hook(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self):  # the name is that of http.server
        try:
            size = int(self.headers.get("Content-Length", 0))
            if size > LARGEST_REQUEST:
                raise ValueError("the request is too large")
            status, body = 200, json.dumps(answer(json.loads(self.rfile.read(size))), sort_keys=True).encode()
        except (KeyError, TypeError, ValueError) as problem:
            status, body = 400, json.dumps({"error": str(problem)}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing for each request: what a resource holds is not for the log."""


def main():
    """Serves over TLS, with tls.crt and tls.key of the folder CERTIFICATES, at PORT."""
    folder = os.environ.get("CERTIFICATES", "/certificates")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
    server = ThreadingHTTPServer((os.environ.get("HOST", ""), int(os.environ.get("PORT", "8443"))), Hook)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    print(f"listening at {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
