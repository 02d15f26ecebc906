// The versions of a projection over time: when each was built, was current and was kept. The view stores the last of it; the
// audit has what was before.
import { h, liveTable, section, svg, when } from './dom.js';
import { duration, time } from './format.js';

/** In pixels at the usual size of a text: on a wall both are larger. */
const BAR = 22;
const ROW = 50;
const rem = (px) => `${px / 16}rem`;

/** `of`: the result of `projections show`. `records`: of `audit`. */
export function timeline(of, records, now) {
  const own = records.filter(({ arguments: given }) => String(given?.name ?? '').split('@')[0] === of.name);
  const spans = spansOf(of, own.toReversed(), now);
  if (spans.length === 0) return [];
  const table = liveTable({
    caption: 'What was done to it',
    empty: 'The audit has no change of it.',
    key: ({ id }) => id,
    columns: [
      { title: 'At', moment: true, cell: ({ at }) => when(at) },
      { title: 'What', cell: ({ verb, arguments: given }) => `${verb} ${given.name}${given.back ? ', back' : ''}` },
      { title: 'Who', cell: ({ actor }) => actor },
      { title: 'Why', cell: ({ arguments: given }) => given.reason || '–' },
      {
        title: 'Outcome',
        cell: ({ outcome, result }) => (outcome === 'failed' ? `failed: ${result?.message}` : outcome),
      },
      {
        title: 'Took',
        cell: ({ at, endedAt }) => (endedAt ? duration((Date.parse(endedAt) - Date.parse(at)) / 1000) : '–'),
      },
    ],
  });
  table.update(own);
  return [
    section(
      'Timeline',
      h(
        'div',
        { class: 'drawn', tabindex: '0', role: 'group', 'aria-label': 'The timeline' },
        draw(spans, of.name, now),
      ),
    ),
    table.node,
  ];
}

const versionOf = ({ result, arguments: given }) => {
  const [, version] = String(result?.projection ?? given.name).split('@');
  return version === undefined ? undefined : Number(version);
};

/** `records`: oldest first. Spans: { lane, kind, from, to, open }, times in ms; `open`: it began before what is known. */
export function spansOf({ current, staged, previous, paused }, records, now) {
  const spans = [];
  const at = (iso) => Date.parse(iso);
  let reigning;
  let pausedAt;
  for (const record of records) {
    const ended = record.endedAt ? at(record.endedAt) : undefined;
    const version = versionOf(record);
    if (record.verb === 'projections rebuild' && version !== undefined)
      spans.push({ lane: version, kind: 'building', from: at(record.at), to: ended ?? now });
    else if (record.verb === 'projections promote' && record.outcome === 'done' && version !== undefined) {
      const before = reigning ?? {
        version:
          Number(
            String(record.result?.previous ?? '')
              .split('@')
              .at(-1),
          ) || undefined,
      };
      if (before.version !== undefined)
        spans.push({ lane: before.version, kind: 'current', from: before.since, to: ended });
      reigning = { version, since: ended };
    } else if (record.verb === 'projections pause' && record.outcome === 'done') pausedAt ??= at(record.at);
    else if (record.verb === 'projections resume' && record.outcome === 'done' && pausedAt !== undefined) {
      spans.push({ lane: 'paused', kind: 'paused', from: pausedAt, to: at(record.at) });
      pausedAt = undefined;
    }
  }
  if (previous && reigning === undefined)
    spans.push({ lane: previous.version, kind: 'current', to: at(previous.replacedAt) });
  if (current) {
    const since =
      reigning?.version === current.version ? reigning.since : previous ? at(previous.replacedAt) : undefined;
    spans.push({ lane: current.version, kind: 'current', from: since, to: now });
  }
  if (staged && !spans.some(({ lane, kind, to }) => lane === staged.version && kind === 'building' && to === now))
    spans.push({ lane: staged.version, kind: 'building', from: at(staged.since), to: now });
  if (previous) {
    const until = at(previous.keptUntil ?? previous.readableUntil);
    if (until > at(previous.replacedAt))
      spans.push({ lane: previous.version, kind: 'kept', from: at(previous.replacedAt), to: until });
  }
  if (paused) spans.push({ lane: 'paused', kind: 'paused', from: at(paused.since), to: now });
  return spans;
}

const SAID = { building: 'built', current: 'current', kept: 'kept for readers', paused: 'paused' };

/** Places are parts of the width, so that texts keep their size, and a turned phone needs no new drawing. */
function draw(spans, name, now) {
  const known = spans.flatMap(({ from, to }) => [from, to]).filter((of) => of !== undefined);
  const end = Math.max(now, ...known);
  const begin = Math.min(now - 60_000, ...known);
  // What began before has room to show it.
  const first = begin - (end - begin) * 0.06;
  const x = (ms) => (100 * ((ms ?? first) - first)) / (end - first);
  const lanes = [...new Set(spans.map(({ lane }) => lane))].toSorted((a, b) =>
    String(a).localeCompare(String(b), 'en', { numeric: true }),
  );
  const foot = lanes.length * ROW + 6;
  const laneOf = (lane) => (lane === 'paused' ? 'paused' : `${name}@${lane}`);
  return svg(
    'svg',
    {
      height: rem(foot + 40),
      class: 'timeline',
      role: 'img',
      'aria-label': spans
        .map(
          ({ lane, kind, from, to }) =>
            `${laneOf(lane)} ${SAID[kind]} ${from === undefined ? 'before' : `from ${iso(from)}`} until ${to === now ? 'now' : iso(to)}`,
        )
        .join('; '),
    },
    lanes.map((lane, at) => svg('text', { x: 0, y: rem(at * ROW + 14), text: laneOf(lane) })),
    svg('line', { x1: 0, x2: '100%', y1: rem(foot), y2: rem(foot) }),
    spans.map(({ lane, kind, from, to }) =>
      svg(
        'rect',
        {
          class: kind,
          x: `${x(from)}%`,
          y: rem(lanes.indexOf(lane) * ROW + 22),
          width: `${Math.max(0.5, x(to) - x(from))}%`,
          height: rem(BAR),
          rx: 3,
        },
        svg('title', {
          text: `${laneOf(lane)}: ${SAID[kind]}, ${from === undefined ? 'since before the audit' : iso(from)} to ${to === now ? 'now' : iso(to)}`,
        }),
      ),
    ),
    svg('line', { class: 'now', x1: `${x(now)}%`, x2: `${x(now)}%`, y1: 0, y2: rem(foot) }),
    svg('text', { class: 'tick', x: 0, y: rem(foot + 18), text: iso(begin) }),
    end > now
      ? svg('text', { class: 'tick', x: '100%', y: rem(foot + 18), 'text-anchor': 'end', text: iso(end) })
      : null,
    // In a row of its own, where it meets no other text.
    svg('text', {
      class: 'tick',
      x: `${x(now)}%`,
      y: rem(foot + 34),
      'text-anchor': x(now) > 50 ? 'end' : 'start',
      text: 'now',
    }),
  );
}

const iso = (ms) => time(new Date(ms).toISOString());
