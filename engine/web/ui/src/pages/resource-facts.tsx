import type { Resource } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Facts } from "../parts/facts";
import { BoxLink } from "../parts/links";
import { Text } from "../parts/text";

export function ResourceFacts({ of }: { of: Resource }) {
  const f = texts.resource.fact;
  return (
    <Facts
      of={[
        [f.box, <BoxLink of={of.box} />],
        [f.kind, <Text of={`${of.apiVersion} ${of.kind}`} />],
        [f.namespace, of.namespace && <Text of={of.namespace} />],
        [f.created, <Age of={of.created} />],
        [f.since, of.since && <Age of={of.since} />],
        [f.reason, of.reason && <Text of={of.reason} />],
        [f.revision, of.revision && <Text of={of.revision} />],
      ]}
    />
  );
}
