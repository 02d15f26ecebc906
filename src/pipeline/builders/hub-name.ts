import { error } from '../declaration.ts';
import type { Finding } from '../specs.ts';

const HUB = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,254}[A-Za-z0-9])?$/;
const GROUP = /^(?:\$Default|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9])?)$/i;

/** The rules of Event Hubs itself, so that a mistake is found before anything connects. */
export function hubFindings(what: string, hub: unknown, consumerGroup = '$Default'): Finding[] {
  const findings: Finding[] = [];
  if (typeof hub !== 'string' || !HUB.test(hub)) {
    const hint = 'Use letters, digits, . - and _; begin and end with a letter or digit.';
    findings.push(
      error('hub-name', `${what} names the event hub ${JSON.stringify(hub)}, which isn't a valid name`, hint),
    );
  }
  if (!GROUP.test(consumerGroup)) {
    const hint = 'Name a consumer group of the event hub, or remove it to use $Default.';
    const message = `${what} names the consumer group ${JSON.stringify(consumerGroup)}, which isn't a valid name`;
    findings.push(error('consumer-group', message, hint));
  }
  return findings;
}
