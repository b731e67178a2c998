import { answers, asked } from "./dom";
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { render } from "preact";
import { minute, useAnswer } from "../src/live/answer";
import { now } from "../src/live/clock";
import { stream } from "../src/live/stream";

const beat = () => (stream as unknown as { beaten: Set<() => void> }).beaten.forEach((listener) => listener());

/** Curves shows an answer that moves also while nothing changes, or one that does not. */
function Curves({ move }: { move: boolean }) {
  const { data } = useAnswer<{ n: number }>("/curves", () => false, () => (move ? minute : Infinity));
  return <p>{data?.n}</p>;
}

/** pass lets so much time go by, and what was to be done in it be done. */
async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= 50) {
    mock.timers.tick(Math.min(left, 50));
    for (let i = 0; i < 5; i++) await new Promise((done) => setImmediate(done));
  }
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"], now: now.value }));

afterEach(() => {
  render(null, document.getElementById("app")!);
  mock.timers.reset();
  answers.clear();
  asked.length = 0;
});

async function show(move: boolean): Promise<void> {
  answers.set("/curves", { body: { n: 1 } });
  document.body.innerHTML = '<div id="app"></div>';
  render(<Curves move={move} />, document.getElementById("app")!);
  await pass(500);
  assert.deepEqual(asked, ["/curves"]);
}

test("an answer with curves is asked for again when it is a minute old, not earlier, and once each minute", async () => {
  await show(true);
  now.value += 59_999;
  beat();
  await pass(500);
  assert.equal(asked.length, 1, "it is no minute old");
  now.value += 1;
  beat();
  await pass(500);
  assert.equal(asked.length, 2, "it is a minute old");
  beat();
  await pass(500);
  assert.equal(asked.length, 2, "it is new");
  now.value += 60_000;
  beat();
  await pass(500);
  assert.equal(asked.length, 3, "it is a minute old again");
});

test("an answer without curves is not asked for again, however old it is", async () => {
  await show(false);
  now.value += 3_600_000;
  beat();
  await pass(500);
  assert.equal(asked.length, 1);
});
