import type { BoxDetail } from "../api";
import { texts } from "../texts";
import { nameOf, ResourceLink } from "../parts/links";
import { Section } from "../parts/page";

export function Overdue({ of }: { of: BoxDetail }) {
  if (!of.overdue || of.overdue.length === 0) return null;
  return (
    <Section title={texts.box.overdue} hint={texts.box.overdueHint} name="overdue">
      <ul class="plain">{of.overdue.map((r) => <li key={nameOf(r)}><ResourceLink box={of.name} of={r} /></li>)}</ul>
    </Section>
  );
}
