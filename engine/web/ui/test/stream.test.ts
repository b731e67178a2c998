import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Change } from "../src/api";
import { Stream, type Source } from "../src/live/stream";

class Fake implements Source {
  onopen: Source["onopen"] = null;
  onerror: Source["onerror"] = null;
  onmessage: Source["onmessage"] = null;
  closed = false;
  beat: () => void = () => undefined;
  addEventListener(_: "beat", listener: () => void): void {
    this.beat = listener;
  }
  close(): void {
    this.closed = true;
  }
  say(data: string): void {
    this.onmessage?.({ data } as MessageEvent);
  }
}

function made() {
  const sources: Fake[] = [];
  const stream = new Stream(() => {
    const source = new Fake();
    sources.push(source);
    return source;
  });
  const heard: (Change | undefined)[] = [];
  stream.listen((c) => heard.push(c));
  return { sources, stream, heard };
}

test("changes are told; what is no change says that anything may have changed", () => {
  const { sources, stream, heard } = made();
  stream.start();
  sources[0]!.onopen?.({} as Event);
  sources[0]!.say('{"box":"a","resource":{"name":"n"}}');
  sources[0]!.say("{");
  sources[0]!.say("null");
  assert.deepEqual(heard, [undefined, { box: "a", resource: { name: "n" } }, undefined, undefined]);
  assert.deepEqual(stream.connection.value, { state: "live" });
});

test("a stream that breaks says since when, tries again ever later, and asks for everything when it is back", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { sources, stream, heard } = made();
    stream.start();
    sources[0]!.onopen?.({} as Event);
    heard.length = 0;
    sources[0]!.onerror?.({} as Event);
    const lost = stream.connection.value;
    assert.equal(lost.state, "lost");
    assert.ok(sources[0]!.closed);
    for (const [pause, n] of [[1000, 2], [2000, 3], [4000, 4], [8000, 5], [15_000, 6], [15_000, 7]] as const) {
      mock.timers.tick(pause - 1);
      assert.equal(sources.length, n - 1);
      mock.timers.tick(1);
      assert.equal(sources.length, n);
      sources[n - 1]!.onerror?.({} as Event);
    }
    assert.equal(stream.connection.value, lost, "the time of the loss stays");
    stream.start();
    sources[7]!.onopen?.({} as Event);
    assert.deepEqual(heard, [undefined]);
    assert.deepEqual(stream.connection.value, { state: "live" });
  } finally {
    mock.timers.reset();
  }
});

test("a stream that is stopped does not try again, and nobody who has left is told", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { sources, stream } = made();
    const told: unknown[] = [];
    const leave = stream.listen((c) => told.push(c));
    leave();
    stream.start();
    sources[0]!.onopen?.({} as Event);
    sources[0]!.onerror?.({} as Event);
    stream.stop();
    mock.timers.tick(60_000);
    assert.equal(sources.length, 1);
    assert.deepEqual(told, []);
  } finally {
    mock.timers.reset();
  }
});

test("a stream that is silent is lost; beats and changes keep it", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { sources, stream, heard } = made();
    stream.start();
    sources[0]!.onopen?.({} as Event);
    heard.length = 0;
    mock.timers.tick(39_000);
    sources[0]!.beat();
    mock.timers.tick(39_000);
    sources[0]!.say('{"box":"a"}');
    mock.timers.tick(39_000);
    assert.deepEqual(stream.connection.value, { state: "live" });
    assert.deepEqual(heard, [{ box: "a" }], "a beat is no change");
    mock.timers.tick(1000);
    assert.equal(stream.connection.value.state, "lost");
    assert.ok(sources[0]!.closed);
    mock.timers.tick(1000);
    assert.equal(sources.length, 2, "it connects anew");
    stream.stop();
  } finally {
    mock.timers.reset();
  }
});
