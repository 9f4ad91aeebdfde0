/** The features of ours, and the routes of a gateway that has all of them, for tests that must cover each. */
import { PaymentError, type PaymentProvider, payments } from "@turnstream/payments";
import { ROUTES } from "../src/gateway/http/routes/index.ts";
import type { Route } from "../src/gateway/http/route.ts";
import type { ServerFeature } from "../src/turnstream/feature.ts";

const unreachable = () => Promise.reject(new PaymentError("UNAVAILABLE", "not part of this test"));

/** A provider that can't be reached, and accepts no notification. */
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

export const ALL_FEATURES: readonly ServerFeature[] = [
  payments({ providers: [deadProvider], publicUrl: "http://127.0.0.1:9" }),
];

export const ALL_ROUTES: readonly Route[] = [...ROUTES, ...ALL_FEATURES.flatMap(({ routes = [] }) => routes)];
