// A fix replaces what it names, once in its line, and leaves every other byte as it is.
import { expect, test } from 'vitest';
import { applyFixes, fixOfPath } from '../../src/model/fix.ts';

const at = (line: number) => ({ file: 'm.md', line });

test('line ends stay, and a line that has changed since is left alone', () => {
  const text = 'one `/a`\r\ntwo `/a`\n`/a` and `/a`\nlast';
  const { text: after, changes } = applyFixes(text, 'm.md', [
    { at: at(1), from: '`/a`', to: '`/a/?`' },
    { at: at(2), from: '`/b`', to: '`/b/?`' },
    { at: at(3), from: '`/a`', to: '`/a/?`' },
    { at: { file: 'other.md', line: 4 }, from: 'last', to: 'first' },
  ]);
  expect(after).toBe('one `/a/?`\r\ntwo `/a`\n`/a` and `/a`\nlast');
  expect(changes).toEqual([{ at: at(1), before: 'one `/a`', after: 'one `/a/?`' }]);
});

test('a path is found below its label, in quotes only, and not beyond a heading', () => {
  const lines = ['- **Included Paths**: /a', '  - `/a`', '## Next', '`/b`'];
  expect(fixOfPath(lines, at(1), '/a', '/a/?')).toEqual([{ at: at(2), from: '`/a`', to: '`/a/?`' }]);
  expect(fixOfPath(lines, at(1), '/b', '/b/?')).toEqual([]);
});
