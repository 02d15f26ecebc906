// What tests and the check of the package ask of a page in a browser; needs no test runner.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

export const PAGES = [
  'now',
  'projections',
  'projections/days',
  'dead-letters',
  'feeds',
  'trace',
  'operations',
  'model',
  'data',
];

/** True in a page that has loaded. */
export const LOADED =
  '!!document.querySelector("main h1") && !document.querySelector("main .loading:not([hidden], [hidden] *)") && document.querySelector("#connection").textContent === "Live"';

/** How many pixels of the page lie beyond the screen's right edge. */
export const beyond = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(
    'axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((found) => found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`))',
  );
}
