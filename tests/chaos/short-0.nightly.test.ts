/** Runs the short form of one half of the scenarios. Full runs are separate commands. */
import { testShort } from "./short.ts";

testShort(0);
