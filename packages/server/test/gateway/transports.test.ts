/** Runs the contract of both transports in memory. */
import { transportsContract } from "./transports.contract.ts";

transportsContract("fastify");
transportsContract("fetch");
