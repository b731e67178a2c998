import type { Ref } from "preact";
import { texts } from "../texts";

interface Props { id: string; label: string; hint?: string; value: string; rows: number; area?: Ref<HTMLTextAreaElement>; onInput: (text: string) => void }

/** Editor takes YAML that somebody writes or pastes. Tab leaves it, as it leaves every field. */
export function Editor({ id, label, hint, value, rows, area, onInput }: Props) {
  const about = hint ? `${id}-hint` : undefined;
  return (
    <div class="editor">
      <label for={id}>{label}</label>
      {hint && <p class="hint" id={about}>{hint}</p>}
      <textarea id={id} {...(area ? { ref: area } : {})} aria-describedby={about} rows={rows} value={value} spellcheck={false} autocomplete="off" autocapitalize="off"
        wrap="off" onInput={(e) => onInput(e.currentTarget.value)} />
    </div>
  );
}

/** showLine puts the focus on a line of a text. */
export function showLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split("\n");
  const at = Math.min(line, lines.length) - 1;
  const from = lines.slice(0, at).reduce((sum, l) => sum + l.length + 1, 0);
  area.focus();
  area.setSelectionRange(from, from + (lines[at]?.length ?? 0));
  area.scrollTop = Math.max(0, (area.scrollHeight / lines.length) * (at - 3));
}

interface LineProps { line: number | undefined; column: number | undefined; onShow: ((line: number) => void) | undefined }

/** Line leads to a line of a text, where there is one. */
export function Line({ line, column, onShow }: LineProps) {
  if (!line) return null;
  const words = texts.plan.line(line, column);
  if (!onShow) return <span class="muted">{words}</span>;
  return <button type="button" class="quiet" title={texts.plan.lineHint} onClick={() => onShow(line)}>{words}</button>;
}
