/** The same on real servers. */
import { openRealBackend } from "../real-backend.ts";
import { storageContract } from "./storage.contract.ts";

storageContract(openRealBackend);
