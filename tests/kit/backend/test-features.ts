/**
 * `FEATURES` are the features of ours, whose tables the databases of tests have, and `withFeatures` adds them to those of a
 * test. Workers and gateways on such a database need all of them, or they report that.
 */
import { knowledge } from "@turnstream/knowledge";
import { PaymentError, type PaymentProvider, payments } from "@turnstream/payments";
import type { ServerFeature } from "@turnstream/server";

const unreachable = () => Promise.reject(new PaymentError("UNAVAILABLE", "not part of this test"));

/** It can't be reached, and accepts no notification. */
const deadProvider: PaymentProvider = {
  name: "bank",
  formOrigin: null,
  checkMoney: () => null,
  checkout: unreachable,
  query: unreachable,
  readNotification() {
    throw new PaymentError("NOT_AUTHENTIC", "refused");
  },
};

export const FEATURES: readonly ServerFeature[] = [
  knowledge(),
  payments({ providers: [deadProvider], publicUrl: "http://127.0.0.1:9" }),
];

/** @param given features with other options */
export function withFeatures<Feature extends { readonly name: string }>(
  given: readonly Feature[] = [],
): (Feature | ServerFeature)[] {
  return [...FEATURES.filter(({ name }) => given.every((feature) => feature.name !== name)), ...given];
}
