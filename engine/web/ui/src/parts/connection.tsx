import { useEffect, useRef } from "preact/hooks";
import { say } from "../live/say";
import { nobody } from "../live/session";
import { stream } from "../live/stream";
import { texts } from "../texts";
import { Age } from "./age";
import { Shape } from "./state";

/** ConnectionState is one word in the head of each page. */
export function ConnectionState() {
  const { state } = stream.connection.value;
  if (nobody.value) return <p class="connection"><Shape tone="off" /> {texts.connection.nobody}</p>;
  const tone = state === "live" ? "good" : state === "lost" ? "bad" : "wait";
  return <p class="connection"><Shape tone={tone} /> {texts.connection[state]}</p>;
}

/** ConnectionNote says since when there is no connection. It is told once, not each second. */
export function ConnectionNote() {
  const connection = stream.connection.value;
  const lost = useRef(false);
  useEffect(() => {
    if (connection.state === "lost" && !lost.current) say(`${texts.connection.lost}. ${texts.connection.old}`);
    if (connection.state === "live" && lost.current) say(texts.connection.again);
    lost.current = connection.state === "lost";
  }, [connection.state]);
  if (connection.state !== "lost" || nobody.value) return null;
  return (
    <section class="note wait lost-line" aria-label={texts.connection.lost}>
      <Shape tone="wait" />
      <div>
        <p><strong>{texts.connection.lostSince} <Clock of={connection.since} /></strong> (<Age of={connection.since} />).</p>
        <p>{texts.connection.old}</p>
        <p><button type="button" onClick={() => stream.start()}>{texts.connection.tryNow}</button></p>
      </div>
    </section>
  );
}

function Clock({ of }: { of: number }) {
  return <>{new Date(of).toLocaleTimeString("en", { hour12: false })}</>;
}
