// A shop's history, made up from a seed: catalogue, customers and orders are created, then lived with: orders are paid,
// packed, changed, cancelled and withdrawn; prices, names and SKUs change; customers are erased.
import type { LoadOptions, Step } from 'millrace';
import type { Country, Customer, Order, Product, Store, Variant } from './model.ts';
import { type Dice, dice } from './dice.ts';
import { CITIES, COLOURS, COUNTRIES, FIRST, GOODS, LAST, SIZES } from './names.ts';

const STORES = 8;
const PRODUCTS = 15;
const CUSTOMERS = 40;
const ORDERS = 1_200;
/** Changes after creation; about two and a half an order. */
const CHANGES = 3_000;
const EXPIRES = { ttl: 30 * 24 * 3600 };
const NEXT: Readonly<Record<string, string>> = {
  placed: 'paid',
  paid: 'packed',
  packed: 'shipped',
  shipped: 'delivered',
};

type Any = Store | Product | Variant | Customer | Order | Country;
const CONTAINER = {
  store: 'Stores',
  product: 'Catalog',
  variant: 'Catalog',
  customer: 'Customers',
  order: 'Orders',
  country: 'Countries',
} as const;

/** When this history is looked back at: the orders completed up to 5 March are 90 days old then, the others aren't. */
export const now = '2026-06-03T00:00:00Z';

/** Deterministic for a seed: about 4,900 steps over eight stores and the first ten days of March 2026. */
export async function* load({ seed }: LoadOptions): AsyncGenerator<Step, void, undefined> {
  const shop = new Shop(dice(seed));
  for (const created of shop.opening()) yield write(created);
  // Orders and changes are mixed, as they are in life.
  let orders = 0;
  for (let step = 0; step < ORDERS + CHANGES; step++) {
    const left = ORDERS + CHANGES - step;
    const order = orders === 0 || shop.dice.below(left) < ORDERS - orders;
    if (order) orders++;
    yield write(order ? shop.place(step) : shop.change(step));
  }
}

const write = (document: Any): Step => ({ container: CONTAINER[document.type], upsert: { ...document } });

/** The shop's present state; every method changes one document and returns its new version. */
class Shop {
  readonly dice: Dice;
  readonly #stores: Store[] = [];
  readonly #countries: Country[] = [];
  readonly #products: Product[] = [];
  readonly #variants: Variant[] = [];
  readonly #customers: Customer[] = [];
  readonly #orders: Order[] = [];

  constructor(of: Dice) {
    this.dice = of;
  }

  *opening(): Generator<Any> {
    for (const [id, name] of COUNTRIES) yield this.#keep(this.#countries, { id, type: 'country', name });
    for (let n = 1; n <= STORES; n++) yield* this.#store(`store-${n}`);
  }

  *#store(storeId: string): Generator<Any> {
    const { dice: d } = this;
    const name = `${d.pick(CITIES)} ${d.pick(GOODS)}s`;
    yield this.#keep(this.#stores, {
      id: storeId,
      type: 'store',
      storeId,
      name,
      currency: 'EUR',
      countryId: d.pick(this.#countries).id,
    });
    for (let p = 1; p <= PRODUCTS; p++) {
      const productId = `product-${p}`;
      const product = {
        id: productId,
        type: 'product',
        storeId,
        productId,
        name: `${d.pick(CITIES)} ${d.pick(GOODS)}`,
      } as const;
      const variants = Array.from({ length: 1 + d.below(3) }, (_, v) =>
        this.#variant(storeId, productId, `variant-${p}-${v + 1}`),
      );
      // A variant may come before its product: its SKU card waits.
      if (d.chance(0.8)) yield* [this.#keep(this.#products, product), ...variants];
      else yield* [...variants, this.#keep(this.#products, product)];
    }
    for (let c = 1; c <= CUSTOMERS; c++) yield this.#customer(storeId, `customer-${c}`);
  }

  #variant(storeId: string, productId: string, id: string): Variant {
    const { dice: d } = this;
    const name = `${d.pick(SIZES)}, ${d.pick(COLOURS)}`;
    const priceCents = 500 + 10 * d.below(2_000);
    const shelf = this.#shelf();
    return this.#keep(this.#variants, {
      id,
      type: 'variant',
      storeId,
      productId,
      sku: this.#sku(id),
      name,
      priceCents,
      shelf,
    });
  }

  #shelf(): string {
    return `${this.dice.pick(['A', 'B', 'C'])}-${1 + this.dice.below(40)}`;
  }

  #sku(id: string): string {
    return `${id.replace('variant-', 'V').replaceAll('-', '.')}-${1_000 + this.dice.below(9_000)}`;
  }

  #customer(storeId: string, id: string): Customer {
    const { dice: d } = this;
    const name = `${d.pick(FIRST)} ${d.pick(LAST)}`;
    const email = `${id}@example.com`;
    const registeredAt = `2025-${two(1 + d.below(12))}-${two(1 + d.below(28))}T12:00:00Z`;
    return this.#keep(this.#customers, {
      id,
      type: 'customer',
      storeId,
      name,
      email,
      countryId: d.pick(this.#countries).id,
      registeredAt,
    });
  }

  place(step: number): Order {
    const { dice: d } = this;
    const { storeId, id: customerId, countryId } = d.pick(this.#customers);
    const lines = this.#lines(storeId);
    return this.#keep(this.#orders, {
      id: `order-${this.#orders.length + 1}`,
      type: 'order',
      storeId,
      customerId,
      countryId,
      status: 'placed',
      placedAt: timeOf(step),
      lines,
      totalCents: total(lines),
    });
  }

  #lines(storeId: string): Order['lines'] {
    const sold = this.#variants.filter((variant) => variant.storeId === storeId && variant.deletedAt === undefined);
    return Array.from({ length: 1 + this.dice.below(4) }, () => {
      const { id: variantId, productId, priceCents } = this.dice.pick(sold);
      const productName =
        this.#products.find((product) => product.storeId === storeId && product.id === productId)?.name ?? '';
      return { productId, variantId, productName, quantity: 1 + this.dice.below(3), priceCents };
    });
  }

  change(step: number): Any {
    const { dice: d } = this;
    const lot = d.below(1_000);
    if (lot < 560) return this.#progress(step);
    if (lot < 660) return this.#reorder();
    if (lot < 730) return this.#edit(this.#orders, { status: 'cancelled', completedAt: timeOf(step) });
    if (lot < 760) return this.#edit(this.#orders, { deletedAt: '2026-03-11T00:00:00Z', ...EXPIRES });
    if (lot < 820) return this.#edit(this.#variants, { priceCents: 500 + 10 * d.below(2_000) });
    if (lot < 860) return this.#edit(this.#variants, () => ({ shelf: this.#shelf() }));
    if (lot < 890) return this.#edit(this.#variants, (variant) => ({ sku: this.#sku(variant.id) }));
    if (lot < 895) return this.#edit(this.#variants, { deletedAt: '2026-03-11T00:00:00Z', ...EXPIRES });
    if (lot < 940) return this.#edit(this.#products, { name: `${d.pick(CITIES)} ${d.pick(GOODS)}` });
    if (lot < 990) return this.#edit(this.#customers, { name: `${d.pick(FIRST)} ${d.pick(LAST)}` });
    if (lot < 997) {
      return this.#edit(this.#customers, {
        name: 'erased',
        email: 'erased',
        deletedAt: '2026-03-11T00:00:00Z',
        ...EXPIRES,
      });
    }
    if (lot < 998) return this.#edit(this.#stores, (store) => ({ currency: store.currency === 'EUR' ? 'CHF' : 'EUR' }));
    return this.#edit(this.#countries, (country) => ({
      name: country.name.endsWith('.') ? country.name.slice(0, -1) : `${country.name}.`,
    }));
  }

  #progress(step: number): Order {
    return this.#edit(this.#orders, (order) => {
      const status = NEXT[order.status] ?? order.status;
      return status === 'delivered' && order.status !== status ? { status, completedAt: timeOf(step) } : { status };
    });
  }

  /** New lines are for unpaid orders; another one stays as it is and is merely written again. */
  #reorder(): Order {
    return this.#edit(this.#orders, (order) => {
      if (order.status !== 'placed') return {};
      const lines = this.#lines(order.storeId);
      return { lines, totalCents: total(lines) };
    });
  }

  #keep<T extends Any>(list: T[], document: T): T {
    list.push(document);
    return document;
  }

  /** Of the living; what was marked as deleted is never touched again. */
  #edit<T extends Any>(list: T[], change: Partial<T> | ((document: T) => Partial<T>)): T {
    const living = [...list.keys()].filter((at) => !('deletedAt' in (list[at] ?? {})));
    const at = this.dice.pick(living);
    const before = list[at];
    if (!before) throw new RangeError('Nothing is left to change');
    const after = { ...before, ...(typeof change === 'function' ? change(before) : change) };
    list[at] = after;
    return after;
  }
}

/** The steps make up ten days. In whole seconds: the Functions host rewrites fractions. */
const timeOf = (step: number): string => {
  const second = Math.floor((step * 10 * 86_400) / (ORDERS + CHANGES));
  return new Date(Date.UTC(2026, 2, 1) + second * 1000).toISOString().replace('.000Z', 'Z');
};
const total = (lines: Order['lines']): number =>
  lines.reduce((cents, line) => cents + line.quantity * line.priceCents, 0);
const two = (number: number): string => String(number).padStart(2, '0');
