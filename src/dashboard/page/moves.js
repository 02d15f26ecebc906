// The moves of shard maps, followed while one is in progress.
import { badge, coded, failure, h, liveTable, loading, when } from './dom.js';
import { clip, count } from './format.js';

const AGAIN_MS = 5_000;
const ENDED = ['done', 'cancelled'];

/** A table of each map. */
export const movesOf = (maps, context) =>
  maps.map(({ name }) => {
    const table = liveTable({
      caption: `Moves of ${name}`,
      empty: 'No move yet.',
      key: ({ id }) => id,
      columns: [
        { title: 'Move', cell: ({ id }) => id },
        { title: 'Keys', word: true, cell: ({ keys }) => clip(keys, 60) },
        { title: 'From', cell: ({ from }) => from },
        { title: 'To', cell: ({ to }) => to },
        { title: 'Step', cell: step },
        { title: 'Since', moment: true, cell: ({ startedAt }) => when(startedAt) },
        { title: 'Late writes', number: true, cell: ({ parked }) => count(parked.length) },
      ],
    });
    const remedies = h('div');
    const body = h('div', {}, loading());
    const load = async () => {
      try {
        const { result, text } = await context.run('shards moves', { map: name });
        table.update(result.toReversed());
        // Behind the table `shards moves` says what to do about a move whose process is silent.
        const lines = result.some(({ silent }) => silent) ? text.split('\n').slice(1 + result.length) : [];
        remedies.replaceChildren(...lines.map((line) => h('p', { class: 'warn' }, coded(line))));
        if (!table.node.isConnected) body.replaceChildren(table.node, remedies);
        if (result.some((move) => !ENDED.includes(move.step))) setTimeout(again, AGAIN_MS);
      } catch (error) {
        body.replaceChildren(failure({ ...error, message: `shards moves ${name}: ${error.message}` }));
      }
    };
    // Ends with the page.
    const again = () => body.isConnected && void load();
    void load();
    return body;
  });

function step({ step: of, range, silent, offline }) {
  const word = range ? `${of}, ${count(range.moved)} of ${count(range.total)} keys` : of;
  if (offline) return badge(`${word}, offline`, 'bad');
  return silent ? badge(`${word}, silent`, 'warn') : badge(word, ENDED.includes(of) ? 'good' : '');
}
