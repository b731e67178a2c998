import type { BoxDetail, Dependencies, DependencyEdge } from "../api";
import { useAnswer } from "../live/answer";
import { paths } from "../route";
import { texts } from "../texts";
import { Answered } from "../parts/answered";
import { Graph, type GraphEdge } from "../parts/graph";
import { BoxLink } from "../parts/links";
import { Notes } from "../parts/notes";
import { Section } from "../parts/page";
import { Shape, toneOf, type Tone } from "../parts/state";
import { Text } from "../parts/text";

/** BoxDependencies shows who waits for whom around a box, drawn and in words. It asks only where the box has to do with others. */
export function BoxDependencies({ of }: { of: BoxDetail }) {
  if (!of.dependsOn?.length && !of.dependents?.length) return null;
  return <Section title={texts.box.dependencies} name="dependencies"><Asked box={of.name} /></Section>;
}

function Asked({ box }: { box: string }) {
  const answer = useAnswer<Dependencies>(paths.dependencies(box), (c) => c.resource === undefined);
  return <Answered of={answer}>{(found) => <Drawn of={found} box={box} />}</Answered>;
}

const tones: Record<string, Tone> = { True: "good", False: "wait" };

function Drawn({ of, box }: { of: Dependencies; box: string }) {
  const t = texts.box;
  const to = (e: DependencyEdge) => e.to === box;
  const from = (e: DependencyEdge) => e.from === box;
  return (
    <>
      <Notes of={of.notes} />
      <Graph
        label={t.dependencies}
        nodes={of.nodes.map((n) => ({
          id: n.box, title: n.box, under: n.isBox ? n.state : `${n.state}, ${t.noBox}`, tone: toneOf(n.state), state: n.state, outside: !n.isBox, here: n.box === box,
          ...(n.isBox && n.box !== box ? { to: paths.box(n.box) } : {}),
        }))}
        edges={of.edges.map((e): GraphEdge => ({ from: e.from, to: e.to, weight: e.met === "True" ? "weak" : "strong", ...(e.ring ? { tone: "bad" } : e.met === "False" ? { tone: "wait" } : {}) }))}
      />
      <p class="muted small">{t.leads}{of.more ? ` ${t.moreBoxes(of.more)}` : ""}</p>
      <Edges title={t.dependsOn} of={of.edges.filter(to)} box={box} />
      <Edges title={t.dependents} of={of.edges.filter(from)} box={box} />
      <Edges title={t.furtherAway} of={of.edges.filter((e) => !to(e) && !from(e))} box={box} />
    </>
  );
}

/** Edges says in words what the lines say. */
function Edges({ title, of, box }: { title: string; of: DependencyEdge[]; box: string }) {
  const t = texts.box;
  if (of.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain edges">
        {of.map((e) => (
          <li key={e.from + "\n" + e.to}>
            <Shape tone={e.ring ? "bad" : tones[e.met] ?? "off"} />{" "}
            {e.to !== box && <BoxLink of={e.to} />}{e.to !== box && e.from !== box && <> {t.waitsFor} </>}{e.from !== box && <BoxLink of={e.from} />}{" "}
            <Text of={e.to !== box && e.from === box ? t.conditionHere(e.condition) : t.condition(e.condition)} />{" "}
            <span class={e.met === "True" ? "muted" : "wait-text"}>{e.met === "True" ? t.met : e.met === "False" ? t.unmet : t.unknownMet}</span>
            {e.ring && <span class="tag bad">{t.ring}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
