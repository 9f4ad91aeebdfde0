/** `SAMPLE_STATEMENT` is an invented broker's statement. The page uploads it like any file. Data only. */
import type { Locale } from "./locales.ts";

export const SAMPLE_NAMES: Readonly<Record<Locale, string>> = {
  vi: "sao-ke-thang-3.csv",
  en: "march-statement.csv",
  "zh-CN": "三月对账单.csv",
  "zh-TW": "三月對帳單.csv",
};

export const SAMPLE_STATEMENT = `date,kind,symbol,count,price,amount
2026-03-01,opening,,,,67915000
2026-03-03,buy,FPT,200,121200,-24240000
2026-03-05,buy,HPG,500,27150,-13575000
2026-03-09,sell,MWG,300,58100,17430000
2026-03-12,dividend,VNM,,,420000
2026-03-17,buy,VNM,100,80400,-8040000
2026-03-19,sell,VCB,200,62000,12400000
2026-03-24,fee,,,,-93000
2026-03-25,tax,,,,-50000
2026-03-31,closing,,,,52167000
`;
