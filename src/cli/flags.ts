import { Option } from 'commander';
import { z } from 'zod';
import { type Operation, kebab } from '../verbs/operation.ts';

interface Property {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly { readonly type?: string }[];
}

export interface Flag {
  readonly field: string;
  readonly description: string;
  readonly required: boolean;
  readonly isBoolean: boolean;
  readonly isNumber: boolean;
  /** It may be given without a value, which means `true`: `--dashboard`, `--dashboard 8080`. */
  readonly valueOptional: boolean;
  /** Several values may be given. */
  readonly isList: boolean;
  readonly choices: readonly string[];
  readonly fallback: unknown;
}

/** An operation's input as flags. They are declared in its schema only. */
export function flagsOf(operation: Operation): Flag[] {
  const schema = z.toJSONSchema(operation.input, { io: 'input' });
  const properties = Object.entries(schema.properties ?? {});
  return properties.map(([field, property]) => {
    const {
      type,
      description = '',
      enum: choices = [],
      default: fallback,
      anyOf = [],
    }: Property = property as Property;
    const types = [type, ...anyOf.map((one) => one.type)];
    return {
      field,
      description,
      required: (schema.required ?? []).includes(field),
      isBoolean: type === 'boolean',
      isList: type === 'array',
      isNumber: types.includes('number') || types.includes('integer'),
      valueOptional: anyOf.length > 0 && types.includes('boolean'),
      choices,
      fallback,
    };
  });
}

/** A flag as commander's option. */
export function optionOf(flag: Flag): Option {
  const name = `--${kebab(flag.field)}`;
  const known = flag.fallback !== undefined && flag.fallback !== false && flag.fallback !== '';
  const note = flag.required ? ' (required)' : known ? ` (default: ${JSON.stringify(flag.fallback)})` : '';
  const description = `${flag.description}${note}`;
  const option = new Option(flag.isBoolean ? name : `${name} ${valueOf(flag)}`, description);
  if (flag.choices.length > 0) option.choices([...flag.choices]);
  // A value that isn't a number stays text, so that the schema's message names the flag.
  if (flag.isNumber)
    option.argParser((text) => (text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)));
  // Given again for each value.
  if (flag.isList) option.argParser<string[] | undefined>((text, before) => [...(before ?? []), text]);
  return flag.required ? option.makeOptionMandatory() : option;
}

const valueOf = (flag: Flag): string => (flag.valueOptional ? `[${placeholder(flag)}]` : `<${placeholder(flag)}>`);

const placeholder = (flag: Flag): string =>
  flag.isNumber
    ? 'n'
    : flag.choices.length > 0
      ? 'value'
      : (flag.field.match(/(file|directory|data|name)$/i)?.[0].toLowerCase() ?? 'value');
