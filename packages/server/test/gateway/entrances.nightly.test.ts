/** Runs the contract of the entrances on PostgreSQL and Redis. */
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { runOneOf } from "@turnstream/conformance/support/run-one-of.ts";
import { openRealBackend } from "../runtime/real-backend.ts";
import { entrancesContract } from "./entrances.contract.ts";

runOneOf(6);
entrancesContract("PostgreSQL and Redis", openRealBackend, isFull);
