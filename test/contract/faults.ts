// Destructive faults in the examples' code and documents. They were chosen before the check was run on any of them.
import type { FileName } from '../model/example-texts.ts';

export interface Fault {
  readonly example: 'flights' | 'storefront' | 'telemetry';
  readonly file: Extract<FileName, 'pipeline' | 'design'>;
  /** The fault is in the first occurrence of `from` behind this text. */
  readonly after: string;
  readonly from: string;
  readonly to: string;
  /** The rule that reported it before G15 and G16 existed; empty: none did. */
  readonly before: string;
  /** The rules that report it as an error now, or that only warn; empty: it isn't caught. */
  readonly found: string;
}

const code =
  (example: Fault['example']) =>
  (name: string, from: string, to: string, before: string, found: string): Fault => ({
    example,
    file: 'pipeline',
    after: name,
    from,
    to,
    before,
    found,
  });
const row =
  (example: Fault['example']) =>
  (name: string, from: string, to: string, before: string, found: string): Fault => ({
    example,
    file: 'design',
    after: `\n| ${name} |`,
    from,
    to,
    before,
    found,
  });

const [flights, storefront, telemetry] = [code('flights'), code('storefront'), code('telemetry')];
const [flightsRow, storefrontRow, telemetryRow] = [row('flights'), row('storefront'), row('telemetry')];

export const FAULTS: readonly Fault[] = [
  // Reported by others.
  flights("copy('arrivals'", 'destination: flight.destination', 'destination: flight.origin', '', 'G15 G16'),
  storefront("copy('order-summaries'", 'id: order.id', 'id: order.customerId', 'G13', 'G13 G15 G16'),
  storefront("aggregate('store-days'", 'storeId: order.storeId', "storeId: 'all'", 'G13', 'G13 G15'),
  storefront("aggregate('product-days'", 'where: counts,', '', '', 'G16'),
  storefront("aggregate('store-days'", 'where: counts,', '', '', 'G16'),
  storefront("aggregate('customer-totals'", 'where: counts,', '', '', 'G16'),
  storefront("aggregate('store-months'", '3,', '5,', '', 'G16'),
  storefront("copy('sku-cards'", "missing: 'wait',", '', '', 'G16'),
  flights('const late', 'delay >= 15', 'delay >= 30', '', 'G16'),
  storefront("embedEach('line-shelves'", "id: 'variantId'", "id: 'productId'", '', 'G15 G16'),
  storefrontRow('store-days', 'sum(totalCents)', 'sum(lineCents)', '', 'G16'),
  storefrontRow('order-summaries', 'placedAt, totalCents', 'placedAt, discountCents, totalCents', '', 'G16'),
  flightsRow('arrivals', 'destination = destination', 'destination = origin', '', 'G16'),
  // Added, in the code.
  flights("copy('arrivals'", "on: { id: 'destination' }", "on: { id: 'origin' }", 'G2', 'G2'),
  flights("copy('arrivals'", "maxLag: '5 s',", "maxLag: '5 s', where: (flight) => flight.delay > 0,", 'G2', 'G15'),
  flights("aggregate('origin-days'", 'origin: flight.origin', 'origin: flight.destination', 'G2', 'G15 G2'),
  storefront('const day', 'slice(0, 10)', 'slice(0, 7)', '', 'G15'),
  storefront("aggregate('store-months'", 'slice(0, 7)', 'slice(0, 4)', '', 'G15'),
  storefront('const OPEN', ", 'packed'", '', 'G2', 'G15 G16'),
  storefront("aggregate('product-days'", 'line.quantity * line.priceCents', 'line.priceCents', 'G2', 'G16 G2'),
  storefront("copy('order-summaries'", 'order.lines.length', '1', 'G2', 'G16 G2'),
  storefront("copy('order-summaries'", 'country?.name ?? null', 'order.countryId', 'G2', 'G16 G2'),
  storefront("embed('variant-currencies'", "id: 'storeId'", "id: 'productId'", '', 'G15 G16'),
  storefront("embedEach('line-shelves'", 'OPEN.includes(order.status)', 'true', 'G2', 'G2'),
  storefront("reference('store-countries'", 'name: country.name', 'name: country.id', 'G2', 'G2'),
  storefront("archive('orders-cold'", "after: '90d'", "after: '30d'", 'G9', 'G9'),
  storefront("react('shipped-mail'", "'shipped'", "'delivered'", '', 'G16'),
  telemetry("aggregate('device-hours'", 'celsius > 8', 'celsius > 10', 'G2', 'G16 G2'),
  telemetry("aggregate('device-hours'", 'slice(0, 13)', 'slice(0, 10)', '', 'G15'),
  // Added, in the document.
  flightsRow('origin-days', 'delay ≥ 15', 'delay ≥ 30', '', 'G16'),
  flightsRow('origin-days', 'max(delay)', 'max(distance)', '', 'G16'),
  flightsRow('arrivals', ' twice', '', '', ''),
  storefrontRow('sku-cards', ', waits for it', '', '', 'only warned: G16'),
  storefrontRow('order-summaries', 'customer.name →', 'customer.email →', '', 'G16'),
  storefrontRow('open-orders', 'placed, paid, packed', 'placed, paid', '', 'G16'),
  storefrontRow('product-days', ', each line', '', '', 'only warned: G16'),
  storefrontRow('store-days', ' not cancelled', '', '', 'only warned: G16'),
  storefrontRow('store-days', 'not cancelled', 'not delivered', '', 'G16'),
  storefrontRow('store-months', 'top 3 days by cents', 'top 10 days by cents', '', 'G16'),
  storefrontRow('store-months', '[storeId, month]', '[storeId, day]', 'G5', 'G2 G5'),
  storefrontRow('line-shelves', 'variantId = id', 'variantId = sku', '', 'G16'),
  storefrontRow('orders-cold', '90 d after', '60 d after', 'G9', 'G9'),
  // Made later, of the literals of code and document.
  flights("aggregate('origin-days'", 'stable: true,', '', '', 'G16'),
  storefront("embedEach('line-shelves'", "each: 'lines'", "each: 'totalCents'", '', 'G2'),
  storefront("archive('orders-cold'", "date: 'completedAt'", "date: 'storeId'", '', 'G9'),
  telemetry("tenant: 'tenantId'", "tenant: 'tenantId',", '', '', 'only warned: G14'),
  telemetry("publish('hours-out'", 'example.telemetry.hour', 'example.telemetry.minute', '', 'G16'),
  flightsRow('routes', '#5, #6', '#6', '', 'only warned: G12'),
  flightsRow('flights-cold', 'blob:flights-cold', 'blob:routes-cold', '', 'G9'),
  flightsRow('flights-cold', 'keep', 'remove', '', 'G7'),
  flightsRow('arrivals', 'from.name', 'from.city', '', 'G16'),
  storefrontRow('order-summaries', 'status, placedAt', 'placedAt', '', 'only warned: G16'),
  storefrontRow('shipped-mail', '#29', '#30', '', 'only warned: G12'),
  storefrontRow('product-days', 'quantity × priceCents', 'quantity × shelf', '', 'G16'),
  telemetryRow('hours-out', 'tenantId, siteId, deviceId', 'tenantId, siteId, at', '', 'G16'),
  telemetryRow('hours-out', '#4', '#5', '', 'only warned: G12'),
];
