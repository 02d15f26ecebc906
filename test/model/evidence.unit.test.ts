import { describe, expect, it } from 'vitest';
import { finderOf, numbered } from '../../src/model/evidence.ts';

const LINES = ['# Users', '', 'Users **sign in** by', 'e-mail, always.', '| id | `uuid` |', 'Users sign in by name.'];
const find = finderOf(LINES);

describe('words as evidence', () => {
  it('words as evidence are found in spite of marks, case and ends of lines', () => {
    expect(find('users sign in by e-mail', 3)).toEqual({ line: 3, to: 4 });
    expect(find('id uuid', 5)).toEqual({ line: 5, to: 5 });
  });

  it('words as evidence are found near the stated line, also after an edit above', () => {
    expect(find('Users sign in by', 6)).toEqual({ line: 6, to: 6 });
    expect(find('Users sign in by', 1)).toEqual({ line: 3, to: 3 });
    expect(find('e-mail, always', 1)).toEqual({ line: 4, to: 4 });
  });

  it('words as evidence are found over lines without text, and far from a wild number', () => {
    const apart = finderOf(['stays', '```', '', 'for ever.']);
    expect(apart('stays for ever', 1)).toEqual({ line: 1, to: 4 });
    expect(apart('for ever', 1e15)).toEqual({ line: 4, to: 4 });
    expect(apart('not there', 1e15)).toBeUndefined();
  });

  it('words as evidence that the document does not have are not found', () => {
    expect(find('users sign in by phone', 3)).toBeUndefined();
    expect(find('**', 1)).toBeUndefined();
  });
});

it('numbers lines for a reader who copies from them', () => {
  expect(numbered(Array.from({ length: 10 }, (_, index) => `l${index}`)).split('\n')[0]).toBe(' 1  l0');
});
