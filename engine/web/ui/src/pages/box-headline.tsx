import type { BoxDetail } from "../api";
import { paths, withQuery } from "../route";
import { texts } from "../texts";
import { Advice } from "../parts/advice";
import { Age } from "../parts/age";
import { CountsBar, waitingOf } from "../parts/counts";
import { AlertLink, ResourceLink } from "../parts/links";
import { Shape, toneOf } from "../parts/state";
import { Message, Text } from "../parts/text";
import { isUncounted, troubleOf, without } from "./fleet-order";

/** BoxHeadline says what is wrong and since when, the worst resource or the one that failed last, and how the resources are. */
export function BoxHeadline({ of }: { of: BoxDetail }) {
  const failing = of.resources.failing > 0;
  const beside = of.state === "Healthy" && (of.message !== undefined || !!of.alerts?.length); // it works, and there is more to know
  const tone = failing ? "bad" : beside ? "wait" : toneOf(of.state);
  const since = sinceOf(of);
  const failure = troubleOf(of);
  return (
    <div class={`verdict ${tone}`}>
      <Shape tone={tone} state={of.state} />
      <div>
        <p class="sentence">
          {of.reason && <strong><Text of={of.reason} />: </strong>}
          <Message of={without(of.message ?? "", failure) || wordsFor(of)} />
          {since && <span class="muted"> {texts.since} <Age of={since} /></span>}
        </p>
        <Advice of={of} />
        {failure && (
          <p>
            {of.worst ? texts.box.worst : texts.box.lastFailure}: <ResourceLink box={of.name} of={failure.resource} />{" "}
            <span class="muted"><Age of={failure.time} />{failure.step && <>, {texts.box.step(failure.step)}</>}</span>{" "}
            <Message of={failure.message} />
          </p>
        )}
        {of.alerts && of.alerts.length > 0 && (
          <p>{texts.box.alerts}: {of.alerts.map((a) => <span key={a.name} class="item"><AlertLink of={a} /></span>)}</p>
        )}
        <Tiles of={of} />
      </div>
    </div>
  );
}

function wordsFor(of: BoxDetail): string {
  if (of.state === "Healthy" && of.resources.failing > 0) return texts.box.wellBut(of.resources.failing, of.resources.total);
  if (of.state === "Healthy") return of.alerts?.length ? texts.box.works : texts.box.well;
  if (of.state === "Suspended") return texts.box.suspended;
  return of.state === "Starting" || of.state === "Pending" ? texts.box.starting : of.state;
}

/** sinceOf is when the condition changed that says how the box is, or when the first of its resources began to fail. */
export function sinceOf(of: BoxDetail): string | undefined {
  if (of.since) return of.since;
  const said = [...of.healthConditions, ...of.conditions];
  const condition = said.find((c) => c.type === of.state && c.status === "True") ?? said.find((c) => c.type === "Healthy") ?? said.find((c) => c.type === "Ready");
  if (condition?.since) return condition.since;
  return of.failing.map((f) => f.since).sort()[0];
}

function Tiles({ of }: { of: BoxDetail }) {
  const r = of.resources;
  if (isUncounted(of)) return <div class="tiles"><p class="muted">{texts.box.uncounted}</p></div>;
  const to = (state: string) => withQuery(paths.resources(of.name), { state });
  return (
    <div class="tiles">
      <p>
        <a href={to("")}>{texts.counts.total(r.total)}</a>
        <a href={to("Ready")}>{texts.counts.settled(r.ready)}</a>
        <a href={to("Waiting")}>{texts.counts.waiting(waitingOf(r))}</a>
        <a href={to("Failing")} class={r.failing > 0 ? "bad-text" : ""}>{texts.counts.failing(r.failing)}</a>
      </p>
      <CountsBar of={r} />
    </div>
  );
}
