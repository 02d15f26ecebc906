// The operations that were started from a dashboard: the ones that run are at the foot of every page.
import { h } from './dom.js';
import { clip, count } from './format.js';

const box = document.getElementById('runs');

export function showRuns(rows) {
  const running = rows.filter(({ state }) => state === 'running').slice(0, 3);
  box.replaceChildren(
    ...running.map((row) =>
      h(
        'p',
        {},
        h('strong', { text: row.operation }),
        ` ${clip(row.input, 60)} `,
        h('span', { text: far(row) }),
        bar(row),
      ),
    ),
  );
}

export const far = ({ progress }) =>
  progress
    ? `${progress.what}: ${count(progress.done)}${progress.of === null ? '' : ` of ${count(progress.of)}`}`
    : 'running';

const bar = ({ progress }) =>
  progress?.of ? h('progress', { max: progress.of, value: progress.done, 'aria-label': progress.what }) : null;
