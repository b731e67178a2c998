import { minute, useAnswer } from "../live/answer";
import { useSay } from "../live/say";
import { change, query } from "../route";
import type { Box, Fleet, Policies } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Answered } from "../parts/answered";
import { AlertLink } from "../parts/links";
import { Heading } from "../parts/page";
import { Notes } from "../parts/notes";
import { Note } from "../parts/table";
import { Message, Text } from "../parts/text";
import { isTrouble, matching, sorted, tally, worst } from "./fleet-order";
import { FleetFilters } from "./fleet-filters";
import { FoundResources, searches } from "./fleet-found";
import { FleetTable } from "./fleet-table";

export function FleetPage() {
  const answer = useAnswer<Fleet>("/fleet", (c) => c.resource === undefined, (f) => f.boxes.some((b) => b.hour !== undefined) ? minute : Infinity);
  const { data } = answer;
  const summary = data && summaryOf(data.boxes);
  useSay(data && [data.policies ? `${texts.fleet.policies}. ` : "", summary].join(""));
  return (
    <>
      <div class="headline">
        <Heading of={texts.fleet.heading} />
        <p class="summary">{summary ?? " "}</p>
        {data?.person.name && <p class="person"><Text of={texts.as(data.person.name)} /></p>}
      </div>
      <Answered of={answer}>
        {(fleet) => (
          <>
            {fleet.policies && <PoliciesMissing of={fleet.policies} />}
            <Notes of={fleet.notes} />
            <Boxes of={fleet.boxes} />
          </>
        )}
      </Answered>
    </>
  );
}

function summaryOf(boxes: Box[]): string {
  const bad = boxes.filter(isTrouble).length;
  return bad > 0 ? texts.fleet.trouble(bad, boxes.length) : texts.fleet.allWell(boxes.length);
}

/** PoliciesMissing stands above all boxes, since it concerns each, and since its alert is critical. */
function PoliciesMissing({ of }: { of: Policies }) {
  const t = texts.fleet;
  return (
    <Note tone="bad">
      <div>
        <p><strong>{t.policies}.</strong> <Message of={of.message} />{of.since && <span class="muted"> {texts.since} <Age of={of.since} /></span>}</p>
        <p>{t.policiesTodo} <AlertLink of={of.alert} /></p>
      </div>
    </Note>
  );
}

function Boxes({ of }: { of: Box[] }) {
  const text = query.value.get("text") ?? "";
  if (of.length === 0) return <div class="empty"><p>{texts.fleet.empty}</p><p class="muted">{texts.fleet.emptyTodo}</p></div>;
  const state = query.value.get("state") ?? "";
  const sort = query.value.get("sort") ?? worst;
  const shown = sorted(matching(of, state, text), sort);
  return (
    <>
      <FleetFilters tallies={tally(of)} trouble={of.filter(isTrouble).length} total={of.length} state={state} text={text} shown={shown.length} />
      {shown.length > 0 ? (
        <FleetTable of={shown} sort={sort} onSort={(s) => change({ sort: s === worst ? "" : s })} />
      ) : (
        <div class="empty">
          <p>{texts.fleet.nothing}</p>
          <button type="button" onClick={() => change({ state: "", text: "" })}>{texts.fleet.clear}</button>
        </div>
      )}
      {searches(text) && <FoundResources text={text} />}
    </>
  );
}
