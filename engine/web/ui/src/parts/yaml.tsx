import { useSignal } from "@preact/signals";
import { texts } from "../texts";
import { Text } from "./text";
import { cut, size } from "./visible";

const first = 60_000;
const most = 2_000_000;

/** Yaml is an object as text, folded; it is drawn when it is opened. */
export function Yaml({ of, label }: { of: string; label: string }) {
  const open = useSignal(false);
  return (
    <details class="yaml" onToggle={(e) => (open.value = e.currentTarget.open)}>
      <summary>{label} <span class="muted">{size(of.length)}</span></summary>
      {open.value && <YamlBody of={of} />}
    </details>
  );
}

/** YamlBody is the text of an object, for what opens it otherwise. */
export function YamlBody({ of }: { of: string }) {
  const whole = useSignal(of.length <= first);
  return (
    <>
      <Copy of={of} />
      <pre><Text of={cut(of, whole.value ? most : first)} lines /></pre>
      {!whole.value && <button type="button" onClick={() => (whole.value = true)}>{texts.fold.more(size(of.length))}</button>}
      {whole.value && of.length > most && <p><em>{texts.fold.cut(size(of.length - most))}</em></p>}
    </>
  );
}

function Copy({ of }: { of: string }) {
  const said = useSignal("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(of);
      said.value = texts.yaml.copied;
    } catch {
      said.value = texts.yaml.copyFailed;
    }
  };
  return (
    <p class="under">
      <button type="button" onClick={copy}>{texts.yaml.copy}</button>
      <span role="status" class="muted">{said}</span>
    </p>
  );
}
