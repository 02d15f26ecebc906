/** US dollars for people: an estimate. */
export const money = (dollars: number): string =>
  dollars > 0 && dollars < 0.01
    ? 'less than $0.01'
    : dollars === 0
      ? '$0'
      : `about $${dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;

/** What every price is called. */
export const SAMPLE_PRICES = 'by the sample prices of Azure’s documentation';
