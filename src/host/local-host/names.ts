import { sharedError } from '../../base/shared-errors.ts';

/**
 * Replaces each `%NAME%` in a binding's text by the value of that setting.
 * @throws UsageError `setting-missing`
 */
export const resolveNames = (text: string, environment: NodeJS.ProcessEnv, of: string): string =>
  text.replaceAll(/%([^%]+)%/g, (_, name: string) => {
    const value = environment[name];
    if (value) return value;
    throw sharedError('setting-missing', `The setting ${name} is missing; function ${of} names it`, {
      hint: 'Put it into "Values" of local.settings.json.',
    });
  });
