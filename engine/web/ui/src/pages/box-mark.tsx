import type { Box } from "../api";
import { texts } from "../texts";
import { StateMark } from "../parts/state";
import { failsWithin, toneOfBox } from "./fleet-order";

/** BoxMark is the state of a box. That it is Healthy speaks of the box alone, and not of resources that fail by what they say themselves. */
export function BoxMark({ of }: { of: Box }) {
  return <StateMark of={of.state} tone={toneOfBox(of)} more={failsWithin(of) ? `, ${texts.fleet.failsWithin}` : undefined} />;
}
