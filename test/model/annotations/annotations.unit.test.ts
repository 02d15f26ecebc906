import { describe, expect, it } from 'vitest';
import { type Annotations, annotationsOf, same } from '../../../src/model/annotations/annotations.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import { instructions } from '../../../src/model/annotations/instructions.ts';

const LINES = [
  '# Data model',
  '',
  '## **Users** container',
  'Partitioned by `/userId`, and',
  'users sign in by e-mail.',
  '```json',
  '{ "id": "u1",',
  '  "userId": "u1", // the same',
  '}',
  '```',
  '`SELECT * FROM c WHERE c.email = @email`',
];

const read = (annotations: readonly object[], lines: readonly string[] = LINES): Annotations =>
  annotationsOf(
    annotationsSchema.parse({ version: 1, document: 'm.md', annotations }),
    lines,
    'm.md',
    'm.annotations.json',
  );
const users = { kind: 'container', line: 3, words: 'Users container', container: 'Users' };

describe('annotations of a document', () => {
  it('are found at their line without the marks of Markdown', () => {
    const { all, findings } = read([users]);
    expect(findings).toEqual([]);
    expect(all).toMatchObject([{ container: 'Users', at: { file: 'm.md', line: 3 } }]);
  });

  it('go on into the next lines, and begin where their words begin', () => {
    const words = 'by /userId, and users sign in';
    const { all } = read([{ ...users, line: 3, words, key: ['/userId'] }]);
    expect(all.map(({ at }) => at.line)).toEqual([4]);
  });

  it('follow their words to another line, the nearest one', () => {
    const { all } = read([{ ...users, line: 1 }], ['x', 'y', 'Users container', 'z', 'z', 'z', 'z', 'Users container']);
    expect(all.map(({ at }) => at.line)).toEqual([3]);
  });

  it('are left out and reported if the document has other words', () => {
    const { all, findings } = read([users, { ...users, words: 'Orders container' }]);
    expect(all).toHaveLength(1);
    expect(findings).toMatchObject([
      { code: 'annotation-unfounded', severity: 'warning', at: { file: 'm.md', line: 3 } },
    ]);
    expect(findings[0]?.message).toContain('Annotation 2 (container) of m.annotations.json');
    expect(findings[0]?.message).toContain('Orders container');
  });

  it('of what is only planned are kept apart', () => {
    const both = read([users, { ...users, key: ['/tenantId'], planned: true }]);
    expect(both.of('container')).toHaveLength(1);
    expect(both.planned).toMatchObject([{ key: ['/tenantId'] }]);
    expect(read([{ ...users, superseded: true }])).toMatchObject({ all: [], found: 1 });
  });

  it('have the JSON of an example, with comments and commas, from the document', () => {
    const { all } = read([{ kind: 'example', line: 7, words: '{ "id": "u1",', to: 9, type: 'user' }]);
    expect(all).toMatchObject([{ document: { id: 'u1', userId: 'u1' } }]);
  });

  it('have the fields that a query compares', () => {
    const [access] = read([
      {
        kind: 'access',
        line: 11,
        words: 'WHERE c.email = @email',
        name: 'by e-mail',
        operation: 'query',
        sql: 'SELECT * FROM c WHERE c.email = @email',
      },
    ]).of('access');
    expect(access?.query?.equal).toEqual(['email']);
    expect(access?.equals).toEqual([]);
  });

  it('say of how many lines with text they have words', () => {
    expect(read([users, { kind: 'example', line: 7, words: '{ "id": "u1",', to: 9 }]).coverage).toEqual({
      lines: 8,
      covered: 4,
    });
  });

  it('give the key of a container only if all its places state the same', () => {
    const by = (...key: string[]): object => ({ ...users, key });
    expect(read([by('/userId'), by('/userId')]).keyOf('users')).toEqual(['/userId']);
    const differ = read([by('/userId'), by('/userid')]);
    expect(differ.keyOf('users')).toBeUndefined();
    expect(differ.keysOf('users')).toHaveLength(2);
  });

  it('give the container of a type from any annotation that has both, or the only container', () => {
    const type = { kind: 'type', line: 3, words: 'Users', type: 'profile' };
    expect(read([users, type]).containersOf('Profile')).toEqual(['Users']);
    const two = [users, { ...users, container: 'Orders' }, type];
    expect(read(two).containersOf('profile')).toEqual([]);
    expect(read([...two, { ...type, container: 'Orders' }]).containersOf('profile')).toEqual(['Orders']);
    expect(read(two).containerOf({ container: 'Orders' })).toBe('Orders');
  });

  it('take a name for the same in other letters, in the plural and with "container"', () => {
    expect(same('Users container', 'user')).toBe(true);
    expect(same('activities', 'Activity')).toBe(true);
    expect(same('user_sessions', 'UserSessions')).toBe(true);
    expect(same('address', 'addres')).toBe(false);
    expect(same('sales', 'salesByDay')).toBe(false);
  });
});

describe('the schema of annotations', () => {
  const refused = (annotation: object): boolean =>
    !annotationsSchema.safeParse({ version: 1, document: 'm.md', annotations: [annotation] }).success;

  it('refuses an unknown kind, an unknown property and a key without a slash', () => {
    expect(refused(users)).toBe(false);
    expect(refused({ ...users, kind: 'table' })).toBe(true);
    expect(refused({ ...users, colour: 'red' })).toBe(true);
    expect(refused({ ...users, key: ['userId'] })).toBe(true);
    expect(refused({ ...users, words: '' })).toBe(true);
  });
});

describe('the instructions', () => {
  it('have the document with the number of each line, and the example that they give is valid', () => {
    const text = instructions('m.md', 'm.annotations.json', LINES);
    expect(text).toContain('\n 3  ## **Users** container\n 4  Partitioned');
    const fences = [...text.matchAll(/```json\n([\s\S]*?)\n```/g)].map(([, json = '']) => json);
    expect(fences).toHaveLength(1);
    const example = annotationsSchema.parse(JSON.parse(fences[0] ?? ''));
    expect(example.annotations.length).toBeGreaterThan(5);
    const [, lines = ''] = /```\n(12[\s\S]*?)\n```/.exec(text) ?? [];
    const document = [...Array.from({ length: 11 }, () => ''), ...lines.split('\n').map((line) => line.slice(4))];
    const { findings } = annotationsOf(example, document, 'example.md', 'x');
    expect(findings).toEqual([]);
  });
});
