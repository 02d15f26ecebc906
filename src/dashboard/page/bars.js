// Bars inside tables: the eye compares them, and the cell beside has the figure.
import { h, svg } from './dom.js';

/**
 * A cell with a bar. `segments`: { value, tone, title }, `tone` 1 to 3; `most`: the value of a full bar; `room`: a maximum,
 * drawn behind. `label`: what the bar says.
 */
export function bar({ segments, most, room, label }) {
  const share = (value) => `${(most > 0 ? Math.min(100, (100 * value) / most) : 0).toFixed(2)}%`;
  let at = 0;
  const parts = segments
    .filter(({ value }) => value > 0)
    .map(({ value, tone = 1, title }) => {
      const part = { x: share(at), width: share(value), tone, title };
      at += value;
      return part;
    });
  const over = room !== undefined && at > room;
  return {
    sign: JSON.stringify([parts, room, most, label]),
    node: () =>
      svg(
        'svg',
        { class: 'bar-of', role: 'img', 'aria-label': label },
        room === undefined ? null : svg('rect', { class: 'room', x: 0, width: share(room), height: '100%', rx: 2 }),
        parts.map(({ x, width, tone, title }) =>
          svg(
            'rect',
            { class: over ? 'over' : `tone-${tone}`, x, width, y: '15%', height: '70%' },
            title ? svg('title', { text: title }) : null,
          ),
        ),
      ),
  };
}

/** What the tones of a table's bars mean. `names`: of the tones 1 to 3, and at last of the room if there is any. */
export const legend = (names, room) =>
  h(
    'ul',
    { class: 'legend' },
    names.map((name, at) => h('li', {}, swatch(`tone-${at + 1}`), name)),
    room ? h('li', {}, swatch('room'), room) : null,
  );

const swatch = (tone) =>
  svg('svg', { class: 'swatch', 'aria-hidden': 'true' }, svg('rect', { class: tone, width: '100%', height: '100%' }));
