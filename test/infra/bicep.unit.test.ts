import { describe, expect, it } from 'vitest';
import { bicepFiles, declarations, parameters, parse, syntaxErrors, undeclared } from './bicep.ts';

const files = bicepFiles();

it('the reader of Bicep reads what is there', () => {
  expect(files.map(({ file }) => file)).toEqual(expect.arrayContaining(['main.bicep', 'modules/containers.bicep']));
});

describe.each(files.map((file) => [file.file, file] as const))('%s', (name, file) => {
  it('a file of Bicep has no error of syntax, and no name that no file declares', () => {
    expect(syntaxErrors(file)).toEqual([]);
    expect(undeclared(file)).toEqual([]);
  });

  it('a file of Bicep uses each parameter and variable, and declares no symbol twice', () => {
    const symbols = (['resource', 'module', 'parameter', 'variable'] as const).flatMap((kind) =>
      declarations(file, kind),
    );
    const names = symbols.map((of) => of.name);
    expect(names.filter((of, at) => names.indexOf(of) !== at)).toEqual([]);
    const used = (of: string): boolean => [...file.text.matchAll(new RegExp(`(?<![\\w'])${of}\\b`, 'g'))].length > 1;
    const meant = [...declarations(file, 'parameter'), ...declarations(file, 'variable')];
    expect(meant.filter((of) => !used(of.name)).map((of) => of.name)).toEqual([]);
  });

  it('a file of Bicep gives each module what it takes, and reads what it gives', () => {
    for (const module of declarations(file, 'module')) {
      const target = files.find((of) => of.file === module.of);
      if (!target) throw new Error(`${name} uses ${module.of}, which isn't there`);
      const given = Object.keys((module.body as { params?: object }).params ?? {});
      const taken = parameters(target);
      expect(given.filter((of) => !taken.some((parameter) => parameter.name === of))).toEqual([]);
      expect(taken.filter((of) => !of.optional && !given.includes(of.name)).map((of) => of.name)).toEqual([]);
      const outputs = declarations(target, 'output').map((of) => of.name);
      const read = [...file.text.matchAll(new RegExp(`\\b${module.name}\\.outputs\\.(\\w+)`, 'g'))].map(
        ([, of]) => of ?? '',
      );
      expect(read.filter((of) => !outputs.includes(of))).toEqual([]);
    }
  });
});

it('the reader of Bicep finds what it is there to find', () => {
  const wrong = parse(
    'wrong.bicep',
    "param a string\nvar b = c\nresource r 'T@1' = {\n  name: a\n  tags: { x: [ }\n}\n",
  );
  expect(syntaxErrors(wrong)).not.toEqual([]);
  expect(undeclared(parse('wrong.bicep', 'var b = c\n'))).toEqual(['c']);
});
