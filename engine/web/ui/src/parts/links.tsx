import type { Alert, Reference } from "../api";
import { paths } from "../route";
import { texts } from "../texts";
import { Text } from "./text";
import { plain } from "./visible";

export const nameOf = (r: Reference) => (r.namespace ? `${r.namespace}/${r.name}` : r.name);

// A name that may be cut off in a table is whole in its title.
const titleOf = (name: string) => (name.length > 60 ? plain(name) : undefined);

export function ResourceLink({ box, of }: { box: string; of: Reference }) {
  return <a href={paths.resource(box, of.namespace, of.name)} title={titleOf(nameOf(of))}><Text of={nameOf(of)} /></a>;
}

export function BoxLink({ of }: { of: string }) {
  return <a href={paths.box(of)} title={titleOf(of)}><Text of={of} /></a>;
}

/** AlertLink leads to a runbook, and nowhere else: an address that is no page of the web is shown as text. */
export function AlertLink({ of }: { of: Alert }) {
  if (!/^https?:\/\//.test(of.runbook)) return <Text of={`${of.name} ${of.runbook}`} />;
  return (
    <a href={of.runbook} target="_blank" rel="noreferrer noopener"><Text of={of.name} /> {texts.box.runbook}<span aria-hidden="true"> ↗</span></a>
  );
}
