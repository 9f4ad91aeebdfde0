/**
 * `FEATURES` are the features of ours, whose tables the databases of tests have, and `withFeatures` adds them to those of a
 * test. Workers and gateways on such a database need all of them, or they report that.
 */
import { knowledge } from "@turnstream/knowledge";
import { PaymentError, type PaymentProvider, payments } from "@turnstream/payments";
import type { ServerFeature } from "@turnstream/server";
import type { Store } from "@turnstream/server/internal";

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

/** Returns `FEATURES` if the store has their tables; the one in memory hasn't. */
export async function featuresOf({ features }: Pick<Store, "features">): Promise<readonly ServerFeature[]> {
  const names = FEATURES.map(({ name }) => name);
  return features.requireTables(names).then(
    () => FEATURES,
    () => [],
  );
}

/** @param given features with other options */
export function withFeatures<Feature extends { readonly name: string }>(
  given: readonly Feature[] = [],
  all: readonly ServerFeature[] = FEATURES,
): (Feature | ServerFeature)[] {
  return [...all.filter(({ name }) => given.every((feature) => feature.name !== name)), ...given];
}
