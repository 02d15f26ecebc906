// The frame around the pages: which one is open, the stream that all of them read, sign-in, theme.
import { run, session, signIn, signOut } from './api.js';
import { failure, h, setText } from './dom.js';
import { addPoint, newPoints } from './chart.js';
import { Speeds, lagOf } from './figures.js';
import { plural } from './format.js';
import { listen, polls } from './live.js';
import { showRuns } from './runs.js';
import { archive } from './pages/archive.js';
import { deadLetters } from './pages/dead-letters.js';
import { flow } from './pages/flow.js';
import { leases } from './pages/leases.js';
import { model } from './pages/model.js';
import { now } from './pages/now.js';
import { operations } from './pages/operations.js';
import { projections } from './pages/projections.js';
import { ru } from './pages/ru.js';
import { shards } from './pages/shards.js';
import { tenants } from './pages/tenants.js';
import { trace } from './pages/trace.js';

/** In the order in which an operator needs them. A page: { id, title, needs, open(root, context) → { status, runs, close } }. */
const PAGES = [now, flow, deadLetters, projections, trace, operations, leases, archive, tenants, shards, ru, model];

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
  history: newPoints(2),
};
/** The codes of errors that signing in again ends. */
const SIGNED_OUT = ['sign-in-missing', 'unauthenticated'];
let open = { id: undefined, page: undefined };
let stop = () => undefined;

function route() {
  const [id = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/');
  const page = PAGES.find((one) => one.id === id) ?? now;
  open.page?.close?.();
  context.rest = rest.map(decodeURIComponent);
  document.title = `${page.title} – Millrace`;
  for (const link of document.querySelectorAll('#pages a')) {
    if (link.dataset.page === page.id) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.querySelector('#pages [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  const root = h('div', { class: 'page' }, h('h1', { text: page.title }));
  main.replaceChildren(root);
  const lacks = (page.needs ?? []).find((name) => !context.can(name));
  open = { id: page.id, page: undefined };
  if (lacks !== undefined) {
    root.append(failure({ message: `This dashboard does not offer \`${lacks}\`.` }));
    return;
  }
  open.page = page.open(root, context);
  if (context.status) open.page?.status?.(context.status);
  open.page?.runs?.(context.runs);
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
  addPoint(context.history, Math.round(context.at / 1000), [context.speeds.all(), lagOf(value)?.changes ?? null]);
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
  document.getElementById('pages').replaceChildren(
    h(
      'ul',
      {},
      PAGES.filter(({ needs = [] }) => needs.every((name) => context.can(name))).map(({ id, title }) =>
        h('li', {}, h('a', { href: `#/${id}`, data: { page: id }, text: title })),
      ),
    ),
  );
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
  document.getElementById('pages').replaceChildren();
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

document.getElementById('theme').addEventListener('click', () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem('millrace-theme', root.dataset.theme);
  document.dispatchEvent(new Event('millrace-theme'));
});

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
  location.hash = `#/${PAGES[Number(event.key) - 1].id}`;
});

await start();
