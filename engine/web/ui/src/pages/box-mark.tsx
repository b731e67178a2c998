import type { Box } from "../api";
import { texts } from "../texts";
import { StateMark } from "../parts/state";
import { failing, shownAs, toneOfBox } from "./fleet-order";

/** BoxMark is the state as which a box is shown. That it is Healthy speaks of the box alone, and not of resources that fail by what they say themselves. */
export function BoxMark({ of }: { of: Box }) {
  return <StateMark of={labelOf(shownAs(of))} tone={toneOfBox(of)} />;
}

/** labelOf is what a state of the fleet is called. */
export const labelOf = (shown: string): string => (shown === failing ? texts.fleet.failsWithin : shown);
