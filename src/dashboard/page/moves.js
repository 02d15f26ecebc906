// The moves of shard maps, as `shards moves` prints them.
import { failure, h, loading, section } from './dom.js';

/** A section of each map. */
export const movesOf = (maps, context) =>
  maps.map(({ name }) => {
    const body = h('div', {}, loading());
    void context.run('shards moves', { map: name }).then(
      ({ text }) => body.replaceChildren(h('pre', { class: 'said', tabindex: '0', text: text || 'No move.' })),
      (error) => body.replaceChildren(failure(error)),
    );
    return section(`Moves of ${name}`, body);
  });
