// What screen readers are told of changes: one sentence at a time, and nothing of what merely counts on.
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";

export const said = signal("");

export function say(sentence: string): void {
  said.value = sentence;
}

/** useSay tells a sentence when it has changed since it was first shown. */
export function useSay(sentence: string | undefined): void {
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (sentence !== undefined && before.current !== undefined && before.current !== sentence) say(sentence);
    if (sentence !== undefined) before.current = sentence;
  }, [sentence]);
}

/** useSayOn tells a sentence when the key has changed since it was first shown, as soon as the sentence is known. */
export function useSayOn(key: string, sentence: string | undefined): void {
  const before = useRef(key);
  useEffect(() => {
    if (sentence === undefined || before.current === key) return;
    before.current = key;
    say(sentence);
  }, [key, sentence]);
}
