import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, partsOf, plain, size } from "../src/parts/visible";

const unsafe = [0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x61c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0xfeff, 0xe0041];

test("characters that are not seen, or move others, become marks", () => {
  for (const point of unsafe) {
    const parts = partsOf(`a${String.fromCodePoint(point)}b`, false);
    assert.equal(parts.length, 3, point.toString(16));
    assert.deepEqual([parts[0], parts[2]], [{ text: "a" }, { text: "b" }]);
    assert.match((parts[1] as { mark: string }).mark, /^\\(x[0-9a-f]{2}|u[0-9a-f]{4}|u\{[0-9a-f]+\})$/);
  }
});

test("marks are written as the command line writes them", () => {
  assert.equal(plain("\x1b[31m\u202egnp\u{e0041}"), "\\x1b[31m\\u202egnp\\u{e0041}");
});

test("lines stay lines in a message, and are marked in a name", () => {
  assert.deepEqual(partsOf("a\n\tb", false), [{ text: "a\n\tb" }]);
  assert.equal(plain("a\n\tb"), "a\\n\\tb");
});

test("what people write stays as it is", () => {
  for (const text of ["", "café – 3 → 5", "שלום", "نص", "👩‍🚀 ok", "日本語", "<script>&amp;"]) assert.deepEqual(partsOf(text, true), [{ text }]);
});

test("half a character is marked, and never made", () => {
  assert.equal(plain("a\ud83d"), "a\\ud83d");
  assert.equal(cut("ab👩", 3), "ab");
  assert.equal(cut("ab👩", 4), "ab👩");
});

test("sizes", () => {
  assert.deepEqual([999, 10_000, 1_500_000].map(size), ["999 B", "10 KB", "1.5 MB"]);
});
