import { UsageError } from '../../base/errors.ts';

/**
 * A binding's text with the settings it names by `%NAME%` put in.
 * @throws UsageError `setting-missing`
 */
export const resolveNames = (text: string, environment: NodeJS.ProcessEnv, of: string): string =>
  text.replaceAll(/%([^%]+)%/g, (_, name: string) => {
    const value = environment[name];
    if (value) return value;
    throw new UsageError('setting-missing', `The setting ${name} is missing; function ${of} names it`, {
      mend: 'Put it into "Values" of local.settings.json.',
    });
  });
