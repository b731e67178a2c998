import type { BoxDetail } from "../api";
import { minute, useAnswer, type Answer } from "../live/answer";
import { useSay } from "../live/say";
import { paths, withQuery } from "../route";
import { texts } from "../texts";
import { Actions } from "../parts/actions";
import { Answered } from "../parts/answered";
import { Conditions } from "../parts/conditions";
import { Notes } from "../parts/notes";
import { Breadcrumb, Heading, Section } from "../parts/page";
import { Yaml } from "../parts/yaml";
import { BoxMark } from "./box-mark";
import { CycleSteps } from "./box-cycle";
import { Declarations } from "./box-declarations";
import { BoxDependencies } from "./box-dependencies";
import { Overdue } from "./box-lists";
import { BoxFacts } from "./box-facts";
import { FailingResources } from "./box-failing";
import { BoxHeadline } from "./box-headline";
import { LastHour } from "./box-hour";
import { Revisions } from "./box-revisions";
import { BoxRights } from "./box-rights";

export function BoxPage({ box }: { box: string }) {
  const answer: Answer<BoxDetail> = useAnswer<BoxDetail>(paths.box(box), (c) => c.resource === undefined && (!c.box || c.box === box || isNear(c.box)), (b) => b.hour !== undefined ? minute : Infinity);
  const { data } = answer;
  const isNear = (name: string) => [...(data?.dependsOn ?? []), ...(data?.dependents ?? [])].some((d) => d.box === name);
  useSay(data && `${data.name}: ${data.state}`);
  return (
    <>
      <Breadcrumb of={[]} />
      <div class="headline">
        <Heading of={box} />
        {data && <BoxMark of={data} />}
        <a class="onward" href={withQuery(paths.plan(), { box })}>{texts.plan.ofBox}</a>
      </div>
      {data && <Actions path={paths.box(box)} name={box} concerns={(c) => c.resource === undefined && (!c.box || c.box === box)} />}
      <Answered of={answer}>{(found) => <Detail of={found} />}</Answered>
    </>
  );
}

function Detail({ of }: { of: BoxDetail }) {
  const t = texts.box;
  return (
    <>
      <BoxHeadline of={of} />
      <Notes of={of.notes} />
      <div class="columns">
        <div class="main-column">
          {of.hour && <LastHour of={of.hour} />}
          <FailingResources of={of} />
          <Overdue of={of} />
          <CycleSteps of={of} />
          <BoxDependencies of={of} />
          <Section title={t.health} name="health"><Conditions of={of.healthConditions} caption={t.health} said={of.message} /></Section>
          <Section title={t.conditions} name="conditions"><Conditions of={of.conditions} caption={t.conditions} said={of.message} /></Section>
          <Declarations of={of} />
          <BoxRights of={of} />
          <Revisions of={of} />
        </div>
        <div class="side-column">
          <Section title={t.facts} name="facts"><BoxFacts of={of} /></Section>
        </div>
      </div>
      <Yaml of={of.yaml} label={t.yaml} />
    </>
  );
}
