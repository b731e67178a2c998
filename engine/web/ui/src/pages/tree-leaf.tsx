import { useSignal } from "@preact/signals";
import type { Declaration, Gate } from "../api";
import { texts } from "../texts";
import { Age } from "../parts/age";
import { StateMark, toneOf } from "../parts/state";
import { Message, Text } from "../parts/text";
import { YamlBody } from "../parts/yaml";
import { GateFacts } from "./resource-cause";
import { causeId } from "./tree-order";

/** Leaf is one declaration with its child, or one item of a loop. What is well takes one line. */
export function Leaf({ of, isCause }: { of: Declaration; isCause: boolean }) {
  const t = texts.resource;
  const open = useSignal(false);
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
        {of.reason && <p><Message of={of.reason} /></p>}
        {of.gate.field && <GateFacts of={of.gate} />}
      </div>
      <div class="foot">
        <GateWord of={of.gate} />
        {of.yaml && (
          <button type="button" class="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
            {t.yamlShort}<span class="unshown"><Text of={t.yamlOf(object || of.kind)} /></span>
          </button>
        )}
      </div>
      {open.value && of.yaml && <div class="yaml"><YamlBody of={of.yaml} /></div>}
    </div>
  );
}

function GateWord({ of }: { of: Gate }) {
  const t = texts.resource;
  if (!of.state) return null;
  const words: Record<string, string> = { open: t.open, closed: t.closed, unknown: t.unknownGate };
  return <span class={of.state === "closed" ? "wait-text" : "muted"}>{words[of.state] ?? <Text of={of.state} />}</span>;
}
