import { paths, query, route, withQuery } from "../route";
import { texts } from "../texts";

interface Props { offset: number; limit: number; shown: number; matching: number; total: number }

/** Pages are links, so that one can be opened beside another. */
export function Pages({ offset, limit, shown, matching, total }: Props) {
  const t = texts.resources;
  const last = Math.max(0, Math.floor((matching - 1) / limit) * limit);
  const range = shown > 0 ? t.range(offset + 1, offset + shown, matching, total) : t.matching(0, total);
  return (
    <div class="pages">
      <p class="muted">{range}</p>
      {(matching > limit || offset > 0) && (
        <nav aria-label={t.pages}>
          <PageLink label={t.first} to={0} on={offset > 0} />
          <PageLink label={t.previous} to={Math.max(0, Math.min(last, offset - limit))} on={offset > 0} />
          <PageLink label={t.next} to={offset + limit} on={offset < last} />
          <PageLink label={t.last} to={last} on={offset < last} />
        </nav>
      )}
    </div>
  );
}

function PageLink({ label, to, on }: { label: string; to: number; on: boolean }) {
  const at = route.value;
  if (!on || at.page !== "resources") return <span class="page-link off" aria-hidden="true">{label}</span>;
  const values = { ...Object.fromEntries(query.value), offset: to > 0 ? String(to) : "" };
  return <a class="page-link" href={withQuery(paths.resources(at.box), values)}>{label}</a>;
}
