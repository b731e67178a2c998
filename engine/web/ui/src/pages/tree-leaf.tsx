import type { Declaration, Gate } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { StateMark, toneOf } from "../parts/state";
import { Message, Text } from "../parts/text";
import { Yaml } from "../parts/yaml";
import { GateFacts } from "./resource-cause";
import { causeId } from "./tree";

/** Leaf is one declaration with its child, or one item of a loop. */
export function Leaf({ of, isCause }: { of: Declaration; isCause: boolean }) {
  const t = texts.resource;
  const object = of.name ? [of.kind, [of.namespace, of.name].filter(Boolean).join("/")].join(" ") : "";
  return (
    <div class={`leaf ${toneOf(of.state)}${isCause ? " is-cause" : ""}`} {...(isCause ? { id: causeId, tabIndex: -1 } : {})}>
      <StateMark of={of.state} />
      <div class="what">
        <p>
          <strong><Text of={of.declaration} /></strong>{" "}
          {object ? <Text of={object} /> : <span class="muted"><Text of={of.kind} />, {t.noChild}</span>}
          {of.created && <span class="muted"> <Age of={of.created} /></span>}
          {isCause && <span class="tag bad">{t.causeMark}</span>}
        </p>
        {of.reason && <p class="reason"><Message of={of.reason} /></p>}
        <GateLine of={of.gate} />
        {of.yaml && <Yaml of={of.yaml} label={t.yamlOf(object || of.kind)} />}
      </div>
    </div>
  );
}

function GateLine({ of }: { of: Gate }) {
  const t = texts.resource;
  if (!of.state) return null;
  const words: Record<string, string> = { open: t.open, closed: t.closed, unknown: t.unknownGate };
  return (
    <div class={`gate-line ${of.state === "open" ? "muted" : ""}`}>
      {words[of.state] ?? <Text of={of.state} />}
      {of.field && <GateFacts of={of} />}
    </div>
  );
}
