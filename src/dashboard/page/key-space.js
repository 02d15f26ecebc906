// The ranges of all feeds side by side on the key space, in the colours of their owners.
import { h, svg } from './dom.js';
import { clip } from './format.js';

/** Owners beyond these share their colours; the name stands in the range, and in its title. */
const TONES = 3;
/** Of the key space: in a narrower range no name has room. */
const NARROW = 0.12;

/** `feeds`: { name, rows }, of which a row is { range, token, owner }. */
export function keySpace(feeds) {
  const owners = [...new Set(feeds.flatMap(({ rows }) => rows.map(({ owner }) => owner)).filter(Boolean))].toSorted(
    (a, b) => (a < b ? -1 : 1),
  );
  return h(
    'div',
    { class: 'key-space' },
    feeds.map(({ name, rows }) => [h('p', { class: 'name', text: name }), bandOf(name, rows, owners)]).flat(),
    h('span'),
    h(
      'p',
      { class: 'ends note' },
      h('span', { text: '00' }),
      h('span', { text: 'the key space' }),
      h('span', { text: 'FF' }),
    ),
  );
}

function bandOf(name, rows, owners) {
  const known = rows.flatMap(({ range, token, owner }) => {
    const [min = '', max = ''] = (range ?? '').split('-');
    return range === null ? [] : [{ token, owner, from: fraction(min), to: fraction(max) }];
  });
  const percent = (of) => `${(100 * of).toFixed(2)}%`;
  return svg(
    'svg',
    {
      class: 'keys',
      role: 'img',
      'aria-label': `${name}: ${known.map(({ token, owner }) => `${token} ${owner ?? 'free'}`).join(', ') || 'no range is known'}`,
    },
    known.map(({ token, owner, from, to }) =>
      svg(
        'rect',
        {
          x: percent(from),
          width: percent(to - from),
          height: '100%',
          class: owner === null ? 'free' : `tone-${(owners.indexOf(owner) % TONES) + 1}`,
        },
        svg('title', { text: `${token}: ${owner ?? 'free'}` }),
      ),
    ),
    known
      .filter(({ from, to }) => to - from >= NARROW)
      .map(({ owner, from, to }) =>
        svg('text', {
          x: percent((from + to) / 2),
          y: '50%',
          class: owner === null ? 'free' : 'of-owner',
          text: clip(owner ?? 'free', Math.max(4, Math.round(70 * (to - from)))),
        }),
      ),
  );
}

/** Where a bound, in hexadecimal, lies between 00 and FF. */
const fraction = (bound) => Math.min(1, Number.parseInt(bound.padEnd(8, '0').slice(0, 8), 16) / 0xffffffff) || 0;
