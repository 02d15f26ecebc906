// A line over the last hour, drawn by uPlot.
import uPlot from './lib/uplot.js';
import { h } from './dom.js';

/** Fewer seconds would make the line jump while the first points come. */
const SHORTEST_S = 120;

const SHORT = { notation: 'compact', maximumSignificantDigits: 3 };

/** A chart. `series`: names. */
export function chart(label, series) {
  let points = [[], ...series.map(() => [])];
  const node = h('div', { class: 'chart', role: 'img', 'aria-label': label });
  // What a canvas takes: the colour itself, and not `light-dark()` of two.
  const color = (name) => {
    node.style.color = `var(${name})`;
    return getComputedStyle(node).color;
  };
  // On a wall its texts grow with the others.
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const height = Math.round(13 * rem);
  let plot;
  const make = () => {
    plot?.destroy();
    const axis = {
      font: `${Math.round(0.75 * rem)}px system-ui, sans-serif`,
      stroke: color('--muted'),
      grid: { stroke: color('--grid'), width: 1 },
      ticks: { stroke: color('--grid'), width: 1 },
    };
    plot = new uPlot(
      {
        width: Math.max(200, node.clientWidth),
        height,
        // The last time of day stands half beyond its line.
        padding: [null, 2.5 * rem, null, null],
        cursor: { drag: { x: false, y: false } },
        // The heading names the line.
        legend: { show: false },
        scales: {
          x: { range: () => span(points[0]) },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 0) * 1.1)] },
        },
        axes: [
          { ...axis, space: 5 * rem, values: (_, seconds) => seconds.map(timeOfDay) },
          {
            ...axis,
            size: 4 * rem,
            // Short, so that a million has room.
            values: (_, values) => values.map((value) => value.toLocaleString('en-US', SHORT)),
          },
        ],
        series: [
          {},
          ...series.map((name, at) => ({
            label: name,
            stroke: color(`--line-${at + 1}`),
            width: 2,
            points: { show: false },
          })),
        ],
      },
      points,
      node,
    );
  };
  const resized = new ResizeObserver(() =>
    plot ? plot.setSize({ width: Math.max(200, node.clientWidth), height }) : make(),
  );
  resized.observe(node);
  document.addEventListener('millrace-theme', make);
  return {
    node,
    update: (now) => plot?.setData((points = now)),
    close: () => {
      resized.disconnect();
      document.removeEventListener('millrace-theme', make);
      plot?.destroy();
    },
  };
}

const timeOfDay = (seconds) => new Date(1000 * seconds).toLocaleTimeString('en-GB');

/** From the first point to the last, and no less than `SHORTEST_S`. uPlot itself gives a single point a span of years. */
function span([first = Date.now() / 1000, ...more]) {
  const last = more.at(-1) ?? first;
  return [Math.min(first, last - SHORTEST_S), last];
}
