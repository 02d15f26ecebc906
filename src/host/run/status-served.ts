import type { Operation } from '../../verbs/operation.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { Registry } from '../../verbs/registry.ts';
import { status } from '../../verbs/status.operation.ts';
import { LOOK_MS, openDashboard, portFlag, portOf } from './dashboard.ts';
import { untilAborted } from './until-aborted.ts';

/** `millrace status` that can also serve the dashboard: `--serve`. */
export const statusServed = (registry: () => Registry): Operation => ({
  ...status,
  examples: [...status.examples, 'millrace status --serve 8080 --env production'],
  input: status.input.extend({
    serve: portFlag
      .optional()
      .describe('serve the dashboard until Ctrl-C, at this port of 127.0.0.1 (without a port: any free one)'),
  }),
  run: async (input, context) => {
    const { serve, ...asked } = input as { readonly serve?: unknown };
    if (serve === undefined || serve === false) return status.run(asked, context);
    const flag = portFlag.safeParse(serve);
    if (!flag.success)
      throw operationsError('input-invalid', `--serve: ${flag.error.issues[0]?.message ?? 'is wrong'}`, {
        hint: 'Run `millrace status --help`.',
      });
    const { show, signal, workspace } = context;
    if (!show)
      throw operationsError('input-invalid', '--serve works only on the command line', {
        hint: 'Run `millrace status --serve` on a machine that reaches the account.',
      });
    await using dashboard = await openDashboard({
      context,
      registry: registry(),
      workspace: Promise.resolve(workspace),
      port: portOf(flag.data) ?? 0,
      everyMs: LOOK_MS,
    });
    await untilAborted(signal);
    return { value: { served: dashboard.url }, text: 'The dashboard is closed.', ok: true };
  },
});
