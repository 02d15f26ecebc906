import type { StoredAccount } from './account.ts';
import type { Throughput } from './holdings.ts';
import { badRequest, header } from '../wire/wire.ts';
import type { WireCall, WireDoc } from '../wire/wire.ts';

/** The own throughput of a container or a database. */
export function throughputFor(account: StoredAccount, rid: string): Throughput | undefined {
  for (const { definition } of account.offers.values()) {
    if (definition.offerResourceId === rid) return throughputIn(definition.content);
  }
  return undefined;
}

/** The throughput headers of a create, if there are any. */
export function throughputOf(call: WireCall): Throughput | undefined {
  const manual = header(call.headers, 'x-ms-offer-throughput');
  const settings = header(call.headers, 'x-ms-cosmos-offer-autopilot-settings');
  if (manual !== undefined) return checked(Number(manual), false);
  if (settings === undefined) return undefined;
  let maximum: unknown;
  try {
    maximum = (JSON.parse(settings) as { maxThroughput?: unknown }).maxThroughput;
  } catch {
    // `checked` refuses it, like any other setting that isn't a number.
  }
  return checked(Number(maximum), true);
}

function checked(maximum: number, autoscale: boolean): Throughput {
  const [least, step] = autoscale ? [1000, 1000] : [400, 100];
  if (!Number.isInteger(maximum) || maximum < least || maximum % step !== 0) {
    throw badRequest(`The offer throughput must be a multiple of ${step} and at least ${least} RU/s.`);
  }
  return { maximum, autoscale };
}

/** The content of an offer; `throughputIn` reads it. */
export const offerContent = ({ maximum, autoscale }: Throughput): WireDoc =>
  autoscale
    ? {
        offerThroughput: maximum / 10,
        offerAutopilotSettings: { tier: 0, maximumTierThroughput: 0, autoUpgrade: false, maxThroughput: maximum },
      }
    : { offerThroughput: maximum, offerIsRUPerMinuteThroughputEnabled: false };

export function throughputIn(content: unknown): Throughput {
  const { offerThroughput, offerAutopilotSettings } = (content ?? {}) as {
    offerThroughput?: number;
    offerAutopilotSettings?: { maxThroughput?: number } | null;
  };
  return offerAutopilotSettings
    ? checked(Number(offerAutopilotSettings.maxThroughput), true)
    : checked(Number(offerThroughput), false);
}
