// What the document says of throughput, each database or container with all its places.
import { type Annotation, type Annotations, bare } from './annotations.ts';
import { saysText } from './described.ts';

type Place = Annotation<'throughput'>;

export interface Throughput {
  readonly of: Place['of'];
  readonly name: string;
  readonly environment: string | undefined;
  readonly places: readonly Place[];
}

/** Of each database and container. One without a name is that of its environment, or of all. */
export function throughputs(annotations: Annotations): readonly Throughput[] {
  const all = annotations
    .of('throughput')
    .filter(({ of, mode, existing }) => of !== 'account' && mode !== 'limit' && existing !== true);
  const groups = Map.groupBy(
    all.filter(({ name, environment }) => name !== undefined || environment !== undefined),
    ({ of, name, environment = '' }) => `${of} ${bare(name ?? '')} ${environment}`,
  );
  return [...groups.values()].flatMap((places): Throughput[] => {
    const [first] = places;
    if (!first) return [];
    const { of, name = first.environment ?? '', environment } = first;
    return [{ of, name, environment, places }];
  });
}

/** All environments are in one account: the text says so, or there is only one. */
export function isOneAccount(annotations: Annotations): boolean {
  const environments = new Set(
    annotations.of('throughput').flatMap(({ environment }) => (environment === undefined ? [] : [environment])),
  );
  const counted = annotations
    .of('fact')
    .some(({ of, property, value }) => /account/i.test(of) && /number|count/i.test(property) && Number(value) === 1);
  return (
    environments.size < 2 ||
    counted ||
    saysText(annotations, /\b(?:single|one|same|shared) (?:azure )?cosmos ?db account\b/i)
  );
}

/** The figure of a throughput that is paid for at most: the least that its places state. */
export const mostOf = ({ places }: Throughput): number | undefined => {
  const all = places.flatMap(({ ru, mode }) => (ru === undefined || mode === 'serverless' ? [] : [ru]));
  return all.length === 0 ? undefined : Math.min(...all);
};
