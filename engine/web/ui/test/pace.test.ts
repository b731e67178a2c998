import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Pace } from "../src/live/pace";

const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

function clocked(run: () => Promise<void>) {
  return async () => {
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
    try {
      await run();
    } finally {
      mock.timers.reset();
    }
  };
}

async function pass(milliseconds: number) {
  for (let i = 0; i < milliseconds; i += 10) {
    mock.timers.tick(10);
    await settle();
  }
}

test("what is wanted is done at once, and many wishes become one each 250 ms", clocked(async () => {
  const times: number[] = [];
  const pace = new Pace(async () => void times.push(Date.now() - 1_000_000));
  for (let i = 0; i < 100; i++) {
    pace.want();
    await pass(10);
  }
  await pass(500);
  assert.equal(times.length, 5, String(times));
  assert.ok(times[0]! <= 10);
  for (let i = 1; i < times.length; i++) assert.ok(times[i]! - times[i - 1]! >= 250, String(times));
}));

test("a wish during the task is done after it, and never beside it", clocked(async () => {
  let running = 0;
  let done = 0;
  const pace = new Pace(async () => {
    assert.equal(++running, 1);
    await new Promise((end) => setTimeout(end, 1000));
    running--;
    done++;
  });
  pace.want();
  await pass(100);
  pace.want();
  pace.want();
  await pass(3000);
  assert.equal(done, 2);
}));

test("nothing is done after the end", clocked(async () => {
  let done = 0;
  const pace = new Pace(async () => void done++);
  pace.want();
  pace.end();
  pace.want();
  await pass(1000);
  assert.equal(done, 0);
}));
