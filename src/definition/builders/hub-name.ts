import { error } from '../declaration.ts';
import type { Finding } from '../specs.ts';

const HUB = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,254}[A-Za-z0-9])?$/;
const GROUP = /^(?:\$Default|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9])?)$/i;

/** Event Hubs' own rules, so that a slip is found before anything is connected. */
export function hubFindings(what: string, hub: unknown, consumerGroup = '$Default'): Finding[] {
  const findings: Finding[] = [];
  if (typeof hub !== 'string' || !HUB.test(hub)) {
    const mend = 'Name the event hub: letters, digits, . - _, beginning and ending with a letter or digit.';
    findings.push(error('hub-name', `${what} names the event hub ${JSON.stringify(hub)}`, mend));
  }
  if (!GROUP.test(consumerGroup)) {
    const mend = 'Name a consumer group of the event hub, or leave it out for $Default.';
    findings.push(error('consumer-group', `${what} names the consumer group ${JSON.stringify(consumerGroup)}`, mend));
  }
  return findings;
}
