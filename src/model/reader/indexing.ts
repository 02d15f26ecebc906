import { isObject } from '../../base/json.ts';
import type { StatedIndex } from '../documents.ts';
import type { IndexingPolicy, SourceLine } from '../model.ts';
import type { Fact } from './labelled-facts.ts';
import { contentOf, type TextContent } from './text/fences.ts';
import type { Findings } from './findings.ts';
import { composites, indexPaths, statedPaths } from './text/values.ts';

type Stated = { json: boolean } & {
  readonly [K in Exclude<keyof StatedIndex, 'json'>]: StatedIndex[K][number][];
};
type Composites = NonNullable<IndexingPolicy['compositeIndexes']>;

/** Collects one container's indexing from all places of the document; a later policy replaces the modes that it names. */
export class IndexingDraft {
  at: SourceLine | undefined;
  #mode: IndexingPolicy['indexingMode'];
  #automatic: boolean | undefined;
  #included: string[] = [];
  #excluded: string[] = [];
  #composites: Composites = [];
  /** The paths as written; the policy also has the paths that the document leaves out. */
  readonly stated: Stated = {
    json: false,
    included: [],
    excluded: [],
    composites: [],
  };

  fact(fact: Fact, findings: Findings): void {
    const contents = fact.fences.flatMap((fence) => contentOf(fence, findings) ?? []);
    for (const content of contents) this.content(content, findings);
    const text = [fact.text, ...fact.items.map((item) => item.text)].join(' ');
    if (fact.name === 'includedPaths') this.#add(this.#included, text, fact, findings);
    if (fact.name === 'excludedPaths') this.#add(this.#excluded, text, fact, findings);
    if (fact.name === 'compositeIndexes' && contents.length === 0) this.#inlineComposites(text, fact, findings);
  }

  /** `tenantId + status + createdAt (descending)` as an item of a list of composite indexes. */
  sum({ text, line }: Fact['items'][number], findings: Findings): boolean {
    const [, terms = '', order = 'asc'] =
      /^`?((?:\/?[\w.]+)(?:\s*\+\s*\/?[\w.]+)+)`?\s*(?:\((asc|desc)\w*\))?\.?$/i.exec(text.trim()) ?? [];
    if (terms === '') return false;
    const names = terms.split('+').map((term) => term.trim().replace(/^\//, ''));
    this.at ??= findings.at(line);
    const paths = names.map((name, at) => ({
      path: `/${name.replaceAll('.', '/')}`,
      order: at === names.length - 1 && /^d/i.test(order) ? ('descending' as const) : ('ascending' as const),
    }));
    this.#addComposites([paths], findings.at(line));
    return true;
  }

  content(content: TextContent, findings: Findings): void {
    if (content.kind !== 'composites' && content.kind !== 'policy') return;
    this.at ??= findings.at(content.line);
    if (content.kind === 'composites') this.#addComposites(content.value, findings.at(content.line));
    if (content.kind === 'policy') this.#policy(content.value, content.line, content.text, findings);
  }

  /** The policy in the form of Cosmos DB; undefined if the document states none: then the service's default applies. */
  policy(line: number, findings: Findings): IndexingPolicy | undefined {
    if (!this.at) return undefined;
    if (this.#mode === 'none') return { indexingMode: 'none', automatic: false };
    const root = [...this.#included, ...this.#excluded].includes('/*');
    // Cosmos DB requires the root path in one of the lists. If the document names it in none, the other paths decide.
    if (!root) {
      if (this.#included.length > 0) {
        findings.add(
          'information',
          'index-rest-excluded',
          this.at.line ?? line,
          'The policy includes paths, but names /* in neither list: Millrace excludes all other paths',
        );
        this.#excluded.push('/*');
      } else this.#included.push('/*');
    }
    return {
      indexingMode: this.#mode ?? 'consistent',
      automatic: this.#automatic ?? true,
      includedPaths: this.#included.map((path) => ({ path })),
      excludedPaths: this.#excluded.map((path) => ({ path })),
      ...(this.#composites.length > 0 && { compositeIndexes: this.#composites }),
    };
  }

  #policy(value: Record<string, unknown>, line: number, source: string, findings: Findings): void {
    const stated = value['indexingMode'] ?? 'consistent';
    const mode = typeof stated === 'string' ? stated.toLowerCase() : typeof stated;
    if (mode === 'none' || mode === 'consistent') this.#mode = mode;
    else findings.add('error', 'indexing-mode', line, `There is no indexingMode ${mode}`, 'Write consistent or none.');
    if (typeof value['automatic'] === 'boolean') this.#automatic = value['automatic'];
    const at = findings.at(line);
    this.#included.push(...pathsOf(value['includedPaths']));
    this.#excluded.push(...pathsOf(value['excludedPaths']));
    this.stated.json = true;
    const lines = source.split('\n');
    const placed = (text: string) => {
      const row = lines.findIndex((each) => each.includes(`"${text}"`) || each.includes(`'${text}'`));
      return { text, at: row < 0 ? at : findings.at(line + row) };
    };
    this.stated.included.push(...pathsOf(value['includedPaths']).map(placed));
    this.stated.excluded.push(...pathsOf(value['excludedPaths']).map(placed));
    if (value['compositeIndexes'] === undefined) return;
    const read = composites(value['compositeIndexes']);
    if (read) this.#addComposites(read, at);
    else if (JSON.stringify(value['compositeIndexes']) !== '[]') notUnderstood('compositeIndexes', line, findings);
  }

  #add(list: string[], text: string, fact: Fact, findings: Findings): void {
    this.at ??= findings.at(fact.line);
    const paths = indexPaths(text);
    if (paths.length === 0 && !/^\s*(none|n\/a|-)?\.?\s*$/i.test(text)) notUnderstood(fact.label, fact.line, findings);
    list.push(...paths.filter((path) => !list.includes(path)));
    const at = findings.at(fact.line);
    const stated = list === this.#included ? this.stated.included : this.stated.excluded;
    stated.push(...statedPaths(text).map((path) => ({ text: path, at })));
  }

  #addComposites(lists: Composites, at: SourceLine): void {
    this.#composites = [...this.#composites, ...lists];
    this.stated.composites.push(...lists.map((paths) => ({ paths, at })));
  }

  /** `` `[(type ASC, name ASC)]` `` or `(/storeId ASC, /placedAt DESC)`. */
  #inlineComposites(text: string, fact: Fact, findings: Findings): void {
    if (/^(none|n\/a|not )/i.test(text) || text === '') return;
    this.at ??= findings.at(fact.line);
    // `[(storeId, ASC), (placedAt, DESC)]` has a bracket for each path.
    const pairs = /\(\s*[\w./]+\s*,\s*(?:asc|desc)\w*\s*\)/i.test(text);
    const lists = pairs
      ? [...text.matchAll(/\[([^\]]+)\]/g)].map((match) =>
          (match[1] ?? '').replaceAll(/\(\s*([\w./]+)\s*,\s*(asc|desc)\w*\s*\)/gi, '$1 $2'),
        )
      : [...text.matchAll(/\(([^()]+)\)/g)].map((match) => match[1] ?? '');
    const read = lists.map(inlineComposite).filter((group) => group.length > (pairs ? 0 : 1));
    if (read.length === 0) notUnderstood(fact.label, fact.line, findings);
    this.#addComposites(read, findings.at(fact.line));
  }
}

function inlineComposite(text: string): Composites[number] {
  const parts = text.split(',').map((part) => /^[\s`]*\/?([\w./]+)`?\s+(asc|desc)/i.exec(part));
  if (parts.some((part) => part === null)) return [];
  return parts.map((part) => ({
    path: `/${(part?.[1] ?? '').replaceAll('.', '/')}`,
    order: /^d/i.test(part?.[2] ?? '') ? 'descending' : 'ascending',
  }));
}

const pathsOf = (list: unknown): string[] =>
  Array.isArray(list)
    ? list.flatMap((entry: unknown) => {
        if (typeof entry === 'string') return [entry];
        return isObject(entry) && typeof entry['path'] === 'string' ? [entry['path']] : [];
      })
    : [];

const notUnderstood = (label: string, line: number, findings: Findings): void =>
  findings.add(
    'warning',
    'value',
    line,
    `Millrace doesn't understand the value of ${label}`,
    'Write paths in backticks, and composite indexes as JSON.',
  );
