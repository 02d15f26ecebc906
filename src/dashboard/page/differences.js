// What the sources say beside what a sink has, field by field.
import { failure, h, section } from './dom.js';
import { clip, count, plural } from './format.js';

const MOST_SHOWN = 50;

/** The sections for the result of one place, or for why it failed. */
export function differences({ place, value, failure: why }) {
  if (!value) return [failure({ message: `${place}: ${why}` })];
  const { different, differences: list, documents } = value;
  return [
    section(
      `${place ? `${place}: ` : ''}${plural(different, 'difference')} in ${plural(documents.found, 'sink document')}`,
      different === 0 ? h('p', { class: 'empty', text: 'Every sink document is as its sources say.' }) : null,
      ...list.slice(0, MOST_SHOWN).map(one),
      different > Math.min(list.length, MOST_SHOWN)
        ? h('p', { class: 'note', text: `The first ${count(Math.min(list.length, MOST_SHOWN))} are shown.` })
        : null,
    ),
  ];
}

const KINDS = {
  missing: 'The sources say that this document exists, and the sink does not have it.',
  unexpected: 'The sink has this document, and the sources say that there is none.',
  different: 'The document differs.',
};

function one({ projections, container, document: which, kind, fields, expected, found }) {
  const all = [...new Set([...Object.keys(expected ?? {}), ...Object.keys(found ?? {})])];
  const differ = kind === 'different' ? fields : all;
  const equal = all.filter((field) => !differ.includes(field));
  return h(
    'details',
    { class: 'card', open: true },
    h('summary', {}, h('strong', { text: `${container} ${clip(which, 80)}` }), ` (${projections.join(', ')})`),
    h('p', { text: KINDS[kind] ?? kind }),
    fieldsOf(differ, expected, found),
    equal.length === 0
      ? null
      : h(
          'details',
          {},
          h('summary', { text: `${plural(equal.length, 'field')} ${equal.length === 1 ? 'is' : 'are'} equal` }),
          fieldsOf(equal, expected, found),
        ),
  );
}

/** A row for each field: two values side by side, also where the screen is narrow. */
const fieldsOf = (fields, expected, found) =>
  h(
    'table',
    { class: 'sides' },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col', text: 'As the sources say' }),
        h('th', { scope: 'col', text: 'As it is stored' }),
      ),
    ),
    fields.map((field) =>
      h(
        'tbody',
        {},
        h('tr', {}, h('th', { scope: 'rowgroup', colspan: 2, text: field })),
        h('tr', {}, side(expected, field), side(found, field)),
      ),
    ),
  );

const side = (document, field) =>
  h(
    'td',
    {},
    document && field in document
      ? h('pre', { class: 'json', tabindex: '0', text: JSON.stringify(document[field], null, 2) })
      : h('span', { class: 'note', text: document ? 'no such field' : 'no document' }),
  );
