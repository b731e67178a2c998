// Texts of others may hold characters that move, hide or imitate what stands around them. They are cut out here, and drawn as marks.

// They are written as the command line writes them.

/** A part of a text: what may stand as it is, or the code of a character that is drawn as a mark. */
export type Part = { text: string } | { mark: string; code: string };

// Controls but for line break and tab; soft hyphen, bidi controls, separators and what has no width; fillers; tags; halves of surrogates.
// U+200C and U+200D stay: scripts and emoji need them.
const unseen = new RegExp(
  "[\\u0000-\\u0008\\u000B-\\u001F\\u007F-\\u009F\\u00AD\\u034F\\u061C\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u200B\\u200E\\u200F" +
    "\\u2028-\\u202E\\u2060-\\u206F\\u3164\\uFEFF\\uFFA0\\uFFF9-\\uFFFB\\uE000-\\uF8FF\\u{E0000}-\\u{E0FFF}]|\\p{Surrogate}",
  "gu",
);
const breaks = /[\n\t]/gu;

export function partsOf(text: string, oneLine: boolean): Part[] {
  const out: Part[] = [];
  let from = 0;
  const found = [...text.matchAll(unseen), ...(oneLine ? text.matchAll(breaks) : [])].sort((a, b) => a.index - b.index);
  for (const match of found) {
    if (match.index > from) out.push({ text: text.slice(from, match.index) });
    out.push(markOf(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length || out.length === 0) out.push({ text: text.slice(from) });
  return out;
}

/** plain is the text with marks written out, for titles and options, which hold no elements. */
export function plain(text: string): string {
  return partsOf(text, true).map((p) => ("mark" in p ? p.mark : p.text)).join("");
}

function markOf(character: string): Part {
  const point = character.codePointAt(0) ?? 0;
  const hex = point.toString(16);
  const code = "U+" + hex.toUpperCase().padStart(4, "0");
  if (point === 0x0a) return { mark: "\\n", code };
  if (point === 0x09) return { mark: "\\t", code };
  if (point < 0x100) return { mark: "\\x" + hex.padStart(2, "0"), code };
  return { mark: point > 0xffff ? `\\u{${hex}}` : "\\u" + hex.padStart(4, "0"), code };
}

/** cut gives the first characters of a text, and never half of one. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

export function size(length: number): string {
  if (length < 1000) return `${length} B`;
  if (length < 1_000_000) return `${Math.round(length / 1000)} KB`;
  return `${(length / 1_000_000).toFixed(1)} MB`;
}
