/** The contract of what is kept beside the log, on real servers. */
import { openRealBackend } from "../real-backend.ts";
import { picturesContract } from "./images.contract.ts";

picturesContract("real", openRealBackend);
