import { useEffect } from "preact/hooks";
import type { Session } from "../api";
import { useAnswer } from "../live/answer";
import { say } from "../live/say";
import { signInAt, signOut } from "../live/session";
import { stream } from "../live/stream";
import { query, route } from "../route";
import { texts } from "../texts";
import { Text } from "./text";

/** Account says who has signed in, and lets them out; who has not, or counts as everybody, may sign in. */
export function Account() {
  const { data, problem, again } = useAnswer<Session>("/session", () => false);
  const { state } = stream.connection.value;
  useEffect(() => {
    if (state === "lost") again(); // the server ends the stream of a session that is over
  }, [state]);
  void [route.value, query.value]; // the sign-in leads back to what is shown
  if (data?.signOut) {
    const path = data.signOut;
    return (
      <p class="account">
        <span class="account-name"><Text of={data.person.name ?? ""} /></span>
        <button type="button" onClick={() => void leave(path)}>{texts.account.signOut}</button>
      </p>
    );
  }
  const signIn = data?.signIn ?? problem?.signIn;
  return signIn === undefined ? null : <p class="account"><a href={signInAt(signIn)}>{texts.account.signIn}</a></p>;
}

/** leave signs out, and loads the page anew, so that nothing stays that was read. */
async function leave(path: string): Promise<void> {
  if (await signOut(path)) location.reload();
  else say(texts.account.failed);
}
