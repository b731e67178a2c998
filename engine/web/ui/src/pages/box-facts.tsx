import type { BoxDetail } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { Facts } from "../parts/facts";
import { Message, Text } from "../parts/text";

export function BoxFacts({ of }: { of: BoxDetail }) {
  const f = texts.box.fact;
  return (
    <Facts
      of={[
        [f.kind, of.kind && <Text of={of.kind} />],
        [f.crd, of.crd && <Text of={of.crd} />],
        [f.created, <Age of={of.created} />],
        [f.started, of.startedAt && <Age of={of.startedAt} />],
        [f.suspended, of.suspended && texts.box.asked || undefined],
        [f.workers, texts.count(of.workers)],
        [f.queue, texts.count(of.queueDepth)],
        [f.failures, <>{texts.count(of.consecutiveFailures)}{of.failureThreshold ? <span class="muted">, {texts.fleet.limit(of.failureThreshold)}</span> : null}</>],
        [f.success, texts.box.reconciles(of.successCount, of.failureCount)],
        [f.last, of.lastReconcile && <Age of={of.lastReconcile} />],
        [f.lastFailure, of.lastFailure && <Age of={of.lastFailure.time} />],
        [f.revision, of.revision && <Text of={of.revision} />],
        [f.good, of.lastKnownGood && <><Text of={of.lastKnownGood.revision} /> <span class="muted"><Age of={of.lastKnownGood.time} /></span></>],
        [f.rollback, of.rollback?.active ? <RolledBack of={of.rollback} /> : undefined],
        [f.autoscale, of.autoscale && <Limits of={of.autoscale} />],
        [f.kinds, of.managedKinds && of.managedKinds.length > 0 && <Kinds of={of.managedKinds} /> || undefined],
      ]}
    />
  );
}

function RolledBack({ of }: { of: NonNullable<BoxDetail["rollback"]> }) {
  return (
    <>
      {texts.box.rolledBack(of.count)}{" "}
      {of.since && <span class="muted">{texts.since} <Age of={of.since} /></span>} {of.reason && <Message of={of.reason} />}
    </>
  );
}

function Limits({ of }: { of: NonNullable<BoxDetail["autoscale"]> }) {
  return (
    <>
      <Message of={of.active ? texts.box.autoscaled(of.reason) : texts.box.notAutoscaled(of.reason)} />{" "}
      {of.since && <span class="muted">{texts.since} <Age of={of.since} /></span>}
    </>
  );
}

function Kinds({ of }: { of: string[] }) {
  return <ul class="plain">{of.map((k) => <li key={k}><Text of={k} /></li>)}</ul>;
}
