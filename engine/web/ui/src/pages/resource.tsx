import type { Change, Resource } from "../api";
import { useAnswer } from "../live/answer";
import { useSay } from "../live/say";
import { paths, withQuery } from "../route";
import { texts } from "../texts";
import { Actions } from "../parts/actions";
import { Age } from "../parts/age";
import { Answered } from "../parts/answered";
import { Conditions } from "../parts/conditions";
import { nameOf } from "../parts/links";
import { Notes } from "../parts/notes";
import { Breadcrumb, Heading, Section } from "../parts/page";
import { Shape, StateMark, toneOf } from "../parts/state";
import { Message, Text } from "../parts/text";
import { Yaml } from "../parts/yaml";
import { CauseNote } from "./resource-cause";
import { Events } from "./resource-events";
import { ResourceFacts } from "./resource-facts";
import { Timeline } from "./resource-history";
import { SnapshotList } from "./resource-snapshots";
import { Tree } from "./tree";

interface Props { box: string; namespace: string; name: string }

export function ResourcePage({ box, namespace, name }: Props) {
  const concerns = (c: Change) => {
    if (c.box && c.box !== box) return false;
    return !c.resource || (c.resource.name === name && (c.resource.namespace ?? "") === namespace);
  };
  const answer = useAnswer<Resource>(paths.resource(box, namespace, name), concerns);
  const { data } = answer;
  useSay(data && `${data.state}. ${data.headline}`);
  return (
    <>
      <Breadcrumb of={[{ label: box, to: paths.box(box) }, { label: texts.resources.heading, to: paths.resources(box) }]} />
      <div class="headline">
        <Heading of={nameOf({ namespace, name })} />
        {data && <StateMark of={data.state} />}
        <a class="onward" href={withQuery(paths.plan(), { box, namespace, name })}>{texts.plan.ofResource}</a>
        <a href={withQuery(paths.reference(), { box, namespace, name })}>{texts.try.ofResource}</a>
      </div>
      {data && <Actions path={paths.resource(box, namespace, name)} name={nameOf({ namespace, name })} concerns={concerns} />}
      <Answered of={answer}>{(found) => <Detail of={found} />}</Answered>
    </>
  );
}

function Detail({ of }: { of: Resource }) {
  const t = texts.resource;
  const tone = toneOf(of.state);
  return (
    <>
      <div class={`verdict ${tone}`}>
        <Shape tone={tone} state={of.state} />
        <div>
          <p class="sentence"><Message of={of.headline} />{of.since && <span class="muted"> {texts.since} <Age of={of.since} /></span>}</p>
          {of.cause && <CauseNote of={of.cause} state={of.state} />}
        </div>
      </div>
      <Notes of={of.notes} />
      <div class="columns">
        <div class="main-column">
          <Section title={t.tree} name="tree"><Tree of={of.declarations} cause={of.cause} /></Section>
          {of.provided && of.provided.length > 0 && (
            <Section title={t.provided} name="provided"><ul class="plain">{of.provided.map((p) => <li key={p}><Text of={p} /></li>)}</ul></Section>
          )}
          <Section title={t.conditions} name="conditions">
            {of.conditions.length === 0 ? <p class="muted">{t.noConditions}</p> : <Conditions of={of.conditions} caption={t.conditions} />}
          </Section>
          <Timeline of={of.history} />
          {of.snapshots && <SnapshotList of={of.snapshots} />}
          <Events of={of.events} note={of.eventsNote} />
        </div>
        <div class="side-column">
          <Section title={t.facts} name="facts"><ResourceFacts of={of} /></Section>
        </div>
      </div>
      <Yaml of={of.yaml} label={t.yaml} />
    </>
  );
}
