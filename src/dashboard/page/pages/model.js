// The findings about the model and the pipeline, by severity, each beside its line; and what the containers cost.
import { badge, failure, h, liveTable, loading, section } from '../dom.js';
import { count, rate } from '../format.js';

const ORDER = { error: 0, warning: 1, information: 2 };
const TONES = { error: 'bad', warning: 'warn', information: '' };

export const model = {
  id: 'model',
  title: 'Model',
  needs: ['model check'],
  open(root, context) {
    const findings = h('div', {}, loading());
    const cost = h('div', {}, loading());
    root.append(findings, section('Cost', cost));
    void context.run('model check').then(
      ({ result }) => findings.replaceChildren(...checked(result)),
      (error) => findings.replaceChildren(failure(error)),
    );
    if (context.can('model cost'))
      void context.run('model cost').then(
        ({ result }) => cost.replaceChildren(...result.profiles.map(costs)),
        (error) => cost.replaceChildren(failure(error)),
      );
    else cost.replaceChildren(failure({ message: 'This dashboard does not offer `model cost`.' }));
    return {};
  },
};

function checked({ counts, findings, reading, rules }) {
  const all = [...reading, ...findings].toSorted((a, b) => ORDER[a.severity] - ORDER[b.severity]);
  const summary = Object.entries(counts)
    .filter(([, of]) => typeof of === 'number')
    .map(([name, of]) => `${name}: ${count(of)}`)
    .join(', ');
  return [
    h('p', { text: `${count(rules)} rules were checked. ${summary}` }),
    all.length === 0 ? h('p', { class: 'empty', text: 'No finding.' }) : null,
    ...all.slice(0, 300).map(finding),
  ].filter(Boolean);
}

const finding = ({ rule, severity, at, message, hint, source }) =>
  h(
    'article',
    { class: 'card' },
    h(
      'p',
      {},
      badge(severity, TONES[severity]).node(),
      ` ${rule ?? ''} `,
      h('span', { class: 'note', text: `${at.file}:${at.line}` }),
    ),
    h('p', { text: message }),
    source ? h('pre', { class: 'json', tabindex: '0', text: source.trim() }) : null,
    hint ? h('p', { class: 'hint', text: hint }) : null,
  );

function costs({ profile, containers }) {
  const table = liveTable({
    caption: `By the figures of ${profile}`,
    empty: 'The model has no container.',
    key: ({ name }) => name,
    columns: [
      { title: 'Container', cell: ({ name }) => name },
      { title: 'RU/s, average', number: true, cell: ({ average }) => rate(average) },
      { title: 'RU/s, peak', number: true, cell: ({ peak }) => rate(peak) },
      { title: 'Maximum', number: true, cell: ({ provisioned }) => count(provisioned?.max) },
      {
        title: 'Largest patterns',
        cell: ({ terms }) =>
          terms
            .toSorted((a, b) => b.perSecond * b.ru - a.perSecond * a.ru)
            .slice(0, 3)
            .map(({ what, perSecond, ru }) => `${what}: ${rate(perSecond * ru)} RU/s`)
            .join('; '),
      },
    ],
  });
  table.update(containers);
  return table.node;
}
