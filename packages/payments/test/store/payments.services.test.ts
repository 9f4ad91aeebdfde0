/** Runs the contract of stored payments on PostgreSQL. */
import { timedHarness } from "../../../server/test/store/postgres-harness.ts";
import { paymentsContract } from "./payments.contract.ts";

// The number of random orders of payment notices.
paymentsContract("postgres", () => timedHarness(), 50);
