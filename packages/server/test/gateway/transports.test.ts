/** Runs the contract of both transports in memory. */
import { transportsContract } from "./transports.contract.ts";

transportsContract("server");
transportsContract("fetch");
