import type { Tally } from "../api";
import { change } from "../route";
import { useSayOn } from "../live/say";
import { texts } from "../texts";
import { Shape, toneOf } from "../parts/state";
import { Text } from "../parts/text";
import { inTrouble } from "./fleet-order";

interface Props { tallies: Tally[]; trouble: number; total: number; state: string; text: string; shown: number }

/** FleetFilters: the states are counts and filters at once. */
export function FleetFilters({ tallies, trouble, total, state, text, shown }: Props) {
  const t = texts.fleet;
  useSayOn(`${state} ${text}`, t.shown(shown, total));
  return (
    <search class="filters" aria-label={t.filter}>
      <div class="chips" role="group" aria-label={t.states}>
        <button type="button" class="chip" aria-pressed={state === ""} onClick={() => change({ state: "" })}>
          {texts.all} <span class="number">{texts.count(total)}</span>
        </button>
        {(trouble > 0 || state === inTrouble) && (
          <button type="button" class="chip" aria-pressed={state === inTrouble} onClick={() => change({ state: state === inTrouble ? "" : inTrouble })}>
            <Shape tone="bad" /> {t.inTrouble} <span class="number">{texts.count(trouble)}</span>
          </button>
        )}
        {tallies.map((s) => (
          <button type="button" class="chip" key={s.value} aria-pressed={state === s.value} onClick={() => change({ state: state === s.value ? "" : s.value })}>
            <Shape tone={toneOf(s.value)} state={s.value} /> <Text of={s.value} /> <span class="number">{texts.count(s.count)}</span>
          </button>
        ))}
      </div>
      <label class="field">
        <span>{t.search}</span>
        <input type="search" value={text} placeholder={t.searchHint} onInput={(e) => change({ text: e.currentTarget.value }, true)} />
      </label>
      <p class="muted shown">{t.shown(shown, total)}</p>
    </search>
  );
}
