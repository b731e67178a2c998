import { useEffect, useRef } from "preact/hooks";
import type { Manager } from "../api";
import { useAnswer } from "../live/answer";
import { say } from "../live/say";
import { stream } from "../live/stream";
import { texts } from "../texts";
import { Note } from "./table";
import { Message } from "./text";

// A Lease lasts 15 s, and the stream beats every 15 s: so that it is said within a minute.
const lasts = 20_000;

/** ManagerNote says on each page that no manager is at work: what it shows is then as old as that. A manager that goes writes nothing, so that it is asked for twice a minute, too. */
export function ManagerNote() {
  const { data } = useAnswer<Manager>("/manager", (c) => c.resource === undefined, () => lasts);
  useSayAway(data);
  if (!data || (data.state === "running" && !data.message)) return null;
  if (stream.connection.value.state === "lost") return null; // nobody has asked since
  if (data.state !== "away") return <Note tone="off"><p><Message of={data.message ?? texts.manager.unknown} /></p></Note>;
  return (
    <Note tone="bad">
      <div>
        {data.message?.startsWith(texts.manager.away)
          ? <p><strong><Message of={data.message} /></strong></p>
          : <p><strong>{texts.manager.away}.</strong> <Message of={data.message ?? ""} /></p>}
        <p>{texts.manager.todo}</p>
      </div>
    </Note>
  );
}

/** useSayAway tells once when the manager goes, and when one is there again. */
function useSayAway(of: Manager | undefined): void {
  const before = useRef<Manager["state"] | undefined>(undefined);
  useEffect(() => {
    if (of?.state === "away" && before.current !== "away") say(`${texts.manager.away}.`);
    if (of?.state === "running" && before.current === "away") say(texts.manager.again);
    before.current = of?.state;
  }, [of?.state]);
}
