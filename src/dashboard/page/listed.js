// A page, or a section of one, that shows the result of one operation, with a button that asks again.
import { placesOf } from './api.js';
import { failure, h, loading } from './dom.js';

/**
 * `show(rows, context, load)`, which may be async: rows of all places, each with its `place`; or `whole(result, context)`. `absent`: by the code
 * of an error, what to say where the pipeline doesn't have what the page shows. `later`: the word of a button without which
 * nothing is asked, because the answer costs much.
 */
export function listed({ id, title, operation, input = {}, about, show, whole, absent = {}, later }) {
  return {
    id,
    title,
    needs: [operation],
    open(root, context) {
      const body = h('div', {}, later ? null : loading());
      const again = h('button', { type: 'button', text: later ?? 'Refresh', on: { click: () => load() } });
      root.append(h('p', { class: 'note', text: about }), h('p', { class: 'buttons' }, again), body);
      const load = async () => {
        again.disabled = true;
        try {
          const answer = await context.run(operation, input);
          const places = placesOf(answer.result);
          const failed = places.filter((of) => of.failure);
          // What no place has is absent, and no failure.
          if (failed.length > 0 && failed.length === places.length && failed.every(({ code }) => absent[code]))
            throw failed[0];
          const rowsOf = ({ place, value }) => (value ? value.map((row) => ({ ...row, place })) : []);
          body.replaceChildren(
            ...failed.map((of) => failure({ message: `${of.place}: ${of.failure}` })),
            ...(whole ? whole(answer.result, context) : await show(places.flatMap(rowsOf), context, load)),
          );
        } catch (error) {
          const text = absent[error.code];
          body.replaceChildren(text === undefined ? failure(error) : h('p', { class: 'empty', text }));
        } finally {
          again.disabled = false;
        }
      };
      if (!later) void load();
      return {};
    },
  };
}
