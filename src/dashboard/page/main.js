// The frame around the pages: which one is open, the stream that all of them read, sign-in, theme.
import { run, session, signIn, signOut } from './api.js';
import { agoAgain, failure, h, setText } from './dom.js';
import { History, Speeds } from './figures.js';
import { plural } from './format.js';
import { listen, polls } from './live.js';
import { showRuns } from './runs.js';
import { data } from './pages/data.js';
import { deadLetters } from './pages/dead-letters.js';
import { feeds } from './pages/feeds.js';
import { model } from './pages/model.js';
import { now } from './pages/now.js';
import { operations } from './pages/operations.js';
import { projections } from './pages/projections.js';
import { trace } from './pages/trace.js';

/**
 * In the order in which an operator needs them. A page: { id, title, needs, applies(status),
 * open(root, context) → { status, runs, close } }. One that the pipeline has nothing for isn't there.
 */
const PAGES = [now, projections, deadLetters, feeds, trace, operations, model, data];
const REPEAT_MS = 5_000;

const main = document.getElementById('main');
const connection = document.getElementById('connection');
const what = document.getElementById('what');

/** What every page reads. `can(operation)`: this user may run it. */
const context = {
  run,
  role: 'reader',
  can: () => false,
  status: undefined,
  runs: [],
  speeds: new Speeds(),
  history: new History(),
  points: undefined,
};
/** The codes of errors that signing in again ends. */
const SIGNED_OUT = ['sign-in-missing', 'unauthenticated'];
let open = { id: undefined, page: undefined };
let stop = () => undefined;

function route() {
  const [id = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/');
  const page = PAGES.find((one) => one.id === id) ?? now;
  open.page?.close?.();
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  context.rest = rest.map(decodeURIComponent);
  document.title = `${page.title} – Millrace`;
  const root = h('div', { class: 'page' }, h('h1', { text: page.title }));
  main.replaceChildren(root);
  const lacks = (page.needs ?? []).find((name) => !context.can(name));
  open = { id: page.id, page: undefined };
  showPages();
  if (lacks !== undefined) {
    root.append(failure({ message: `This dashboard does not offer \`${lacks}\`.` }));
    return;
  }
  open.page = page.open(root, context);
  if (context.status) open.page?.status?.(context.status);
  open.page?.runs?.(context.runs);
}

/** The links to the pages that apply. They are made again only where others do. */
function showPages() {
  const shown = PAGES.filter(
    ({ needs = [], applies = () => true }) =>
      needs.every((name) => context.can(name)) && applies(context.status, context),
  );
  const nav = document.getElementById('pages');
  const ids = shown.map(({ id }) => id).join(' ');
  if (nav.dataset.shown !== ids) {
    nav.dataset.shown = ids;
    const links = shown.map(({ id, title }) => h('a', { href: `#/${id}`, data: { page: id }, text: title }));
    nav.replaceChildren(
      h(
        'ul',
        {},
        links.map((link) => h('li', {}, link)),
      ),
    );
  }
  for (const link of nav.querySelectorAll('a')) {
    const isOpen = link.dataset.page === open.id;
    if (isOpen === link.hasAttribute('aria-current')) continue;
    link.toggleAttribute('aria-current', isOpen);
    if (!isOpen) continue;
    link.setAttribute('aria-current', 'page');
    link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }
}

function received({ at, value, error }) {
  if (error) {
    say(
      error.code === 'dashboard-starting' ? 'Starting…' : 'The pipeline can’t be read',
      error.code === 'dashboard-starting' ? '' : 'bad',
    );
    if (!context.status) open.page?.unreadable?.(error);
    return;
  }
  say('Live', 'good');
  setText(what, value?.database ?? (value?.places ? plural(value.places.length, 'place') : ''));
  context.status = value;
  context.at = Date.parse(at);
  context.speeds.add(context.at, value);
  context.points = context.history.add(context.at, value, context.speeds.reading());
  showPages();
  open.page?.status?.(value);
}

function say(text, tone) {
  setText(connection, text);
  connection.className = `state ${tone}`;
  document.body.classList.toggle('stale', tone === 'bad');
}

async function start() {
  stop();
  let mine;
  try {
    mine = await session();
  } catch (error) {
    if (error.code === 'sign-in-missing') return askToken();
    if (error.code === 'unauthenticated') return askEntra(error);
    say('Not connected', 'bad');
    main.replaceChildren(h('div', { class: 'page' }, h('h1', { text: 'Not connected' }), failure(error)));
    setTimeout(() => void start(), 3_000);
    return;
  }
  context.role = mine.role;
  context.can = (name) => mine.operations.includes(name);
  document.getElementById('sign-out').hidden = !mine.signedIn;
  route();
  stop = (mine.pollMs === null ? listen : polls(mine.pollMs))({
    status: received,
    runs: (rows) => {
      context.runs = rows;
      showRuns(rows);
      open.page?.runs?.(rows);
    },
    connection: (state) => {
      if (state === 'lost') {
        say('Disconnected: trying again', 'bad');
        // A session may have ended, which the stream can't say.
        void session().catch((error) => SIGNED_OUT.includes(error.code) && start());
      } else if (state === 'connecting') say('Connecting…', '');
    },
  });
}

function signedOut() {
  say('Signed out', '');
  context.can = () => false;
  document.getElementById('pages').replaceChildren();
  delete document.getElementById('pages').dataset.shown;
  document.getElementById('sign-out').hidden = true;
}

/** App Service signs in, and comes back to this page. */
function askEntra(error) {
  signedOut();
  const back = encodeURIComponent(location.pathname);
  const link = h('a', {
    href: `/.auth/login/aad?post_login_redirect_uri=${back}`,
    text: 'Sign in with Microsoft Entra',
  });
  main.replaceChildren(h('div', { class: 'page' }, h('h1', { text: 'Sign in' }), failure(error), h('p', {}, link)));
}

function askToken() {
  signedOut();
  const token = h('input', { type: 'password', name: 'token', required: true, autocomplete: 'current-password' });
  const said = h('div');
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(token.value);
      setInterval(agoAgain, REPEAT_MS);
      await start();
    } catch (error) {
      said.replaceChildren(failure(error));
    }
  };
  const form = h(
    'form',
    { class: 'sign-in', on: { submit } },
    h('label', {}, 'Token', token),
    said,
    h('button', { class: 'primary', text: 'Sign in' }),
  );
  main.replaceChildren(h('div', { class: 'page' }, h('h1', { text: 'Sign in' }), form));
  token.focus();
}

document.getElementById('sign-out').addEventListener('click', () => {
  void signOut()
    .catch(() => undefined)
    .then(start);
});

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const themeChanged = () => document.dispatchEvent(new Event('millrace-theme'));
document.getElementById('theme').addEventListener('click', () => {
  const { dataset } = document.documentElement;
  dataset.theme = (dataset.theme ?? (systemDark.matches ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
  localStorage.setItem('millrace-theme', dataset.theme);
  themeChanged();
});
systemDark.addEventListener('change', themeChanged);

addEventListener('hashchange', () => {
  route();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});

// The address names the open page, so this link must not change it.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});

// A digit opens a page: 1 the first of them.
addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, select, textarea, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return;
  document.querySelectorAll('#pages a')[Number(event.key) - 1]?.click();
});

setInterval(agoAgain, REPEAT_MS);
await start();
