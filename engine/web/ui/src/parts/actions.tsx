import { useSignal } from "@preact/signals";
import type { Action, ActionName, BoxActions, Change } from "../api";
import { useAnswer } from "../live/answer";
import { say } from "../live/say";
import { texts } from "../texts";
import { ActionDialog } from "./action-dialog";
import { Message } from "./text";

interface Props {
  /** path of the object, the same for the page and the API. */
  path: string;
  name: string;
  concerns: (change: Change) => boolean;
}

/** Actions are the buttons for what may be done, and why the rest may not. A server that only reads has none. */
export function Actions({ path, name, concerns }: Props) {
  const { data, again } = useAnswer<BoxActions>(`${path}/actions`, concerns);
  const open = useSignal<ActionName | undefined>(undefined);
  const done = useSignal("");
  const t = texts.actions;
  const refused = data?.actions.filter((a) => !a.may) ?? [];
  const close = (message?: string) => {
    open.value = undefined;
    if (message === undefined) return;
    done.value = message;
    say(message);
    again();
  };
  return (
    <div class="actions" role="group" aria-label={t.group}>
      {data?.actions.filter((a) => a.may).map((a) => (
        <button key={a.name} type="button" onClick={() => (open.value = a.name)}>{t.name[a.name]}</button>
      ))}
      {done.value !== "" && <span class="muted">{done}</span>}
      {refused.length > 0 && <Refused of={refused} />}
      {data && open.value !== undefined && <ActionDialog key={open.value} action={open.value} path={path} name={name} uid={data.uid} close={close} />}
    </div>
  );
}

function Refused({ of }: { of: Action[] }) {
  const t = texts.actions;
  const reasons = [...new Set(of.map((a) => a.why ?? ""))];
  return (
    <details class="refused">
      <summary class="muted">{t.refused}</summary>
      <dl>
        {reasons.map((why) => (
          <div key={why}>
            <dt>{of.filter((a) => (a.why ?? "") === why).map((a) => <span key={a.name}>{t.name[a.name]}</span>)}</dt>
            <dd><Message of={why} upTo={800} /></dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
