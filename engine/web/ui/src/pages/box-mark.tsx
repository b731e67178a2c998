import type { Box } from "../api";
import { StateMark } from "../parts/state";
import { shownAs, toneOfBox } from "./fleet-order";

/** BoxMark is the state as which a box is shown. That it is Healthy speaks of the box alone, and not of resources that fail by what they say themselves. */
export function BoxMark({ of }: { of: Box }) {
  return <StateMark of={shownAs(of)} tone={toneOfBox(of)} />;
}
