// What happens now: how fast, how far behind, by whom, and what is wrong.
import { placesOf } from '../api.js';
import { chart } from '../chart.js';
import { badge, failure, figure, h, liveTable, loading, section } from '../dom.js';
import { hostsOf, lagOf, rangesOf, sourcesOf, sumOf } from '../figures.js';
import { ago, catchUp, count, duration, lag, plural, rate, time } from '../format.js';

export const now = {
  id: 'now',
  title: 'Now',
  needs: ['status'],
  open(root, context) {
    const figures = {
      speed: figure('Changes a second'),
      lag: figure('Lag'),
      catchUp: figure('Time to catch up'),
      hosts: figure('Hosts'),
      letters: figure('Dead letters'),
    };
    const speed = chart(
      'Changes a second over the last minutes',
      ['changes a second'],
      [context.history[0], context.history[1]],
    );
    const behind = chart(
      'Lag in changes over the last minutes',
      ['changes behind'],
      [context.history[0], context.history[2]],
    );
    const problems = liveTable({
      caption: 'What is wrong',
      empty: 'No host, lease or projection reports a problem.',
      key: ({ key }) => key,
      columns: [
        { title: 'Where', cell: ({ where }) => where },
        { title: 'What', cell: ({ what }) => what },
        { title: 'Since', cell: ({ since }) => since },
      ],
    });
    const ranges = liveTable({
      caption: 'Ranges',
      empty: 'No host reports a range yet. A host reports itself some seconds after its start.',
      key: ({ name }) => name,
      columns: [
        { title: 'Source', word: true, cell: ({ container }) => container },
        { title: 'Range', cell: ({ lease }) => lease },
        { title: 'Host', cell: ({ owner }) => owner },
        { title: 'Changes/s', number: true, cell: ({ handledPerSecond }) => rate(handledPerSecond) },
        { title: 'In/s', number: true, cell: ({ inPerSecond }) => rate(inPerSecond) },
        { title: 'Lag', number: true, cell: ({ lag: of }) => count(of) },
        { title: 'Catches up in', cell: ({ catchUp: of }) => catchUp(of) },
        {
          title: 'Page in hand',
          cell: ({ inHand }) => (inHand ? `${plural(inHand.changes, 'change')}, ${inHand.seconds}\u00a0s` : '–'),
        },
        {
          title: 'Last rejection',
          cell: ({ rejection }) => (rejection ? `${time(rejection.at)} ${rejection.why}` : '–'),
        },
      ],
    });
    const sources = liveTable({
      caption: 'Sources',
      empty: 'No lease yet: no host has started.',
      key: ({ name }) => name,
      columns: [
        { title: 'Source', word: true, cell: ({ name }) => name },
        { title: 'Leases', number: true, cell: ({ leases }) => count(leases) },
        { title: 'Lag', cell: (of) => lag(of.lag) },
        {
          title: 'State',
          cell: ({ troubled }) =>
            troubled.length === 0 ? badge('fine', 'good') : badge(`${troubled.length} troubled`, 'bad'),
        },
      ],
    });
    const hosts = liveTable({
      caption: 'Hosts',
      empty: 'No host owns a lease: no host runs.',
      key: ({ name }) => name,
      columns: [
        { title: 'Host', cell: ({ owner }) => owner },
        { title: 'Leases', number: true, cell: ({ leases }) => count(leases) },
        {
          title: 'Changes',
          number: true,
          cell: ({ status: of }) => (of ? count(sumOf(of.projections.map(({ changes }) => changes)) ?? 0) : '–'),
        },
        { title: 'Version', cell: ({ status: of }) => of?.version ?? '–' },
        { title: 'Up since', moment: true, cell: ({ status: of }) => time(of?.startedAt) },
        { title: 'Last report', moment: true, cell: ({ status: of }) => time(of?.at) },
      ],
    });
    const progress = liveTable({
      caption: 'In progress',
      empty: 'Nothing was begun that has not ended.',
      key: ({ name }) => name,
      columns: [
        { title: 'What', cell: ({ what }) => what },
        { title: 'By', cell: ({ by }) => by ?? '–' },
        { title: 'Since', moment: true, cell: ({ since }) => time(since) },
        { title: 'Until', moment: true, cell: ({ until }) => time(until) },
      ],
    });
    const body = h(
      'div',
      { hidden: true },
      h(
        'dl',
        { class: 'figures' },
        Object.values(figures).map(({ node }) => node),
      ),
      h('div', { class: 'charts' }, section('Speed', speed.node), section('Lag', behind.node)),
      problems.node,
      ranges.node,
      sources.node,
      hosts.node,
      progress.node,
    );
    const waiting = h('div', {}, loading());
    root.append(waiting, body);

    return {
      status(status) {
        waiting.hidden = true;
        body.hidden = false;
        const places = placesOf(status);
        const all = rangesOf(status);
        const behindBy = lagOf(status);
        const owners = hostsOf(status);
        const rows = places.flatMap(({ value }) => value?.projections ?? []);
        const parked = sumOf(rows.map((row) => row.parked)) ?? 0;
        figures.speed.set(rate(context.speeds.all()), 'as the hosts report');
        figures.lag.set(
          behindBy ? count(behindBy.changes) : '–',
          behindBy && behindBy.ageMs !== null ? `oldest ${duration(behindBy.ageMs / 1000)}` : 'age not known',
          '',
        );
        const soon = behindBy !== null && behindBy.ageMs !== null && behindBy.ageMs < 10_000;
        const never = !soon && all.some((range) => range.catchUp === 'never');
        const longest = all.map((range) => range.catchUp).filter((of) => typeof of === 'number');
        if (soon) figures.catchUp.set('up to date', 'less than 10 s behind');
        else if (never) figures.catchUp.set('never', 'more comes in than goes out', 'bad');
        else figures.catchUp.set(longest.length === 0 ? '–' : catchUp(Math.max(...longest)), 'at the rate of now');
        const free = sumOf(places.map(({ value }) => value?.leases?.free)) ?? 0;
        figures.hosts.set(
          count(owners.length),
          free === 0 ? 'no lease is free' : `${plural(free, 'lease')} free`,
          owners.length === 0 ? 'bad' : '',
        );
        figures.letters.set(count(parked), parked === 0 ? 'none' : 'see Dead letters', parked === 0 ? '' : 'bad');
        problems.update(problemsOf(places));
        ranges.update(all);
        sources.update(sourcesOf(status));
        hosts.update(owners);
        progress.update(
          places.flatMap(({ place, value }) =>
            (value?.inProgress ?? []).map((of) => ({ ...of, name: `${place} ${of.what}` })),
          ),
        );
        speed.update();
        behind.update();
      },
      unreadable: (error) => waiting.replaceChildren(error.code === 'dashboard-starting' ? loading() : failure(error)),
      close: () => (speed.close(), behind.close()),
    };
  },
};

function problemsOf(places) {
  return places.flatMap(({ place, value, failure: why }) => {
    const at = (where) => (place ? `${place}: ${where}` : where);
    if (!value) return [{ key: `${place}`, where: at('place'), what: why ?? 'it does not answer', since: '–' }];
    return [
      ...value.unreadable.map((of) => ({
        key: `${place} format ${of.kind}`,
        where: at('formats'),
        what: `A later version wrote ${of.kind}; hosts of this version wait.`,
        since: '–',
      })),
      ...(value.paused ?? []).map(({ name, by, since, reason }) => ({
        key: `${place} paused ${name}`,
        where: at(name),
        what: `${by} paused it${reason ? `: ${reason}` : '.'}`,
        since: time(since),
      })),
      ...value.projections
        .filter(({ parked }) => parked > 0)
        .map(({ id, parked, parkedSince }) => ({
          key: `${place} parked ${id}`,
          where: at(id),
          what: `${plural(parked, 'change')} parked: see Dead letters.`,
          since: time(parkedSince),
        })),
      ...value.sources.flatMap(({ container, troubled }) =>
        troubled.map(({ token, why: reason }) => ({
          key: `${place} ${container} ${token}`,
          where: at(`${container} ${token}`),
          what: reason,
          since: '–',
        })),
      ),
      ...value.hosts.flatMap(({ owner, status: of }) =>
        (of?.sources ?? [])
          .filter((source) => source.failure)
          .map((source) => ({
            key: `${place} ${owner} ${source.container}`,
            where: at(`${owner}, ${source.container}`),
            what: source.failure,
            since: time(of.at),
          })),
      ),
      ...value.hosts
        .filter(({ status: of }) => of && Date.now() - Date.parse(of.at) > 120_000)
        .map(({ owner, status: of }) => ({
          key: `${place} silent ${owner}`,
          where: at(owner),
          what: 'The host has not reported itself for over two minutes.',
          since: ago(of.at),
        })),
      ...(typeof value.jobs === 'string'
        ? [{ key: `${place} jobs`, where: at('jobs'), what: value.jobs, since: '–' }]
        : []),
    ];
  });
}
