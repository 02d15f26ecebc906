// The model: a drawing of its containers, the findings by severity, each beside its line, and what containers and patterns
// cost.
import { bar, legend } from '../bars.js';
import { badge, failure, h, liveTable, loading, section } from '../dom.js';
import { drawing } from '../drawing.js';
import { clip, count, plural, rate } from '../format.js';

const SEVERITIES = [
  ['error', 'Errors', 'bad', 'error'],
  ['warning', 'Warnings', 'warn', 'warning'],
  ['information', 'Information', '', 'for information'],
];
const MOST_FINDINGS = 300;
const MOST_PATTERNS = 25;
const CODE = 'The model is code: only a data-model document states the rates that costs need.';
const KINDS = ['pattern', 'projection', 'feed'];

export const model = {
  id: 'model',
  title: 'Model',
  needs: ['model check'],
  open(root, context) {
    const part = (title, operation, asked, show) => {
      const body = h('div', {}, loading());
      root.append(section(title, body));
      if (!context.can(operation)) {
        body.replaceChildren(failure({ message: `This dashboard does not offer \`${operation}\`.` }));
        return;
      }
      void asked()
        .then(({ result }) => body.replaceChildren(...show(result)))
        .catch((error) => body.replaceChildren(error.code === 'missing' ? h('p', { text: CODE }) : failure(error)));
    };
    const check = context.run('model check');
    part(
      'Containers and projections',
      'model check',
      () => check,
      ({ graph, findings }) => (graph ? drawn(graph, findings) : [h('p', { text: 'The model could not be read.' })]),
    );
    part('Findings', 'model check', () => check, checked);
    part('Request units', 'model cost', () => context.run('model cost'), costs);
    return {};
  },
};

/** By the name of a container or a projection, what is found of it: { tone, text }. */
function marks(findings, of) {
  const groups = Map.groupBy(
    findings.filter((one) => one[of]),
    (one) => one[of],
  );
  return new Map(
    [...groups].map(([name, own]) => {
      const parts = SEVERITIES.flatMap(([severity, , tone, noun]) => {
        const many = own.filter((one) => one.severity === severity).length;
        return many === 0 ? [] : [{ tone, text: severity === 'information' ? `${many} ${noun}` : plural(many, noun) }];
      });
      return [name, { tone: parts[0].tone, text: parts.map(({ text }) => text).join(', ') }];
    }),
  );
}

function drawn({ title, boxes, lines }, findings) {
  const [ofBoxes, ofLines] = [marks(findings, 'container'), marks(findings, 'projection')];
  const node = drawing({
    name: `Containers and projections of ${title}; the text below says the same`,
    boxes: boxes.map(({ name, key, types, derived, column }) => ({
      key: name,
      column,
      class: `${derived ? 'derived' : ''} ${ofBoxes.has(name) ? `marked ${ofBoxes.get(name).tone}` : ''}`,
      title: ofBoxes.has(name) ? `${name}: ${ofBoxes.get(name).text}` : name,
      texts: [
        { text: name, class: 'name' },
        ...(key === undefined ? [] : [{ text: key, class: 'note' }]),
        ...types.map((text) => ({ text })),
        ...(ofBoxes.has(name)
          ? [{ text: `▲ ${ofBoxes.get(name).text}`, class: `mark ${ofBoxes.get(name).tone}` }]
          : []),
      ],
    })),
    lines: lines.map(({ from, to, name, kind, joined }) => ({
      from,
      to,
      text: joined ? undefined : ofLines.has(name) ? `▲ ${name}` : name,
      tone: ofLines.has(name) ? `mark ${ofLines.get(name).tone}` : '',
      class: joined ? 'joined' : '',
      title: `${name}: ${kind} from ${from} to ${to}${ofLines.has(name) ? `; ${ofLines.get(name).text}` : ''}`,
    })),
  });
  return [
    h('div', { class: 'drawn', tabindex: '0', role: 'group', 'aria-label': 'The drawing' }, node),
    h('p', {
      class: 'note',
      text: `Dashed boxes are derived; a dotted curve is read beside the source.${ofBoxes.size + ofLines.size > 0 ? ' ▲ has findings.' : ''}`,
    }),
    h(
      'details',
      {},
      h('summary', { text: 'As text' }),
      h('ul', { class: 'plain' }, [
        ...lines.map(({ from, to, name, kind }) =>
          h('li', {
            text: `${name} (${kind}): ${from} → ${to}${ofLines.has(name) ? `; ${ofLines.get(name).text}` : ''}`,
          }),
        ),
        ...[...ofBoxes].map(([name, { text }]) => h('li', { text: `${name}: ${text}` })),
      ]),
    ),
  ];
}

function checked({ findings, reading, rules, waived }) {
  const all = [...reading, ...findings];
  const groups = SEVERITIES.map(([severity, title, tone]) => ({
    title,
    tone,
    of: all.filter((one) => one.severity === severity),
  }));
  const summary = groups.map(({ title, of, tone }) =>
    badge(`${title}: ${count(of.length)}`, of.length > 0 ? tone : '').node(),
  );
  return [
    h(
      'p',
      { class: 'buttons' },
      summary,
      h('span', {
        text: `${count(rules)} rules were checked; ${plural(waived.length, 'finding')} ${waived.length === 1 ? 'is' : 'are'} waived.`,
      }),
    ),
    all.length === 0 ? h('p', { class: 'empty', text: 'No finding.' }) : null,
    ...groups
      .filter(({ of }) => of.length > 0)
      .flatMap(({ title, tone, of }) => [
        h('h3', { class: tone, text: title }),
        ...of.slice(0, MOST_FINDINGS).map((one) => finding(one, tone)),
        of.length > MOST_FINDINGS
          ? h('p', { class: 'note', text: `… and ${count(of.length - MOST_FINDINGS)} more.` })
          : null,
      ]),
  ].filter(Boolean);
}

/** The line of the document on the left, what the rule says of it on the right. */
const finding = ({ rule, at, message, evidence, hint, source }, tone) =>
  h(
    'article',
    { class: `card finding ${tone}-edge` },
    h(
      'div',
      {},
      h('p', { class: 'note', text: `${at.file}:${at.line}` }),
      source
        ? h(
            'pre',
            { class: 'json', tabindex: '0' },
            h('span', { class: 'note', text: `${at.line}  ` }),
            clip(source.trim(), 600),
          )
        : null,
    ),
    h(
      'div',
      {},
      h('p', {}, rule ? h('strong', { text: `${rule} ` }) : null, message),
      evidence ? h('p', { class: 'note', text: `Because ${evidence}` }) : null,
      hint ? h('p', { class: 'hint', text: hint }) : null,
    ),
  );

const costOf = ({ perSecond, ru }) => perSecond * ru;

function costs({ containers, patterns }) {
  const most = Math.max(1, ...containers.map(({ peak, provisioned }) => Math.max(peak, provisioned?.max ?? 0)));
  const byContainer = liveTable({
    caption: 'By container, at the peak',
    empty: 'The model has no container.',
    key: ({ name }) => name,
    columns: [
      { title: 'Container', word: true, cell: ({ name }) => name },
      {
        title: 'RU/s of the maximum',
        wide: true,
        cell: ({ name, terms, peak, provisioned }) =>
          bar({
            segments: KINDS.map((kind, at) => ({
              value: terms.filter((term) => term.kind === kind).reduce((all, term) => all + costOf(term), 0),
              tone: at + 1,
              title: terms
                .filter((term) => term.kind === kind)
                .map((term) => `${term.what}: ${rate(costOf(term))} RU/s`)
                .join('\n'),
            })),
            most,
            room: provisioned?.max,
            label: `${name}: ${rate(peak)} RU/s of ${count(provisioned?.max)}`,
          }),
      },
      { title: 'Peak', number: true, cell: ({ peak }) => rate(peak) },
      { title: 'Average', number: true, cell: ({ average }) => rate(average) },
      { title: 'Maximum', number: true, cell: ({ provisioned }) => count(provisioned?.max) },
    ],
  });
  byContainer.update(containers);
  const named = new Map(patterns.map(({ id, printed, description }) => [id, `${printed} ${description}`]));
  const terms = containers
    .flatMap(({ name, terms: of }) => of.map((term) => ({ ...term, container: name })))
    .filter(({ kind }) => kind !== 'feed')
    .toSorted((a, b) => costOf(b) - costOf(a));
  const byPattern = liveTable({
    caption: 'By pattern and projection, at the peak',
    empty: 'The documents name no access pattern with a rate.',
    key: ({ what, container }) => `${what} ${container}`,
    columns: [
      {
        title: 'Pattern',
        cell: ({ kind, what, ids }) => clip((kind === 'pattern' && named.get(ids[0])) || what, 90),
      },
      { title: 'Container', word: true, cell: ({ container }) => container },
      {
        title: 'Beside the largest',
        wide: true,
        cell: (term) =>
          bar({
            segments: [{ value: costOf(term), tone: KINDS.indexOf(term.kind) + 1 }],
            most: costOf(terms[0]),
            label: `${rate(costOf(term))} RU/s`,
          }),
      },
      { title: 'RU/s', number: true, cell: (term) => rate(costOf(term)) },
      { title: 'Is', number: true, cell: ({ perSecond, ru }) => `${rate(perSecond)}/s × ${rate(ru)} RU` },
    ],
  });
  byPattern.update(terms.slice(0, MOST_PATTERNS));
  const left = terms.length - MOST_PATTERNS;
  return [
    byContainer.node,
    legend(['access patterns', 'projections', 'change feed'], 'maximum'),
    byPattern.node,
    left > 0
      ? h('p', { class: 'note', text: `… and ${count(left)} more, each below ${rate(costOf(terms.at(-left)))} RU/s.` })
      : null,
  ].filter(Boolean);
}
