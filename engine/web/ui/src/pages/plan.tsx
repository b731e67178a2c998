import { useEffect, useRef } from "preact/hooks";
import { outcome } from "../live/draft";
import { useSayOn } from "../live/say";
import { texts } from "../texts";
import { showLine } from "../parts/editor";
import { Heading, Section } from "../parts/page";
import { PlanForm } from "./plan-form";
import { PlanResults, sentenceOf } from "./plan-results";

/** PlanPage says of boxes that somebody has written what is wrong with them, and what the cluster would get for a resource. */
export function PlanPage() {
  const t = texts.plan;
  const area = useRef<HTMLTextAreaElement>(null);
  const results = useRef<HTMLDivElement>(null);
  const last = outcome.value;
  const first = useRef(last);
  useSayOn(last === undefined ? "" : "done", last && sentenceOf(last));
  useEffect(() => {
    if (last !== undefined && last !== first.current) results.current?.focus({ preventScroll: false });
  }, [last]);
  return (
    <>
      <div class="headline"><Heading of={t.heading} /><span class="summary">{t.lead}</span></div>
      <PlanForm area={area} />
      <div ref={results} tabIndex={-1} class="results">
        {last && <PlanResults of={last} onShow={(line) => area.current && showLine(area.current, line)} />}
      </div>
      <Section title={t.fleet} name="later"><p class="muted">{t.fleetLater}</p></Section>
    </>
  );
}
