import { paths } from "../route";
import { texts } from "../texts";
import { Heading } from "../parts/page";

export function LostPage() {
  return (
    <>
      <div class="headline"><Heading of={texts.lost.heading} /></div>
      <p><a href={paths.fleet()}>{texts.lost.todo}</a></p>
    </>
  );
}
