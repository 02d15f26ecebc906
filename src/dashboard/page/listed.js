// A page that shows the result of one operation, with a button that asks again.
import { placesOf } from './api.js';
import { failure, h, loading } from './dom.js';

/** `show(rows, body)`: rows of all places, each with its `place`; or `whole(result, body)`. `rowsOf(value)`: default the value. */
export function listed({ id, title, operation, about, rowsOf = (value) => value, show, whole, actions = () => [] }) {
  return {
    id,
    title,
    needs: [operation],
    open(root, context) {
      const body = h('div', {}, loading());
      const again = h('button', { type: 'button', text: 'Refresh', on: { click: () => load() } });
      root.append(
        h('p', { class: 'note', text: about }),
        h(
          'p',
          { class: 'buttons' },
          again,
          actions(context, () => load()),
        ),
        body,
      );
      const load = async () => {
        again.disabled = true;
        try {
          const answer = await context.run(operation);
          if (whole) body.replaceChildren(...whole(answer.result, context));
          else {
            const places = placesOf(answer.result);
            const rows = places.flatMap(({ place, value }) =>
              value ? rowsOf(value).map((row) => ({ ...row, place })) : [],
            );
            const failed = places
              .filter((of) => of.failure)
              .map((of) => failure({ message: `${of.place}: ${of.failure}` }));
            body.replaceChildren(...failed, ...show(rows, context, load));
          }
        } catch (error) {
          body.replaceChildren(failure(error));
        } finally {
          again.disabled = false;
        }
      };
      void load();
      return {};
    },
  };
}
