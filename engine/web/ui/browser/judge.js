// What is wrong with a page, as sentences. It is evaluated in the page, after axe-core.
(async () => {
  const said = [];
  const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
  for (const v of violations) said.push(`axe: ${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => `${n.html} ${n.failureSummary}`).join("\n  ")}`);
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) said.push(`the page is ${over} pixels wider than the window`);
  for (const e of document.querySelectorAll("a, button, input, select, summary")) {
    // A click on its label is one on the button of a choice.
    const { height } = (e.closest("label.choice") ?? e).getBoundingClientRect();
    if (e.checkVisibility() && !e.closest("p, li, dd, td, th") && height < 24 && height > 1) said.push(`lower than 24 pixels: ${e.outerHTML.slice(0, 100)}`);
  }
  return said;
})()
