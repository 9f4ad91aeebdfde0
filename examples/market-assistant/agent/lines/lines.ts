/** `Lines` is the type of the agent's texts and labels in one language. */
import type { Locale } from "../../shared/locales.ts";

export interface Lines {
  readonly locale: Locale;
  /** The name of the language, for the instructions of a real model. */
  readonly language: string;
  readonly labels: {
    readonly index: string;
    readonly price: (symbol: string) => string;
    readonly articles: string;
    readonly movers: string;
    readonly portfolio: (account: Account) => string;
    readonly portfolioTable: string;
    readonly chart: (symbol: string) => string;
    readonly order: (symbol: string) => string;
    readonly scan: string;
    readonly account: string;
    readonly analyst: string;
    readonly ratios: (symbol: string) => string;
    readonly reports: (symbol: string) => string;
  };
  readonly found: {
    readonly breadth: (up: number, down: number) => string;
    readonly noSuchStock: (symbol: string) => string;
    readonly noPermission: string;
    readonly moverColumns: readonly [string, string, string];
    readonly holdingColumns: readonly [string, string, string, string];
    readonly ordered: (order: string, count: string, symbol: string, price: string) => string;
    readonly scanned: (done: string, all: string, found: string) => string;
    readonly ratios: (pe: string, sectorPe: string, dividend: string) => string;
    readonly stocks: (count: number) => string;
    readonly articles: (count: number) => string;
    readonly latest: readonly Article[];
    readonly reports: readonly Article[];
  };
  /** Titles of tables and charts. */
  readonly titles: {
    readonly movers: string;
    readonly portfolio: string;
    readonly chart: (symbol: string) => string;
  };
  readonly form: {
    readonly title: string;
    readonly description: string;
    readonly name: string;
    readonly email: string;
    readonly phone: string;
    readonly birth: string;
    readonly experience: string;
    readonly levels: readonly [string, string, string];
    readonly terms: string;
  };
  readonly script: ScriptLines;
}

type Account = "short_term" | "long_term";

interface Article {
  readonly title: string;
  readonly url: string;
  readonly text: string;
}

/** The thoughts and answers of the scripted model, by topic. */
interface ScriptLines {
  readonly market: { think: string; first: string; second: string; weigh: string; answer: string };
  readonly buy: { think: string; first: string; done: (result: string) => string; rejected: string };
  readonly portfolio: { question: string; options: [string, string]; short: string; long: string };
  readonly chart: { first: string; answer: string };
  readonly analyst: { first: string; task: string; think: string; opinion: string; answer: string };
  readonly scan: { first: string; answer: string };
  readonly forecast: { think: string; answer: string };
  readonly account: { first: string; done: (name: string) => string; declined: string };
  readonly file: { think: string; sample: string; other: (lines: number, start: string) => string };
  readonly price: (symbol: string) => string;
  readonly help: string;
}
