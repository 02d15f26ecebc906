// Where documents are: by tenant, in the archive, on shards. What the pipeline doesn't have isn't there.
import { archive } from '../archive.js';
import { placesOf } from '../api.js';
import { failure, h, loading, section } from '../dom.js';
import { shards } from '../shards.js';
import { costliestTenants, tenants } from '../tenants.js';

const values = (status) => placesOf(status).flatMap(({ value }) => value ?? []);
/** A pipeline that declares tenants has queues of them, which may be empty. */
const hasTenants = (status) => values(status).some(({ deferred }) => deferred !== null);
const SECTIONS = [
  [tenants, hasTenants],
  [archive, (status) => values(status).some(({ archives }) => archives.length > 0)],
  [shards, (status) => Array.isArray(status.places)],
];

const shownOf = (status, context) =>
  SECTIONS.filter(([{ needs }, isThere]) => needs.every(context.can) && isThere(status)).map(([of]) => of);

export const data = {
  id: 'data',
  title: 'Data',
  needs: ['status'],
  applies: (status, context) => status !== undefined && shownOf(status, context).length > 0,
  open(root, context) {
    const waiting = h('div', {}, loading());
    root.append(waiting);
    let costliest;
    return {
      status(status) {
        if (!costliest) {
          costliest = costliestTenants();
          const shown = shownOf(status, context);
          const nodes = shown.map((of) => {
            const node = section(of.title, of === tenants ? costliest.node : null);
            of.open(node, context);
            return node;
          });
          const none = h('p', { class: 'empty', text: 'The pipeline has no tenants, no archive and no shards.' });
          waiting.replaceWith(...(nodes.length > 0 ? nodes : [none]));
        }
        costliest.update(status);
      },
      unreadable: (error) => error.code !== 'dashboard-starting' && waiting.replaceChildren(failure(error)),
    };
  },
};
