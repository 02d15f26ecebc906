// The shard maps and the moves between shards.
import { bar } from './bars.js';
import { badge, h, liveTable, section } from './dom.js';
import { count } from './format.js';
import { listed } from './listed.js';
import { movesOf } from './moves.js';

export const shards = listed({
  id: 'shards',
  title: 'Shards',
  operation: 'shards list',
  about: 'Which shard has which part of the keys.',
  absent: { 'setting-missing': 'No shard maps: the setting SHARD_MAPS_DATABASE names no database of them.' },
  whole: (maps, context) =>
    maps.length === 0
      ? [h('p', { class: 'empty', text: 'There is no shard map.' })]
      : [...maps.map(map), ...(context.can('shards moves') ? movesOf(maps, context) : [])],
});

function map({ name, kind, keyType, shards: of, pending }) {
  const table = liveTable({
    caption: `Shards of ${name}`,
    empty: 'No shard yet.',
    key: (shard) => shard.id ?? shard.name ?? JSON.stringify(shard.location ?? shard),
    columns: [
      { title: 'Shard', cell: (shard) => shard.database ?? shard.name ?? shard.id },
      {
        title: 'Mappings',
        wide: true,
        cell: ({ online, offline }) =>
          bar({
            segments: [
              { value: online, title: `${count(online)} online` },
              { value: offline, tone: 2, title: `${count(offline)} offline` },
            ],
            most: Math.max(1, ...of.map((shard) => shard.online + shard.offline)),
            label: `${count(online)} mappings online, ${count(offline)} offline`,
          }),
      },
      { title: 'Online', number: true, cell: ({ online }) => count(online) },
      { title: 'Offline', number: true, cell: ({ offline }) => count(offline) },
      { title: 'State', cell: ({ detached }) => (detached ? badge('detached', 'warn') : badge('attached', 'good')) },
    ],
  });
  table.update(of);
  return section(
    `${name} (${kind} map of ${keyType} keys)`,
    table.node,
    pending.length > 0 ? h('p', { class: 'warn', text: `${count(pending.length)} operations are pending.` }) : null,
  );
}
