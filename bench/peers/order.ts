/** An order, as every participant finds it. */
export interface Order {
  readonly id: string;
  readonly type: 'order';
  readonly storeId: string;
  readonly customer: { readonly id: string; readonly country: string };
  readonly status: string;
  readonly cents: number;
  /** The number of this version: the views have it, so that their rows can be timed. */
  readonly turn: number;
  readonly cancelled?: boolean;
}
