import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { paths } from "../route";
import { texts } from "../texts";
import { Text } from "./text";
import { plain } from "./visible";

/** Heading is the name of the page. It is in the title of the window, and has the focus when the page is shown by a link. */
export function Heading({ of, children }: { of: string; children?: ComponentChildren }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = texts.title(plain(of));
    if (arrived) ref.current?.focus({ preventScroll: true });
    arrived = true;
  }, [of]);
  return <h1 ref={ref} tabIndex={-1}>{children ?? <Text of={of} />}</h1>;
}

// The first page after loading leaves the focus where the browser puts it, so that the skip link comes first.
let arrived = false;

export function Breadcrumb({ of }: { of: { label: string; to: string }[] }) {
  return (
    <nav class="breadcrumb" aria-label={texts.breadcrumb}>
      <ol>
        <li><a href={paths.fleet()}>{texts.fleet.heading}</a></li>
        {of.map((p) => <li key={p.to}><a href={p.to}><Text of={p.label} /></a></li>)}
      </ol>
    </nav>
  );
}

export function Section({ title, hint, name, children }: { title: string; hint?: string | undefined; name: string; children: ComponentChildren }) {
  return (
    <section class={`section ${name}`} aria-labelledby={`h-${name}`}>
      <h2 id={`h-${name}`}>{title}{hint && <span class="hint"> {hint}</span>}</h2>
      {children}
    </section>
  );
}

/** Loading holds its place from the start, and is said only where it lasts. */
export function Loading() {
  return <p class="loading" aria-busy="true">{texts.loading}</p>;
}
