import { ago, time } from './format.js';

// Everything on the page is made here. Texts become text nodes, never markup: a document's id may hold any characters.

/**
 * An element. `props`: `class`, `text`, `on` ({ click: … }), `data` ({ name: … }), and attributes; false and undefined
 * leave an attribute out. Children are nodes or texts.
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An element of SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill(node, { class: names, text, on = {}, data = {}, ...attributes }, children) {
  if (names) node.setAttribute('class', names);
  if (text !== undefined) node.textContent = text;
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  for (const [name, value] of Object.entries(data)) node.dataset[name] = value;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    // A link leads to a page of the dashboard; a document can't bring one that runs code.
    if ((name === 'href' || name === 'src') && !/^(#|\/(?!\/))/.test(value)) throw new Error(`No link to ${value}`);
    node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** For who works by keyboard: where what had the focus is gone, the next Tab goes on in the page and not at its head. */
export const focusPage = () => document.querySelector('#main')?.focus({ preventScroll: true });

/** Replaces what a node holds. The focus stays on the button or link of the same name, if there is one. */
export function replaceKeepingFocus(node, children) {
  const focused = document.activeElement;
  const within = node.contains(focused);
  node.replaceChildren(...children);
  if (!within) return;
  const same = [...node.querySelectorAll('a, button')].find((one) => one.textContent === focused.textContent);
  if (same) same.focus({ preventScroll: true });
  else focusPage();
}

/** Sets a text only where it changed, so that a screen reader and a selection aren't disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * A table that keeps its rows while it is live: a row is known by `key`, a cell is written only where it changed.
 * `columns`: { title, number, wide, word, moment, cell(row) → text or { sign, node } }; a node is made again only if its `sign` changed.
 */
export function liveTable({ caption, columns, key, empty }) {
  const body = h('tbody');
  const head = columns.map((column) => h('th', { scope: 'col', class: classOf(column) }, column.title));
  const table = h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, head)), body);
  const nothing = h('p', { class: 'empty' }, h('strong', { text: caption }), ` ${empty}`);
  const node = h('div', { class: 'table' }, table, nothing);
  const rows = new Map();
  const update = (values) => {
    const seen = new Set();
    values.forEach((value, at) => {
      const name = key(value);
      if (seen.has(name)) return;
      seen.add(name);
      let row = rows.get(name);
      if (!row) rows.set(name, (row = newRow(columns)));
      columns.forEach((column, index) => writeCell(row.cells[index], column.cell(value)));
      if (body.children[at] !== row.node) body.insertBefore(row.node, body.children[at] ?? null);
    });
    for (const [name, row] of rows) {
      if (seen.has(name)) continue;
      row.node.remove();
      rows.delete(name);
    }
    nothing.hidden = values.length > 0;
    table.hidden = values.length === 0;
  };
  update([]);
  return { node, update };
}

const classOf = (column) => ['number', 'wide', 'word', 'moment'].find((name) => column[name]) ?? '';

function newRow(columns) {
  const cells = columns.map((column) => ({
    node: h('td', { class: classOf(column), data: { label: column.title } }),
    sign: undefined,
  }));
  return { node: h('tr', {}, ...cells.map(({ node }) => node)), cells };
}

function writeCell(cell, content) {
  const made = typeof content === 'object' && content !== null;
  const sign = made ? `node ${content.sign}` : `text ${content ?? ''}`;
  if (cell.sign === sign) return;
  cell.sign = sign;
  if (made) cell.node.replaceChildren(content.node());
  else cell.node.textContent = String(content ?? '');
}

/** `Container/type`, which breaks behind its slash where a column is narrow. */
const breaking = (text) => text.split('/').flatMap((part, at) => (at === 0 ? [part] : ['/', h('wbr'), part]));
export const slashed = (text) => ({ sign: text, node: () => h('span', {}, ...breaking(text)) });

/** What is named is a link to where it is shown. */
export const link = (href, text) => ({ sign: `${href} ${text}`, node: () => h('a', { href }, ...breaking(text)) });
const path = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;
export const toProjection = (id, text = id) => link(path('projections', id.split('@')[0]), text);
export const toFeed = (container, text = container) => link(path('feeds', container), text);
export const toDocument = ({ container, key, id, place }, text = `${container}/${id}`) =>
  link(path('trace', container, JSON.stringify(key), id, ...(place ? [place] : [])), text);

/** A time as how long ago it was; its title has the exact one. `agoAgain` keeps it true. */
export const when = (iso) =>
  typeof iso === 'string'
    ? { sign: iso, node: () => h('time', { datetime: iso, title: time(iso), text: ago(iso) }) }
    : '–';
export function agoAgain() {
  for (const node of document.querySelectorAll('main time')) setText(node, ago(node.dateTime));
}

/** A word with a colour. The word alone says what the colour says. */
export const badge = (word, tone = '') => ({
  sign: `${tone} ${word}`,
  node: () => h('span', { class: `badge ${tone}`, text: word }),
});

/** A figure with its name, for the top of a page, and where more of it stands. */
export function figure(name, href) {
  const value = h('dd', { text: '–' });
  const note = h('dd', { class: 'note', text: ' ' });
  return {
    node: h('div', { class: 'figure' }, h('dt', {}, href ? h('a', { href, text: name }) : name), value, note),
    set: (text, more = ' ', tone = '') => {
      setText(value, text);
      setText(note, more);
      value.className = tone;
    },
  };
}

export const section = (title, ...children) => h('section', {}, h('h2', { text: title }), ...children);

/** A value as indented JSON. */
export const json = (value) => h('pre', { class: 'json', tabindex: '0', text: JSON.stringify(value, null, 2) ?? '' });

/** What a page shows while it loads, and when it can't. */
export const loading = () => h('p', { class: 'empty loading', role: 'status', text: 'Loading…' });
export const failure = ({ message, hint }) =>
  h(
    'div',
    { class: 'failure', role: 'alert' },
    h('p', { text: message }),
    hint ? h('p', { class: 'hint' }, coded(hint)) : null,
  );

/** A text whose commands and names stand between backticks. */
export const coded = (text) => text.split('`').map((part, at) => (at % 2 === 0 ? part : h('code', { text: part })));
