// What pages derive from the status that the stream sends.
import { placesOf } from './api.js';
import { duration } from './format.js';

/**
 * The hosts of all places, with their leases in all of them. A process that hosts several places reports itself to each,
 * with everything that it does; it counts once.
 */
export function hostsOf(status) {
  const hosts = new Map();
  for (const { place, value } of placesOf(status))
    for (const { owner, leases, status: of } of value?.hosts ?? []) {
      const name = of ? `${owner} ${of.startedAt}` : `${place} ${owner}`;
      const known = hosts.get(name);
      const later = known?.status && known.status.at > of.at ? known.status : of;
      hosts.set(name, { name, owner, leases: (known?.leases ?? 0) + leases, status: later });
    }
  return [...hosts.values()];
}

/** All ranges, with the host that owns them. */
export const rangesOf = (status) =>
  hostsOf(status).flatMap(({ name, owner, status: of }) =>
    (of?.ranges ?? []).map((range) => ({ owner, ...range, name: `${name} ${range.container} ${range.lease}` })),
  );

/** The sum of a figure; null if none is known. */
export function sumOf(values) {
  const known = values.filter((value) => typeof value === 'number');
  return known.length === 0 ? null : known.reduce((all, one) => all + one, 0);
}

/** What hosts report of each tenant, added up, and its dead letters in all places; the costliest first. */
export function tenantsOf(status) {
  const letters = placesOf(status).flatMap(({ value }) =>
    (value?.tenants?.tenants ?? []).map(({ tenant, deadLetters }) => ({ tenant, changes: 0, charge: 0, deadLetters })),
  );
  const reports = hostsOf(status).flatMap(({ status: of }) =>
    (of?.tenants?.tenants ?? []).map(({ tenant, changes, charge }) => ({ tenant, changes, charge, deadLetters: 0 })),
  );
  return [...Map.groupBy([...letters, ...reports], ({ tenant }) => tenant)]
    .map(([tenant, of]) => ({
      tenant,
      changes: sumOf(of.map(({ changes }) => changes)),
      charge: sumOf(of.map(({ charge }) => charge)),
      deadLetters: sumOf(of.map(({ deadLetters }) => deadLetters)),
    }))
    .toSorted((a, b) => b.charge - a.charge);
}

/**
 * The sources of all places. What a shard reads of the global place is no source of a place: each shard has leases of its
 * own for it, of which hosts report the ranges alone. They know how many changes are left, and not how old the oldest is.
 */
export function sourcesOf(status) {
  const own = placesOf(status).flatMap(({ place, value }) =>
    (value?.sources ?? []).map((of) => ({ ...of, name: place ? `${place}/${of.container}` : of.container })),
  );
  const known = new Set(own.map(({ name }) => name));
  const read = rangesOf(status).filter(({ container }) => container.includes('/') && !known.has(container));
  const others = [...Map.groupBy(read, ({ container }) => container)].map(([name, of]) => {
    const leases = [...new Map(of.map((range) => [range.lease, range.lag])).values()];
    const left = leases.includes(null) ? null : sumOf(leases);
    return {
      name,
      container: name.split('/').at(-1),
      leases: leases.length,
      lag: left === null ? { known: false } : { known: true, changes: left, ageMs: null },
      troubled: [],
    };
  });
  return [...own, ...others];
}

/** The lag of all sources together, or of one container in all places; unknown if one is. `ageMs` is null if it is not known. */
export function lagOf(status, container) {
  const lags = sourcesOf(status)
    .filter((source) => container === undefined || source.container === container)
    .map(({ lag }) => lag);
  if (lags.length === 0 || lags.some(({ known }) => !known)) return null;
  const unknown = lags.some(({ changes, ageMs }) => changes > 0 && ageMs === null);
  return {
    known: true,
    changes: sumOf(lags.map(({ changes }) => changes)),
    ageMs: unknown ? null : Math.max(...lags.map(({ ageMs }) => ageMs ?? 0)),
  };
}

/** Changes that each projection's hosts applied since they started: { id: changes }. */
export function appliedBy(status) {
  const applied = new Map();
  for (const { status: of } of hostsOf(status))
    for (const { projection, changes } of of?.projections ?? [])
      applied.set(projection, (applied.get(projection) ?? 0) + changes);
  return applied;
}

/** RU a change of each projection, of all changes that its hosts applied: { id: RU }. */
export function costsOf(status) {
  const reports = hostsOf(status).flatMap(({ status: of }) => of?.projections ?? []);
  const applied = appliedBy(status);
  const costs = new Map();
  for (const { projection, changes, ruPerChange } of reports)
    if (changes > 0)
      costs.set(projection, (costs.get(projection) ?? 0) + (ruPerChange * changes) / applied.get(projection));
  return costs;
}

/** A host that has not reported for so long has no rate. */
export const SILENT_MS = 120_000;
const RATE_MS = 15_000;

/**
 * Changes a second, the one unit of rates: of feeds, in which a change counts once, and of a projection. They are taken
 * between reports of the hosts, which may be a second or half a minute apart.
 */
export class Speeds {
  /** By host, its reports of the last seconds. */
  #reports = new Map();

  add(at, status) {
    const now = new Map();
    for (const { name, status: of } of hostsOf(status)) {
      if (!of || at - Date.parse(of.at) > SILENT_MS) continue;
      const counted = new Map([
        ...of.projections.map(({ projection, changes }) => [projection, changes]),
        ...of.ranges.map(({ container, lease, handled }) => [`range ${container} ${lease}`, handled]),
      ]);
      const report = { at: Date.parse(of.at), counted };
      const known = this.#reports.get(name) ?? [];
      const reports = known.at(-1)?.at === report.at ? known : [...known, report];
      while (reports.length > 2 && report.at - reports[0].at > RATE_MS) reports.shift();
      now.set(name, reports);
    }
    this.#reports = now;
  }

  /** Of what has such a name, on all hosts together; null: not known yet. */
  #sum(isMeant) {
    const rates = [...this.#reports.values()].flatMap((reports) => {
      const [first, last] = [reports[0], reports.at(-1)];
      const names = [...last.counted.keys()].filter((name) => isMeant(name) && first.counted.has(name));
      if (first.at === last.at) return [];
      return names.map((name) => {
        const more = last.counted.get(name) - first.counted.get(name);
        return Math.max(0, (1000 * more) / (last.at - first.at));
      });
    });
    return sumOf(rates);
  }

  of(projection) {
    return this.#sum((name) => name === projection);
  }

  /** Of all feeds, of one, or of one range of it. */
  reading(container, lease) {
    const named = ['range', container, lease].filter((of) => of !== undefined).join(' ');
    return this.#sum((name) => name === named || name.startsWith(`${named} `));
  }
}

/** Seconds between two points without one between them that are no more than a pause of a host that reports each minute. */
const GAP_S = 150;
const HOUR_S = 3_600;

/** The last hour: what the hosts keep, a point a minute, and from where this page began to look, what it saw. */
export class History {
  #seen = [];

  /** → times in seconds, changes a second, changes behind. A gap has a point without values, where the line breaks. */
  add(at, status, speed) {
    const now = Math.round(at / 1000);
    const last = this.#seen.at(-1)?.[0] ?? now;
    // What happened while it did not look, the hosts know.
    if (now - last > GAP_S) this.#seen = [];
    if (this.#seen.length === 0 || last < now) this.#seen.push([now, speed, lagOf(status)?.changes ?? null]);
    if (this.#seen.length > 600) this.#seen.shift();
    const kept = hourOf(status).filter(([of]) => of > now - HOUR_S && of < this.#seen[0][0]);
    const points = [...kept, ...this.#seen].flatMap((point, index, all) =>
      index > 0 && point[0] - all[index - 1][0] > GAP_S ? [[all[index - 1][0] + 1, null, null], point] : [point],
    );
    return [0, 1, 2].map((of) => points.map((point) => point[of]));
  }
}

/** The histories of all hosts together, by their minutes. */
function hourOf(status) {
  const points = hostsOf(status).flatMap(({ status: of }) => of?.history ?? []);
  return [...Map.groupBy(points, ([at]) => Math.floor(at / 60))]
    .map(([minute, of]) => [
      60 * minute,
      sumOf(of.map(([, speed]) => speed)),
      of.some(([, , behind]) => behind === null) ? null : sumOf(of.map(([, , behind]) => behind)),
    ])
    .toSorted(([a], [b]) => a - b);
}

/** A feed whose oldest waiting change is younger is current: each change waits a moment. */
const CURRENT_MS = 10_000;

/**
 * The one verdict on how a feed catches up, of all its ranges together: { word, tone, seconds }. `seconds` is Infinity where
 * more comes in than goes out, 0 where it is current, and null where nothing is known.
 */
export function catchUpOf({ lag, troubled = [] }, ranges) {
  if (troubled.length > 0) return { word: `${troubled.length} troubled`, tone: 'bad', seconds: null };
  if (!lag?.known) return { word: 'not known', tone: 'warn', seconds: null };
  if (lag.changes === 0 || (lag.ageMs !== null && lag.ageMs < CURRENT_MS))
    return { word: 'current', tone: 'good', seconds: 0 };
  const all = ranges.map(({ catchUp }) => catchUp);
  if (all.includes('never')) return { word: 'falls behind', tone: 'bad', seconds: Infinity };
  const known = all.filter((of) => typeof of === 'number');
  if (known.length === 0) return { word: 'behind', tone: 'warn', seconds: null };
  const seconds = Math.max(...known);
  return { word: `current in ${duration(seconds)}`, tone: 'warn', seconds };
}

/** The sources, each with its verdict. */
export function feedsOf(status) {
  const ranges = rangesOf(status);
  return sourcesOf(status).map((source) => ({
    ...source,
    verdict: catchUpOf(
      source,
      ranges.filter(({ container }) => container === source.name),
    ),
  }));
}
