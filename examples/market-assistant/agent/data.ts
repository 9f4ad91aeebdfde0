/** The example's market data. Every figure is invented. Data and lookups only. */
export interface Stock {
  readonly symbol: string;
  /** Closing prices of the last seven sessions in VND, oldest first. */
  readonly closes: readonly number[];
  readonly pe: number;
  readonly sectorPe: number;
  /** In percent of the price. */
  readonly dividend: number;
}

export const SESSIONS = ["17/03", "18/03", "19/03", "20/03", "23/03", "24/03", "25/03"] as const;

export const STOCKS: readonly Stock[] = [
  {
    symbol: "VNM",
    closes: [80_400, 81_200, 79_900, 82_100, 83_600, 83_000, 82_000],
    pe: 16.4,
    sectorPe: 19.2,
    dividend: 5.1,
  },
  {
    symbol: "FPT",
    closes: [118_500, 119_000, 121_200, 120_400, 122_800, 124_100, 126_300],
    pe: 21.7,
    sectorPe: 20.3,
    dividend: 1.6,
  },
  {
    symbol: "HPG",
    closes: [26_900, 27_150, 27_000, 27_400, 27_250, 27_800, 28_150],
    pe: 13.2,
    sectorPe: 14.8,
    dividend: 0,
  },
  {
    symbol: "VCB",
    closes: [61_800, 61_500, 62_000, 62_400, 62_100, 62_300, 62_350],
    pe: 14.9,
    sectorPe: 10.1,
    dividend: 0,
  },
  {
    symbol: "MWG",
    closes: [59_200, 58_800, 58_100, 58_600, 57_900, 57_300, 56_400],
    pe: 18.8,
    sectorPe: 17.5,
    dividend: 0.9,
  },
];

export const INDEX = { name: "VN-Index", value: 1_284.6, change: 0.42, turnover: 21_350, up: 214, down: 167 };

export interface Holding {
  readonly symbol: string;
  readonly count: number;
  /** Purchase price of one share in VND. */
  readonly cost: number;
}

export const HOLDINGS: readonly Holding[] = [
  { symbol: "FPT", count: 200, cost: 109_000 },
  { symbol: "HPG", count: 1_000, cost: 27_600 },
  { symbol: "MWG", count: 300, cost: 61_500 },
];

export function findStock(symbol: string): Stock | undefined {
  return STOCKS.find((stock) => stock.symbol === symbol.trim().toUpperCase());
}

export function computePrice({ closes }: Stock): number {
  return closes.at(-1) ?? 0;
}

/** Change against the previous session in percent. */
export function computeChange({ closes }: Stock): number {
  const [before = 1, last = 1] = closes.slice(-2);
  return (last / before - 1) * 100;
}
