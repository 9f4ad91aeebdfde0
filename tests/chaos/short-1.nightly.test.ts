/** Runs the short form of the other half of the scenarios. Full runs are separate commands. */
import { testShort } from "./short.ts";

testShort(1);
