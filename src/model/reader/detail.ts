// Facts of a container's bullets that the Model lacks: sizes, cardinality, served patterns, hot keys, index paths as written.
import type { ContainerDetail, Design, ProjectionRow, Prose, StatedIndex } from '../documents.ts';
import type { Container, SourceLine } from '../model.ts';
import { hasName } from './names.ts';
import { patternIds } from './pattern-ids.ts';
import { bytesOf, quantities, sizeOf } from './text/quantity.ts';

const CARDINALITY =
  /(?:distinct|different|unique|values|keys|cardinality|users|customers|tenants|stores|devices|products|accounts|orders|items|partitions)\b|个|值/i;

/** Words for other things than the values of a key. */
const UNCOUNTED =
  /\b(levels|parts|paths|fields|regions|types|shards|suffixes|characters|digits|hours|days|times|rus)$/i;

export function detailOf(
  container: Container,
  own: readonly Prose[],
  all: Pick<Design, 'prose'>,
  index: StatedIndex,
  projections: readonly ProjectionRow[],
  known: readonly string[],
): ContainerDetail {
  const labelled = (pattern: RegExp): Prose | undefined =>
    own.find(({ label }) => label !== undefined && pattern.test(label));
  const stated = labelled(/^(avg |average |max |maximum )?(document|item) size|^size$|文档大小/i);
  const statedSize = stated && sizeOf(stated.text);
  const examples = container.types.flatMap((type) =>
    type.examples.map((example) => Buffer.byteLength(JSON.stringify(example))),
  );
  const size = statedSize
    ? { ...statedSize, stated: true, at: stated.at }
    : {
        average: examples.length > 0 ? examples.reduce((sum, bytes) => sum + bytes, 0) / examples.length : 1000,
        max: Math.max(0, ...examples),
        stated: false,
        at: container.types[0]?.at ?? container.at,
      };
  const data = own
    .filter(({ label }) => label !== undefined && /size|storage|growth|volume|data|数据量|存储/i.test(label))
    .flatMap(({ text, at }) =>
      quantities(text)
        .filter(({ unit }) => unit === 'gb' || unit === 'tb')
        .map((quantity) => ({ gb: (bytesOf(quantity) ?? 0) / 1e9, at })),
    )[0];
  const key = labelled(/partition key|^pk$|分区键|分片键/i);
  const cardinality = key && cardinalityOf(key.text);
  const serves = labelled(/access patterns? served|^access patterns$|服务的访问模式/i);
  const throughput = labelled(/throughput|ru planning|ru strategy|吞吐量/i);
  const range = throughput && rangeOf(throughput.text, throughput.at);
  const name = container.name.toLowerCase();
  return {
    container,
    prose: own,
    size,
    ...(data && { data }),
    ...(cardinality !== undefined && { cardinality }),
    serves: serves && { ids: patternIds(serves.text, known), at: serves.at },
    ...(range && { range }),
    hot: all.prose.filter(
      ({ section, label, subject }) =>
        section === 'hotPartitions' && hasName(`${label ?? ''} ; ${subject ?? ''}`, container.name),
    ),
    index,
    derived:
      projections.some(({ sink }) => sink?.container.toLowerCase() === name) ||
      own.some(
        ({ label, text }) =>
          /derived from|来源于/i.test(label ?? '') || (/purpose/i.test(label ?? '') && /\bderived\b/i.test(text)),
      ),
  };
}

/** `220 values`, `10 million values`, `~50K users`: a number before a word for keys. "unique id" has no number. */
function cardinalityOf(text: string): number | undefined {
  for (const quantity of quantities(text)) {
    const after = text.slice(quantity.end, quantity.end + 40);
    const before = text.slice(Math.max(0, quantity.index - 25), quantity.index);
    const counted = /^\s*(?:new |distinct |different |unique |active |possible |个)*[\p{L}]*/u.exec(after)?.[0] ?? '';
    if (
      quantity.unit === '' &&
      (CARDINALITY.test(counted) ||
        (/\p{L}{3,}s$/u.test(counted) && !UNCOUNTED.test(counted)) ||
        /cardinality\W*$/i.test(before))
    )
      return quantity.high;
  }
  return undefined;
}

function rangeOf(text: string, at: SourceLine): ContainerDetail['range'] {
  const [, from, to] = /([\d,]+)\s*RU\/s\s*\(auto-?scales? to ([\d,]+)/i.exec(text) ?? [];
  if (from !== undefined && to !== undefined)
    return { low: Number(from.replaceAll(',', '')), high: Number(to.replaceAll(',', '')), at };
  const found = quantities(text).find(
    ({ low, high, unit, index }) =>
      low !== high &&
      (unit === 'ru/s' || unit === 'ru' || (unit === '' && /auto-?scale\W*$/i.test(text.slice(0, index)))),
  );
  return found && { low: found.low, high: found.high, at };
}
