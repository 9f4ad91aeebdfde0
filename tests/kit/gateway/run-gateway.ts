/** The program of `GatewayProgram`: a gateway with its own connections to PostgreSQL and Redis. Does not run turns. */
import { createServer } from "@turnstream/server";
import { openBackend } from "../backend/open-backend.ts";
import { featuresOf, withFeatures } from "../backend/test-features.ts";
import { createPayments } from "../payments/payment-settings.ts";
import { connectParent, readSettings } from "../processes/parent-process.ts";
import type { GatewayMessage, GatewayRequest, GatewaySettings } from "./gateway-program.ts";

const SAMPLE_MS = 5;
const {
  backend,
  payments,
  port,
  host,
  launcher: _,
  samplesBuffers,
  ...options
} = readSettings() as GatewaySettings;
const parent = connectParent<GatewayRequest, GatewayMessage>();
const { store, log, signals } = await openBackend(backend);
const server = createServer({
  ...options,
  features: withFeatures(payments === undefined ? [] : [createPayments(payments)], await featuresOf(store)),
  store,
  log,
  signals,
  onError: (error, { during }) => parent.send({ failed: `${during}: ${String(error)}` }),
});

let peakBufferedBytes = 0;
if (samplesBuffers === true)
  setInterval(() => {
    peakBufferedBytes = Math.max(peakBufferedBytes, server.stats().maxBufferedBytes);
  }, SAMPLE_MS);
parent.onMessage(() => {
  parent.send({ peakBufferedBytes });
  peakBufferedBytes = 0;
});
parent.send({ url: await server.listen(port, host) });
