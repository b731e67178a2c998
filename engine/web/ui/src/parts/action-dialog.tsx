import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { ActionName, Done, Order, Problem, Return } from "../api";
import { NoAnswer, post } from "../live/ask";
import { texts } from "../texts";
import { GoBack } from "./go-back";
import { Shape } from "./state";
import { Message, Text } from "./text";

interface Props {
  action: ActionName;
  path: string;
  name: string;
  uid: string;
  /** close ends it, with what was done. */
  close: (message?: string) => void;
}

/** ActionDialog says what will happen, and has it done when that is confirmed. */
export function ActionDialog({ action, path, name, uid, close }: Props) {
  const t = texts.actions;
  const problem = useSignal<Problem | undefined>(undefined);
  const busy = useSignal(false);
  const back = useSignal<Return | undefined>(undefined);
  const ready = action !== "rollback" || (back.value !== undefined && !back.value.why);
  const confirm = async () => {
    busy.value = true;
    problem.value = undefined;
    try {
      const shown = back.value;
      const what: Order = shown ? { uid: shown.uid, revision: shown.revision, generation: shown.generation } : { uid };
      const done = await post<Done>(`${path}/actions/${action}`, what);
      close(done.message);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      problem.value = error.problem;
    } finally {
      busy.value = false;
    }
  };
  return (
    <Modal title={<>{t.confirm[action]}: <Text of={name} /></>} close={() => close()}>
      <p>{t.will[action]}</p>
      {action === "rollback" && <GoBack path={path} shown={back} />}
      {problem.value && (
        <div class="note bad" role="alert">
          <Shape tone="bad" />
          <p><strong>{t.failed}</strong> <Message of={problem.value.detail || problem.value.title} /></p>
        </div>
      )}
      <p class="under buttons">
        <button type="button" class="confirm" disabled={!ready || busy.value} onClick={() => void confirm()}>{t.confirm[action]}</button>
        <button type="button" onClick={() => close()}>{t.cancel}</button>
        <span role="status" class="muted">{busy.value ? t.busy : ""}</span>
      </p>
    </Modal>
  );
}

/** Modal keeps the focus while it is open, closes by Escape, and gives the focus back: the browser does all of that. */
function Modal({ title, close, children }: { title: ComponentChildren; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const from = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    return () => from?.focus();
  }, []);
  return (
    <dialog ref={ref} class="dialog" aria-labelledby="dialog-title" onClose={close}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}
