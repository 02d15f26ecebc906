// What happens now: whether somebody is needed and for what, how fast it is, how far behind, and how the last comparisons ended.
import { actButton, verifyButton } from '../action.js';
import { placesOf } from '../api.js';
import { chart } from '../chart.js';
import {
  badge,
  failure,
  figure,
  h,
  link,
  liveTable,
  loading,
  section,
  setText,
  toFeed,
  toProjection,
  when,
} from '../dom.js';
import { SILENT_MS, feedsOf, hostsOf, lagOf, sumOf } from '../figures.js';
import { ago, clip, count, duration, lag, plural, rate } from '../format.js';

/** Of documents that differ. */
const MOST_NAMED = 3;

export const now = {
  id: 'now',
  title: 'Now',
  needs: ['status'],
  open(root, context) {
    const figures = {
      speed: figure('Changes/s', '#/projections'),
      lag: figure('Lag', '#/feeds'),
      catchUp: figure('Catching up', '#/feeds'),
      hosts: figure('Hosts', '#/feeds'),
      letters: figure('Dead letters', '#/dead-letters'),
    };
    const speed = chart('Changes a second over the last hour', ['changes/s']);
    const behind = chart('Lag in changes over the last hour', ['changes behind']);
    const needs = liveTable({
      caption: 'What needs you',
      empty: '',
      key: ({ key }) => key,
      columns: [
        { title: 'Where', word: true, cell: ({ where, href }) => link(href, where) },
        { title: 'What', cell: ({ what }) => what },
        { title: 'Since', moment: true, cell: ({ since }) => when(since) },
        { title: 'To do', cell: ({ todo, href }) => remedy(context, todo, href) },
      ],
    });
    const feeds = liveTable({
      caption: 'Feeds',
      empty: 'No lease yet: no host has started.',
      key: ({ name }) => name,
      columns: [
        { title: 'Feed', word: true, cell: ({ name }) => toFeed(name) },
        { title: 'Changes/s', number: true, cell: ({ name }) => rate(context.speeds.reading(name)) },
        { title: 'Lag', cell: (of) => lag(of.lag) },
        { title: 'State', cell: ({ verdict: { word, tone } }) => badge(word, tone) },
      ],
    });
    const compared = liveTable({
      caption: 'Last comparisons',
      empty: 'Nothing was verified yet.',
      key: ({ key }) => key,
      columns: [
        { title: 'Of', cell: ({ of }) => of },
        { title: 'With', word: true, cell: ({ beside }) => beside },
        { title: 'Compared', number: true, cell: (row) => count(row.compared) },
        { title: 'Differences', cell: ({ different }) => badge(count(different), different === 0 ? 'good' : 'bad') },
        { title: 'Ended', moment: true, cell: ({ at }) => when(at) },
        { title: 'The oldest since', moment: true, cell: ({ oldest }) => when(oldest) },
      ],
    });
    const verdict = h('p', { class: 'verdict' });
    const verify = h('p', { class: 'buttons' }, verifyButton(context));
    const body = h(
      'div',
      { hidden: true },
      verdict,
      verify,
      needs.node,
      h(
        'dl',
        { class: 'figures' },
        Object.values(figures).map(({ node }) => node),
      ),
      h('div', { class: 'charts' }, section('Changes/s', speed.node), section('Lag, in changes', behind.node)),
      feeds.node,
      compared.node,
    );
    const waiting = h('div', {}, loading());
    root.append(waiting, body);

    return {
      status(status) {
        waiting.hidden = true;
        body.hidden = false;
        const places = placesOf(status);
        const behindBy = lagOf(status);
        const owners = hostsOf(status);
        const all = feedsOf(status);
        const parked = sumOf(places.flatMap(({ value }) => value?.projections ?? []).map((row) => row.parked)) ?? 0;
        const { word, tone } = togetherOf(all);
        figures.speed.set(rate(context.speeds.reading()), 'of all feeds');
        figures.lag.set(
          behindBy ? count(behindBy.changes) : '–',
          behindBy && behindBy.ageMs !== null ? `changes, the oldest ${duration(behindBy.ageMs / 1000)}` : 'changes',
        );
        figures.catchUp.set(word, 'at the rate of now', tone === 'good' ? '' : tone);
        const free = sumOf(places.map(({ value }) => value?.leases?.free)) ?? 0;
        figures.hosts.set(
          count(owners.length),
          free === 0 ? 'no lease is free' : `${plural(free, 'lease')} free`,
          owners.length === 0 ? 'bad' : '',
        );
        figures.letters.set(count(parked), parked === 0 ? 'none' : 'parked changes', parked === 0 ? '' : 'bad');
        const wrong = [...needsOf(owners, all), ...places.flatMap((place) => needsAt(place, context.at))];
        const said = verdictOf(all, wrong.length, places);
        setText(verdict, said.text);
        verdict.className = `verdict ${said.tone}`;
        verify.hidden = !said.unverified;
        needs.node.hidden = wrong.length === 0;
        needs.update(wrong);
        feeds.update(all);
        compared.update(places.flatMap(comparisonsAt));
        const [times, rates, lags] = context.points;
        speed.update([times, rates]);
        behind.update([times, lags]);
      },
      unreadable: (error) => waiting.replaceChildren(error.code === 'dashboard-starting' ? loading() : failure(error)),
      close: () => (speed.close(), behind.close()),
    };
  },
};

/** The button that opens the dry run of what helps, or what to do where no operation does. */
const remedy = (context, todo, href) => {
  if (typeof todo === 'string') return todo;
  const can = todo && context.can(todo.operation);
  return can
    ? { sign: JSON.stringify([todo.operation, todo.input]), node: () => actButton(context, todo) }
    : link(href, 'See it');
};

/** Of all feeds the one that takes the longest. */
function togetherOf(feeds) {
  const verdicts = feeds.map(({ verdict }) => verdict);
  if (verdicts.length === 0) return { word: '–', tone: '' };
  const worst = (of) => (of.tone === 'bad' ? 2 : of.tone === 'warn' ? 1 : 0);
  return verdicts.reduce((most, one) =>
    worst(one) > worst(most) || (worst(one) === worst(most) && (one.seconds ?? 0) > (most.seconds ?? 0)) ? one : most,
  );
}

/** The first sentence of the page: whether somebody is needed. */
function verdictOf(feeds, wrong, places) {
  if (wrong > 0) return { text: `${plural(wrong, 'thing')} ${wrong === 1 ? 'needs' : 'need'} you`, tone: 'bad' };
  const current = feeds.filter(({ verdict }) => verdict.seconds === 0).length;
  const ended = places.map(({ value }) => value?.verified?.at ?? null);
  const unverified = ended.includes(null);
  const verified = unverified ? 'not verified yet' : `verified ${ago(ended.toSorted()[0])}, no difference`;
  const state = `${current} of ${plural(feeds.length, 'feed')} ${current === 1 ? 'is' : 'are'} current`;
  const all = current === feeds.length;
  return {
    text: `${all ? 'All right' : 'Catching up'}: ${state}, ${verified}`,
    tone: all ? 'good' : 'warn',
    unverified,
  };
}

const needsOf = (owners, feeds) => [
  ...(owners.length > 0
    ? []
    : [{ key: 'hosts', where: 'Hosts', href: '#/feeds', what: 'No host owns a lease.', todo: 'Start millrace run.' }]),
  ...feeds
    .filter(({ verdict }) => verdict.seconds === Infinity)
    .map(({ name }) => ({
      key: `behind ${name}`,
      where: name,
      href: `#/feeds/${encodeURIComponent(name)}`,
      what: 'More changes come in than go out.',
    })),
];

function needsAt({ place, value, failure: why }, seenAt) {
  const at = (where) => (place ? `${place}: ${where}` : where);
  const shard = place ? { shard: place } : {};
  const feed = (container) => `#/feeds/${encodeURIComponent(place ? `${place}/${container}` : container)}`;
  const projection = (name) => `#/projections/${encodeURIComponent(name.split('@')[0])}`;
  if (!value) return [{ key: `${place}`, where: `${place}`, href: '#/feeds', what: why ?? 'it does not answer' }];
  return [
    ...value.unreadable.map(({ kind }) => ({
      key: `${place} format ${kind}`,
      where: at('formats'),
      href: '#/feeds',
      what: `A later version wrote ${kind}; hosts of this version wait.`,
      todo: 'Update the hosts.',
    })),
    ...(value.paused ?? []).map(({ name, by, since, reason }) => ({
      key: `${place} paused ${name}`,
      where: at(name),
      href: projection(name),
      what: `${by} paused it${reason ? `: ${reason}` : '.'}`,
      since,
      todo: place ? undefined : { operation: 'projections resume', input: { name }, confirm: 'Resume', what: name },
    })),
    ...value.projections
      .filter(({ parked }) => parked > 0)
      .map(({ id, parked, parkedSince }) => ({
        key: `${place} parked ${id}`,
        where: at(id),
        href: '#/dead-letters',
        what: `${plural(parked, 'change')} parked.`,
        since: parkedSince,
        todo: {
          operation: 'dead-letters redrive',
          input: { only: id, ...shard },
          confirm: 'Redrive',
          what: `the dead letters of ${at(id)}`,
        },
      })),
    ...[value.verified, value.sampled]
      .filter((of) => of && of.different > 0)
      .map(({ at: since, ...of }) => ({
        key: `${place} verified ${since}`,
        where: at('verification'),
        href: '#/projections',
        what: differing(of, ' left'),
        since,
        todo: {
          operation: 'projections verify',
          input: { repair: true, ...shard },
          confirm: 'Repair',
          what: `what differs${place ? ` in ${place}` : ''}`,
          danger: true,
        },
      })),
    ...(value.against ?? [])
      .filter(({ different }) => different > 0)
      .map(({ against, ...of }) => ({
        key: `${place} ${against.projection} against ${against.of}`,
        where: at(against.projection),
        href: projection(against.projection),
        what: differing(of, ` from ${against.of}, which is kept by hand`),
        since: against.oldest,
        // The names of fields are in a file, which a page can't name.
        todo: against.fitted
          ? 'Compare again with --map or --ignore as before.'
          : {
              operation: 'projections verify',
              input: { name: against.projection, against: against.of, ...shard },
              confirm: 'Compare',
              what: `${at(against.projection)} with ${against.of}`,
            },
      })),
    ...value.sources.flatMap(({ container, troubled }) =>
      troubled.map(({ token, why: reason }) => ({
        key: `${place} ${container} ${token}`,
        where: at(`${container} ${token}`),
        href: feed(container),
        what: reason,
      })),
    ),
    ...value.hosts.flatMap(({ owner, status: of }) =>
      (of?.sources ?? [])
        .filter((source) => source.failure)
        .map((source) => ({
          key: `${place} ${owner} ${source.container}`,
          where: at(`${owner}, ${source.container}`),
          href: feed(source.container),
          what: source.failure,
          since: of.at,
        })),
    ),
    ...value.hosts
      .filter(({ status: of }) => of && seenAt - Date.parse(of.at) > SILENT_MS)
      .map(({ owner, status: of }) => ({
        key: `${place} silent ${owner}`,
        where: at(owner),
        href: '#/feeds',
        what: 'The host has not reported itself for over two minutes.',
        since: of.at,
      })),
    ...(typeof value.jobs === 'string'
      ? [{ key: `${place} jobs`, where: at('jobs'), href: '#/operations', what: value.jobs }]
      : []),
  ];
}

/** How many, and the first of them by name. */
function differing({ different, examples = [] }, which) {
  const named = examples.slice(0, MOST_NAMED).map((of) => clip(of, 120));
  const more = different > named.length ? ', …' : '';
  return `${plural(different, 'difference')}${which}${named.length > 0 ? `: ${named.join(', ')}${more}` : '.'}`;
}

/** Verifications, and comparisons with copies that a team keeps by hand. */
function comparisonsAt({ place, value }) {
  const at = (of) => (place ? `${place}: ${of}` : of);
  const row = (of, given, beside) =>
    given ? [{ key: `${place} ${of}`, of: at(of), beside, oldest: given.against?.oldest, ...given }] : [];
  return [
    ...row('all projections', value?.verified, 'a recomputation'),
    ...row('a sample', value?.sampled, 'a recomputation'),
    ...(value?.against ?? []).map((given) => ({
      key: `${place} ${given.against.projection} ${given.against.of}`,
      of: toProjection(given.against.projection),
      beside: `${given.against.of}, kept by hand`,
      oldest: given.against.oldest,
      ...given,
    })),
    ...archived(value?.archiveVerified, place),
  ];
}

function archived(given, place) {
  if (!given) return [];
  const all = Object.values(given.archives);
  const sum = (field) => all.reduce((total, of) => total + of[field], 0);
  const of = link('#/data', 'archives');
  return [
    {
      key: `${place} archives`,
      of,
      beside: 'their entries',
      compared: sum('documents'),
      different: sum('faults'),
      ...given,
    },
  ];
}
