// What each projection costs: measured by the hosts, beside what the model says.
import { placesOf } from '../api.js';
import { bar } from '../bars.js';
import { costsOf, tenantsOf } from '../figures.js';
import { failure, h, liveTable, loading } from '../dom.js';
import { clip, count, rate } from '../format.js';

export const ru = {
  id: 'ru',
  title: 'RU by projection',
  needs: ['status'],
  open(root, context) {
    const planned = new Map();
    const modelOf = (id) => planned.get(id.split('@')[0])?.ru;
    let shown = [];
    let tenants = [];
    const table = liveTable({
      caption: 'Request units of each projection',
      empty: 'The pipeline declares no projection.',
      key: ({ id }) => id,
      columns: [
        { title: 'Projection', cell: ({ id }) => id },
        {
          title: 'Beside the model',
          wide: true,
          cell: ({ id, ruPerChange }) => {
            const model = modelOf(id);
            return bar({
              segments: [{ value: ruPerChange ?? 0 }],
              most: Math.max(1, ...shown.map((row) => Math.max(row.ruPerChange ?? 0, modelOf(row.id) ?? 0))),
              room: model,
              label: `${id}: ${rate(ruPerChange)} RU a change, by the model ${rate(model)}`,
            });
          },
        },
        { title: 'RU/change, measured', number: true, cell: ({ ruPerChange }) => rate(ruPerChange) },
        { title: 'RU/change, by the model', number: true, cell: ({ id }) => rate(modelOf(id)) },
        { title: 'Changes/s', number: true, cell: ({ id }) => rate(context.speeds.of(id)) },
        {
          title: 'RU/s now',
          number: true,
          cell: ({ id, ruPerChange }) => rate(timesOrNull(context.speeds.of(id), ruPerChange)),
        },
      ],
    });
    const budget = liveTable({
      caption: 'Who spends of RU_BUDGET',
      empty: 'No budget is set, or no host spends from it.',
      key: ({ name }) => name,
      columns: [
        { title: 'Process', cell: ({ name }) => name },
        { title: 'Share', number: true, cell: ({ share }) => `${Math.round(100 * share)} %` },
        { title: 'Live needs', number: true, cell: ({ live }) => `${Math.round(100 * live)} %` },
        { title: 'Bulk work', cell: ({ bulk }) => (bulk ? 'yes' : 'no') },
      ],
    });
    const costly = liveTable({
      caption: 'Tenants that cost the most',
      empty: 'No host names a tenant.',
      key: ({ tenant }) => tenant,
      columns: [
        { title: 'Tenant', cell: ({ tenant }) => clip(tenant, 60) },
        {
          title: 'Beside the costliest',
          wide: true,
          cell: ({ tenant, charge }) =>
            bar({
              segments: [{ value: charge, tone: 3 }],
              most: Math.max(1, ...tenants.map((of) => of.charge)),
              label: `${tenant}: ${count(Math.round(charge))} RU`,
            }),
        },
        { title: 'Changes', number: true, cell: ({ changes }) => count(changes) },
        { title: 'RU', number: true, cell: ({ charge }) => count(Math.round(charge)) },
        { title: 'Dead letters', number: true, cell: ({ deadLetters }) => count(deadLetters) },
      ],
    });
    const waiting = loading();
    const body = h('div', { hidden: true }, table.node, costly.node, budget.node);
    root.append(waiting, body);
    const update = (status) => {
      waiting.hidden = true;
      body.hidden = false;
      const places = placesOf(status);
      const costs = costsOf(status);
      const ids = new Set(places.flatMap(({ value }) => (value?.projections ?? []).map(({ id }) => id)));
      shown = [...ids].map((id) => ({ id, ruPerChange: costs.get(id) ?? null }));
      tenants = tenantsOf(status);
      table.update(shown);
      budget.update(places.flatMap(({ value }) => value?.budget ?? []));
      costly.update(tenants);
    };
    if (context.can('model cost'))
      void (async () => {
        try {
          const { result } = await context.run('model cost');
          for (const of of result.profiles[0]?.projections ?? []) planned.set(of.name.split('@')[0], of);
          if (context.status) update(context.status);
        } catch (error) {
          root.append(failure(error));
        }
      })();
    return { status: update, unreadable: (error) => waiting.replaceWith(failure(error)) };
  },
};

const timesOrNull = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a * b : null);
