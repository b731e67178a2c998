import { useEffect } from "preact/hooks";
import { paths, route, type Route } from "./route";
import { said } from "./live/say";
import { texts } from "./texts";
import { BoxPage } from "./pages/box";
import { FleetPage } from "./pages/fleet";
import { LostPage } from "./pages/lost";
import { PlanPage } from "./pages/plan";
import { ReferencePage } from "./pages/reference";
import { ResourcePage } from "./pages/resource";
import { ResourcesPage } from "./pages/resources";
import { Account } from "./parts/account";
import { ConnectionState, ConnectionNote } from "./parts/connection";
import { Failure } from "./parts/failure";
import { ManagerNote } from "./parts/manager";

export function App() {
  const at = route.value;
  useEffect(() => scrollTo(0, 0), [keyOf(at)]);
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>{texts.skip}</a>
      <header class="top">
        <nav aria-label={texts.navigation}>
          <a class="product" href={paths.fleet()} aria-current={at.page === "fleet" ? "page" : undefined}><Logo /><span>{texts.product} <span class="of">{texts.center}</span></span></a>
          <a class="place" href={paths.plan()} aria-current={at.page === "plan" ? "page" : undefined}>{texts.plan.heading}</a>
          <a class="place" href={paths.reference()} aria-current={at.page === "reference" ? "page" : undefined}>{texts.reference.short}</a>
        </nav>
        <div class="top-end"><Account /><ConnectionState /></div>
      </header>
      <main id="content" tabIndex={-1}>
        <ConnectionNote />
        <ManagerNote />
        <Failure key={keyOf(at)}><Page of={at} /></Failure>
      </main>
      <div class="unshown" aria-live="polite">{said}</div>
    </>
  );
}

/** What has another key is another page, and begins anew; filters do not. */
const keyOf = (of: Route) => Object.values(of).join("\n");

function Page({ of }: { of: Route }) {
  switch (of.page) {
    case "fleet": return <FleetPage />;
    case "box": return <BoxPage box={of.box} />;
    case "resources": return <ResourcesPage box={of.box} />;
    case "resource": return <ResourcePage box={of.box} namespace={of.namespace} name={of.name} />;
    case "plan": return <PlanPage />;
    case "reference": return <ReferencePage />;
    case "lost": return <LostPage />;
  }
}

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

/** Three voices of one piece. */
function Logo() {
  return (
    <svg class="logo" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <circle cx="10" cy="10" r="8.2" class="ring" /><path d="M6.5 12.5v-5M10 14.5v-9M13.5 11.5v-3" class="voices" />
    </svg>
  );
}
